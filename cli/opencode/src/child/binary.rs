//! Finding the binaries, and checking the version.

use std::{process::Stdio, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use tokio::{process::Command, time::timeout};

use crate::{OPENCODE_VERSION, errors::ProcessError};

/// Time limit of `opencode --version`.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

/// The binary: `CONCLAVE_OPENCODE` if set, else the first `opencode` on `PATH`. Makes sure of ripgrep, too. The version is
/// looked at when it runs: asking for it takes as long as half a start.
pub fn find_opencode(configured: Option<&Utf8Path>, path: &str) -> Result<Utf8PathBuf, ProcessError> {
    let binary = find_binary(configured, path)?;
    find_ripgrep(path)?;
    Ok(binary)
}

/// The binary alone.
pub fn find_binary(configured: Option<&Utf8Path>, path: &str) -> Result<Utf8PathBuf, ProcessError> {
    match configured {
        Some(binary) if binary.is_file() => Ok(binary.to_owned()),
        Some(binary) => Err(ProcessError::Missing(format!(
            "CONCLAVE_OPENCODE is {binary}, which is not a file"
        ))),
        None => on_path("opencode", path).ok_or_else(|| ProcessError::Missing("no `opencode` on PATH".into())),
    }
}

/// The ripgrep that reviewers search with.
pub fn find_ripgrep(path: &str) -> Result<Utf8PathBuf, ProcessError> {
    on_path("rg", path).ok_or(ProcessError::NoRipgrep)
}

/// Asks the binary for its version, which has to be the pinned one. For one that does not serve, which may have that reason.
pub async fn check_version(binary: &Utf8Path, path: &str) -> Result<(), ProcessError> {
    let mut command = Command::new(binary);
    command
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let start = |error| ProcessError::Start(binary.to_owned(), error);
    let late = |_| std::io::Error::other("it did not report its version within a minute");
    let output = timeout(VERSION_TIMEOUT, command.output())
        .await
        .map_err(late)
        .flatten()
        .map_err(start)?;
    same_version(binary, String::from_utf8_lossy(&output.stdout).trim())
}

/// Refuses any version but the pinned one.
pub(crate) fn same_version(binary: &Utf8Path, found: &str) -> Result<(), ProcessError> {
    if found == OPENCODE_VERSION {
        return Ok(());
    }
    let found = Some(found)
        .filter(|found| !found.is_empty())
        .unwrap_or("of an unknown version");
    Err(ProcessError::Version(
        binary.to_owned(),
        found.chars().take(60).collect(),
    ))
}

pub(super) fn on_path(name: &str, path: &str) -> Option<Utf8PathBuf> {
    path.split(':')
        .map(|directory| Utf8Path::new(directory).join(name))
        .find(|candidate| candidate.is_file())
}
