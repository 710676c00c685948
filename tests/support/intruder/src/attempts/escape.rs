//! Leaving everything by which a process could be found: group, session, parent, environment, readable memory.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{
    Attempt,
    Outside::{Always, Depends},
};
use crate::{facts::Facts, kernel::call};

/// A variable of everything that an intruder leaves.
pub(crate) const LEFT: &str = "INTRUDER_LEFT";
/// The file with the process id of what hides, in the home.
pub(crate) const HIDDEN: &str = "tmp/hidden";

pub(super) const ATTEMPTS: &[Attempt] = &[
    ("hides", Always, |facts| hides(facts, "hide")),
    ("leaves_a_thread_behind", Always, |facts| hides(facts, "thread")),
    ("changes_all_the_time", Always, |facts| hides(facts, "hop")),
];

/// Filling the machine with tasks. The kernel counts threads as it counts processes, and they cost less to try.
pub(super) const BOMB: &[Attempt] = &[("tasks_without_end", Depends("a machine that has so many"), |_| {
    let forever = || {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(crate::kernel::wait_for_ever)
    };
    (0..MANY_TASKS).all(|_| forever().is_ok())
})];

/// Tasks of a bomb: more than the sandbox leaves room for.
const MANY_TASKS: usize = 6000;
/// The smallest stack of a thread, in bytes.
const STACK: usize = 16 * 1024;

fn hides(facts: &Facts, way: &str) -> bool {
    let file = facts.home.join(HIDDEN).with_extension(way);
    let own = std::env::args().next().expect("a name");
    let started = Command::new(own)
        .args(["hide", way])
        .arg(&file)
        .env_clear()
        .env(LEFT, &facts.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        return false;
    }
    let began = std::time::Instant::now();
    while !file.exists() && began.elapsed().as_secs() < 60 {
        std::thread::yield_now();
    }
    file.exists()
}

/// Leaves group and session, says so in the file, and stays.
pub(crate) fn hide(way: &str, file: &str) {
    call(libc::SYS_setsid, &[]).expect("a session of its own");
    if way == "hide" {
        // Its environment and memory are root's from here on.
        call(libc::SYS_prctl, &[4, 0]).expect("it hides");
    }
    let new = format!("{file}.new");
    let mut written = std::fs::File::create(&new).expect("a file");
    write!(written, "{}", std::process::id()).expect("a file");
    drop(written);
    std::fs::rename(new, file).expect("a file");
    match way {
        // The process looks dead as soon as its first thread is.
        "thread" => {
            std::thread::spawn(crate::kernel::wait_for_ever);
            let _ = call(libc::SYS_exit, &[0]);
        }
        // Each process lives for a moment, and has started the next one by then.
        "hop" => crate::kernel::hop(),
        _ => {}
    }
    crate::kernel::wait_for_ever();
}
