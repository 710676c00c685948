//! A process that kills the child, and all that it has started, when conclave is gone.
//!
//! A killed conclave cannot tidy up. The kernel then kills its child, but not what the child has started (`rg`, `git`).
//! The watchdog waits for the end of a pipe whose other end only conclave holds, so that every way of dying is noticed,
//! and kills the whole group, and what has left it (see [`super::orphans`]).

use std::{io, process::Stdio};

use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::orphans::Trace;

/// `read` ends with the pipe: nothing ever writes into it. The second look finds what was being started at the first one.
const SCRIPT: &str = r#"
read -r nothing
kill -s KILL -- "-$1"
for look in 1 2; do
  for process in $(
    if [ -n "$3" ]; then grep -lse "^Max realtime timeout *$3 " /proc/[0-9]*/limits; fi
    grep -lsazxF "HOME=$2" /proc/[0-9]*/environ
  ); do
    process=${process#/proc/}
    kill -s KILL "${process%/*}"
  done
done
"#;

/// The running watchdog. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    /// Starts one for this group and everything that carries this trace; `path` is for `grep`.
    pub(super) fn over(group: Pid, trace: &Trace, path: &str) -> io::Result<Self> {
        let mark = trace.mark.map(|mark| mark.to_string()).unwrap_or_default();
        let mut command = Command::new("/bin/sh");
        command
            .args([
                "-c",
                SCRIPT,
                "conclave-watchdog",
                &group.to_string(),
                trace.home.as_str(),
                &mark,
            ])
            .env_clear()
            .env("PATH", path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to conclave's group must not end it before it has done its work.
            .process_group(0)
            .kill_on_drop(true);
        Ok(Self(command.spawn()?))
    }

    /// Ends it; its group is gone.
    pub(super) async fn dismiss(&mut self) {
        let _ = self.0.kill().await;
    }

    /// Closes the pipe, as when conclave is killed.
    #[cfg(test)]
    pub(super) fn lose_parent(&mut self) {
        drop(self.0.stdin.take());
    }
}
