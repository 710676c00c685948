//! Programs on `PATH`, and their versions.

use std::{io, process::Stdio, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use tokio::{process::Command, time::timeout};

use crate::{OPENCODE_VERSION, errors::ProcessError};

/// Time limit of `opencode --version`.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

/// Asks the binary for its version, which has to be the pinned one. For one that does not serve, which may have that reason.
///
/// # Errors
/// It does not run, or is another version.
pub async fn check_version(binary: &Utf8Path, path: &str) -> Result<(), ProcessError> {
    let start = |error| ProcessError::Start(binary.to_owned(), error);
    let found = reported_version(binary, path).await.map_err(start)?;
    same_version(binary, &found)
}

/// Returns what a program prints for `--version`, in an environment with nothing of the user's but `PATH`.
///
/// # Errors
/// It does not start, or does not end.
pub async fn reported_version(binary: &Utf8Path, path: &str) -> io::Result<String> {
    let mut command = Command::new(binary);
    command
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let late = |_| io::Error::other("it did not report its version within a minute");
    let output = timeout(VERSION_TIMEOUT, command.output())
        .await
        .map_err(late)
        .flatten()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Refuses any version but the pinned one.
pub(crate) fn same_version(binary: &Utf8Path, found: &str) -> Result<(), ProcessError> {
    if found == OPENCODE_VERSION {
        return Ok(());
    }
    Err(ProcessError::Version(binary.to_owned(), shown(found)))
}

/// A version for people, who need not read more than its beginning.
pub(crate) fn shown(version: &str) -> String {
    match version {
        "" => "of an unknown version".to_owned(),
        version => version.chars().take(60).collect(),
    }
}

/// Every file of this name on `PATH`. A directory that is not absolute would be one of the code under review.
pub(crate) fn on_path(name: &str, path: &str) -> impl Iterator<Item = Utf8PathBuf> {
    path.split(':')
        .map(Utf8Path::new)
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|candidate| candidate.is_file())
}
