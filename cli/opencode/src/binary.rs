//! Versions of programs.

use std::io;

use camino::Utf8Path;

use crate::{
    OPENCODE_VERSION,
    child::{Sandbox, ask},
    errors::ProcessError,
};

/// Asks the binary for its version, which has to be the pinned one. For one that does not serve, which may have that reason. It
/// runs in the sandbox that it would serve in.
///
/// # Errors
/// It does not run, or is another version.
pub async fn check_version(binary: &Utf8Path, path: &str, sandbox: &Sandbox) -> Result<(), ProcessError> {
    let start = |error| ProcessError::Start(binary.to_owned(), error);
    let found = reported_version(binary, path, sandbox).await.map_err(start)?;
    same_version(binary, &found)
}

/// Returns what a program prints for `--version`, in an environment with nothing of the user's but `PATH`, and in this sandbox.
///
/// # Errors
/// It does not start, does not end, or prints without end.
pub async fn reported_version(binary: &Utf8Path, path: &str, sandbox: &Sandbox) -> io::Result<String> {
    ask(binary, "--version", path, sandbox).await
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
    const MAX_SHOWN: usize = 60;
    let mut characters = version
        .chars()
        .map(|shown| if shown.is_control() { ' ' } else { shown });
    let beginning: String = characters.by_ref().take(MAX_SHOWN).collect();
    match characters.next() {
        None if beginning.is_empty() => "of an unknown version".to_owned(),
        None => beginning,
        Some(_) => beginning + "…",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_shown_as_far_as_it_can_be_one() {
        assert_eq!(shown(""), "of an unknown version");
        assert_eq!(shown("2.0.0\n\u{1b}[2J"), "2.0.0  [2J");
        assert_eq!(shown(&"9".repeat(60)), "9".repeat(60));
        assert_eq!(shown(&"9".repeat(10_000)), "9".repeat(60) + "…");
    }
}
