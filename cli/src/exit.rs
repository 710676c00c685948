//! Exit codes, and the failures that lead to them.

use std::process::ExitCode;

use conclave_engine::{plugin::PluginError, ports::ForgeError, prompt::UnknownPrompt};
use conclave_forge::{ApiError, ApiErrorKind};
use conclave_gateway::ConfigError;
use conclave_git::{GitError, WorkspaceError};
use conclave_opencode::{InstallError, ProcessError, StartError};
use conclave_plugin_local::{HookError, LocalError, RangeError};
use conclave_plugin_reviewer_config::AdminError;
use conclave_plugin_telemetry::MemoryError;
use conclave_sandbox::SandboxStatus;
use conclave_shared::sandbox::SandboxLevel;

macro_rules! exits {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)+) => {
        /// How the program ends; scripts rely on these numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Exit {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Exit {
            /// All of them, with what they mean.
            #[cfg(test)]
            pub(crate) const ALL: &[(Self, &str)] = &[$((Self::$name, concat!($($doc),+))),+];

            pub(crate) const fn code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }
        }
    };
}

exits! {
    /// the review ran, whatever it found; or there was nothing to review; another command did what it was asked
    Reviewed = 0;
    /// `--gate block`, and the verdict is `significant_concerns`, or earlier reviews cannot be read; `config diff`
    /// found differences, `config validate` faults, `doctor` something that keeps a review from working
    Blocked = 1;
    /// bad usage or configuration, or too little memory, processes, open files or room on a disk: the review could not start or go on,
    /// or its result could not be written
    Usage = 2;
    /// the forge failed; for `config`, its service
    Forge = 3;
    /// `--strict`, and the verdict is `inconclusive`
    Inconclusive = 4;
    /// out of time: the run's limit, or that of the CI job, was reached
    OutOfTime = 5;
    /// `--require-sandbox` or the repository's `require_sandbox`, and this machine cannot give that sandbox: the review did
    /// not start
    Unprotected = 6;
    /// stopped by SIGHUP: its terminal was closed
    HungUp = 129;
    /// stopped by Ctrl-C
    Interrupted = 130;
    /// stopped by SIGTERM
    Terminated = 143;
}

impl Exit {
    /// Returns whether a signal stopped the program.
    pub(crate) const fn is_stopped(self) -> bool {
        matches!(self, Self::HungUp | Self::Interrupted | Self::Terminated)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command ended without a review. Every text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The environment.
    #[error("{0}")]
    Settings(String),
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A local range.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The hook before a push.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The forge's API.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// Posting.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// The diff.
    #[error("failed to read the diff: {0}")]
    Diff(#[from] conclave_engine::diff::DiffParseError),
    /// The workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The agent runtime is missing or wrong.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The agent runtime does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A program was not installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The operating system's sandbox is less than what is required.
    #[error(
        "neither the review nor OpenCode starts: the sandbox around the agents has to be `{required}`, and here it is {}. {}, or \
         require less",
        .found.describe(),
        .found.next_step.as_deref().map_or_else(|| "Run it on a machine that has one".to_owned(), capitalized)
    )]
    Sandbox {
        /// The least that is accepted.
        required: SandboxLevel,
        /// The sandbox here.
        found: SandboxStatus,
    },
    /// The native runtime cannot be used.
    #[error(transparent)]
    Native(#[from] conclave_native::StartError),
    /// A plugin.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// `.conclave.toml`, all of its problems at once.
    #[error("the repository's settings have {}:\n{}", problems(.0.len()), .0.join("\n"))]
    RepoConfig(Vec<String>),
    /// A prompt.
    #[error(transparent)]
    Prompt(#[from] UnknownPrompt),
    /// The model gateway.
    #[error("failed to start the model gateway: {0}")]
    Gateway(#[from] ConfigError),
    /// The configuration service, asked by an operator.
    #[error(transparent)]
    Config(#[from] AdminError),
    /// The tracker, asked by a person.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A file or directory of ours.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

fn problems(count: usize) -> String {
    format!("{count} problem{}", if count == 1 { "" } else { "s" })
}

impl Failure {
    /// An I/O failure in words.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            // What the person has given is wrong, and nobody was asked.
            Self::Api(error) if error.kind == ApiErrorKind::Settings => Exit::Usage,
            Self::Api(_) | Self::Forge(_) => Exit::Forge,
            Self::Config(error) if error.is_service() => Exit::Forge,
            Self::Memory(error) if error.is_service() => Exit::Forge,
            Self::Sandbox { .. } => Exit::Unprotected,
            _ => Exit::Usage,
        }
    }
}
