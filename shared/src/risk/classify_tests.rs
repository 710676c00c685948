//! Every border of the tiers, in the order of the rules.

use super::*;
use crate::risk::RiskSettings;

fn assess(files: usize, lines: u64, rules: RiskRules) -> RiskAssessment {
    let names: Vec<String> = (0..files).map(|index| format!("src/file{index}.rs")).collect();
    let mut changes: Vec<FileChange<'_>> = names
        .iter()
        .map(|path| FileChange {
            path,
            old_path: path,
            changed_lines: 0,
        })
        .collect();
    if let Some(first) = changes.first_mut() {
        first.changed_lines = lines;
    }
    classify(&changes, rules, &SecurityPaths::default())
}

fn change(path: &'static str, old_path: &'static str) -> FileChange<'static> {
    FileChange {
        path,
        old_path,
        changed_lines: 1,
    }
}

#[test]
fn every_border() {
    use RiskTier::{Full, Lite, Trivial};
    for (files, lines, expected) in [
        // Nothing at all, and files without lines (pure renames).
        (0, 0, Trivial),
        (1, 0, Trivial),
        (20, 0, Trivial),
        (21, 0, Full),
        // 10 and 11 lines.
        (1, 10, Trivial),
        (1, 11, Lite),
        (20, 10, Trivial),
        (20, 11, Lite),
        // 20 and 21 files.
        (21, 10, Full),
        (21, 11, Full),
        // 100 and 101 lines.
        (1, 100, Lite),
        (1, 101, Full),
        (20, 100, Lite),
        (20, 101, Full),
        (21, 100, Full),
        // 50 and 51 files: `full` both, for another reason.
        (50, 10, Full),
        (51, 1, Full),
        (50, 101, Full),
        (51, 101, Full),
    ] {
        let assessment = assess(files, lines, RiskRules::default());
        assert_eq!(assessment.tier, expected, "{files} files, {lines} lines");
    }
}

#[test]
fn the_reason_names_the_border() {
    for (files, lines, reason) in [
        (1, 1, "1 changed line in 1 file: up to 10 lines in up to 20 files"),
        (2, 10, "10 changed lines in 2 files: up to 10 lines in up to 20 files"),
        (
            20,
            11,
            "11 changed lines in 20 files: up to 100 lines in up to 20 files",
        ),
        (3, 101, "101 changed lines in 3 files: more than 100 lines"),
        (21, 4, "4 changed lines in 21 files: more than 20 files"),
        (50, 4, "4 changed lines in 50 files: more than 20 files"),
        (51, 4, "51 files are more than 50"),
    ] {
        assert_eq!(assess(files, lines, RiskRules::default()).reasons, [reason]);
    }
}

#[test]
fn a_security_sensitive_file_comes_before_every_count() {
    let assessment = classify(
        &[
            change("src/a.rs", "src/a.rs"),
            change("src/session.rs", "src/session.rs"),
        ],
        RiskRules::default(),
        &SecurityPaths::default(),
    );
    assert_eq!(assessment.tier, RiskTier::Full);
    assert_eq!(
        assessment.reasons,
        ["security-sensitive: src/session.rs (`session` in the path)"]
    );
    let look_alikes = [
        change("author.md", "author.md"),
        change("src/tokenizer.rs", "src/tokenizer.rs"),
    ];
    let assessment = classify(&look_alikes, RiskRules::default(), &SecurityPaths::default());
    assert_eq!(assessment.tier, RiskTier::Trivial);
}

#[test]
fn a_sensitive_file_is_full_also_when_it_is_moved_away() {
    let moved = change("lib/util.rs", "auth/util.rs");
    let assessment = classify(&[moved], RiskRules::default(), &SecurityPaths::default());
    assert_eq!(assessment.tier, RiskTier::Full);
    assert_eq!(assessment.reasons, ["security-sensitive: auth/util.rs (under `auth/`)"]);
}

#[test]
fn all_reasons_are_given_but_not_a_thousand_files() {
    let names: Vec<String> = (0..60).map(|index| format!("auth/file{index}.rs")).collect();
    let files: Vec<FileChange<'_>> = names
        .iter()
        .map(|path| FileChange {
            path,
            old_path: path,
            changed_lines: 0,
        })
        .collect();
    let reasons = classify(&files, RiskRules::default(), &SecurityPaths::default()).reasons;
    assert_eq!(reasons.len(), 12);
    assert_eq!(reasons[0], "60 files are more than 50");
    assert_eq!(reasons[11], "security-sensitive: 50 more");
}

#[test]
fn an_operator_moves_the_borders() {
    use RiskTier::{Full, Lite, Trivial};
    let rules = RiskRules::with(&RiskSettings {
        full_files: Some(5),
        few_files: Some(3),
        trivial_lines: Some(1),
        lite_lines: Some(2),
        ..RiskSettings::default()
    });
    for (files, lines, expected) in [(3, 1, Trivial), (3, 2, Lite), (3, 3, Full), (4, 1, Full), (6, 0, Full)] {
        assert_eq!(
            assess(files, lines, rules).tier,
            expected,
            "{files} files, {lines} lines"
        );
    }
    assert_eq!(assess(6, 0, rules).reasons, ["6 files are more than 5"]);
    assert_eq!(RiskRules::with(&RiskSettings::default()), RiskRules::default());
}
