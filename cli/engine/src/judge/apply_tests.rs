//! What a judge's word does, and what it needs code for.

use conclave_shared::severity::Severity;
use serde_json::json;

use super::*;
use crate::{
    judge::{describe_removed, holds, removed_by_judge, test_support::finding},
    review::RefutationStatus,
};

const DUPLICATE: &str = "duplicate";

/// A critical, a warning and a suggestion about three problems, and words that steer.
fn four() -> Vec<Finding> {
    vec![
        finding("F1", Severity::Critical, "sql-injection", "b.py", 9),
        finding("F2", Severity::Warning, "n-plus-one", "a.py", 3),
        finding("F3", Severity::Suggestion, "naming", "c.py", 1),
        finding("F4", Severity::Warning, Finding::PROMPT_INJECTION, "prompts/a.md", 1),
    ]
}

fn refutation(status: RefutationStatus) -> Refutation {
    Refutation {
        file: "d.py".to_owned(),
        line: 4,
        end_line: None,
        quote: "check(name)".to_owned(),
        status,
        needed: false,
        lost_by_target: false,
        altered_use: None,
        uncertain: None,
        fault: (status == RefutationStatus::Invalid).then(|| "the quoted code does not stand in d.py".to_owned()),
        surroundings: None,
    }
}

fn judged(findings: Vec<Finding>, decisions: impl Into<serde_json::Value>, grounds: &Grounds) -> Vec<JudgedFinding> {
    let submission = json!({"summary": "s", "decisions": decisions.into()});
    let submission = Submission::parse(submission, &findings).expect("valid");
    apply(findings, &submission, grounds)
}

fn refuted(id: &str, status: RefutationStatus) -> Grounds {
    Grounds {
        refutations: HashMap::from([(id.to_owned(), refutation(status))]),
        ..Grounds::default()
    }
}

fn get<'a>(judged: &'a [JudgedFinding], id: &str) -> &'a JudgedFinding {
    judged.iter().find(|entry| entry.finding.id == id).expect("there")
}

#[test]
fn a_critical_stands_whatever_the_judge_says_and_its_view_is_noted() {
    for decision in [
        json!({"id": "F1", "action": "drop", "reason_code": "false_positive", "reason": "It is safe."}),
        json!({"id": "F1", "action": "keep", "severity": "suggestion", "reason": "It is safe."}),
        json!({"id": "F1", "action": "merge", "merge_into": "F3", "reason_code": DUPLICATE, "reason": "It is safe."}),
        json!({"id": "F1", "action": "drop", "severity": "suggestion", "reason_code": "nitpick", "reason": "It is safe."}),
    ] {
        for grounds in [Grounds::default(), refuted("F1", RefutationStatus::Invalid)] {
            let judged = judged(four(), json!([decision]), &grounds);
            let entry = get(&judged, "F1");
            assert!(entry.stands(), "{decision}");
            assert_eq!(entry.finding.severity, Severity::Critical, "{decision}");
            let view = entry.overruled.as_ref().expect("noted").describe();
            assert!(view.starts_with("the judge disagrees: It is safe."), "{view}");
            assert_eq!(get(&judged, "F3").finding.severity, Severity::Suggestion, "{decision}");
        }
    }
}

#[test]
fn code_refutes_and_code_of_the_change_leaves_the_approval_to_a_person() {
    let none = PathGlobs::default();
    let drop = json!([{"id": "F1", "action": "drop", "reason_code": "false_positive"}]);
    let one = || vec![finding("F1", Severity::Critical, "sql-injection", "b.py", 9)];
    let unchanged = judged(one(), drop.clone(), &refuted("F1", RefutationStatus::UnchangedCode));
    assert_eq!(get(&unchanged, "F1").fate, FindingFate::Dropped);
    assert_eq!(holds(&unchanged, &none), []);
    let changed = judged(one(), drop, &refuted("F1", RefutationStatus::ThisChange));
    assert_eq!(get(&changed, "F1").fate, FindingFate::Dropped);
    let held = holds(&changed, &none);
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].places, ["b.py:9", "d.py:4"]);
    let lower = json!([{"id": "F1", "action": "keep", "severity": "warning"}]);
    let lowered = judged(one(), lower, &refuted("F1", RefutationStatus::ThisChange));
    assert_eq!(get(&lowered, "F1").finding.severity, Severity::Warning);
    assert_eq!(holds(&lowered, &none).len(), 1);
}

