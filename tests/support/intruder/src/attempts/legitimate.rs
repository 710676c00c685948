//! Acts that have to work in the sandbox.

use std::{
    net::{TcpListener, TcpStream},
    process::Command,
};

use super::{Attempt, Outside::Always};
use crate::facts::Facts;

pub(super) const ATTEMPTS: &[Attempt] = &[
    ("ok_reads_the_workspace", Always, |facts| {
        std::fs::read(facts.workspace.join("file")).is_ok() && std::fs::read_dir(&facts.workspace).is_ok()
    }),
    ("ok_reads_its_configuration", Always, |facts| {
        std::fs::read(facts.runtime.join("opencode.json")).is_ok()
    }),
    ("ok_writes_in_its_home", Always, writes),
    ("ok_reaches_the_gateway", Always, |facts| {
        TcpStream::connect(("127.0.0.1", facts.gateway)).is_ok()
    }),
    ("ok_serves_at_one_port", Always, |_| {
        TcpListener::bind(("127.0.0.1", 0)).is_ok()
    }),
    ("ok_runs_a_program", Always, |_| {
        Command::new("/bin/sh")
            .args(["-c", "exit 0"])
            .status()
            .is_ok_and(|status| status.success())
    }),
    ("ok_kills_its_child", Always, |_| {
        Command::new("/bin/sleep")
            .arg("600")
            .spawn()
            .is_ok_and(|mut child| child.kill().is_ok() && child.wait().is_ok())
    }),
    ("ok_has_random_numbers", Always, |_| {
        std::fs::File::open("/dev/urandom").is_ok()
    }),
];

fn writes(facts: &Facts) -> bool {
    let (one, two) = (facts.home.join("data/one"), facts.home.join("state/two"));
    std::fs::create_dir_all(facts.home.join("data/new")).is_ok()
        && std::fs::write(&one, "text").is_ok()
        && std::fs::rename(&one, &two).is_ok()
        && std::fs::remove_file(&two).is_ok()
        && std::fs::remove_dir(facts.home.join("data/new")).is_ok()
}
