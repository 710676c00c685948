//! What a setting names, and what is read there.

use std::process::Command;

use conclave_fetch::FetchSettings;

use super::*;

#[test]
fn an_address_is_an_address_and_everything_else_a_path() {
    let root = Utf8Path::new("/work/shop");
    let parse = |text: &str| RuleSource::of_argument(text, Utf8Path::new("/work/shop/src"), root);
    assert!(matches!(
        parse("https://rules.example.com/x.toml"),
        Ok(RuleSource::Url(_))
    ));
    let error = parse("http://rules.example.com/x.toml?t=secret")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("has to begin with https://") && !error.contains("secret"),
        "{error}"
    );
    for (text, expected) in [
        ("/etc/conclave/rules", RuleSource::Path("/etc/conclave/rules".into())),
        ("../../rules", RuleSource::Path("/work/rules".into())),
        ("/work/shopping/rules", RuleSource::Path("/work/shopping/rules".into())),
        ("rules.toml", RuleSource::TargetBranch("src/rules.toml".into())),
        ("../docs/./rules/", RuleSource::TargetBranch("docs/rules".into())),
        ("/work/shop/rules", RuleSource::TargetBranch("rules".into())),
    ] {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_into_the_repository_means_the_target_branch_too() {
    let directory = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(directory.path()).unwrap();
    let root = base.join("shop");
    std::fs::create_dir_all(root.join("rules")).unwrap();
    std::os::unix::fs::symlink(root.join("rules"), base.join("link")).unwrap();
    let source = RuleSource::of_argument(base.join("link").as_str(), base, &root);
    assert_eq!(source, Ok(RuleSource::TargetBranch("rules".into())));
}

#[test]
fn a_repository_names_paths_of_its_own_only() {
    assert_eq!(
        RuleSource::of_repository("./docs/rules"),
        Ok(RuleSource::TargetBranch("docs/rules".into()))
    );
    assert!(matches!(
        RuleSource::of_repository("https://rules.example.com/x.toml"),
        Ok(RuleSource::Url(_))
    ));
    for bad in ["/etc/passwd", "../other", "docs/../../x", "", "file:///etc/passwd"] {
        assert!(RuleSource::of_repository(bad).is_err(), "{bad}");
    }
}

fn git(directory: &Utf8Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}

/// A repository whose first commit has rules, and whose working tree has others.
async fn repository() -> (tempfile::TempDir, Repository, String) {
    let directory = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(directory.path()).unwrap().to_owned();
    git(&root, &["init", "--quiet"]);
    std::fs::create_dir_all(root.join("rules/old")).unwrap();
    for (path, text) in [
        ("rules/b.toml", "b"),
        ("rules/a.toml", "a"),
        ("rules/README.md", "no rules"),
        ("rules/old/c.toml", "c"),
        ("top.toml", "top"),
    ] {
        std::fs::write(root.join(path), text).unwrap();
    }
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "--quiet", "-m", "Rules"]);
    let repository = Repository::open(&root).await.unwrap();
    let commit = repository.commit("HEAD").await.unwrap();
    std::fs::write(root.join("rules/a.toml"), "the author's own").unwrap();
    git(&root, &["commit", "--quiet", "-am", "No rules for me"]);
    (directory, repository, commit)
}

async fn texts(source: &RuleSource) -> Result<Vec<(String, String)>, String> {
    let (_directory, repository, commit) = repository().await;
    let fetcher = Fetcher::new(FetchSettings::new(None, None));
    load(source, &repository, &commit, &fetcher, Utc::now())
        .await
        .map(|texts| texts.files)
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[tokio::test]
async fn a_path_of_the_repository_is_read_from_the_target_branch() {
    let at = |path: &str| RuleSource::TargetBranch(path.into());
    assert_eq!(
        texts(&at("rules")).await.unwrap(),
        owned(&[("rules/a.toml", "a"), ("rules/b.toml", "b")])
    );
    assert_eq!(
        texts(&at("rules/b.toml")).await.unwrap(),
        owned(&[("rules/b.toml", "b")])
    );
    assert_eq!(texts(&at("")).await.unwrap(), owned(&[("top.toml", "top")]));
    assert_eq!(
        texts(&at("rulez")).await.unwrap_err(),
        "rulez: the target branch has no such file or directory"
    );
}

#[tokio::test]
async fn a_place_outside_is_read_from_the_disk_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(directory.path()).unwrap();
    let source = RuleSource::Path(root.to_owned());
    assert_eq!(
        texts(&source).await.unwrap_err(),
        format!("{root}: there is no .toml file in it")
    );
    for (name, text) in [("b.toml", "b"), ("a.toml", "a"), ("notes.txt", "x")] {
        std::fs::write(root.join(name), text).unwrap();
    }
    let (a, b) = (root.join("a.toml"), root.join("b.toml"));
    assert_eq!(
        texts(&source).await.unwrap(),
        owned(&[(a.as_str(), "a"), (b.as_str(), "b")])
    );
    assert_eq!(
        texts(&RuleSource::Path(b.clone())).await.unwrap(),
        owned(&[(b.as_str(), "b")])
    );
    let error = texts(&RuleSource::Path(root.join("none.toml"))).await.unwrap_err();
    assert!(error.contains("none.toml: No such file"), "{error}");
    std::fs::write(&a, vec![b'x'; MAX_BYTES + 1]).unwrap();
    let error = texts(&source).await.unwrap_err();
    assert!(
        error.contains("a.toml: with it the rules are more than 1048576 bytes"),
        "{error}"
    );
}
