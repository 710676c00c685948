//! A hostile repository, checked out for the agent.

use std::{os::unix::ffi::OsStrExt, process::Command};

use camino::Utf8Path;

use super::*;
use crate::test_support::{commit, git, scratch, write};

#[tokio::test]
async fn nothing_that_could_act_reaches_the_workspace() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    let canary = scratch.path.join("canary");
    write(&source, "src/main.rs", "fn main() {}\n");
    for path in [
        "opencode.json",
        ".opencode/plugins/x.js",
        "sub/.opencode/plugin/y.js",
        "sub/deep/opencode.jsonc",
        ".claude/s.json",
        ".mcp.json",
        "AGENTS.md",
        "sub/AGENTS.md",
        "sub/CLAUDE.md",
        ".ripgreprc",
        ".conclave-review/patches/fake.patch",
        ".aider.conf.yml",
        ".rgignore",
    ] {
        write(&source, path, "hostile\n");
    }
    write(&source, ".gitattributes", "*.rs filter=evil\n");
    std::os::unix::fs::symlink("/proc/self/environ", source.join("notes.txt")).expect("a link");
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    // What a runner or an attacker with a cache could leave in the clone's own configuration.
    git(&source, &["config", "filter.evil.smudge", &format!("touch {canary}")]);
    git(
        &source,
        &[
            "config",
            "remote.origin.url",
            "https://gitlab-ci-token:secret@example.org/x.git",
        ],
    );
    write(
        &source,
        ".git/hooks/post-checkout",
        format!("#!/bin/sh\ntouch {canary}\n"),
    );
    Command::new("chmod")
        .args(["+x", source.join(".git/hooks/post-checkout").as_str()])
        .status()
        .expect("chmod");

    let repository = Repository::open(&source.join("src")).await.expect("a repository");
    let head = repository.commit("HEAD").await.expect("a commit");
    let target = scratch.path.join("workspace");
    check_out_workspace(&repository, &head, &target)
        .await
        .expect("a workspace");

    let mut files: Vec<String> = walk(&target)
        .into_iter()
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    files.sort();
    assert_eq!(files, [".gitattributes", "notes.txt", "src/main.rs"]);
    assert_eq!(
        std::fs::read_to_string(target.join("notes.txt")).expect("a file"),
        "/proc/self/environ"
    );
    assert!(!canary.exists(), "a hook or filter ran");
    let own: Vec<_> = walk(&target)
        .into_iter()
        .filter(|path| path.starts_with(".git/"))
        .collect();
    assert_eq!(own, [".git/HEAD"]);
    assert!(!target.join(".git/HEAD").exists(), "a link that leads nowhere");
}

fn walk(root: &Utf8Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in directory.read_dir_utf8().expect("readable") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                waiting.push(entry.path().to_owned());
            } else {
                found.push(entry.path().strip_prefix(root).expect("below").to_string());
            }
        }
    }
    found
}

#[tokio::test]
async fn names_that_are_no_utf_8_are_left_out_of_the_workspace() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    write(&source, "src/a.py", "a\n");
    let odd = |name: &[u8]| source.as_std_path().join(std::ffi::OsStr::from_bytes(name));
    std::fs::write(odd(b"src/\xe9.py"), "x\n").expect("written");
    std::fs::create_dir(odd(b"caf\xe9")).expect("a directory");
    std::fs::write(odd(b"caf\xe9/b.py"), "x\n").expect("written");
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    let repository = Repository::open(&source).await.expect("a repository");
    let head = repository.commit("HEAD").await.expect("a commit");
    let target = scratch.path.join("workspace");
    check_out_workspace(&repository, &head, &target)
        .await
        .expect("a workspace");
    let files: Vec<String> = walk(&target)
        .into_iter()
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    assert_eq!(files, ["src/a.py"]);
}

