//! Who agrees with whom.

use conclave_shared::{reviewer::ReviewerName, severity::Severity};

use super::*;
use crate::judge::test_support::finding;

const CLAIM: &str = "`load_user` returns None for an unknown id, and the caller dereferences it.";
const REWORDED: &str = "The caller dereferences the result of `load_user`, which is None when the id is unknown.";
const OTHER: &str = "The query is built from the name of the report without a parameter.";

fn by(reviewer: &str, id: &str, place: (&str, u32), claim: &str) -> Finding {
    let mut finding = finding(id, Severity::Warning, id, place.0, place.1);
    finding.reviewer = ReviewerName::new(reviewer).expect("a name");
    finding.found_by = vec![finding.reviewer.clone()];
    finding.claim = claim.to_owned();
    finding
}

#[test]
fn reports_of_one_claim_are_a_group_wherever_they_are_anchored() {
    let findings = [
        by("security", "F1", ("src/a.py", 10), CLAIM),
        by("performance", "F2", ("src/a.py", 10), OTHER),
        by("correctness", "F3", ("src/a.py", 40), REWORDED),
    ];
    assert_eq!(same_claims(&findings), [vec![0, 2]], "one place alone makes no group");
}

#[test]
fn a_reviewer_does_not_repeat_itself() {
    let findings = [
        by("security", "F1", ("src/a.py", 10), CLAIM),
        by("security", "F2", ("src/b.py", 90), REWORDED),
    ];
    assert_eq!(
        same_claims(&findings),
        Vec::<Vec<usize>>::new(),
        "it has found two problems of a kind"
    );
    let mut twice = [findings[0].clone(), findings[0].clone()];
    twice[1].id = "F2".into();
    assert_eq!(same_claims(&twice), [vec![0, 1]], "this is the same report twice");
}

#[test]
fn the_same_code_and_kind_is_one_problem_in_any_words() {
    let one = by("security", "F1", ("src/a.py", 10), CLAIM);
    let mut other = by("correctness", "F2", ("src/a.py", 10), "Etwas ganz anderes steht hier.");
    other.fingerprint = one.fingerprint.clone();
    assert_eq!(same_claims(&[one, other]), [vec![0, 1]]);
}

#[test]
fn agreement_is_recorded_with_each_finding() {
    let mut findings = vec![
        by("security", "F1", ("src/a.py", 10), CLAIM),
        by("correctness", "F2", ("src/a.py", 12), REWORDED),
        by("performance", "F3", ("src/a.py", 10), OTHER),
    ];
    record_agreement(&mut findings);
    let found_by = |index: usize| {
        let names = findings[index].found_by.iter().map(ReviewerName::as_str);
        names.collect::<Vec<_>>()
    };
    assert_eq!(found_by(0), ["security", "correctness"]);
    assert_eq!(found_by(1), ["correctness", "security"], "its own reviewer stays first");
    assert_eq!(found_by(2), ["performance"]);
}

#[test]
fn the_order_of_the_findings_does_not_matter_and_many_are_no_burden() {
    let mut findings: Vec<Finding> = (0..200)
        .map(|number| {
            let claim = format!("`handler_{number}` drops the error of `step_{number}`.");
            by("security", &format!("F{number}"), ("src/a.py", number * 10), &claim)
        })
        .collect();
    findings.push(by("correctness", "G", ("src/b.py", 1), CLAIM));
    findings.push(by("performance", "H", ("src/b.py", 2), REWORDED));
    assert_eq!(same_claims(&findings), [vec![200, 201]]);
    findings.reverse();
    assert_eq!(same_claims(&findings), [vec![0, 1]]);
}
