//! Finding everything that a confined program has started, wherever it went.
//!
//! A process can leave its group and its session, clear its environment and hide its memory. It cannot change its limits in the
//! sandbox, and everything that it starts inherits them. One limit that nothing uses holds a number of the run.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// The line of `/proc/PID/limits` that holds the mark.
const LINE: &str = "Max realtime timeout";
/// Smallest mark: longer than any realtime task would be allowed to run, in microseconds.
const SMALLEST: u64 = 1 << 40;
/// Time limit for killing what multiplies.
const MAX_TIME: Duration = Duration::from_secs(2);

/// A mark that no other run has.
pub fn new_mark() -> io::Result<u64> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    // The kernel's type is signed in some places.
    Ok(SMALLEST + random % (1 << 61))
}

/// Kills every process with the mark, until none but zombies is left.
pub fn kill_marked(mark: u64) {
    let began = Instant::now();
    loop {
        let found = living(mark);
        if found.is_empty() {
            return;
        }
        for pid in found {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        if began.elapsed() > MAX_TIME {
            tracing::warn!("what OpenCode has started multiplies faster than it can be killed");
            return;
        }
        std::thread::yield_now();
    }
}

/// Processes with the mark that are not dead.
fn living(mark: u64) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let limits = std::fs::read_to_string(entry.path().join("limits")).ok()?;
            let status = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            (has_mark(&limits, mark) && !is_dead(&status)).then(|| Pid::from_raw(pid))?
        })
        .collect()
}

fn has_mark(limits: &str, mark: u64) -> bool {
    let mark = mark.to_string();
    limits
        .lines()
        .filter_map(|line| line.strip_prefix(LINE))
        .any(|values| values.split_whitespace().next() == Some(mark.as_str()))
}

fn is_dead(stat: &str) -> bool {
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    matches!(state, Some("Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_where_the_kernel_writes_it() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max realtime priority     0                    0                    \n\
                      Max realtime timeout      1099511627777        1099511627777        us        \n";
        assert!(has_mark(limits, 1_099_511_627_777));
        assert!(!has_mark(limits, 109_951_162_777));
        assert!(!has_mark(
            "Max realtime timeout      unlimited            unlimited            us",
            5
        ));
        let own = std::fs::read_to_string("/proc/self/limits").expect("limits");
        assert!(own.contains(LINE), "{own}");
    }

    #[test]
    fn marks_differ_and_fit() {
        let marks: std::collections::BTreeSet<u64> = (0..100).map(|_| new_mark().expect("random")).collect();
        assert_eq!(marks.len(), 100);
        assert!(marks.iter().all(|mark| (SMALLEST..1 << 62).contains(mark)));
    }

    #[test]
    fn a_zombie_is_dead() {
        assert!(is_dead("12 (a) b) Z 1 1"));
        assert!(!is_dead("12 (Z) S 1 1"));
    }
}