#[tokio::test]
async fn names_that_no_file_system_takes_are_left_out_of_the_workspace() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    let longest = format!("src/{}", "n".repeat(255));
    write(&source, "a.py", "a\n");
    write(&source, &longest, "b\n");
    git(&source, &["add", "--all"]);
    let object = git(&source, &["hash-object", "a.py"]);
    let (of_letters, of_two_bytes) = ("n".repeat(256), "é".repeat(128));
    for path in [
        of_letters.clone(),
        format!("src/{of_letters}.py"),
        format!("src/{of_two_bytes}/deep/c.py"),
    ] {
        let entry = format!("100644,{object},{path}");
        git(&source, &["update-index", "--add", "--cacheinfo", &entry]);
    }
    git(&source, &["commit", "--quiet", "-m", "one"]);
    let head = git(&source, &["rev-parse", "HEAD"]);
    let repository = Repository::open(&source).await.expect("a repository");
    let target = scratch.path.join("workspace");
    check_out_workspace(&repository, &head, &target)
        .await
        .expect("a workspace");
    let mut files: Vec<String> = walk(&target)
        .into_iter()
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    files.sort();
    assert_eq!(files, ["a.py".to_owned(), longest]);
}

#[tokio::test]
async fn paths_that_no_file_system_takes_are_left_out_of_the_workspace() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    write(&source, "a.py", "a\n");
    git(&source, &["add", "--all"]);
    let object = git(&source, &["hash-object", "a.py"]);
    let directory = format!("{}/", "n".repeat(248));
    // The first is too long for git, the second with the path of the workspace in front of it; the third fits.
    for path in [
        format!("{}y", directory.replace("nn/", "[*/").repeat(17)),
        format!("{}{}", directory.repeat(15), "z".repeat(250)),
        format!("{}y", directory.repeat(10)),
    ] {
        let entry = format!("100644,{object},{path}");
        git(&source, &["update-index", "--add", "--cacheinfo", &entry]);
    }
    git(&source, &["commit", "--quiet", "-m", "one"]);
    let head = git(&source, &["rev-parse", "HEAD"]);
    let repository = Repository::open(&source).await.expect("a repository");
    let target = scratch.path.join("w".repeat(120));
    check_out_workspace(&repository, &head, &target)
        .await
        .expect("a workspace");
    let mut files: Vec<String> = walk(&target)
        .into_iter()
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    files.sort();
    assert_eq!(files, ["a.py".to_owned(), format!("{}y", directory.repeat(10))]);
}

#[tokio::test]
async fn the_workspace_is_made_without_attributes() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    write(&source, "run.sh", "#!/bin/sh\necho '$Id$'\n");
    write(&source, "sub/page.txt", "<script>\r\n");
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    write(
        &source,
        ".gitattributes",
        "[attr]odd ident working-tree-encoding=UTF-7\n*.sh odd eol=crlf\n",
    );
    write(
        &source,
        "sub/.gitattributes",
        "*.txt working-tree-encoding=UTF-16 filter=evil\n",
    );
    git(&source, &["add", ".gitattributes", "sub/.gitattributes"]);
    git(&source, &["commit", "--quiet", "-m", "two"]);
    let repository = Repository::open(&source).await.expect("a repository");
    let head = repository.commit("HEAD").await.expect("a commit");
    let target = scratch.path.join("workspace");
    check_out_workspace(&repository, &head, &target)
        .await
        .expect("a workspace");
    for (path, expected) in [("run.sh", "#!/bin/sh\necho '$Id$'\n"), ("sub/page.txt", "<script>\r\n")] {
        let found = std::fs::read(target.join(path)).expect("the file");
        assert_eq!(String::from_utf8_lossy(&found), expected, "{path}");
    }

    let files = repository.tree_files(&head).await.expect("the files");
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [".gitattributes", "run.sh", "sub/.gitattributes", "sub/page.txt"]
    );
    let attributes = repository.checkout_attributes(&head, &paths).await.expect("attributes");
    assert!(attributes["run.sh"].ident, "{attributes:?}");
    assert_eq!(attributes["run.sh"].encoding.as_deref(), Some("UTF-7"));
    assert_eq!(attributes["sub/page.txt"].filter.as_deref(), Some("evil"));
    let base = repository.commit("HEAD~1").await.expect("a commit");
    let before = repository.checkout_attributes(&base, &paths).await.expect("attributes");
    assert!(
        before.is_empty(),
        "those of the commit, not of the working tree: {before:?}"
    );
}

