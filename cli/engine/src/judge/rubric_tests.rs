//! Every row and border of the rubric.

use super::*;
use crate::judge::test_support::finding;

fn judged(severity: Severity, category: &str, file: &str) -> JudgedFinding {
    JudgedFinding::kept(finding("F1", severity, category, file, 1))
}

fn verdict_of(findings: &[JudgedFinding], gaps: &[&str]) -> Verdict {
    verdict_with(findings, gaps, &[])
}

fn verdict_with(findings: &[JudgedFinding], gaps: &[&str], manual_reviews: &[ManualReview]) -> Verdict {
    let gaps: Vec<String> = gaps.iter().map(ToString::to_string).collect();
    verdict(RubricInput {
        findings,
        gaps: &gaps,
        manual_reviews,
        settings: RubricSettings::default(),
    })
    .verdict
}

#[test]
fn every_row() {
    use Severity::{Critical, Suggestion, Warning};
    let warning = |category: &str, file: &str| judged(Warning, category, file);
    let rows: Vec<(Vec<JudgedFinding>, &[&str], Verdict)> = vec![
        (vec![], &[], Verdict::Approved),
        (vec![judged(Suggestion, "a", "x")], &[], Verdict::ApprovedWithComments),
        (vec![warning("a", "x")], &[], Verdict::ApprovedWithComments),
        (
            vec![warning("a", "x"), warning("b", "x")],
            &[],
            Verdict::ApprovedWithComments,
        ),
        (
            vec![warning("a", "x"), warning("a", "y")],
            &[],
            Verdict::ApprovedWithComments,
        ),
        (vec![warning("a", "x"), warning("a", "x")], &[], Verdict::MinorIssues),
        (
            vec![warning("a", "x"), warning("b", "y"), warning("c", "z")],
            &[],
            Verdict::MinorIssues,
        ),
        (vec![judged(Critical, "a", "x")], &[], Verdict::SignificantConcerns),
        (
            vec![judged(Critical, "a", "x")],
            &["security failed"],
            Verdict::SignificantConcerns,
        ),
        (vec![], &["security failed"], Verdict::Inconclusive),
        (vec![warning("a", "x")], &["a.rs was not read"], Verdict::Inconclusive),
    ];
    for (findings, gaps, expected) in rows {
        let described: Vec<_> = findings.iter().map(|entry| entry.finding.severity).collect();
        assert_eq!(
            verdict_of(&findings, gaps),
            expected,
            "{described:?} with gaps {gaps:?}"
        );
    }
}

#[test]
fn a_production_risk_blocks_if_it_is_at_least_a_warning() {
    let mut warning = judged(Severity::Warning, "a", "x");
    warning.production_risk = true;
    assert_eq!(verdict_of(&[warning], &[]), Verdict::SignificantConcerns);
    let mut suggestion = judged(Severity::Suggestion, "a", "x");
    suggestion.production_risk = true;
    assert_eq!(verdict_of(&[suggestion], &[]), Verdict::ApprovedWithComments);
}

#[test]
fn what_does_not_stand_does_not_count() {
    let mut dropped = judged(Severity::Critical, "a", "x");
    dropped.fate = conclave_shared::telemetry::FindingFate::Dropped;
    assert_eq!(verdict_of(&[dropped], &[]), Verdict::Approved);
}

#[test]
fn a_manual_review_caps_the_verdict_and_hides_nothing_worse() {
    let manual = [ManualReview {
        rule: "DATA-003".into(),
        link: "https://rules.example.com/data-003".into(),
        when: "a schema changes".into(),
        who: vec!["@group/data".into()],
        files: vec!["db/1.sql".into()],
        add_as_reviewers: false,
    }];
    let rows: [(&[JudgedFinding], &[&str], Verdict); 4] = [
        (&[], &[], Verdict::ApprovedWithComments),
        (
            &[judged(Severity::Warning, "a", "x")],
            &[],
            Verdict::ApprovedWithComments,
        ),
        (&[], &["security failed"], Verdict::Inconclusive),
        (
            &[judged(Severity::Critical, "a", "x")],
            &[],
            Verdict::SignificantConcerns,
        ),
    ];
    for (findings, gaps, expected) in rows {
        assert_eq!(verdict_with(findings, gaps, &manual), expected, "{gaps:?}");
    }
    let alike = [judged(Severity::Warning, "a", "x"), judged(Severity::Warning, "a", "x")];
    assert_eq!(verdict_with(&alike, &[], &manual), Verdict::MinorIssues);
    let answer = verdict(RubricInput {
        findings: &[],
        gaps: &[],
        manual_reviews: &manual,
        settings: RubricSettings::default(),
    });
    assert_eq!(
        answer.reason,
        "nothing that blocks, but a person has to look (DATA-003)"
    );
}
