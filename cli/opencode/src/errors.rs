//! Errors of a start, each with what to do about it.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::RuntimeError;

use crate::{OPENCODE_VERSION, machine::Machine};

/// The cause why the child cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// There is no `opencode`.
    #[error("OpenCode {OPENCODE_VERSION} is not installed: {0}. {remedy}", remedy = fetch(Machine::here(), OR_NAME_IT))]
    Missing(String),
    /// None of those on `PATH` can be used.
    #[error("OpenCode {OPENCODE_VERSION} is not installed: {0}. {remedy}", remedy = fetch(Machine::here(), OR_NAME_IT))]
    NoneFits(String),
    /// Another version than the pinned one.
    #[error(
        "{0} is OpenCode {1}, but Conclave needs exactly {OPENCODE_VERSION}: its events and its safety were \
         tested with that one. {remedy}",
        remedy = fetch(Machine::here(), AND_NAME_NO_OTHER)
    )]
    Version(Utf8PathBuf, String),
    /// One that does not say which version it is.
    #[error(
        "{0} is not a working OpenCode {OPENCODE_VERSION}: {1}. {remedy}",
        remedy = fetch(Machine::here(), AND_NAME_NO_OTHER)
    )]
    NoVersion(Utf8PathBuf, String),
    /// There is no ripgrep.
    #[error(
        "ripgrep (`rg`) is not on PATH, and OpenCode searches the source with it. {remedy}",
        remedy = fetch_ripgrep(Machine::here())
    )]
    NoRipgrep,
    /// None of those that are there can be used.
    #[error(
        "no ripgrep (`rg`) here works, and OpenCode searches the source with it: {0}. {remedy}",
        remedy = fetch_ripgrep(Machine::here())
    )]
    BrokenRipgrep(String),
    /// It does not start.
    #[error("failed to start OpenCode ({0}): {1}")]
    Start(Utf8PathBuf, #[source] std::io::Error),
    /// Its directories are where it does not find its way.
    #[error(
        "OpenCode cannot work below {0:?}: to it a path with a backslash, a control character or an encoded one (`%20`) is \
         another path. Set TMPDIR to a directory without them, or review with `--runtime native`"
    )]
    Place(Utf8PathBuf),
    /// Its home cannot be made.
    #[error("failed to prepare OpenCode's home at {0}: {1}")]
    Home(Utf8PathBuf, #[source] std::io::Error),
}

/// Ends the advice where no OpenCode of the pinned version is there.
const OR_NAME_IT: &str = "or set CONCLAVE_OPENCODE to the path of its binary";
/// Ends the advice where another OpenCode is there.
const AND_NAME_NO_OTHER: &str = "and unset CONCLAVE_OPENCODE if it names the other";

/// The way to OpenCode on such a machine; `end` belongs to the way that most have.
fn fetch(machine: Machine, end: &str) -> String {
    if machine.platform().is_some() {
        return format!("Fetch it with `conclave runtime install`, {end}");
    }
    format!(
        "Conclave cannot fetch it for {machine}: set CONCLAVE_OPENCODE to the path of a binary of that version, or review with \
         `--runtime native`"
    )
}

/// The way to ripgrep on such a machine.
fn fetch_ripgrep(machine: Machine) -> &'static str {
    if machine.platform().is_some() {
        "Install the package `ripgrep`, or fetch it with `conclave runtime install`"
    } else {
        "Install the package `ripgrep`, or review with `--runtime native`"
    }
}

/// The cause why OpenCode cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The child.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The API.
    #[error(transparent)]
    Api(#[from] RuntimeError),
    /// It ended before it answered.
    #[error("OpenCode ended at its start ({status}){words}. Run again with CONCLAVE_LOG=debug to see all that it says")]
    Ended {
        /// The exit in words.
        status: String,
        /// Its last words, beginning with `: `, or nothing.
        words: String,
    },
    /// It did not answer in time.
    #[error(
        "OpenCode ({binary}) did not answer within {seconds} s of its start{words}. On a slow machine allow more with `--limits \
         start_seconds=300`; else see with `conclave doctor` whether this file is OpenCode {OPENCODE_VERSION}. {remedy}",
        remedy = fetch(Machine::here(), AND_NAME_NO_OTHER)
    )]
    Silent {
        /// The program.
        binary: Utf8PathBuf,
        /// The limit.
        seconds: u64,
        /// The fault of the last answer, beginning with `: `, or nothing.
        words: String,
    },
    /// It is not what was started.
    #[error(
        "OpenCode started, but {what}; the review does not start, because a session would run with other rules than \
         ours. {fix}"
    )]
    Wrong {
        /// The difference to what was asked for.
        what: String,
        /// The remedy.
        fix: &'static str,
    },
    /// A local server or file of ours failed.
    #[error("failed to prepare the agent runtime: {0}")]
    Io(#[from] std::io::Error),
}

impl StartError {
    /// Nothing was heard of this program within this limit.
    pub fn silent(binary: &Utf8Path, limit: Duration) -> Self {
        Self::Silent {
            binary: binary.to_owned(),
            seconds: limit.as_secs(),
            words: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::USUAL;

    #[test]
    fn a_program_that_does_not_answer_is_named_with_what_may_have_named_it() {
        let error = StartError::silent(Utf8Path::new("/opt/hangs"), Duration::from_mins(1)).to_string();
        for part in [
            "OpenCode (/opt/hangs) did not answer within 60 s of its start. ",
            "`--limits start_seconds=300`",
            "`conclave doctor`",
            "CONCLAVE_OPENCODE",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_machine_that_nothing_can_be_fetched_for_gets_advice_that_works_there() {
        for machine in [USUAL, Machine { avx2: false, ..USUAL }] {
            for advice in [fetch(machine, OR_NAME_IT), fetch_ripgrep(machine).to_owned()] {
                assert!(advice.contains("`conclave runtime install`"), "{advice}");
            }
        }
        let arm = Machine {
            processor: "aarch64",
            ..USUAL
        };
        for machine in [arm, Machine { glibc: false, ..USUAL }] {
            let (opencode, ripgrep) = (fetch(machine, AND_NAME_NO_OTHER), fetch_ripgrep(machine));
            for advice in [opencode.as_str(), ripgrep] {
                assert!(
                    !advice.contains("runtime install") && advice.contains("`--runtime native`"),
                    "{advice}"
                );
            }
            assert!(
                opencode.contains(&format!("for {machine}: set CONCLAVE_OPENCODE to ")),
                "{opencode}"
            );
        }
    }
}
