//! Programs on `PATH`, and their versions.

use std::{io, process::Stdio, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::AsyncReadExt,
    process::Command,
    time::{Instant, timeout_at},
};

use crate::{OPENCODE_VERSION, errors::ProcessError};

/// Time limit of `--version` of all programs that a search comes across.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_secs(8);
/// Time limit of `--version` of a program that was unpacked right now: its first start reads all of it from the disk.
pub(crate) const FIRST_START_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum length of an answer to `--version`, in bytes.
const MAX_ANSWER: u64 = 64 << 10;
/// Characters of an answer that a person gets to see.
const SHOWN: usize = 60;

/// Asks the binary for its version, which has to be the pinned one. For one that does not serve, which may have that reason.
///
/// # Errors
/// It does not run, or is another version.
pub async fn check_version(binary: &Utf8Path, path: &str) -> Result<(), ProcessError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::InvalidData => {
            ProcessError::NoVersion(binary.to_owned(), error.to_string())
        }
        _ => ProcessError::Start(binary.to_owned(), error),
    };
    let found = reported_version(binary, path).await.map_err(failed)?;
    same_version(binary, &found)
}

/// Returns what a program prints for `--version`, in an environment with nothing of the user's but `PATH`.
///
/// # Errors
/// It does not start, does not end in time, or prints more than any version.
pub async fn reported_version(binary: &Utf8Path, path: &str) -> io::Result<String> {
    version_within(VERSION_TIMEOUT, binary, path).await
}

/// The same with another limit of time, as where several programs share one. Nothing of a program is left that does not end.
pub(crate) async fn version_within(limit: Duration, binary: &Utf8Path, path: &str) -> io::Result<String> {
    let until = Instant::now() + limit;
    let mut command = Command::new(binary);
    command
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // What it starts ends with it.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()));
    let answer = async {
        let mut text = Vec::new();
        if let Some(output) = child.stdout.take() {
            output.take(MAX_ANSWER + 1).read_to_end(&mut text).await?;
        }
        if text.len() as u64 > MAX_ANSWER {
            let endless = format!("it answers `--version` with more than {} KB", MAX_ANSWER >> 10);
            return Err(io::Error::new(io::ErrorKind::InvalidData, endless));
        }
        child.wait().await?;
        Ok(text)
    };
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it did not report its version in time");
    let text = timeout_at(until, answer).await.map_err(late).flatten()?;
    group.0 = None;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// A program and what it has started. Dropping it kills all of them.
struct Group(Option<i32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may have ended by itself meanwhile.
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
    }
}

/// Refuses any version but the pinned one.
pub(crate) fn same_version(binary: &Utf8Path, found: &str) -> Result<(), ProcessError> {
    if found == OPENCODE_VERSION {
        return Ok(());
    }
    Err(ProcessError::Version(binary.to_owned(), shown_version(found)))
}

/// A version for people, who need not read more than its beginning.
pub fn shown_version(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default().trim();
    let mut shown: String = line
        .chars()
        .map(|character| if character.is_control() { '\u{fffd}' } else { character })
        .take(SHOWN)
        .collect();
    if shown.is_empty() {
        return "of an unknown version".to_owned();
    }
    if line.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Every file of this name on `PATH`. A directory that is not absolute would be one of the code under review.
pub(crate) fn on_path(name: &str, path: &str) -> impl Iterator<Item = Utf8PathBuf> {
    path.split(':')
        .map(Utf8Path::new)
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::bin;

    #[tokio::test]
    async fn what_never_ends_or_never_stops_is_given_up_with_all_that_it_started() {
        let programs = bin(&[("hangs", "sleep 600 & echo $! > \"$0.pid\"; wait"), ("floods", "yes")]);
        let ask = async |name: &str, limit| {
            let answer = version_within(limit, &programs.path.join(name), "/usr/bin:/bin").await;
            answer.expect_err("no version").to_string()
        };
        assert_eq!(
            ask("hangs", Duration::from_secs(2)).await,
            "it did not report its version in time"
        );
        let started = std::fs::read_to_string(programs.path.join("hangs.pid")).expect("it ran");
        let state = format!("/proc/{}/stat", started.trim());
        let runs = || std::fs::read_to_string(&state).is_ok_and(|state| !state.contains(") Z "));
        tokio::time::timeout(Duration::from_mins(1), async {
            while runs() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .expect("what it started is gone");
        let error = ask("floods", Duration::from_mins(1)).await;
        assert!(error.contains("more than 64 KB"), "{error}");
        let error = check_version(&programs.path.join("floods"), "/usr/bin:/bin").await;
        let error = error.expect_err("no version").to_string();
        assert!(
            error.contains("is not a working OpenCode") && error.contains("runtime install"),
            "{error}"
        );
    }

    #[test]
    fn a_version_is_shown_as_one_short_line() {
        assert_eq!(shown_version("1.2.3\nmore"), "1.2.3");
        assert_eq!(shown_version(" \n"), "of an unknown version");
        let shown = shown_version(&format!("a\u{1b}[2J{}", "x".repeat(1000)));
        assert_eq!(shown.chars().count(), SHOWN + 1);
        assert!(shown.ends_with('…') && !shown.contains('\u{1b}'), "{shown}");
    }
}