#[test]
fn the_check_refuses_what_a_checkout_let_through() {
    let scratch = scratch();
    write(&scratch.path, "src/.opencode/plugin/x.js", "");
    let refused =
        |end: &str| matches!(check(&scratch.path, true), Err(WorkspaceError::Unsafe(path)) if path.ends_with(end));
    assert!(refused("src/.opencode"));
    std::fs::remove_dir_all(scratch.path.join("src")).expect("removed");
    for nested in ["lib/.git/config", "lib/.GIT/config", "lib/.git"] {
        write(&scratch.path, nested, "");
        assert!(!matches!(check(&scratch.path, true), Ok(())), "{nested}");
        std::fs::remove_dir_all(scratch.path.join("lib")).expect("removed");
    }
}

#[tokio::test]
async fn a_snapshot_holds_the_working_tree_and_leaves_the_repository_alone() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet"]);
    write(&source, "a.txt", "one\n");
    write(&source, ".gitignore", "ignored\n");
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    let repository = Repository::open(&source).await.expect("a repository");
    let clean = scratch.path.join("clean");
    assert!(
        repository
            .snapshot(&clean, crate::Uncommitted::WorkingTree)
            .await
            .expect("works")
            .taken
            .is_none(),
        "nothing changed yet"
    );

    write(&source, "a.txt", "two\n");
    write(&source, "new.txt", "new\n");
    write(&source, "ignored", "x\n");
    write(&source, "staged.txt", "staged\n");
    git(&source, &["add", "staged.txt"]);
    let objects_before = git(&source, &["count-objects"]);
    let (commit, snapshot) = repository
        .snapshot(&scratch.path.join("dirty"), crate::Uncommitted::WorkingTree)
        .await
        .expect("works")
        .taken
        .expect("something changed");
    assert_eq!(
        snapshot.file(&commit, "a.txt").await.expect("readable"),
        Some(b"two\n".to_vec())
    );
    assert_eq!(
        snapshot.file(&commit, "new.txt").await.expect("readable"),
        Some(b"new\n".to_vec())
    );
    assert_eq!(snapshot.file(&commit, "ignored").await.expect("readable"), None);
    assert_eq!(git(&source, &["count-objects"]), objects_before);
    assert_eq!(
        git(&source, &["status", "--porcelain"]),
        "M a.txt\nA  staged.txt\n?? new.txt"
    );
    // The agent's workspace can be made of it.
    let target = scratch.path.join("workspace");
    check_out_workspace(&snapshot, &commit, &target)
        .await
        .expect("a workspace");
    assert_eq!(std::fs::read_to_string(target.join("a.txt")).expect("a file"), "two\n");
}

#[tokio::test]
async fn a_workspace_is_made_of_a_repository_with_longer_names() {
    let scratch = scratch();
    let source = scratch.path.join("source");
    std::fs::create_dir(&source).expect("a directory");
    git(&source, &["init", "--quiet", "--object-format=sha256"]);
    write(&source, "a.txt", "one\n");
    git(&source, &["add", "--all"]);
    git(&source, &["commit", "--quiet", "-m", "one"]);
    write(&source, "a.txt", "two\n");
    let repository = Repository::open(&source).await.expect("a repository");
    let dirty = scratch.path.join("dirty");
    let snapshot = repository
        .snapshot(&dirty, crate::Uncommitted::WorkingTree)
        .await
        .expect("works");
    let (commit, snapshot) = snapshot.taken.expect("something changed");
    assert_eq!(commit.len(), 64);
    let target = scratch.path.join("workspace");
    check_out_workspace(&snapshot, &commit, &target)
        .await
        .expect("a workspace");
    assert_eq!(std::fs::read_to_string(target.join("a.txt")).expect("a file"), "two\n");
}

