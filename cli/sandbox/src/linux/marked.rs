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

/// Looks that find nothing before nothing is believed to be there: a process may begin behind a look's back, but nothing that is
/// killed begins three in a row.
const MAX_EMPTY_LOOKS: u32 = 3;

/// Kills every process with the mark, until none is left. That is so when `is_empty` says it, or when look after look finds none.
/// Returns whether it was so in time.
pub fn kill_marked(mark: u64, is_empty: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    let mut empty_looks = 0;
    loop {
        let found = living(mark);
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        if found.is_empty() && (is_empty() || empty_looks == MAX_EMPTY_LOOKS) {
            return true;
        }
        for pid in found {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        if began.elapsed() > MAX_TIME {
            return false;
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
            let threads = std::fs::read_dir(entry.path().join("task")).map_or(0, Iterator::count);
            (has_mark(&limits, mark) && !is_dead(&status, threads)).then(|| Pid::from_raw(pid))?
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

/// A process whose first thread has ended is shown as a zombie, and lives as long as another thread does.
fn is_dead(stat: &str, threads: usize) -> bool {
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    matches!(state, Some("Z" | "X")) && threads <= 1
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
        assert!(is_dead("12 (a) b) Z 1 1", 1));
        assert!(is_dead("12 (a) b) Z 1 1", 0), "it has just gone");
        assert!(!is_dead("12 (a) b) Z 1 1", 2), "another thread lives");
        assert!(!is_dead("12 (Z) S 1 1", 1));
    }
}
