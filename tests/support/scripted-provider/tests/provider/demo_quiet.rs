//! Look-alikes: what the rules must leave alone.

use crate::demo_rules::{cases, review};

const REVIEWERS: [&str; 10] = [
    "security",
    "performance",
    "code_quality",
    "documentation",
    "release",
    "codex",
    "agents_md",
    "correctness",
    "generalist",
    "tests",
];

#[test]
fn look_alikes_are_left_alone() {
    let cases = cases(include_str!("cases/quiet.txt"));
    assert!(cases.len() > 50);
    for (path, body, _) in cases {
        for reviewer in REVIEWERS {
            let found = review(reviewer, &[(path, body)], "");
            assert!(found.is_empty(), "{reviewer}: {path}: {body}: {found:#?}");
        }
    }
}
