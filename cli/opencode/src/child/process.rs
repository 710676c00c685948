//! The child: what it may see, how it starts, and that it always ends.
//!
//! It ends with the run on every way out, with all that it has started. In good order its group gets SIGTERM and, five
//! seconds later, SIGKILL; a panic drops [`Process`], which kills everything. When conclave itself is killed and can do
//! nothing any more, the kernel kills the child (`PR_SET_PDEATHSIG`), and a watchdog kills what the child had started.
//!
//! A run that is stopped ends within ten seconds, so all that [`Process::stop`] waits for takes no longer than that together.

use std::{process::Stdio, time::Duration};

use conclave_sandbox::new_mark;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use super::{
    home,
    listening::{ListeningLines, ProvenPort},
    orphans::{self, Trace},
    output::Output,
    sandbox::{self, Confinement},
    settings::{LaunchSettings, SERVE, Sandbox},
    spawn_thread::{self, Anchor},
    watchdog::Watchdog,
};
use crate::errors::ProcessError;

/// Time for a group to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// Time for the end of a child that was killed. The system may hold it, as a file system does that does not answer.
const MAX_LAST: Duration = Duration::from_secs(2);
/// Maximum number of reported ports that wait to be looked at.
const MAX_REPORTS: usize = 16;
/// Maximum memory of the child's JavaScript heap, in bytes.
const MAX_HEAP: &str = "2684354560";

/// The running child and everything that it started. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Pid,
    trace: Trace,
    confinement: Confinement,
    output: Output,
    reported: mpsc::Receiver<u16>,
    watchdog: Watchdog,
    _anchor: Anchor,
    ended: bool,
}

impl Process {
    /// Starts `opencode serve`.
    pub(crate) fn start(settings: &LaunchSettings<'_>, password: &str) -> Result<Self, ProcessError> {
        home::create(settings.home)?;
        let start = |error| ProcessError::Start(settings.binary.to_owned(), error);
        let (mut command, launch, mark) = match settings.sandbox {
            Sandbox::On(sandbox) => {
                let mark = new_mark().map_err(start)?;
                let (launch, command, opened) = sandbox::prepare(settings, sandbox, mark).map_err(start)?;
                (Command::from(command), Some((launch, opened)), Some(mark))
            }
            Sandbox::Off(_) => {
                let mut command = Command::new(settings.binary);
                command.args(SERVE).stdin(Stdio::null());
                die_with_parent(&mut command);
                (command, None, None)
            }
        };
        command
            .env_clear()
            .env("PATH", settings.path)
            .envs(home::environment(settings.home))
            .env("OPENCODE_CONFIG", settings.config)
            .env("OPENCODE_SERVER_PASSWORD", password)
            .env("BUN_JSC_gcMaxHeapSize", MAX_HEAP)
            // The last of its compilers pays for itself in programs that compute for minutes. This one waits for models, and
            // while it starts every processor counts.
            .env("BUN_JSC_useFTLJIT", "0")
            // A proxy in the environment would get loopback calls, with prompts and the run's key.
            .env("NO_PROXY", "127.0.0.1,localhost,::1")
            // Its git finds the root of the project, and gives up where the system's settings are there and cannot be read.
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(OFF.map(|name| (name, "1")))
            .envs(settings.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(settings.home.join("cwd"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let (mut child, anchor) = spawn_thread::spawn(command).map_err(start)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = Pid::from_raw(id.ok_or_else(|| start(std::io::Error::other("it ended at once")))?);
        let trace = Trace {
            home: settings.home.to_owned(),
            mark,
            began: orphans::began(group),
        };
        let guarded = match (launch, child.id(), settings.sandbox) {
            (Some((launch, opened)), Some(id), _) => launch.started(id).map(|guard| Confinement::On { guard, opened }),
            (_, _, Sandbox::Off(why)) => Ok(Confinement::Off(why.clone())),
            _ => Err(std::io::Error::other("it ended at once")),
        };
        let watched = guarded.and_then(|guarded| Ok((guarded, Watchdog::over(group, &trace, settings.path)?)));
        let (confinement, watchdog) = match watched {
            Ok(watched) => watched,
            Err(error) => {
                let _ = killpg(group, Signal::SIGKILL);
                return Err(start(error));
            }
        };
        // Its output has to be read, or it would stop when the pipe is full.
        let mut output = Output::default();
        let (found, reported) = mpsc::channel(MAX_REPORTS);
        let mut lines = ListeningLines::new(found);
        output.drain("stdout", child.stdout.take(), move |bytes| lines.take(bytes));
        output.drain("stderr", child.stderr.take(), |_| ());
        Ok(Self {
            child,
            group,
            trace,
            confinement,
            output,
            reported,
            watchdog,
            _anchor: anchor,
            ended: false,
        })
    }

    /// The sandbox around it.
    pub(crate) const fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The last lines of a child that has ended, for people.
    pub(crate) async fn last_words(&mut self) -> String {
        self.output.last_words().await
    }

    /// The child's exit in words, if it has ended.
    pub(crate) fn exited(&mut self) -> Option<String> {
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
    pub(crate) async fn stop(mut self) {
        let _ = killpg(self.group, Signal::SIGTERM);
        if timeout(GRACE, self.child.wait()).await.is_err() {
            tracing::warn!("OpenCode did not end on SIGTERM within 5 s; it is killed");
        }
        let _ = killpg(self.group, Signal::SIGKILL);
        // The look takes seconds where a process does not let itself be read: other tasks go on meanwhile, such as the last post.
        let (trace, confinement) = (self.trace.clone(), self.confinement.clone());
        let look = tokio::task::spawn_blocking(move || trace.kill_all(&confinement));
        let (looked, ended) = tokio::join!(look, timeout(MAX_LAST, self.child.wait()));
        self.ended = true;
        if looked.is_err() {
            tracing::warn!("the look for what OpenCode has started failed; look for processes of this user");
        }
        if ended.is_err() {
            tracing::warn!(
                "OpenCode (process {}) was killed and has not ended {} s later: the system holds it. The run goes on without it",
                self.group,
                MAX_LAST.as_secs()
            );
        }
        self.watchdog.dismiss().await;
    }

    /// Kills the group, and what has left it.
    fn kill(&self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        self.trace.kill_all(&self.confinement);
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
