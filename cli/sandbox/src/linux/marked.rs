//! Finding everything that a confined program has started, wherever it went.
//!
//! A process can leave its group and its session, clear its environment and hide its memory. It cannot change its limits in the
//! sandbox, and everything that it starts inherits them. One limit that nothing uses holds a number of the run.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// The line of `/proc/PID/limits` that holds the mark.
const LINE: &str = "Max realtime timeout";
/// Smallest mark: longer than any realtime task would be allowed to run, in microseconds.
const SMALLEST: u64 = 1 << 40;
/// Time limit for the end of what is killed, and for what multiplies.
const MAX_TIME: Duration = Duration::from_secs(3);
/// Looks that there are at least, however long one takes: a machine may have many processes, and what the first one finds was not
/// killed by then.
const MIN_LOOKS: u32 = 5;
/// The kernel's flag of a task that is on its way out, and runs no code of its own any more.
const EXITING: u64 = 0x4;

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
/// Returns those that still run when the time is over, for people; none that is only slow to end.
pub fn kill_marked(mark: u64, is_empty: impl Fn() -> bool) -> Vec<String> {
    let began = Instant::now();
    let mut empty_looks = 0;
    for look in 1_u32.. {
        let found = living(Path::new("/proc"), mark);
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        if found.is_empty() && (is_empty() || empty_looks == MAX_EMPTY_LOOKS) {
            break;
        }
        if began.elapsed() > MAX_TIME && look >= MIN_LOOKS {
            let survivors = found.iter().filter(|process| !process.ends);
            return survivors.map(|process| process.description.clone()).collect();
        }
        for pid in found.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::yield_now();
    }
    Vec::new()
}

/// A process that is not dead.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// True if all that is left of it is on its way out.
    ends: bool,
    /// It, for people.
    description: String,
}

/// Processes with the mark that are not dead.
fn living(proc: &Path, mark: u64) -> Vec<Process> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let limits = std::fs::read_to_string(entry.path().join("limits")).ok()?;
            has_mark(&limits, mark).then(|| process(&entry.path(), pid))?
        })
        .collect()
}

/// The process with this directory; `None` if it is dead. It lives as long as one of its threads does, whatever its first one is shown as.
fn process(directory: &Path, pid: i32) -> Option<Process> {
    let tasks = std::fs::read_dir(directory.join("task")).ok()?.flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let left: Vec<Task> = stats
        .filter_map(|stat| Task::read(&stat))
        .filter(|task| !task.is_dead())
        .collect();
    let one = left.iter().find(|task| !task.ends).or_else(|| left.first())?;
    Some(Process {
        pid,
        ends: one.ends,
        description: format!("{pid} ({}, state {})", one.name, one.state),
    })
}

/// A line of `/proc/PID/task/TID/stat`, as far as it says whether the task lives.
#[derive(Debug, PartialEq, Eq)]
struct Task {
    name: String,
    state: char,
    ends: bool,
}

impl Task {
    fn read(stat: &str) -> Option<Self> {
        // The name is in brackets, and may hold some itself.
        let (before, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let flags: u64 = fields.nth(5)?.parse().ok()?;
        let name = before.split_once('(').map_or(before, |(_, name)| name);
        Some(Self {
            name: name.chars().filter(|character| !character.is_control()).collect(),
            state,
            ends: flags & EXITING != 0,
        })
    }

    const fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

fn has_mark(limits: &str, mark: u64) -> bool {
    let mark = mark.to_string();
    limits
        .lines()
        .filter_map(|line| line.strip_prefix(LINE))
        .any(|values| values.split_whitespace().next() == Some(mark.as_str()))
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
    fn what_is_dead_or_only_slow_to_end_is_no_survivor() {
        let (runs, ending) = (0x0040_0140, 0x0040_0144);
        let stat = |state: char, flags: u64| format!("12 (a) Z b) {state} 1 1 1 0 -1 {flags} 0 0 0 0");
        for (tasks, wanted) in [
            (&[('S', runs)][..], Some(false)),
            (&[('D', runs)], Some(false)),
            (&[('D', ending)], Some(true)),
            (&[('R', ending), ('S', runs)], Some(false)),
            (&[('Z', ending), ('R', ending)], Some(true)),
            (&[('Z', ending), ('S', runs)], Some(false)),
            (&[('Z', ending)], None),
            (&[('X', ending)], None),
            (&[], None),
        ] {
            let proc = tempfile::tempdir().expect("a directory");
            for (number, (state, flags)) in tasks.iter().enumerate() {
                let task = proc.path().join(format!("12/task/{}", 12 + number));
                std::fs::create_dir_all(&task).expect("a directory");
                std::fs::write(task.join("stat"), stat(*state, *flags)).expect("a file");
            }
            std::fs::create_dir_all(proc.path().join("12")).expect("a directory");
            for (pid, mark) in [("12", SMALLEST + 7), ("13", SMALLEST)] {
                let directory = proc.path().join(pid);
                std::fs::create_dir_all(&directory).expect("a directory");
                std::fs::write(directory.join("limits"), format!("{LINE}      {mark}   {mark}   us\n"))
                    .expect("a file");
            }
            let found = living(proc.path(), SMALLEST + 7);
            let ends: Vec<bool> = found.iter().map(|process| process.ends).collect();
            assert_eq!(ends, wanted.into_iter().collect::<Vec<_>>(), "{tasks:?}");
            for process in found {
                assert!(
                    process.description.starts_with("12 (a) Z b, state "),
                    "{}",
                    process.description
                );
            }
        }
    }
}
