//! Who agrees with whom, and what is one problem without a judge.

use conclave_shared::{
    finding::{Quote, fingerprint},
    reviewer::ReviewerName,
    severity::Severity,
};
use proptest::prelude::*;

use super::*;
use crate::judge::test_support::finding;

const CLAIM: &str = "`load_user` returns None for an unknown id, and the caller dereferences it.";
const REWORDED: &str = "The caller dereferences the result of `load_user`, which is None when the id is unknown.";
/// Of the same problem, in words that have less in common.
const FAR: &str = "An unknown id crashes the caller, because nothing checks what `load_user` gave.";
const OTHER: &str = "The query is built from the name of the report without a parameter.";

const NONE: [Vec<usize>; 0] = [];

fn by(reviewer: &str, id: &str, place: (&str, u32), claim: &str) -> Finding {
    let mut finding = finding(id, Severity::Warning, id, place.0, place.1);
    finding.reviewer = ReviewerName::new(reviewer).expect("a name");
    finding.found_by = vec![finding.reviewer.clone()];
    finding.claim = claim.to_owned();
    finding
}

fn pair(one: (&str, u32), other: (&str, u32), claims: [&str; 2]) -> [Finding; 2] {
    [
        by("security", "F1", one, claims[0]),
        by("correctness", "F2", other, claims[1]),
    ]
}

#[test]
fn the_same_claim_about_the_same_lines_is_a_group() {
    let findings = [
        by("security", "F1", ("src/a.py", 10), CLAIM),
        by("performance", "F2", ("src/a.py", 10), OTHER),
        by("correctness", "F3", ("src/a.py", 10), REWORDED),
    ];
    assert_eq!(same_claims(&findings), [vec![0, 2]], "one place alone makes no group");
    assert_eq!(repeats(&findings), [vec![0, 2]]);
}

#[test]
fn the_same_words_about_another_place_are_another_problem() {
    for place in [("src/b.py", 10), ("src/a.py", 11), ("src/a.py", 400)] {
        let findings = pair(("src/a.py", 10), place, [CLAIM, CLAIM]);
        assert_eq!(repeats(&findings), NONE, "{place:?}");
        assert_eq!(same_claims(&findings), NONE, "{place:?}");
    }
}

#[test]
fn lines_overlap_with_their_ends() {
    let mut findings = pair(("src/a.py", 8), ("src/a.py", 10), [CLAIM, REWORDED]);
    findings[0].end_line = Some(9);
    assert_eq!(repeats(&findings), NONE);
    findings[0].end_line = Some(10);
    assert_eq!(repeats(&findings), [vec![0, 1]]);
}

#[test]
fn half_the_words_are_a_hint_for_the_judge_and_no_reason_to_merge() {
    let share = claim_overlap(CLAIM, FAR);
    assert!((ALIKE..SURE).contains(&share), "{share}");
    let findings = pair(("src/a.py", 10), ("src/a.py", 10), [CLAIM, FAR]);
    assert_eq!(same_claims(&findings), [vec![0, 1]]);
    assert_eq!(repeats(&findings), NONE);
}

#[test]
fn a_second_quote_is_a_place_too_for_a_reader_of_both() {
    let mut findings = pair(("src/a.py", 10), ("src/b.py", 30), [CLAIM, REWORDED]);
    findings[0].second = Some(Quote {
        file: "src/b.py".into(),
        line: 29,
        code: "user = load_user(id)\nprint(user.name)".into(),
    });
    assert_eq!(same_claims(&findings), [vec![0, 1]]);
    assert_eq!(
        repeats(&findings),
        NONE,
        "which of both places is meant, a program cannot know"
    );
}

#[test]
fn a_reviewer_does_not_repeat_itself() {
    let mut findings = pair(("src/a.py", 10), ("src/a.py", 10), [CLAIM, REWORDED]);
    findings[1].reviewer = findings[0].reviewer.clone();
    assert_eq!(same_claims(&findings), NONE, "it has found two problems of a kind");
    let mut twice = [findings[0].clone(), findings[0].clone()];
    twice[1].id = "F2".into();
    assert_eq!(repeats(&twice), [vec![0, 1]], "this is the same report twice");
}

