//! The settings of a start, and of the sandbox around it.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_sandbox::missing_here;

/// The settings of a start.
#[derive(Debug, Clone, Copy)]
pub struct LaunchSettings<'a> {
    /// The binary.
    pub binary: &'a Utf8Path,
    /// The directory of its home, which is made.
    pub home: &'a Utf8Path,
    /// The configuration file. It need not be there yet.
    pub config: &'a Utf8Path,
    /// `PATH`.
    pub path: &'a str,
    /// Further variables of its environment, none of them a secret of a provider or a forge.
    pub environment: &'a [(String, String)],
    /// Time limit until it answers.
    pub limit: Duration,
    /// The operating system's sandbox around it.
    pub sandbox: &'a Sandbox,
}

/// The arguments of `opencode`. It takes a port that is free and reports it: a port that was picked for it could be another
/// program's by then.
pub(super) const SERVE: [&str; 5] = ["serve", "--hostname", "127.0.0.1", "--port", "0"];

/// The settings of the sandbox.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// The program that calls [`conclave_sandbox::run_helper`]: `/proc/self/exe` where this process does.
    pub helper: Utf8PathBuf,
    /// The agents' checkout. It has to be there, may be empty, and is never replaced by another directory.
    pub workspace: Utf8PathBuf,
    /// Further programs that `opencode` runs, where it is a script.
    pub programs: Vec<Utf8PathBuf>,
    /// Places of the user's. Where a rule opens one, the grade says so.
    pub private: Vec<Utf8PathBuf>,
    /// Ports of 127.0.0.1 that it may reach: the gateway's and the tools'.
    pub ports: Vec<u16>,
}

/// The sandbox of one start.
#[derive(Debug, Clone)]
pub enum Sandbox {
    /// There is none, for this reason.
    Off(String),
    /// There is one.
    On(SandboxSettings),
}

impl Sandbox {
    /// A sandbox with these settings, if this system has one.
    pub fn new(settings: SandboxSettings) -> Self {
        match missing_here() {
            Some(why) => Self::Off(why.to_owned()),
            None => Self::On(settings),
        }
    }
}