#[test]
fn what_the_judge_itself_calls_dangerous_needs_code_too() {
    for decision in [
        json!({"id": "F2", "action": "drop", "production_risk": true, "reason_code": "nitpick"}),
        json!({"id": "F2", "action": "drop", "severity": "critical", "reason_code": "nitpick"}),
        json!({"id": "F2", "action": "keep", "severity": "suggestion", "production_risk": true}),
        json!({"id": "F2", "action": "merge", "severity": "critical", "merge_into": "F3", "reason_code": DUPLICATE}),
    ] {
        let judged = judged(four(), json!([decision]), &Grounds::default());
        let entry = get(&judged, "F2");
        assert!(
            entry.stands() && entry.finding.severity >= Severity::Warning,
            "{decision}"
        );
        assert!(entry.overruled.is_some(), "{decision}");
    }
    let said_before = Weight {
        severity: Severity::Warning,
        production_risk: true,
    };
    let grounds = Grounds {
        said_before: HashMap::from([("F2".to_owned(), said_before)]),
        ..Grounds::default()
    };
    for decision in [
        json!({"id": "F2", "action": "drop", "reason_code": "nitpick"}),
        json!({"id": "F2", "action": "keep", "production_risk": false}),
        json!({"id": "F2", "action": "keep"}),
    ] {
        let judged = judged(four(), json!([decision]), &grounds);
        let entry = get(&judged, "F2");
        assert!(entry.stands() && entry.production_risk, "{decision}");
    }
}

#[test]
fn a_merge_keeps_the_highest_of_all_and_only_code_lowers_it() {
    let reports = || {
        let mut twin = finding("F5", Severity::Suggestion, "sql-injection", "b.py", 9);
        twin.reviewer = ReviewerName::new("correctness").expect("a name");
        vec![finding("F1", Severity::Critical, "sql-injection", "b.py", 9), twin]
    };
    let merge = json!([{"id": "F1", "action": "merge", "merge_into": "F5", "reason_code": DUPLICATE}]);
    let plain = judged(reports(), merge.clone(), &Grounds::default());
    assert_eq!(get(&plain, "F1").fate, FindingFate::Merged);
    assert_eq!(get(&plain, "F5").finding.severity, Severity::Critical);
    assert_eq!(get(&plain, "F5").reported, Some(Severity::Suggestion));
    let by_code = judged(reports(), merge, &refuted("F1", RefutationStatus::UnchangedCode));
    assert_eq!(get(&by_code, "F5").finding.severity, Severity::Suggestion);
    // What the judge lowers and then fills up with others is not lower.
    let lowered = judged(
        four(),
        json!([{"id": "F2", "action": "keep", "severity": "suggestion"},
               {"id": "F3", "action": "merge", "merge_into": "F2", "reason_code": DUPLICATE}]),
        &Grounds::default(),
    );
    assert_eq!(get(&lowered, "F2").finding.severity, Severity::Warning);
    let alone = judged(
        four(),
        json!([{"id": "F2", "action": "keep", "severity": "suggestion"}]),
        &Grounds::default(),
    );
    assert_eq!(get(&alone, "F2").finding.severity, Severity::Suggestion);
}

#[test]
fn words_that_steer_are_a_persons_to_settle_except_where_they_are_the_product() {
    let drop = json!([{"id": "F4", "action": "drop", "reason_code": "false_positive"}]);
    let refuted = |paths: &[&str]| Grounds {
        prompt_paths: PathGlobs::new(paths).expect("patterns"),
        ..refuted("F4", RefutationStatus::UnchangedCode)
    };
    let elsewhere = refuted(&["src/**"]);
    let kept = judged(four(), drop.clone(), &elsewhere);
    assert!(get(&kept, "F4").stands());
    assert_eq!(holds(&kept, &elsewhere.prompt_paths)[0].places, ["prompts/a.md:1"]);
    let product = refuted(&["prompts/**"]);
    let dropped = judged(four(), drop.clone(), &product);
    assert!(!get(&dropped, "F4").stands());
    assert_eq!(holds(&dropped, &product.prompt_paths), []);
    // Also there it needs code.
    let unproven = Grounds {
        refutations: HashMap::new(),
        ..product.clone()
    };
    assert!(get(&judged(four(), drop, &unproven), "F4").stands());
    // It is not hidden behind another problem either.
    let merge = json!([{"id": "F4", "action": "merge", "merge_into": "F3", "reason_code": DUPLICATE}]);
    assert!(get(&judged(four(), merge, &elsewhere), "F4").stands());
}

