//! The attempts.

mod connections;
mod escape;
mod files;
mod legitimate;
mod processes;

use std::{
    collections::BTreeMap,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitCode, Stdio},
};

use crate::facts::Facts;

pub(crate) use escape::{HIDDEN, LEFT, hide};
pub(crate) use files::ATTRIBUTE;

/// Condition under which an attempt succeeds without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// Everywhere.
    Always,
    /// For root.
    Root,
    /// On some machines, for this reason. It proves nothing where it does not.
    Depends(&'static str),
}

/// One thing that an intruder tries.
pub(crate) type Attempt = (&'static str, Outside, fn(&Facts) -> bool);

/// The attempts of a group.
pub(crate) fn of_group(group: &str) -> &'static [Attempt] {
    match group {
        "legitimate" => legitimate::ATTEMPTS,
        "reads" => files::READS,
        "writes" => files::WRITES,
        "connects" => connections::ATTEMPTS,
        "processes" => processes::ATTEMPTS,
        "escape" => escape::ATTEMPTS,
        "bomb" => escape::BOMB,
        "serves" => connections::SERVES,
        other => panic!("there is no group {other}"),
    }
}

pub(crate) const GROUPS: [&str; 8] = [
    "legitimate",
    "reads",
    "writes",
    "connects",
    "processes",
    "escape",
    "bomb",
    "serves",
];

/// Makes the attempts of the group, each in a process of its own, writes down which succeeded, and stays.
pub(crate) fn run_all(own: &str) {
    let facts = Facts::read();
    try_all(own, facts.home.join("tmp/results.json").to_str().expect("UTF-8"));
    crate::kernel::wait_for_ever();
}

/// Makes the attempts and writes the results into this file. What is legitimate comes first: it takes the one server that there
/// may be.
pub(crate) fn try_all(own: &str, file: &str) {
    let facts = Facts::read();
    let mut groups = ["legitimate", facts.group.as_str()];
    if facts.group == "serves" {
        groups.reverse();
    }
    let mut results = BTreeMap::new();
    for (name, ..) in groups
        .iter()
        .take(if facts.group == "legitimate" { 1 } else { 2 })
        .flat_map(|group| of_group(group))
    {
        let status = Command::new(own)
            .args(["attempt", name])
            .stdin(Stdio::null())
            .status()
            .unwrap_or_else(|_| std::process::ExitStatus::from_raw(1 << 8));
        results.insert(*name, status.success());
    }
    let new = format!("{file}.new");
    std::fs::write(&new, serde_json::to_string(&results).expect("JSON")).expect("a file in its home");
    std::fs::rename(new, file).expect("a file in its home");
}

/// Makes one attempt.
pub(crate) fn run(name: &str) -> ExitCode {
    let facts = Facts::read();
    let attempts = GROUPS.iter().flat_map(|group| of_group(group));
    let (.., attempt) = attempts
        .into_iter()
        .find(|(known, ..)| *known == name)
        .unwrap_or_else(|| panic!("there is no attempt {name}"));
    if attempt(&facts) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
