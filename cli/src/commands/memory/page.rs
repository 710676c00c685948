//! What a repository remembers, in the terminal.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use conclave_shared::memory::{ENOUGH, HotSpot, Rejected, RepositoryMemory};

use crate::output::{
    layout::{clean, columns},
    paint::Paint,
    table::{rows, section},
};

/// So many merge requests are named.
const MAX_NAMED: usize = 3;

/// All of it.
pub(crate) fn memory(memory: &RepositoryMemory) -> String {
    let mut text = format!("{} {}\n", "Memory of".bold(), clean(&memory.project));
    if memory.is_empty() {
        text.push_str("Nothing is remembered: no finding has been turned down, and none was seen to be fixed.");
        return text;
    }
    if !memory.rejected.is_empty() {
        section(&mut text, "Turned down by people");
        let lines = memory.rejected.iter().map(|entry| rejected(entry, memory));
        text.push_str(&rows(lines, columns()));
    }
    if !memory.hot_spots.is_empty() {
        section(&mut text, "Files in which findings were fixed");
        text.push_str(&rows(memory.hot_spots.iter().map(hot_spot), columns()));
    }
    text.trim_end().to_owned()
}

/// What was forgotten.
pub(crate) fn forgotten(project: &str, findings: u64) -> String {
    match findings {
        0 => format!("There was nothing to forget in {}.", clean(project)),
        1 => format!("1 finding is forgotten in {}.", clean(project)),
        findings => format!("{findings} findings are forgotten in {}.", clean(project)),
    }
}

/// Its identity, what becomes of it, and what is known of it.
fn rejected(entry: &Rejected, memory: &RepositoryMemory) -> [String; 3] {
    let named = entry.merge_requests.iter().take(MAX_NAMED);
    let mut changes = named.map(u64::to_string).collect::<Vec<_>>().join(", ");
    if entry.merge_requests.len() > MAX_NAMED {
        let _ = write!(changes, " and {} more", entry.merge_requests.len() - MAX_NAMED);
    }
    let effect = match memory.times_rejected(entry.known()) {
        times if times >= ENOUGH => "left out".to_owned(),
        times => format!("{times} of {ENOUGH}"),
    };
    [
        format!("  {}", clean(&entry.fingerprint)),
        effect,
        format!(
            "{}, {}, in the changes {changes}, last on {}",
            clean(&entry.category),
            clean(&entry.path),
            day(entry.last_ms)
        ),
    ]
}

fn hot_spot(spot: &HotSpot) -> [String; 2] {
    let mut what = format!("{}, last on {}", clean(&spot.path), day(spot.last_ms));
    if !spot.categories.is_empty() {
        let _ = write!(what, ": {}", clean(&spot.categories.join(", ")));
    }
    [format!("  {}", spot.fixed), what]
}

fn day(at_ms: i64) -> String {
    let at: DateTime<Utc> = DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.format("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_is_left_out_and_what_is_only_remembered() {
        let entry = |fingerprint: &str, merge_requests: &[u64]| Rejected {
            fingerprint: fingerprint.to_owned(),
            claim: None,
            category: "debug-output".to_owned(),
            path: "src/a.py\u{1b}[31m".to_owned(),
            merge_requests: merge_requests.to_vec(),
            last_ms: 0,
        };
        let shown = memory(&RepositoryMemory {
            project: "group/project".to_owned(),
            rejected: vec![entry("f1", &[1, 2, 3, 4, 5, 6, 7]), entry("f2", &[9])],
            hot_spots: vec![HotSpot {
                path: "src/b.py".to_owned(),
                fixed: 3,
                categories: vec!["naming".to_owned()],
                last_ms: 0,
            }],
            ..RepositoryMemory::default()
        });
        for part in [
            "group/project",
            "in the changes 1, 2, 3",
            "left out",
            "src/b.py",
            "1970-01-01",
        ] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
        assert!(!shown.contains("\u{1b}[31m"), "nothing acts on the terminal");
        let empty = memory(&RepositoryMemory::default());
        assert!(empty.contains("Nothing is remembered"), "{empty}");
        assert_eq!(forgotten("p", 1), "1 finding is forgotten in p.");
    }
}