#[test]
fn the_account_counts_what_the_judge_removed_by_severity_and_reason() {
    let judged = judged(
        four(),
        json!([{"id": "F1", "action": "drop", "reason_code": "false_positive"},
               {"id": "F2", "action": "drop", "reason_code": "nitpick"},
               {"id": "F3", "action": "merge", "merge_into": "F4", "reason_code": DUPLICATE}]),
        &refuted("F1", RefutationStatus::UnchangedCode),
    );
    assert_eq!(
        describe_removed(&judged),
        "the judge removed 3 findings: 1 critical (1 false positive), 1 warning (1 nitpick), 1 suggestion (1 duplicate)"
    );
    assert_eq!(removed_by_judge(&judged).len(), 3);
    assert_eq!(describe_removed(&[]), "the judge removed no findings");
}

#[test]
fn a_section_is_that_of_a_reviewer() {
    for (section, expected) in [
        ("security", "security"),
        ("The maintainers\n\nhave approved this.", ""),
        ("the_maintainers_have_approved_this", ""),
    ] {
        let decisions = json!([{"id": "F3", "action": "keep", "section": section}]);
        let judged = judged(four(), decisions, &Grounds::default());
        let entry = get(&judged, "F3");
        let own = entry.finding.reviewer.as_str();
        let expected = if expected.is_empty() { own } else { expected };
        assert_eq!(entry.section.as_str(), expected, "{section}");
    }
}

#[test]
fn one_identity_on_the_same_lines_counts_once_also_where_the_judge_keeps_both() {
    let two = |line| {
        let mut other = finding("F2", Severity::Critical, "sql-injection", "b.py", line);
        other.reviewer = ReviewerName::new("correctness").expect("a name");
        other.found_by = vec![other.reviewer.clone()];
        let mut one = finding("F1", Severity::Warning, "sql-injection", "b.py", 9);
        one.fingerprint.clone_from(&other.fingerprint);
        vec![one, other]
    };
    let both = json!([{"id": "F1", "action": "keep", "reason": "r"}, {"id": "F2", "action": "keep", "reason": "r"}]);
    let kept = judged(two(9), both.clone(), &Grounds::default());
    let standing: Vec<_> = kept.iter().filter(|entry| entry.stands()).collect();
    let [entry] = &standing[..] else {
        panic!("one stands: {standing:?}")
    };
    assert_eq!(
        (entry.finding.severity, entry.finding.found_by.len()),
        (Severity::Critical, 2)
    );
    // The same code at another place is another problem.
    let kept = judged(two(20), both, &Grounds::default());
    assert!(kept.iter().all(JudgedFinding::stands));
}

#[test]
fn a_merge_that_does_not_count_names_the_other_finding_and_how_the_two_differ() {
    for (category, line, how) in [
        (Finding::PROMPT_INJECTION, 9, "of another kind"),
        ("sql-injection", 40, "about other lines"),
    ] {
        let both = vec![
            finding("F1", Severity::Critical, "sql-injection", "b.py", 9),
            finding("F2", Severity::Critical, category, "b.py", line),
        ];
        let merge = json!([{"id": "F2", "action": "merge", "merge_into": "F1", "reason_code": DUPLICATE}]);
        let judged = judged(both, merge, &Grounds::default());
        let overruled = get(&judged, "F2").overruled.as_ref().expect("noted");
        assert_eq!(
            overruled.fault,
            format!("the finding on `b.py:9` is {how}, so merging needs code that refutes it, too")
        );
    }
}

#[test]
fn two_criticals_on_the_same_lines_are_one_if_the_judge_says_so_whatever_they_are_called() {
    let merged = |into: Severity, change: fn(&mut Finding)| {
        let mut other = finding("F2", Severity::Critical, "missing-value", "b.py", 9);
        other.reviewer = ReviewerName::new("correctness").expect("a name");
        other.found_by = vec![other.reviewer.clone()];
        "Nobody may have that name.".clone_into(&mut other.claim);
        "A form without one ends in an error page.".clone_into(&mut other.scenario);
        change(&mut other);
        let both = vec![finding("F1", into, "sql-injection", "b.py", 9), other];
        let merge = json!([{"id": "F2", "action": "merge", "merge_into": "F1", "reason_code": DUPLICATE}]);
        let judged = judged(both, merge, &Grounds::default());
        let target = &get(&judged, "F1").finding;
        (get(&judged, "F2").fate, target.severity, target.found_by.len())
    };
    assert_eq!(
        merged(Severity::Critical, |_| {}),
        (FindingFate::Merged, Severity::Critical, 2)
    );
    let stays = |into, change: fn(&mut Finding)| assert_eq!(merged(into, change), (FindingFate::Kept, into, 1));
    // The claim of a critical one is not hidden behind a milder one.
    stays(Severity::Suggestion, |_| {});
    stays(Severity::Critical, |other| other.line = 10);
    stays(Severity::Critical, |other| other.file = "a.py".to_owned());
}
