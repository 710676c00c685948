//! What is left out, what stands all the same, and what is never touched.

use conclave_shared::{finding::RuleCitation, memory::Rejected};

use super::*;
use crate::{incremental::test_support::existing, judge::test_support::finding};

fn found(id: &str, severity: Severity, category: &str) -> Finding {
    let mut found = finding(id, severity, category, "src/new.py", 3);
    found.fingerprint = conclave_shared::finding::fingerprint("src/new.py", category, id);
    found.claim = format!("`{id}` prints what nobody asked for.");
    found
}

/// The finding as it was turned down in these merge requests, at its code or, with another fingerprint, elsewhere.
fn rejected(finding: &Finding, at_its_code: bool, merge_requests: &[u64]) -> Rejected {
    Rejected {
        fingerprint: if at_its_code {
            finding.fingerprint.to_string()
        } else {
            "elsewhere".to_owned()
        },
        claim: Some(claim_key(&finding.category, &finding.claim)),
        category: finding.category.clone(),
        path: "src/old.py".to_owned(),
        merge_requests: merge_requests.to_vec(),
        last_ms: 1,
    }
}

fn memory(rejected: Vec<Rejected>) -> RepositoryMemory {
    RepositoryMemory {
        rejected,
        ..RepositoryMemory::default()
    }
}

/// The ids that are left, and those that are suppressed.
fn suppressed(
    findings: &[Finding],
    earlier: &[ExistingFinding],
    memory: &RepositoryMemory,
) -> (Vec<String>, Vec<String>) {
    let mut left = findings.to_vec();
    let recalled = suppress(&mut left, earlier, memory);
    (
        left.into_iter().map(|finding| finding.id).collect(),
        recalled.suppressed.into_iter().map(|entry| entry.finding.id).collect(),
    )
}

#[test]
fn what_was_turned_down_in_two_merge_requests_is_left_out_with_its_reason() {
    let one = found("one", Severity::Warning, "debug-output");
    let mut findings = vec![one.clone(), found("other", Severity::Warning, "debug-output")];
    let memory = memory(vec![rejected(&one, true, &[4, 9])]);
    let mut recalled = suppress(&mut findings, &[], &memory);
    let mut out = Vec::new();
    recalled.rejoin(&mut out, &memory);
    assert_eq!(findings.len(), 1);
    let [entry] = &out[..] else { panic!("one, not {out:?}") };
    assert_eq!(
        (entry.fate, entry.reason_code.as_deref()),
        (FindingFate::Dropped, Some("suppressed"))
    );
    assert_eq!(
        entry.reason.as_deref(),
        Some("people of this repository have turned it down in 2 changes")
    );
    assert_eq!(recalled.notes(&out).len(), 1, "and the review says so");
}

#[test]
fn once_is_not_enough_and_the_same_claim_elsewhere_counts() {
    let one = found("one", Severity::Warning, "debug-output");
    for (rejections, is_out) in [
        (vec![rejected(&one, true, &[4])], false),
        (vec![rejected(&one, true, &[4]), rejected(&one, false, &[4])], false),
        (vec![rejected(&one, true, &[4]), rejected(&one, false, &[5])], true),
        (vec![rejected(&one, false, &[4, 5])], true),
    ] {
        let (_, out) = suppressed(std::slice::from_ref(&one), &[], &memory(rejections.clone()));
        assert_eq!(!out.is_empty(), is_out, "{rejections:?}");
    }
}

#[test]
fn what_matters_too_much_is_never_left_out() {
    let critical = found("critical", Severity::Critical, "sql-injection");
    let steering = found("steering", Severity::Warning, Finding::PROMPT_INJECTION);
    let rule = Finding {
        rule: Some(RuleCitation {
            id: "ENG-1".to_owned(),
            link: String::new(),
            on_breach: None,
        }),
        ..found("rule", Severity::Warning, "error-handling")
    };
    let all = [critical, steering, rule];
    let memory = memory(all.iter().map(|finding| rejected(finding, true, &[1, 2, 3])).collect());
    assert_eq!(suppressed(&all, &[], &memory).1, [""; 0]);
}

#[test]
fn what_may_repeat_a_finding_of_this_merge_request_goes_through_the_second_review() {
    let mut again = found("again", Severity::Warning, "sql-injection");
    let thread = existing("E1", "c");
    again.file.clone_from(&thread.record.file);
    let memory = memory(vec![rejected(&again, true, &[1, 2])]);
    let again = [again];
    assert_eq!(suppressed(&again, &[thread], &memory).1, [""; 0]);
    assert_eq!(suppressed(&again, &[], &memory).1, ["again"]);
}

#[test]
fn what_is_serious_stands_as_it_is_and_the_review_says_where() {
    let critical = found("critical", Severity::Critical, "sql-injection");
    let danger = found("danger", Severity::Warning, "data-loss");
    let steering = found("steering", Severity::Critical, Finding::PROMPT_INJECTION);
    let unknown = found("unknown", Severity::Critical, "n-plus-one");
    let known = [&critical, &danger, &steering];
    let memory = memory(known.map(|finding| rejected(finding, true, &[1, 2])).to_vec());
    let mut judged: Vec<JudgedFinding> = [critical, danger, steering, unknown].map(JudgedFinding::kept).to_vec();
    judged[1].production_risk = true;
    let mut recalled = Recalled::default();
    recalled.rejoin(&mut judged, &memory);
    let notes = recalled.notes(&judged);
    assert_eq!(notes.len(), 2, "the critical one and the danger: {notes:?}");
    assert!(
        notes[0].contains("src/new.py:3") && notes[0].contains("It stands"),
        "{notes:?}"
    );
}

#[tokio::test]
async fn what_has_not_arrived_is_not_waited_for() {
    let (sender, mut recall) = Recall::channel();
    assert!(recall.now().is_empty());
    let one = found("one", Severity::Warning, "c");
    sender.send_replace(Arc::new(memory(vec![rejected(&one, true, &[1])])));
    recall.arrived().await;
    assert_eq!(recall.now().rejected.len(), 1);
    drop(sender);
    recall.arrived().await;
    assert_eq!(recall.now().rejected.len(), 1);
    assert!(Recall::nothing().now().is_empty());
}
