//! Finding what the child has started outside of its process group.
//!
//! `OpenCode` starts its searches in groups of their own, where a signal to its group does not reach them. In the sandbox they all
//! have the run's mark, which none of them can take off. Without one they have the child's home in their environment, unless they
//! hide it.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_sandbox::kill_marked;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::sandbox::Confinement;

/// Marks of everything that the child has started.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    /// The home, in the environment.
    pub(super) home: Utf8PathBuf,
    /// The sandbox's mark.
    pub(super) mark: Option<u64>,
}

impl Trace {
    /// Kills every process that carries it, and in the sandbox lets none start another one. Where there is no `/proc`, none is
    /// found.
    pub(super) fn kill_all(&self, confinement: &Confinement) {
        if let (Some(mark), Confinement::On { guard, .. }) = (self.mark, confinement) {
            guard.forbid_new();
            if !kill_marked(mark, || guard.is_empty()) {
                tracing::warn!(
                    "something that OpenCode has started still runs, and could not be killed: look for processes of this user"
                );
            }
        }
        for pid in living_in(&self.home) {
            // It may have ended by itself.
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

fn living_in(home: &Utf8Path) -> Vec<Pid> {
    let variable = format!("HOME={home}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            // Of other users' processes nothing can be read, and none of them is ours.
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let ours = environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == variable.as_bytes());
            ours.then(|| Pid::from_raw(pid))
        })
        .collect()
}
