//! `conclave init`: what it writes, what it leaves alone, and how that is undone.

use std::path::Path;

use crate::support::{Conclave, Repository};

const IMAGE: &str = "registry.example.com/platform/conclave:1";

fn init(repository: &Repository, arguments: &[&str]) -> Conclave {
    let mut all = vec!["init", "--image", IMAGE];
    all.extend(arguments);
    Conclave::new(repository.path(), &all)
}

/// What git sees that is new or changed.
fn changes(repository: &Repository) -> Vec<String> {
    let status = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
    status.lines().map(|line| line[2..].trim().to_owned()).collect()
}

fn read(repository: &Repository, path: &str) -> String {
    std::fs::read_to_string(repository.path().join(path)).unwrap()
}

#[tokio::test]
async fn without_a_terminal_it_takes_the_defaults_and_lists_what_undoes_it() {
    let repository = Repository::new();
    let dry = init(&repository, &["--dry-run"]).run().await.expect_code(0);
    assert!(
        dry.stdout.contains(".gitlab-ci.yml") && dry.stdout.contains("spec:"),
        "{}",
        dry.stdout
    );
    assert_eq!(changes(&repository), [] as [&str; 0], "a dry run writes nothing");

    let outcome = init(&repository, &[]).run().await.expect_code(0);
    let files = [
        ".conclave.toml",
        ".gitlab-ci.yml",
        ".gitlab/conclave.yml",
        ".opencode/command/fullreview.md",
    ];
    assert_eq!(changes(&repository), files);
    let undo = outcome
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("To undo it: "))
        .expect("how to undo it");
    for step in ["GITLAB_TOKEN", "scope `api`", "conclave doctor", IMAGE] {
        // However wide the terminal is.
        let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(step), "{step}: {}", outcome.stdout);
    }
    assert!(read(&repository, ".opencode/command/fullreview.md").contains("conclave local"));

    // A second time there is nothing to write, and nothing changes.
    let before = files.map(|file| read(&repository, file));
    let again = init(&repository, &[]).run().await.expect_code(0);
    assert_eq!(
        again.stdout.matches("is as it has to be").count(),
        4,
        "{}",
        again.stdout
    );
    assert_eq!(files.map(|file| read(&repository, file)), before);

    let status = std::process::Command::new("sh").args(["-c", undo]).status().unwrap();
    assert!(status.success());
    assert_eq!(changes(&repository), [] as [&str; 0]);
}

#[tokio::test]
async fn a_forge_that_the_origin_does_not_tell_is_not_guessed() {
    for origin in [
        "https://git.example.com/acme/shop.git",
        "git@code.example.com:acme/github.git",
        "https://gitlab-github-mirror.example.com/acme/shop",
    ] {
        let repository = Repository::new();
        repository.git(&["remote", "add", "origin", origin]);
        let outcome = init(&repository, &[]).run().await.expect_code(2);
        assert!(
            outcome.stderr.contains("name it with --forge gitlab or --forge github"),
            "{}",
            outcome.stderr
        );
        assert_eq!(changes(&repository), [] as [&str; 0]);
        init(&repository, &["--forge", "github"]).run().await.expect_code(0);
        assert!(
            changes(&repository)
                .iter()
                .any(|file| file.starts_with(".github/workflows/"))
        );
    }
    // Without an origin it is said for which forge the files are.
    let repository = Repository::new();
    let outcome = init(&repository, &[]).run().await.expect_code(0);
    assert!(outcome.stderr.contains("has no `origin`"), "{}", outcome.stderr);
}

#[tokio::test]
async fn what_is_there_is_never_changed() {
    let repository = Repository::new();
    let own = "stages: [test]\ninclude:\n  - local: ci/test.yml\n";
    repository.write(".gitlab-ci.yml", own);
    repository.write(".conclave.toml", "[review]\nlanguage = \"French\"\n");
    repository.commit("Own files");
    let outcome = init(&repository, &["--component", "platform/conclave@1.2.3", "--block"])
        .run()
        .await
        .expect_code(0);
    assert_eq!(read(&repository, ".gitlab-ci.yml"), own);
    assert_eq!(changes(&repository), [".opencode/command/fullreview.md"]);
    for line in [
        "Add this to it",
        "- component: $CI_SERVER_FQDN/platform/conclave/conclave@1.2.3",
        "gate: block",
        ".conclave.toml: is there, and is left as it is",
    ] {
        assert!(outcome.stdout.contains(line), "{line}: {}", outcome.stdout);
    }
}

#[tokio::test]
async fn it_writes_nowhere_but_in_the_repository() {
    let (repository, elsewhere) = (Repository::new(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(elsewhere.path(), repository.path().join(".opencode")).unwrap();
    let outcome = init(&repository, &[]).run().await.expect_code(2);
    assert!(
        outcome
            .stderr
            .contains("outside of the repository: nothing is written there"),
        "{}",
        outcome.stderr
    );
    assert!(!elsewhere.path().join("command/fullreview.md").exists());
    // What was written before is told all the same.
    assert!(outcome.stderr.contains("To undo it:"), "{}", outcome.stderr);

    // A link that leads nowhere is found before anything is written, and a bare repository stays as it is.
    let repository = Repository::new();
    std::os::unix::fs::symlink("missing", repository.path().join(".github")).unwrap();
    let outcome = init(&repository, &["--forge", "github"]).run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("a link that leads to no directory"),
        "{}",
        outcome.stderr
    );
    assert_eq!(changes(&repository), [".github"]);
    let bare = tempfile::tempdir().unwrap();
    let path = bare.path().to_str().unwrap();
    repository.git(&["clone", "--quiet", "--bare", ".", path]);
    let before = std::fs::read_dir(bare.path()).unwrap().count();
    let outcome = Conclave::new(bare.path(), &["init", "--yes"])
        .run()
        .await
        .expect_code(2);
    let text = outcome.stderr;
    assert!(text.contains("a repository without the files of its project"), "{text}");
    assert_eq!(std::fs::read_dir(bare.path()).unwrap().count(), before);

    let nowhere = Conclave::new(Path::new("/"), &["init", "--yes"])
        .run()
        .await
        .expect_code(2);
    assert!(
        nowhere.stderr.contains("is not in a git repository"),
        "{}",
        nowhere.stderr
    );
    for (arguments, said) in [
        (["--component", "conclave"], "`conclave` is not the path of a project"),
        (["--component", "a/b@x y"], "is not the path of a project"),
        (["--image", "two words"], "`two words` is not the name of an image"),
    ] {
        let repository = Repository::new();
        let mut all = vec!["init"];
        all.extend(arguments);
        let outcome = Conclave::new(repository.path(), &all).run().await.expect_code(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert_eq!(changes(&repository), [] as [&str; 0]);
    }
}