#[test]
fn the_same_code_and_kind_at_one_line_is_one_problem_only_where_the_claims_agree() {
    let mut findings = pair(
        ("src/a.py", 10),
        ("src/a.py", 10),
        [CLAIM, "Etwas ganz anderes steht hier."],
    );
    assert_eq!(repeats(&findings), NONE, "a line is no problem by itself");
    findings[1].category = findings[0].category.clone();
    assert_eq!(repeats(&findings), NONE, "nor are a line and a category");
    findings[1].fingerprint = findings[0].fingerprint.clone();
    assert_eq!(repeats(&findings), NONE, "nor is one identity");
    assert_eq!(same_claims(&findings), NONE, "and nobody agrees");
    findings[1].claim = REWORDED.to_owned();
    assert_eq!(repeats(&findings), [vec![0, 1]]);
    findings[1].line = 20;
    assert_eq!(repeats(&findings), NONE, "the same code stands in two places");
}

#[test]
fn words_that_steer_the_review_hide_behind_nothing() {
    let mut findings = pair(("src/a.py", 10), ("src/a.py", 10), [CLAIM, CLAIM]);
    findings[1].category = Finding::PROMPT_INJECTION.into();
    findings[1].fingerprint = fingerprint("src/a.py", Finding::PROMPT_INJECTION, "code F1");
    assert_eq!(same_claims(&findings), NONE);
    assert_eq!(repeats(&findings), NONE);
}

#[test]
fn a_few_common_words_prove_nothing_in_any_language() {
    let claims = ["函数 `load_user` 没有校验参数。", "函数 `load_user` 泄漏连接。"];
    let findings = pair(("src/a.py", 10), ("src/a.py", 10), claims);
    assert_eq!(same_claims(&findings), NONE);
    let findings = pair(("src/a.py", 10), ("src/a.py", 10), [claims[0], claims[0]]);
    assert_eq!(repeats(&findings), [vec![0, 1]]);
}

#[test]
fn no_chain_of_half_alike_claims_becomes_one() {
    let claims = [
        "alpha beta gamma delta epsilon zeta",
        "gamma delta epsilon zeta theta iota",
        "epsilon zeta theta iota kappa lambda",
    ];
    let [one, two, three] = claims;
    assert!(claim_overlap(one, two) >= SURE && claim_overlap(two, three) >= SURE);
    let findings = [
        by("security", "F1", ("src/a.py", 10), one),
        by("correctness", "F2", ("src/a.py", 10), two),
        by("release", "F3", ("src/a.py", 10), three),
    ];
    assert_eq!(repeats(&findings), [vec![0, 1]]);
}

#[test]
fn agreement_is_recorded_with_each_finding() {
    let mut findings = vec![
        by("security", "F1", ("src/a.py", 10), CLAIM),
        by("correctness", "F2", ("src/a.py", 10), REWORDED),
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
            by("security", &format!("F{number}"), ("src/a.py", 10), &claim)
        })
        .collect();
    findings.push(by("correctness", "G", ("src/a.py", 10), CLAIM));
    findings.push(by("performance", "H", ("src/a.py", 10), REWORDED));
    assert_eq!(same_claims(&findings), [vec![200, 201]]);
    findings.reverse();
    assert_eq!(same_claims(&findings), [vec![0, 1]]);
}

#[test]
fn only_findings_that_quote_a_common_line_are_compared() {
    let mut findings: Vec<Finding> = (0..3_000)
        .map(|number| by("security", "x", ("src/a.py", 10 * number + 1), CLAIM))
        .collect();
    assert!(on_common_lines(&findings).is_empty());
    // The first has lines of the next two; another stands in another file, on a line that the one behind it quotes second.
    findings[0].end_line = Some(21);
    findings[3].file = "src/b.py".to_owned();
    findings[4].second = Some(Quote {
        file: "src/b.py".to_owned(),
        line: 31,
        code: "x".to_owned(),
    });
    assert_eq!(on_common_lines(&findings), BTreeSet::from([(0, 1), (0, 2), (3, 4)]));
    findings[1].reviewer = ReviewerName::new("correctness").expect("a name");
    assert_eq!(same_claims(&findings), [vec![0, 1]]);
}

proptest! {
    #[test]
    fn any_texts_can_be_compared_in_any_order(one in "\\PC{0,80}", other in "[a-z_().& ]{0,80}") {
        let share = claim_overlap(&one, &other);
        prop_assert!((0.0..=1.0).contains(&share), "{}", share);
        prop_assert!((share - claim_overlap(&other, &one)).abs() < 1e-9);
        prop_assert_eq!(repeats(&pair(("a", 1), ("b", 1), [&one, &other])), NONE);
    }
}
