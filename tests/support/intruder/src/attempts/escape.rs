//! Leaving everything by which a process could be found: group, session, parent, environment, readable memory.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{Attempt, Outside::Always};
use crate::{facts::Facts, kernel::call};

/// The file with the process id of what hides, in the home.
pub(crate) const HIDDEN: &str = "tmp/hidden";

pub(super) const ATTEMPTS: &[Attempt] = &[("hides", Always, hides)];

fn hides(facts: &Facts) -> bool {
    let file = facts.home.join(HIDDEN);
    let own = std::env::args().next().expect("a name");
    let started = Command::new(own)
        .arg("hide")
        .arg(&file)
        .env_clear()
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

/// Hides: writes its process id down, for the test, and stays.
pub(crate) fn hide(file: &str) {
    call(libc::SYS_setsid, &[]).expect("a session of its own");
    // Its environment and memory are root's from here on.
    call(libc::SYS_prctl, &[4, 0]).expect("it hides");
    let new = format!("{file}.new");
    let mut written = std::fs::File::create(&new).expect("a file");
    write!(written, "{}", std::process::id()).expect("a file");
    drop(written);
    std::fs::rename(new, file).expect("a file");
    crate::kernel::wait_for_ever();
}
