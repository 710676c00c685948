//! Submissions, good and bad, and what they do.

use conclave_shared::{
    finding::{Doubt, Quote},
    telemetry::FindingFate,
};

use super::*;
use crate::judge::{Grounds, apply, judge_without_model, test_support::finding};

fn three() -> Vec<Finding> {
    vec![
        finding("F1", Severity::Warning, "n-plus-one", "a.py", 3),
        finding("F2", Severity::Critical, "sql-injection", "b.py", 9),
        finding("F3", Severity::Suggestion, "naming", "c.py", 1),
    ]
}

#[test]
fn decisions_are_applied_and_what_is_not_mentioned_stays() {
    let mut findings = three();
    findings[0].found_by = vec![ReviewerName::new("performance").expect("a name")];
    let submission = Submission::parse(
        json!({"summary": "Two things.", "decisions": [
            {"id": "F1", "action": "merge", "merge_into": "F2", "reason_code": "duplicate"},
            {"id": "F3", "action": "drop", "reason_code": "nitpick", "reason": "A matter of taste."}]}),
        &findings,
    )
    .expect("valid");
    let judged = apply(findings, &submission, &Grounds::default());
    let fates: Vec<_> = judged
        .iter()
        .map(|entry| (entry.finding.id.as_str(), entry.fate))
        .collect();
    assert_eq!(
        fates,
        [
            ("F2", FindingFate::Kept),
            ("F1", FindingFate::Merged),
            ("F3", FindingFate::Dropped)
        ]
    );
    let names: Vec<_> = judged[0].finding.found_by.iter().map(ReviewerName::as_str).collect();
    assert_eq!(names, ["security", "performance"], "merging records the agreement");
    assert_eq!(judged[2].reason.as_deref(), Some("A matter of taste."));
}

#[test]
fn all_faults_of_a_submission_are_named_at_once_and_the_other_decisions_count() {
    let submission = Submission::parse(
        json!({"summary": " ", "decisions": [
            {"id": "F9", "action": "keep"},
            {"id": "F1", "action": "drop", "reason_code": "boring", "reason": "r"},
            {"id": "F2", "action": "delete"},
            {"id": "F3", "action": "drop", "reason_code": "nitpick"},
            {"id": "F3", "action": "keep"}]}),
        &three(),
    )
    .expect("one can be used");
    let used: Vec<(&str, Option<&str>)> = submission
        .decisions
        .iter()
        .map(|decision| (decision.id.as_str(), decision.reason_code.as_deref()))
        .collect();
    assert_eq!(used, [("F1", None)], "a code that we do not know is none");
    let error = submission.faults.join("; ");
    for part in [
        "summary is empty",
        "no finding F9",
        "F2: unknown variant `delete`",
        "F3 has two decisions",
    ] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
    // What weighs is dropped with a reason only, and what cannot be used is not a submission.
    for (decision, fault) in [
        (json!({"id": "F2", "action": "drop"}), "F2 needs a reason_code"),
        (
            json!({"id": "F2", "action": "drop", "reason_code": "boring"}),
            "`boring` is not",
        ),
        (json!({"id": "F1", "action": "merge"}), "F1 needs merge_into"),
        (
            json!({"id": "F1", "action": "merge", "merge_into": "F1"}),
            "into itself",
        ),
    ] {
        let error = Submission::parse(json!({"summary": "s", "decisions": [decision]}), &three());
        let error = error.expect_err("nothing is left of it").to_string();
        assert!(error.contains(fault), "{error}");
    }
    let both = json!({"summary": "s", "decisions": [
        {"id": "F1", "action": "drop"},
        {"id": "F3", "action": "merge", "merge_into": "F1"}]});
    let faults = Submission::parse(both, &three()).expect("one can be used").faults;
    assert_eq!(faults, ["F3: F1 is not kept, merge into one that is"]);
    for nothing in [json!({"decisions": "all"}), json!({}), json!(null)] {
        assert!(Submission::parse(nothing, &three()).is_err());
    }
}

#[test]
fn without_a_finding_the_summary_counts_beside_a_decision_on_one() {
    let stray = json!([{"id": "F77", "action": "keep"}]);
    let submitted = Submission::parse(json!({"summary": "s", "decisions": stray.clone()}), &[]).expect("a summary");
    assert_eq!((submitted.summary.as_str(), submitted.decisions.len()), ("s", 0));
    assert_eq!(submitted.faults, ["there is no finding F77"]);
    for (summary, findings) in [("", Vec::new()), ("s", three())] {
        let error = Submission::parse(json!({"summary": summary, "decisions": stray.clone()}), &findings);
        let error = error.expect_err("nothing is left of it").to_string();
        assert!(error.contains("there is no finding F77"), "{error}");
    }
}

#[test]
fn without_a_model_only_a_doubt_that_was_measured_lowers_a_warning_that_has_no_second_quote() {
    let lowered = |severity, doubt, second: Option<Quote>| {
        let mut doubted = finding("F1", severity, "missing-import", "a.py", 3);
        doubted.doubts = vec![doubt];
        doubted.second = second;
        judge_without_model(vec![doubted])[0].finding.severity
    };
    for doubt in Doubt::ALL {
        let expected = if doubt == Doubt::BuildClaim {
            Severity::Suggestion
        } else {
            Severity::Warning
        };
        assert_eq!(lowered(Severity::Warning, doubt, None), expected, "{doubt}");
        assert_eq!(lowered(Severity::Critical, doubt, None), Severity::Critical, "{doubt}");
    }
    let second = Quote {
        file: "b.py".into(),
        line: 1,
        code: "import os".into(),
    };
    assert_eq!(
        lowered(Severity::Warning, Doubt::BuildClaim, Some(second)),
        Severity::Warning
    );
}

#[test]
fn without_a_model_repeats_are_merged_and_doubts_taken_out() {
    let mut findings = three();
    let mut twin = finding("F4", Severity::Critical, "query-in-loop", "a.py", 3);
    twin.reviewer = ReviewerName::new("correctness").expect("a name");
    twin.found_by = vec![twin.reviewer.clone()];
    findings.push(twin);
    findings[2].confidence = 0.79;
    let judged = judge_without_model(findings);
    let get = |id: &str| judged.iter().find(|entry| entry.finding.id == id).expect("there");
    assert_eq!(get("F4").fate, FindingFate::Merged);
    assert_eq!(get("F1").finding.found_by.len(), 2);
    assert_eq!(
        get("F1").finding.severity,
        Severity::Critical,
        "the worse severity wins"
    );
    assert_eq!(get("F3").fate, FindingFate::Dropped);
    assert_eq!(get("F2").fate, FindingFate::Kept);
}
