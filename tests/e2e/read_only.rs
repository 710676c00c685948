//! A file system that is really read-only: what only reads works there, and what has to write says where, why and what to do.

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::support::{Repository, opencode};

/// Mounts the first of its arguments read-only over itself, and runs the rest there. Nobody outside sees the mount.
const READ_ONLY: &str = r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@""#;

/// A command in a place where `directory` is read-only.
fn within(directory: &Path, command: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut unshare = unshared(READ_ONLY);
    unshare.arg(directory).args(command);
    unshare.current_dir(directory).envs(variables.iter().copied());
    unshare.output().expect("unshare is of util-linux")
}

/// This script in a place where it may mount, with an environment of its own.
fn unshared(script: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("CONCLAVE_OPENCODE", opencode())
        .env("ANTHROPIC_API_KEY", "unused");
    unshare
}

/// Mounts the first of its arguments over the second, and runs the rest in the third.
const ELSEWHERE: &str = r#"mount --bind "$1" "$2" && cd "$3" && shift 3 && exec "$@""#;

/// Whether the kernel lets us mount.
#[expect(
    clippy::print_stderr,
    reason = "whoever runs the tests has to see what was not tested"
)]
fn can_mount(directory: &Path) -> bool {
    let probe = within(directory, &["sh", "-c", "! touch probe"], &[]);
    if !probe.status.success() {
        eprintln!(
            "SKIPPED: this kernel lets nobody mount: {}",
            String::from_utf8_lossy(&probe.stderr)
        );
    }
    probe.status.success()
}

/// What `conclave` says there, after it has ended with this code.
fn says(repository: &Repository, code: i32, arguments: &[&str], variables: &[(&str, &Path)]) -> String {
    let mut command = vec![env!("CARGO_BIN_EXE_conclave")];
    command.extend(arguments);
    let output = within(repository.path(), &command, variables);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    // However wide the terminal is.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_reads_works_and_what_writes_says_what_to_do() {
    let repository = Repository::flawed();
    if !can_mount(repository.path()) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let elsewhere: [(&str, &Path); 2] = [("HOME", home.path()), ("TMPDIR", home.path())];
    let root = repository.path().display();

    // The working tree is read through a copy of the index that lies elsewhere.
    repository.write("src/more.py", "x = 1\n");
    let text = says(&repository, 0, &["plan"], &elsewhere);
    assert!(text.contains("2 files to review"), "{text}");
    let text = says(&repository, 2, &["init", "--yes"], &elsewhere);
    assert!(
        text.contains(&format!("failed to write {root}/"))
            && text.contains("Read-only file system")
            && text.contains("`conclave init --dry-run` shows"),
        "{text}"
    );
    says(&repository, 0, &["init", "--yes", "--dry-run"], &elsewhere);
    let text = says(&repository, 2, &["hook", "install"], &elsewhere);
    assert!(
        text.contains("pre-push: Read-only file system") && text.contains("a place that can be written"),
        "{text}"
    );

    // Where everything is read-only, there is no place for what a run needs while it runs.
    let nowhere: [(&str, &Path); 2] = [("HOME", repository.path()), ("TMPDIR", repository.path())];
    for command in ["plan", "local"] {
        let text = says(&repository, 2, &[command], &nowhere);
        assert!(
            text.contains(&format!(
                "failed to make a temporary directory in {root}: Read-only file system"
            )) && text.contains("Set TMPDIR to a directory that can be written"),
            "{text}"
        );
    }
    // A directory that was asked for has to be the one, and is missed before any model is asked.
    let text = says(&repository, 2, &["local", "main", "--reports", "reports"], &elsewhere);
    assert!(
        text.contains("failed to write reports into reports: Read-only file system")
            && text.contains("Name a directory that can be written with --reports"),
        "{text}"
    );
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with("conclave-")),
        "{left:?}"
    );
}

#[test]
fn where_the_home_is_read_only_nothing_is_installed_or_removed_and_each_says_what_to_do() {
    let repository = Repository::new();
    if !can_mount(repository.path()) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (root, home) = (repository.path().display(), repository.path());
    let variables: [(&str, &Path); 2] = [("HOME", home), ("TMPDIR", scratch.path())];
    let install = ["runtime", "install", "--registry", "http://127.0.0.1:9"];
    let text = says(&repository, 2, &install, &variables);
    assert!(
        text.contains(&format!(
            "failed to write {root}/.local/share/conclave: Read-only file system"
        )) && text.contains("Set XDG_DATA_HOME to a directory that can be written; nothing was installed"),
        "{text}"
    );
    // Elsewhere it goes on, to a registry that is not there.
    let elsewhere = [variables[0], variables[1], ("XDG_DATA_HOME", scratch.path())];
    let text = says(&repository, 2, &install, &elsewhere);
    assert!(text.contains("127.0.0.1:9 cannot be reached"), "{text}");

    says(&repository, 0, &["runtime", "remove"], &variables);
    repository.write(".local/share/conclave/opencode/1.18.33/opencode", "a program");
    let text = says(&repository, 2, &["runtime", "remove"], &variables);
    assert!(
        text.contains(&format!(
            "failed to remove {root}/.local/share/conclave/opencode: Read-only file system"
        )) && text.contains("repeat `conclave runtime remove`")
            && !text.contains("XDG_DATA_HOME"),
        "{text}"
    );
}

/// A rule for a directory opens what is mounted below it, whatever that is.
#[test]
fn what_is_mounted_among_the_systems_files_lowers_the_grade() {
    let repository = Repository::flawed();
    if !can_mount(repository.path()) {
        return;
    }
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = std::fs::read_dir("/usr/share").unwrap().flatten();
    let place = place.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
    for (arguments, code) in [
        (&["doctor", "--json"][..], None),
        (&["local", "main..feature", "--require-sandbox"], Some(6)),
    ] {
        for mounted in [true, false] {
            let mut command = unshared(ELSEWHERE);
            let source = if mounted { other.path() } else { &place };
            command.args([source, place.as_path(), repository.path()]);
            command.arg(env!("CARGO_BIN_EXE_conclave")).args(arguments);
            command.env("HOME", home.path()).env("TMPDIR", home.path());
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let named = format!("what is mounted at {}", place.display());
            assert_eq!(
                text.contains(&named),
                mounted,
                "mounted over itself it opens nothing more: {text}"
            );
            if let (Some(code), true) = (code, mounted) {
                assert_eq!(output.status.code(), Some(code), "{text}");
            }
        }
    }
}
