//! Rights of `OpenCode` in the operating system's sandbox.

use std::{io, process::Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_sandbox::{Access, FileRule, Guard, Launch, Policy, SandboxStatus, missing_here, new_mark, system_files};
use tokio::process::Command;

use super::{
    opened::{MOVE, Opened},
    settings::{LaunchSettings, SERVE, SandboxSettings},
};
use crate::path::on_path;

/// The port that `OpenCode` tries first when it is asked for any.
const USUAL_PORT: u16 = 4096;

/// The sandbox around a child.
#[derive(Debug, Clone)]
pub(crate) enum Confinement {
    /// There is none, for this reason.
    Off(String),
    /// It is being put up, or stands.
    On {
        /// Its state.
        guard: Guard,
        /// Places of the user's that are open in it.
        opened: Opened,
    },
}

impl Confinement {
    /// Waits until it is known what holds, also of `places` of the user's that were not known at the start. `None` if the child
    /// has ended before.
    pub(crate) async fn status(&self, places: &[Utf8PathBuf]) -> Option<SandboxStatus> {
        match self {
            Self::Off(why) => Some(SandboxStatus::none(why)),
            Self::On { guard, opened } => Some(guard.status().await?.also_open(&opened.list(places), MOVE)),
        }
    }

    /// Addresses that the child tried to reach and that are not the run's own.
    pub(crate) fn refused(&self) -> Vec<String> {
        match self {
            Self::Off(_) => Vec::new(),
            Self::On { guard, .. } => guard.refused().into_iter().collect(),
        }
    }
}

/// Prepares a confined start. The child's home has to be there already.
pub(super) fn prepare(
    settings: &LaunchSettings<'_>,
    sandbox: &SandboxSettings,
    mark: u64,
) -> io::Result<(Launch, std::process::Command, Opened)> {
    let files = files(settings, sandbox);
    let own = [
        sandbox.workspace.as_path(),
        settings.home,
        settings.config.parent().unwrap_or(settings.config),
    ];
    let (own, shared) = files
        .iter()
        .cloned()
        .partition(|rule: &FileRule| own.contains(&rule.path.as_path()));
    let opened = Opened {
        shared,
        own,
        private: sandbox.private.clone(),
    };
    let policy = Policy {
        files,
        connect: sandbox.ports.clone(),
        bind: vec![0, USUAL_PORT],
    };
    let (launch, mut command) = Launch::prepare(&sandbox.helper, settings.binary, policy, mark)?;
    command.args(SERVE);
    Ok((launch, command, opened))
}

/// Puts the sandbox up around a program that does nothing, and returns what would hold around `OpenCode`.
pub async fn probe_sandbox(settings: &SandboxSettings) -> io::Result<SandboxStatus> {
    if let Some(why) = missing_here() {
        return Ok(SandboxStatus::none(why));
    }
    let policy = Policy {
        files: system_files(),
        connect: Vec::new(),
        bind: Vec::new(),
    };
    let programs = settings
        .programs
        .iter()
        .map(|path| FileRule::optional(path, Access::Run));
    let opened = Opened {
        shared: programs.chain(system_files()).collect(),
        own: Vec::new(),
        private: settings.private.clone(),
    };
    let (launch, command) = Launch::prepare(&settings.helper, "/bin/sh", policy, new_mark()?)?;
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
        return Ok(status.also_open(&opened.list(&[]), MOVE));
    }
    let output = child.wait_with_output().await?;
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// Prepares a confined start of a program that is asked one thing, for which it needs no file but itself and a home.
pub(super) fn prepare_question(
    binary: &Utf8Path,
    path: &str,
    home: Option<&Utf8Path>,
    sandbox: &SandboxSettings,
    mark: u64,
) -> io::Result<(Launch, std::process::Command)> {
    let files = programs(binary, path, sandbox)
        .chain(home.map(|home| FileRule::required(home, Access::Write)))
        .chain(system_files());
    let policy = Policy {
        files: files.collect(),
        connect: Vec::new(),
        bind: Vec::new(),
    };
    Launch::prepare(&sandbox.helper, binary, policy, mark)
}

/// The files of a start: the machine's programs, the checkout, the configuration, a home. None of the user's.
fn files(settings: &LaunchSettings<'_>, sandbox: &SandboxSettings) -> Vec<FileRule> {
    let runtime = settings.config.parent().unwrap_or(settings.config);
    let required = [
        (sandbox.workspace.as_path(), Access::Read),
        (runtime, Access::Read),
        (settings.home, Access::Write),
    ];
    let required = required.map(|(path, access)| FileRule::required(path, access));
    programs(settings.binary, settings.path, sandbox)
        .chain(required)
        .chain(system_files())
        .collect()
}

/// The program itself, what it searches with, what it finds the root of the project with, and what the user names.
fn programs(binary: &Utf8Path, path: &str, sandbox: &SandboxSettings) -> impl Iterator<Item = FileRule> {
    let tools = ["rg", "git"]
        .into_iter()
        .filter_map(move |name| on_path(name, path).next());
    let others = tools.chain(sandbox.programs.iter().cloned());
    let others = others.map(|path| FileRule::optional(path, Access::Run));
    std::iter::once(FileRule::required(binary, Access::Run)).chain(others)
}
