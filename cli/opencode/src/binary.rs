//! Versions of programs.

use std::{io, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use tokio::time::Instant;

use crate::{
    OPENCODE_VERSION,
    child::{Sandbox, ask},
    errors::ProcessError,
    path::is_program,
};

/// Time limit of `--version` of all programs that a search comes across.
const VERSION_TIMEOUT: Duration = Duration::from_secs(8);
/// Time limit of `--version` of a program that was unpacked right now: its first start reads all of it from the disk.
pub(crate) const FIRST_START_TIMEOUT: Duration = Duration::from_mins(1);
/// Minimum time for the version of each program, also where those before it have used up the time for all.
const MIN_VERSION_TIMEOUT: Duration = Duration::from_secs(2);
/// Characters of an answer that a person gets to see.
const SHOWN: usize = 60;

/// Asks the binary for its version, which has to be the pinned one. For one that does not serve, which may have that reason. It
/// runs in the sandbox that it would serve in.
///
/// # Errors
/// It does not run, or is another version.
pub async fn check_version(binary: &Utf8Path, path: &str, sandbox: &Sandbox) -> Result<(), ProcessError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::InvalidData => {
            ProcessError::NoVersion(binary.to_owned(), error.to_string())
        }
        _ => ProcessError::Start(binary.to_owned(), error),
    };
    let found = version_within(VERSION_TIMEOUT, binary, path, sandbox)
        .await
        .map_err(failed)?;
    same_version(binary, &found)
}

/// Returns what a program prints for `--version`, in an environment with nothing of the user's but `PATH`, and in this sandbox. Nothing
/// of a program is left that does not end within the limit.
///
/// # Errors
/// It does not start, does not end in time, or prints more than any version.
pub(crate) async fn version_within(
    limit: Duration,
    binary: &Utf8Path,
    path: &str,
    sandbox: &Sandbox,
) -> io::Result<String> {
    ask(binary, "--version", limit, path, sandbox).await
}

/// A program that has said which version it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The program.
    pub binary: Utf8PathBuf,
    /// Its version, in its own words.
    pub version: String,
}

/// Returns the first of these programs that `fits` by its version, which is what `known` says, or what the program prints; else, of
/// each, what is wrong with it. All share one limit of time.
pub(crate) async fn first_that_fits(
    binaries: impl IntoIterator<Item = Utf8PathBuf>,
    known: fn(&Utf8Path) -> Option<String>,
    fits: fn(&str) -> bool,
    path: &str,
    sandbox: &Sandbox,
) -> Result<Answered, Vec<String>> {
    let mut others = Vec::new();
    let until = Instant::now() + VERSION_TIMEOUT;
    for binary in binaries {
        if !is_program(&binary) {
            others.push(format!("{binary} is not a file that can be executed"));
            continue;
        }
        let version = match known(&binary) {
            Some(version) => Ok(version),
            None => version_within(time_for_next(until, Instant::now()), &binary, path, sandbox).await,
        };
        match version {
            Ok(version) if fits(&version) => return Ok(Answered { binary, version }),
            Ok(version) => others.push(format!("{binary} is {}", shown_version(&version))),
            Err(error) => others.push(format!("{binary} does not run: {error}")),
        }
    }
    Err(others)
}

/// Returns the first of these programs that answers as ripgrep does; else, of each, what is wrong with it.
pub(crate) async fn first_ripgrep(
    binaries: impl IntoIterator<Item = Utf8PathBuf>,
    path: &str,
    sandbox: &Sandbox,
) -> Result<Answered, Vec<String>> {
    first_that_fits(
        binaries,
        |_| None,
        |version| version.starts_with("ripgrep "),
        path,
        sandbox,
    )
    .await
}

/// The time for the next program: one that hangs must not keep the right one behind it from answering.
fn time_for_next(until: Instant, now: Instant) -> Duration {
    until.saturating_duration_since(now).max(MIN_VERSION_TIMEOUT)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{bin, no_sandbox};

    #[tokio::test]
    async fn what_never_ends_or_never_stops_is_given_up_with_all_that_it_started() {
        let programs = bin(&[("hangs", "sleep 600 & echo $! > \"$0.pid\"; wait"), ("floods", "yes")]);
        let ask = async |name: &str, limit| {
            let answer = version_within(limit, &programs.path.join(name), "/usr/bin:/bin", &no_sandbox()).await;
            answer.expect_err("no version").to_string()
        };
        let error = ask("hangs", Duration::from_secs(2)).await;
        assert_eq!(error, "it did not answer `--version` within 2 s");
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
        assert!(error.contains("more than 16 KB"), "{error}");
        let error = check_version(&programs.path.join("floods"), "/usr/bin:/bin", &no_sandbox()).await;
        let error = error.expect_err("no version").to_string();
        assert!(
            error.contains("is not a working OpenCode") && error.contains("runtime install"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn each_program_has_time_to_answer_whatever_those_before_it_took() {
        let now = Instant::now();
        let after = |seconds| time_for_next(now + VERSION_TIMEOUT, now + Duration::from_secs(seconds)).as_secs();
        assert_eq!([0, 5, 7, 8, 30].map(after), [8, 3, 2, 2, 2]);
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
