//! Holds without a judge, and where code of the change refutes.

use super::*;
use crate::{
    judge::test_support::finding,
    review::{Refutation, RefutationStatus},
};

#[test]
fn without_a_judge_any_finding_and_any_gap_of_the_panel_withholds_the_approval() {
    assert_eq!(no_judge(&[], true), None, "nothing was found by a whole panel");
    assert_eq!(no_judge(&[], false).map(|hold| hold.cause), Some(HoldCause::NoJudge));
    let found = [JudgedFinding::kept(finding(
        "F1",
        Severity::Suggestion,
        "naming",
        "a.py",
        3,
    ))];
    let hold = no_judge(&found, true).expect("a hold");
    assert_eq!(hold.places, ["a.py:3"]);
}

#[test]
fn the_reason_says_whether_the_change_brings_the_code_alters_its_use_or_the_target_branch_has_lost_it() {
    let reason = |lost_by_target, altered_use: Option<&str>, uncertain: Option<&str>| {
        let mut entry = JudgedFinding::kept(finding("F1", Severity::Critical, "sql-injection", "a.py", 3));
        entry.refutation = Some(Refutation {
            file: "b.py".to_owned(),
            line: 7,
            end_line: None,
            quote: "check(name)".to_owned(),
            status: RefutationStatus::ThisChange,
            needed: true,
            lost_by_target,
            altered_use: altered_use.map(str::to_owned),
            uncertain: uncertain.map(str::to_owned),
            fault: None,
            surroundings: None,
        });
        let held = holds(&[entry], &PathGlobs::default());
        assert_eq!(held[0].places, ["a.py:3", "b.py:7"]);
        held[0].reason.clone()
    };
    assert!(reason(false, None, None).contains("code that this change itself adds or alters"));
    assert!(reason(false, Some("c.py:2"), None).contains("uses in another way, or no longer, at c.py:2"));
    assert!(reason(true, None, None).contains("the target branch no longer has it"));
    let uncertain = reason(false, None, Some("it stands between the tags of a page"));
    assert!(uncertain.contains("that may not apply (it stands between the tags of a page); check whether it does"));
}
