//! Finding what the child has started outside of its process group.
//!
//! `OpenCode` starts its searches in groups of their own, where a signal to its group does not reach them. What they all
//! have is its home in their environment, which nothing else on the machine has.

use camino::Utf8Path;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Kills every process that lives in this home. Where there is no `/proc`, none is found.
pub(super) fn kill_all_in(home: &Utf8Path) {
    for pid in living_in(home) {
        // It may have ended by itself.
        let _ = kill(pid, Signal::SIGKILL);
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