#[tokio::test]
async fn a_name_of_two_commits_is_no_name() {
    let scratch = scratch();
    git(&scratch.path, &["init", "--quiet"]);
    let one = commit(&scratch.path, "One");
    let two = commit(&scratch.path, "Two");
    git(&scratch.path, &["branch", "feature/x"]);
    git(&scratch.path, &["tag", "-a", "-m", "Same", "feature/x", &two]);
    let repository = Repository::open(&scratch.path).await.expect("a repository");
    let found = repository.commit("feature/x").await;
    assert_eq!(found.expect("both are the same commit"), two);
    git(&scratch.path, &["tag", "-f", "-a", "-m", "Another", "feature/x", &one]);
    for revision in ["feature/x", "feature/x~0", "feature/x^{commit}"] {
        let error = repository.commit(revision).await.expect_err("which one?");
        assert_eq!(
            error.to_string(),
            "`feature/x` is ambiguous: refs/heads/feature/x and refs/tags/feature/x are different commits. Write out the one \
             that is meant"
        );
    }
    for (revision, expected) in [
        ("refs/heads/feature/x", &two),
        ("tags/feature/x", &one),
        ("HEAD~1", &one),
    ] {
        assert_eq!(
            &repository.commit(revision).await.expect("clear"),
            expected,
            "{revision}"
        );
    }
    // The author of a change cannot stop reviews with the name of a branch.
    for name in ["HEAD", two.as_str()] {
        for kind in ["heads", "tags"] {
            let head = if kind == "heads" { &one } else { &two };
            git(&scratch.path, &["update-ref", &format!("refs/{kind}/{name}"), head]);
        }
        assert_eq!(repository.commit(name).await.expect("clear"), two);
    }
    // What is compared with is a branch.
    git(&scratch.path, &["tag", "main", &one]);
    assert_eq!(repository.default_branch().await.as_deref(), Some("refs/heads/main"));
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_next_step() {
    let scratch = scratch();
    let error = Repository::open(&scratch.path).await.expect_err("no repository");
    assert!(error.to_string().contains("is not in a git repository"), "{error}");
    // A worktree whose repository is elsewhere.
    write(&scratch.path, ".git", "gitdir: /nonexistent/.git/worktrees/x\n");
    let error = Repository::open(&scratch.path).await.expect_err("no repository");
    for part in ["git cannot read", "/nonexistent/.git/worktrees/x", "a worktree needs"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    std::fs::remove_file(scratch.path.join(".git")).expect("a file");
    git(&scratch.path, &["init", "--quiet"]);
    let config = scratch.path.join(".git/config");
    let whole = std::fs::read(&config).expect("a file");
    std::fs::write(&config, "[core\n").expect("a file");
    let error = Repository::open(&scratch.path).await.expect_err("no configuration");
    assert!(error.to_string().contains("bad config line 1"), "{error}");
    std::fs::write(&config, whole).expect("a file");
    let repository = Repository::open(&scratch.path).await.expect("a repository");
    let error = repository.commit("HEAD").await.expect_err("no commit");
    assert!(matches!(error, GitError::NoCommits), "{error}");
    write(&scratch.path, "a", "");
    git(&scratch.path, &["add", "--all"]);
    git(&scratch.path, &["commit", "--quiet", "-m", "one"]);
    let error = repository.commit("nope").await.expect_err("unknown");
    assert!(
        error
            .to_string()
            .starts_with("git does not know the revision `nope`. `git branch -a`"),
        "{error}"
    );
    let error = repository
        .commit("--help")
        .await
        .expect_err("an option is not a revision");
    assert!(matches!(error, GitError::UnknownRevision { .. }), "{error}");
}

#[tokio::test]
async fn a_repository_may_have_any_path_that_is_text() {
    let scratch = scratch();
    for (at, name) in ["two\nlines", "blank ", "feed\n", "\"quoted\\n\"", "# hash: a"]
        .into_iter()
        .enumerate()
    {
        let source = scratch.path.join(name);
        std::fs::create_dir(&source).expect("a directory");
        git(&source, &["init", "--quiet"]);
        write(&source, "a.txt", "a\n");
        let head = commit(&source, "One");
        let repository = Repository::open(&source).await.expect("a repository");
        assert_eq!(repository.root(), source, "{name:?}");
        let target = scratch.path.join(format!("workspace-{at}"));
        let made = check_out_workspace(&repository, &head, &target).await;
        assert!(made.is_ok() && target.join("a.txt").exists(), "{name:?}: {made:?}");
        assert!(repository.places().contains(&source.join(".git/objects")), "{name:?}");
    }
}
