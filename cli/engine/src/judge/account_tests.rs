//! When nobody judged.

use super::*;
use crate::judge::test_support::finding;

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
