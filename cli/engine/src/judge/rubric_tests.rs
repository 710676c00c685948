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
        breach: false,
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

/// Each border of the risk pattern, from both sides, also where a repository has moved it.
#[test]
fn every_border_of_the_risk_pattern() {
    let strict = RubricSettings {
        warnings: 1,
        warnings_alike: 1,
    };
    let relaxed = RubricSettings {
        warnings: 5,
        warnings_alike: 4,
    };
    let apart = |count: usize| -> Vec<JudgedFinding> {
        (0..count)
            .map(|number| judged(Severity::Warning, &format!("kind-{number}"), &format!("{number}.py")))
            .collect()
    };
    let alike = |count: usize| -> Vec<JudgedFinding> { vec![judged(Severity::Warning, "a", "x"); count] };
    let suggestions = vec![judged(Severity::Suggestion, "a", "x"); 50];
    for (settings, findings, expected) in [
        (RubricSettings::default(), apart(2), Verdict::ApprovedWithComments),
        (RubricSettings::default(), apart(3), Verdict::MinorIssues),
        (RubricSettings::default(), alike(1), Verdict::ApprovedWithComments),
        (RubricSettings::default(), alike(2), Verdict::MinorIssues),
        (
            RubricSettings::default(),
            suggestions.clone(),
            Verdict::ApprovedWithComments,
        ),
        (strict, apart(1), Verdict::MinorIssues),
        (strict, suggestions.clone(), Verdict::ApprovedWithComments),
        (strict, Vec::new(), Verdict::Approved),
        (relaxed, apart(4), Verdict::ApprovedWithComments),
        (relaxed, apart(5), Verdict::MinorIssues),
        (relaxed, alike(3), Verdict::ApprovedWithComments),
        (relaxed, alike(4), Verdict::MinorIssues),
    ] {
        let answer = verdict(RubricInput {
            findings: &findings,
            gaps: &[],
            manual_reviews: &[],
            settings,
        });
        assert_eq!(answer.verdict, expected, "{} findings, {settings:?}", findings.len());
        assert!(!answer.reason.is_empty());
        assert!(!answer.reason.contains("1 warnings"), "{}", answer.reason);
    }
}

/// What comes first wins: a block over a gap, a gap over a pattern, a pattern over a person who has to look.
#[test]
fn the_order_of_the_rows() {
    let gaps = ["security failed"];
    let warnings = vec![judged(Severity::Warning, "a", "x"); 3];
    assert_eq!(verdict_of(&warnings, &gaps), Verdict::Inconclusive);
    let mut risk = warnings.clone();
    risk[0].production_risk = true;
    assert_eq!(verdict_of(&risk, &gaps), Verdict::SignificantConcerns);
    assert_eq!(
        verdict_of(&[judged(Severity::Suggestion, "a", "x")], &gaps),
        Verdict::Inconclusive
    );
    let mut merged = judged(Severity::Critical, "a", "x");
    merged.fate = conclave_shared::telemetry::FindingFate::Merged;
    assert_eq!(verdict_of(&[merged], &[]), Verdict::Approved, "its twin decides");
}
