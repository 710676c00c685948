//! A process that kills the child's group when conclave is gone.
//!
//! A killed conclave cannot tidy up. The kernel then kills its child, but not what the child has started (`rg`, `git`).
//! The watchdog waits for the end of a pipe whose other end only conclave holds, so that every way of dying is noticed,
//! and kills the whole group.

use std::{io, process::Stdio};

use camino::Utf8Path;
use nix::unistd::Pid;
use tokio::process::{Child, Command};

/// The running watchdog. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Starts one for this group. `home` is only there for people who look at the list of processes.
    pub(crate) fn over(group: Pid, home: &Utf8Path) -> io::Result<Self> {
        // `read` ends with the pipe; nobody ever writes into it.
        let script = r#"read -r nothing; kill -s KILL -- "-$1""#;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script, "conclave-watchdog", &group.to_string(), home.as_str()])
            .env_clear()
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
    pub(crate) async fn dismiss(&mut self) {
        let _ = self.0.kill().await;
    }

    /// What it sees when conclave is killed.
    #[cfg(test)]
    pub(crate) fn lose_parent(&mut self) {
        drop(self.0.stdin.take());
    }
}
