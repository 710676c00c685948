//! The child: what it may see, how it starts, and that it always ends.
//!
//! It ends with the run on every way out, with all that it has started. In good order its group gets SIGTERM and, five
//! seconds later, SIGKILL; a panic drops [`Process`], which kills everything. When conclave itself is killed and can do
//! nothing any more, the kernel kills the child (`PR_SET_PDEATHSIG`), and a watchdog kills what the child had started.

use std::{process::Stdio, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use crate::{
    OPENCODE_VERSION,
    lasting::{Anchor, spawn_from_lasting_thread},
    listening::{ListeningLines, ProvenPort},
    output::Output,
    relatives,
    watchdog::Watchdog,
};

/// How long a group may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long `opencode --version` may take.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of reported ports that wait to be looked at.
const MAX_REPORTS: usize = 16;
/// The most memory that the child's JavaScript heap may take, in bytes.
const HEAP_LIMIT: &str = "2684354560";

/// Why the child cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// There is no `opencode`.
    #[error(
        "OpenCode is not installed: {0}. Install it with `npm install -g opencode-ai@{OPENCODE_VERSION}`, or set \
         CONCLAVE_OPENCODE to the path of its binary"
    )]
    Missing(String),
    /// Another version than the pinned one.
    #[error(
        "{path} is OpenCode {found}, but Conclave needs exactly {OPENCODE_VERSION}: its events and its safety were \
         tested with that one. Install it with `npm install -g opencode-ai@{OPENCODE_VERSION}`"
    )]
    Version {
        /// The binary.
        path: Utf8PathBuf,
        /// What it says of itself.
        found: String,
    },
    /// There is no ripgrep.
    #[error("ripgrep (`rg`) is not on PATH; reviewers search the source with it. Install the package `ripgrep`")]
    NoRipgrep,
    /// It does not start.
    #[error("failed to start OpenCode ({path}): {source}")]
    Start {
        /// The binary.
        path: Utf8PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its home cannot be made.
    #[error("failed to prepare OpenCode's home at {path}: {source}")]
    Home {
        /// Where.
        path: Utf8PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

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
            "CONCLAVE_OPENCODE is {binary}, which is no file"
        ))),
        None => on_path("opencode", path).ok_or_else(|| ProcessError::Missing("no `opencode` on PATH".into())),
    }
}

/// The ripgrep that reviewers search with.
pub fn find_ripgrep(path: &str) -> Result<Utf8PathBuf, ProcessError> {
    on_path("rg", path).ok_or(ProcessError::NoRipgrep)
}

/// Whether the binary says that it is the pinned version. For one that does not serve, which may have that reason.
pub async fn check_version(binary: &Utf8Path, path: &str) -> Result<(), ProcessError> {
    let mut command = Command::new(binary);
    command
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .kill_on_drop(true);
    command.stdin(Stdio::null());
    let start = |source| ProcessError::Start {
        path: binary.to_owned(),
        source,
    };
    let output = match timeout(VERSION_TIMEOUT, command.output()).await {
        Ok(output) => output.map_err(start)?,
        Err(_) => {
            return Err(start(std::io::Error::other(
                "it did not tell its version within a minute",
            )));
        }
    };
    same_version(binary, String::from_utf8_lossy(&output.stdout).trim())
}

/// Whether what a binary says of itself is the pinned version.
pub(crate) fn same_version(binary: &Utf8Path, found: &str) -> Result<(), ProcessError> {
    if found == OPENCODE_VERSION {
        return Ok(());
    }
    let found = if found.is_empty() {
        "of an unknown version"
    } else {
        found
    };
    Err(ProcessError::Version {
        path: binary.to_owned(),
        found: found.chars().take(60).collect(),
    })
}

fn on_path(name: &str, path: &str) -> Option<Utf8PathBuf> {
    path.split(':')
        .map(|directory| Utf8Path::new(directory).join(name))
        .find(|candidate| candidate.is_file())
}

/// The list of models that the child reads in place of its built-in one. It is empty: the configuration says all of a
/// run's models, and taking in those of a hundred other providers costs a third of the time until the first prompt.
const NO_MODELS: &str = "models.json";

/// The child's own home: nothing of the user's is in it.
#[derive(Debug, Clone)]
pub struct Home {
    root: Utf8PathBuf,
}

