//! The hook before a push, run by the real git.

use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::Path, process::Output};

use tokio::process::Command;

use crate::support::{AgentRuntime, Conclave, PROVIDER_KEY, Repository, provider};

on_both_runtimes! {
    a_push_with_significant_concerns_is_stopped_and_everything_else_goes_on
    the_line_for_another_hook_stops_the_push_and_leaves_standard_input_to_the_rest
}

/// `conclave hook COMMAND`, and what it said.
async fn hook(directory: &Path, command: &str, code: i32) -> String {
    let outcome = Conclave::new(directory, &["hook", command])
        .run()
        .await
        .expect_code(code);
    assert_eq!(outcome.stdout, "");
    outcome.stderr
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A repository with a remote that has `main`, and a flawed `feature` that it does not have.
fn with_remote() -> (Repository, tempfile::TempDir) {
    let repository = Repository::flawed();
    let remote = tempfile::tempdir().unwrap();
    repository.git(&["clone", "--quiet", "--bare", ".", remote.path().to_str().unwrap()]);
    repository.git(&[
        "--git-dir",
        remote.path().to_str().unwrap(),
        "symbolic-ref",
        "HEAD",
        "refs/heads/main",
    ]);
    repository.git(&["remote", "add", "origin", remote.path().to_str().unwrap()]);
    repository.git(&["push", "--quiet", "origin", ":feature"]);
    repository.git(&["fetch", "--quiet", "origin"]);
    (repository, remote)
}

/// `git push` as a user of the program calls it.
async fn push(repository: &Repository, home: &Path, variables: &[(&str, String)], arguments: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_conclave")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let push = Command::new("git")
        .args(["push", "--quiet", "origin"])
        .args(arguments)
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(AgentRuntime::current().variables(home))
        .envs(variables.iter().map(|(name, value)| (*name, value.as_str())))
        .kill_on_drop(true)
        .output();
    tokio::time::timeout(std::time::Duration::from_mins(3), push)
        .await
        .expect("it ends")
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn a_push_with_significant_concerns_is_stopped_and_everything_else_goes_on() {
    let provider = provider().await;
    let (repository, remote) = with_remote();
    let home = tempfile::tempdir().unwrap();
    let text = hook(repository.path(), "install", 0).await;
    assert!(
        text.contains("Installed ") && text.contains(".git/hooks/pre-push"),
        "{text}"
    );
    let has_feature = || remote.path().join("refs/heads/feature").exists();

    let key = [
        ("ANTHROPIC_API_KEY", PROVIDER_KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", provider.url()),
    ];
    let stopped = push(&repository, home.path(), &key, &["feature"]).await;
    assert!(!stopped.status.success(), "{}", said(&stopped));
    assert!(
        said(&stopped).contains("The push is stopped by this review"),
        "{}",
        said(&stopped)
    );
    let shown = String::from_utf8_lossy(&stopped.stdout).into_owned() + &said(&stopped);
    assert!(shown.contains("src/users.py:6"), "{shown}");
    assert!(!has_feature());

    // Without a key nothing can be reviewed, which is no reason to keep anybody from pushing.
    let unreviewed = push(&repository, home.path(), &[], &["feature"]).await;
    assert!(unreviewed.status.success(), "{}", said(&unreviewed));
    assert!(
        said(&unreviewed).contains("Nothing was reviewed; the push goes on.")
            && said(&unreviewed).contains("ANTHROPIC_API_KEY"),
        "{}",
        said(&unreviewed)
    );
    assert!(has_feature());

    // Nor is a variable with a mistake in it.
    let mistyped = [("CONCLAVE_AGENTS", "many".to_owned())];
    let other = push(&repository, home.path(), &mistyped, &["feature:other"]).await;
    assert!(other.status.success(), "{}", said(&other));
    assert!(
        said(&other).contains("CONCLAVE_AGENTS") && said(&other).contains("the push goes on"),
        "{}",
        said(&other)
    );

    // A tag is not a branch, and its pusher is not left to think that it was reviewed.
    repository.git(&["tag", "v1", "feature"]);
    let tagged = push(&repository, home.path(), &key, &["v1"]).await;
    assert!(tagged.status.success(), "{}", said(&tagged));
    assert!(
        said(&tagged).contains("Only branches are reviewed: refs/tags/v1 goes on without."),
        "{}",
        said(&tagged)
    );

    // A deletion brings nothing to review.
    let asked = provider.requests().len();
    let deleted = push(&repository, home.path(), &key, &[":feature"]).await;
    assert!(deleted.status.success() && !has_feature(), "{}", said(&deleted));
    assert_eq!(provider.requests().len(), asked);
}

async fn the_line_for_another_hook_stops_the_push_and_leaves_standard_input_to_the_rest() {
    let provider = provider().await;
    let (repository, remote) = with_remote();
    let home = tempfile::tempdir().unwrap();
    let (first, rest) = ("#!/bin/sh\nset -eu\n", "cat > \"$HOME/seen\"\n");
    repository.write(".git/hooks/pre-push", &format!("{first}{rest}"));
    let path = repository.path().join(".git/hooks/pre-push");
    set_mode(&path, 0o755);
    let text = hook(repository.path(), "install", 2).await;
    let (_, line) = text
        .trim_end()
        .split_once("below its first one (`#!/bin/sh`): ")
        .unwrap();
    repository.write(".git/hooks/pre-push", &format!("{first}{line}\n{rest}"));
    let seen = home.path().join("seen");

    let key = [
        ("ANTHROPIC_API_KEY", PROVIDER_KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", provider.url()),
    ];
    let stopped = push(&repository, home.path(), &key, &["feature"]).await;
    assert!(
        !stopped.status.success() && said(&stopped).contains("The push is stopped by this review"),
        "{}",
        said(&stopped)
    );
    assert!(!seen.exists() && !remote.path().join("refs/heads/feature").exists());

    let unreviewed = push(&repository, home.path(), &[], &["feature"]).await;
    assert!(unreviewed.status.success(), "{}", said(&unreviewed));
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(
        seen.starts_with("refs/heads/feature ") && seen.lines().count() == 1,
        "{seen}"
    );
}

#[tokio::test]
async fn no_other_hook_is_ever_overwritten_or_removed() {
    let repository = Repository::flawed();
    let path = repository.path().join(".git/hooks/pre-push");
    let other = "#!/bin/sh\nexec make check\n";
    repository.write(".git/hooks/pre-push", other);
    let text = hook(repository.path(), "install", 2).await;
    assert!(
        text.contains("is there already and is left as it is") && text.contains("conclave hook pre-push \"$@\""),
        "{text}"
    );
    let text = hook(repository.path(), "uninstall", 0).await;
    assert!(text.contains("nothing was changed"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), other);

    // One that has our line already reviews, if git runs it; it is not ours to change or take away.
    let chained = "#!/bin/sh\nconclave hook pre-push \"$@\" || exit\nexec make check\n";
    repository.write(".git/hooks/pre-push", chained);
    set_mode(&path, 0o644);
    let text = hook(repository.path(), "install", 2).await;
    assert!(text.contains("Make it executable yourself (`chmod +x`)"), "{text}");
    set_mode(&path, 0o755);
    assert!(hook(repository.path(), "install", 0).await.contains("reviews already"));
    let text = hook(repository.path(), "uninstall", 2).await;
    assert!(
        text.contains("Take the line with this command out of it yourself"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), chained);

    std::fs::remove_file(&path).unwrap();
    assert!(hook(repository.path(), "install", 0).await.contains("Installed"));
    assert!(hook(repository.path(), "install", 0).await.contains("reviews already"));
    // Ours, copied without its mode.
    set_mode(&path, 0o640);
    let text = hook(repository.path(), "install", 0).await;
    assert!(text.contains("because it was not executable. It is now"), "{text}");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert!(hook(repository.path(), "uninstall", 0).await.contains("Removed"));
    assert!(!path.exists());
}

#[tokio::test]
async fn the_hook_goes_where_git_looks_for_hooks() {
    let repository = Repository::flawed();
    let worktree = tempfile::tempdir().unwrap();
    let place = worktree.path().join("tree");
    repository.git(&["worktree", "add", "--quiet", place.to_str().unwrap(), "main"]);
    // All worktrees share the hooks.
    let outcome = Conclave::new(&place, &["local", "--install-hook"])
        .run()
        .await
        .expect_code(0);
    assert!(outcome.stderr.contains("Installed "), "{}", outcome.stderr);
    assert!(repository.path().join(".git/hooks/pre-push").exists());

    repository.git(&["config", "core.hooksPath", ".githooks"]);
    hook(repository.path(), "install", 0).await;
    assert!(repository.path().join(".githooks/pre-push").exists());

    let everybody = tempfile::tempdir().unwrap();
    repository.git(&["config", "core.hooksPath", everybody.path().to_str().unwrap()]);
    let text = hook(repository.path(), "install", 2).await;
    assert!(
        text.contains("(core.hooksPath), which is outside of it") && text.contains("conclave hook pre-push \"$@\""),
        "{text}"
    );
    assert!(!everybody.path().join("pre-push").exists());

    repository.git(&["config", "core.hooksPath", "/dev/null"]);
    let text = hook(repository.path(), "install", 2).await;
    for part in [
        "/dev/null, which is not a directory",
        "hooks are turned off",
        "--unset core.hooksPath",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(
        hook(repository.path(), "uninstall", 0)
            .await
            .contains("nothing was changed")
    );
}

#[tokio::test]
async fn tools_that_make_hooks_keep_theirs() {
    // Husky 9: git looks into a directory of its own making, whose hooks run those in the directory above.
    let repository = Repository::flawed();
    repository.git(&["config", "core.hooksPath", ".husky/_"]);
    repository.write(".husky/_/pre-push", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
    let text = hook(repository.path(), "install", 0).await;
    assert!(
        text.contains("Installed ") && text.contains("/.husky/pre-push"),
        "{text}"
    );
    let own = repository.path().join(".husky/pre-push");
    assert!(
        std::fs::read_to_string(&own)
            .unwrap()
            .contains("conclave hook pre-push")
    );
    assert!(hook(repository.path(), "uninstall", 0).await.contains("Removed"));
    assert!(!own.exists() && repository.path().join(".husky/_/pre-push").exists());

    for (made, manager, settings) in [
        (
            "#!/bin/sh\nif [ \"$LEFTHOOK\" = \"0\" ]; then exit 0; fi\n",
            "lefthook",
            "lefthook.yml",
        ),
        (
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
            "pre-commit",
            ".pre-commit-config.yaml",
        ),
    ] {
        let repository = Repository::flawed();
        repository.write(".git/hooks/pre-push", made);
        let text = hook(repository.path(), "install", 2).await;
        for part in [&format!("is made by {manager}"), settings, "conclave hook pre-push"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        let path = repository.path().join(".git/hooks/pre-push");
        assert_eq!(std::fs::read_to_string(path).unwrap(), made);
    }
}
