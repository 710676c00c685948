//! Real repositories for tests.

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};

/// Runs git with a fixed author and fixed dates, so that the same steps make the same commits.
pub(crate) fn git(directory: &Utf8Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "protocol.file.allow=always", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Writes a file and the directories above it.
pub(crate) fn write(root: &Utf8Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    std::fs::write(path, content).expect("a file");
}

/// Commits everything and returns the commit.
pub(crate) fn commit(root: &Utf8Path, message: &str) -> String {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--allow-empty", "-m", message]);
    git(root, &["rev-parse", "HEAD"])
}

/// A directory that goes away with the test.
pub(crate) struct Scratch {
    _directory: tempfile::TempDir,
    pub(crate) path: Utf8PathBuf,
}

pub(crate) fn scratch() -> Scratch {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
    Scratch {
        _directory: directory,
        path,
    }
}