impl Home {
    /// Makes the directories, and the stub that keeps OpenCode from installing packages at its start.
    pub fn create(root: &Utf8Path) -> Result<Self, ProcessError> {
        let io = |source| ProcessError::Home {
            path: root.to_owned(),
            source,
        };
        for directory in ["config/opencode/node_modules", "data", "cache", "state", "tmp", "cwd"] {
            std::fs::create_dir_all(root.join(directory)).map_err(io)?;
        }
        let dependencies = format!(r#"{{"@opencode-ai/plugin":"{OPENCODE_VERSION}"}}"#);
        let config = root.join("config/opencode");
        std::fs::write(
            config.join("package.json"),
            format!(r#"{{"dependencies":{dependencies}}}"#),
        )
        .map_err(io)?;
        let lock = format!(r#"{{"lockfileVersion":3,"packages":{{"":{{"dependencies":{dependencies}}}}}}}"#);
        std::fs::write(config.join("package-lock.json"), lock).map_err(io)?;
        std::fs::write(root.join(NO_MODELS), "{}").map_err(io)?;
        Ok(Self { root: root.to_owned() })
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let at = |name: &str| self.root.join(name).into_string();
        vec![
            ("OPENCODE_MODELS_PATH", at(NO_MODELS)),
            ("HOME", self.root.to_string()),
            ("XDG_CONFIG_HOME", at("config")),
            ("XDG_DATA_HOME", at("data")),
            ("XDG_CACHE_HOME", at("cache")),
            ("XDG_STATE_HOME", at("state")),
            ("TMPDIR", at("tmp")),
        ]
    }
}

/// What the child is started with.
#[derive(Debug)]
pub struct ProcessSettings<'a> {
    /// The binary.
    pub binary: &'a Utf8Path,
    /// Its home.
    pub home: &'a Home,
    /// The configuration file.
    pub config: &'a Utf8Path,
    /// `PATH`, for `git` and `rg`.
    pub path: &'a str,
    /// The password of its HTTP API.
    pub password: &'a str,
    /// Further variables, none of them a secret of a provider or a forge.
    pub environment: &'a [(String, String)],
}

/// The running child and everything that it started. Dropping it kills the group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Pid,
    home: Utf8PathBuf,
    output: Output,
    reported: mpsc::Receiver<u16>,
    watchdog: Watchdog,
    _anchor: Anchor,
    ended: bool,
}

impl Process {
    /// Starts `opencode serve`.
    pub fn start(settings: &ProcessSettings<'_>) -> Result<Self, ProcessError> {
        let start = |source| ProcessError::Start {
            path: settings.binary.to_owned(),
            source,
        };
        let mut command = Command::new(settings.binary);
        command
            // It takes a port that is free and reports it: a port that was picked for it could be another program's by then.
            .args(["serve", "--hostname", "127.0.0.1", "--port", "0"])
            .env_clear()
            .env("PATH", settings.path)
            .envs(settings.home.environment())
            .env("OPENCODE_CONFIG", settings.config)
            .env("OPENCODE_SERVER_PASSWORD", settings.password)
            .env("BUN_JSC_gcMaxHeapSize", HEAP_LIMIT)
            // The last of its compilers pays for itself in programs that compute for minutes. This one waits for models, and
            // while it starts every processor counts.
            .env("BUN_JSC_useFTLJIT", "0")
            // A proxy in the environment would get loopback calls, with prompts and the run's key.
            .env("NO_PROXY", "127.0.0.1,localhost,::1")
            .envs(OFF.map(|name| (name, "1")))
            .envs(settings.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(settings.home.root.join("cwd"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        die_with_parent(&mut command);
        let (mut child, anchor) = spawn_from_lasting_thread(command).map_err(start)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = Pid::from_raw(id.ok_or_else(|| start(std::io::Error::other("it ended at once")))?);
        let watchdog = match Watchdog::over(group, &settings.home.root, settings.path) {
            Ok(watchdog) => watchdog,
            Err(error) => {
                let _ = killpg(group, Signal::SIGKILL);
                return Err(start(error));
            }
        };
        // Its output has to be read, or it would stop when the pipe is full.
        let mut output = Output::default();
        let (found, reported) = mpsc::channel(MAX_REPORTS);
        let mut lines = ListeningLines::new(found);
        output.drain_with("stdout", child.stdout.take(), move |bytes| lines.take(bytes));
        output.drain("stderr", child.stderr.take());
        Ok(Self {
            child,
            group,
            home: settings.home.root.clone(),
            output,
            reported,
            watchdog,
            _anchor: anchor,
            ended: false,
        })
    }

    /// The last that a child wrote which has ended, for people.
    pub async fn last_words(&mut self) -> String {
        self.output.last_words().await
    }

    /// The child's exit in words, if it has ended.
    pub fn exited(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Waits for the port that the child listens on, or for its end, which is returned in words. Ports that it reports and that
    /// are not its own are passed over.
    pub(crate) async fn listening(&mut self) -> Result<ProvenPort, String> {
        loop {
            let ended = tokio::select! {
                biased;
                Some(port) = self.reported.recv() => {
                    if let Some(port) = ProvenPort::prove(port, self.group) {
                        self.reported.close();
                        return Ok(port);
                    }
                    tracing::warn!(port, "another program listens at the port that was reported as OpenCode's; it is not used");
                    continue;
                }
                ended = self.child.wait() => ended,
            };
            return Err(ended.map_or_else(|error| error.to_string(), |status| status.to_string()));
        }
    }

    /// Ends all of it: SIGTERM to the group, five seconds, SIGKILL.
    pub async fn stop(mut self) {
        self.end().await;
    }

    async fn end(&mut self) {
        let _ = killpg(self.group, Signal::SIGTERM);
        if timeout(GRACE, self.child.wait()).await.is_err() {
            tracing::warn!("OpenCode did not end on SIGTERM within 5 s; it is killed");
        }
        self.kill();
        let _ = self.child.wait().await;
        self.ended = true;
        self.watchdog.dismiss().await;
    }

    /// Kills the group, and what has left it.
    fn kill(&self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        relatives::kill_all_in(&self.home);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}

/// Everything that OpenCode would do besides running sessions.
const OFF: [&str; 10] = [
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_PURE",
    // Nothing changes in the workspace, and nobody looks for its files but through `rg`: to watch and to index all of it would
    // only delay the first request.
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
    "OPENCODE_DISABLE_FFF",
];

/// Lets the kernel kill the child when conclave is killed and can do nothing itself.
fn die_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let set = || nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(std::io::Error::from);
        #[expect(
            unsafe_code,
            reason = "a single system call between fork and exec, which is safe there"
        )]
        // SAFETY: prctl is async-signal-safe and the closure allocates nothing.
        unsafe {
            command.pre_exec(set);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
