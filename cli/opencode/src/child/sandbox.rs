//! Rights of `OpenCode` in the operating system's sandbox.

use std::{io, process::Stdio};

use camino::Utf8Path;
use conclave_sandbox::{Access, FileRule, Guard, Launch, Policy, SandboxStatus, missing_here, new_mark, system_files};
use tokio::process::Command;

use super::{
    binary::on_path,
    settings::{LaunchSettings, SERVE, SandboxSettings},
};

/// The port that `OpenCode` tries first when it is asked for any.
const USUAL_PORT: u16 = 4096;

/// The sandbox around a child.
#[derive(Debug, Clone)]
pub(crate) enum Confinement {
    /// There is none, for this reason.
    Off(String),
    /// It is being put up, or stands.
    On(Guard),
}

impl Confinement {
    /// Waits until it is known what holds. `None` if the child has ended before.
    pub(crate) async fn status(&self) -> Option<SandboxStatus> {
        match self {
            Self::Off(why) => Some(SandboxStatus::none(why)),
            Self::On(guard) => guard.status().await,
        }
    }

    /// Addresses that the child tried to reach and that are not the run's own.
    pub(crate) fn refused(&self) -> Vec<String> {
        match self {
            Self::Off(_) => Vec::new(),
            Self::On(guard) => guard.refused().into_iter().collect(),
        }
    }
}

/// Prepares a confined start. The child's home has to be there already.
pub(super) fn prepare(
    settings: &LaunchSettings<'_>,
    sandbox: &SandboxSettings,
    mark: u64,
) -> io::Result<(Launch, std::process::Command)> {
    let policy = Policy {
        files: files(settings, sandbox),
        connect: sandbox.ports.clone(),
        bind: vec![0, USUAL_PORT],
    };
    let (launch, mut command) = Launch::prepare(&sandbox.helper, settings.binary, policy, mark)?;
    command.args(SERVE);
    Ok((launch, command))
}

/// Puts the sandbox up around a program that does nothing, and returns what would hold around `OpenCode`.
pub async fn probe_sandbox(helper: &Utf8Path) -> io::Result<SandboxStatus> {
    if let Some(why) = missing_here() {
        return Ok(SandboxStatus::none(why));
    }
    let policy = Policy {
        files: system_files(),
        connect: Vec::new(),
        bind: Vec::new(),
    };
    let (launch, command) = Launch::prepare(helper, "/bin/sh", policy, new_mark()?)?;
    let mut command = Command::from(command);
    command
        .args(["-c", "exit 0"])
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let child = command.spawn()?;
    drop(command);
    let guard = launch.started(child.id().ok_or_else(|| io::Error::other("it ended at once"))?)?;
    if let Some(status) = guard.status().await {
        return Ok(status);
    }
    let output = child.wait_with_output().await?;
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// The files of a start: the machine's programs, the checkout, the configuration, a home. None of the user's.
fn files(settings: &LaunchSettings<'_>, sandbox: &SandboxSettings) -> Vec<FileRule> {
    let runtime = settings.config.parent().unwrap_or(settings.config);
    let required = [
        (settings.binary, Access::Run),
        (&sandbox.workspace, Access::Read),
        (runtime, Access::Read),
        (settings.home, Access::Write),
    ];
    // What it searches with, and what it finds the root of the project with.
    let tools = ["rg", "git"]
        .into_iter()
        .filter_map(|name| on_path(name, settings.path));
    let programs = tools.chain(sandbox.programs.iter().cloned());
    required
        .into_iter()
        .map(|(path, access)| FileRule::required(path, access))
        .chain(programs.map(|path| FileRule::optional(path, Access::Run)))
        .chain(system_files())
        .collect()
}
