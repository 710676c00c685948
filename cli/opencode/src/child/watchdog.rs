//! A process that kills the child, and all that it has started, when conclave is gone.
//!
//! A killed conclave cannot tidy up. The kernel then kills its child, but not what the child has started (`rg`, `git`).
//! The watchdog waits for the end of a pipe whose other end only conclave holds, so that every way of dying is noticed,
//! and kills the whole group, and what has left it (see [`super::orphans`]).

use std::{io, process::Stdio, time::Duration};

use nix::unistd::Pid;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use super::orphans::Trace;

/// `read` ends with the pipe: nothing ever writes into it. The second look finds what was being started at the first one.
///
/// Processes of others, and older ones, are not looked at, and each environment is read by a process of its own: one that cannot be
/// read holds up nothing else.
const SCRIPT: &str = r#"
read -r nothing
group=$1 home=$2 mark=$3 began=$4
kill -s KILL -- "-$group"
for look in 1 2; do
  if [ -n "$mark" ]; then
    for process in $(grep -lse "^Max realtime timeout *$mark " /proc/[0-9]*/limits); do
      process=${process#/proc/}
      kill -s KILL "${process%/*}"
    done
  fi
  for process in /proc/[0-9]*; do
    [ -O "$process" ] && stat=$(cat "$process/stat") || continue
    set -- ${stat##*) }
    [ "$#" -ge 20 ] && [ "${20}" -ge "$began" ] || continue
    grep -qsazxF "HOME=$home" "$process/environ" && kill -s KILL "${process#/proc/}" &
  done
done
"#;

/// Time for its end.
pub(super) const MAX_END: Duration = Duration::from_secs(1);

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
                &trace.began.to_string(),
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
        let _ = timeout(MAX_END, self.0.kill()).await;
    }

    /// Closes the pipe, as when conclave is killed.
    #[cfg(test)]
    pub(super) fn lose_parent(&mut self) {
        drop(self.0.stdin.take());
    }
}
