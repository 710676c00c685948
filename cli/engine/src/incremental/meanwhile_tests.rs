//! What another run has posted becomes a part of the review, and makes it no milder.

use conclave_shared::{reviewer::ReviewerName, severity::Severity};

use super::*;
use crate::{
    incremental::test_support::{FILE, fresh},
    review::{
        FindingRecord, OtherConclusion, PatchId, Refutation, RefutationStatus, RefutedFinding, RefutingCode,
        RememberedUnproven, ReviewedFiles, ThreadAction, Unlisted, UnprovenFinding, test_support::review,
    },
};

fn found(severity: Severity, letter: &str) -> FoundMeanwhile {
    FoundMeanwhile {
        record: FindingRecord::new(&fresh("F1", severity, letter), "1111111111"),
        thread: Some("thread".to_owned()),
    }
}

fn of(found: FoundMeanwhile) -> Meanwhile {
    Meanwhile {
        findings: vec![found],
        ..Meanwhile::default()
    }
}

#[test]
fn a_finding_of_another_run_stands_in_this_review() {
    let mut review = review();
    let found = found(Severity::Critical, "c");
    review.threads.push(ThreadAction {
        thread: "thread".to_owned(),
        fingerprint: found.record.fingerprint.clone(),
        change: ThreadChange::Resolve { why: String::new() },
    });
    let meanwhile = of(found);
    review.add_meanwhile(&meanwhile);
    assert_eq!(review.verdict, Verdict::SignificantConcerns);
    assert!(!review.may_approve() && !review.lifts_blocks());
    let entry = review.surviving().next().expect("it stands");
    assert_eq!(entry.thread.as_deref(), Some("thread"), "it is not posted again");
    assert_eq!(review.threads[0].change, ThreadChange::Keep);
    assert_eq!(review.carry_over.findings[0].before, Before::Posted);
    assert_eq!(review.approval_holds[0].places, [format!("{FILE}:3")]);
    assert!(review.summary.starts_with(OF_BOTH), "{}", review.summary);
    // A second time it changes nothing.
    let before = review.clone();
    review.add_meanwhile(&meanwhile);
    assert_eq!(review, before);
}

#[test]
fn a_lesser_finding_withholds_the_approval_and_the_lifting() {
    let mut review = review();
    review.add_meanwhile(&of(found(Severity::Warning, "c")));
    assert_eq!(review.verdict, Verdict::ApprovedWithComments);
    assert!(!review.may_approve() && !review.lifts_blocks());
}

#[test]
fn the_worse_verdict_of_both_counts() {
    for (own, other, both) in [
        (Verdict::Approved, Verdict::Inconclusive, Verdict::Inconclusive),
        (Verdict::Approved, Verdict::MinorIssues, Verdict::MinorIssues),
        (
            Verdict::SignificantConcerns,
            Verdict::Inconclusive,
            Verdict::SignificantConcerns,
        ),
        (Verdict::MinorIssues, Verdict::Approved, Verdict::MinorIssues),
    ] {
        let mut review = review();
        review.verdict = own;
        review.add_meanwhile(&Meanwhile {
            other: Some(OtherConclusion {
                head: "1111111111".to_owned(),
                verdict: other,
            }),
            ..Meanwhile::default()
        });
        assert_eq!(review.verdict, both, "{own} and {other}");
        assert!(!review.may_approve() && !review.lifts_blocks(), "{own} and {other}");
    }
}

#[test]
fn a_stopped_run_is_inconclusive_and_its_files_are_reviewed_again() {
    let mut review = review();
    review.carry_over.reviewed.push(ReviewedFiles {
        head_sha: review.head_sha.clone(),
        panel: Vec::new(),
        patches: Vec::new(),
        under: None,
    });
    let stopped = Meanwhile {
        stopped: Some(StopCause::Asked),
        ..Meanwhile::default()
    };
    review.add_meanwhile(&stopped);
    assert_eq!(review.verdict, Verdict::Inconclusive);
    assert!(review.was_stopped() && review.carry_over.reviewed.is_empty());
    let before = review.clone();
    review.add_meanwhile(&stopped);
    assert_eq!(review, before, "it is said once");
}

#[test]
fn what_a_stopped_run_has_in_hand_decides_only_if_it_blocks() {
    let mut review = review();
    review.findings.push(fresh("F2", Severity::Warning, "d"));
    review.coverage.gaps.push(StopCause::Asked.describe().to_owned());
    review.verdict = Verdict::Inconclusive;
    review.add_meanwhile(&Meanwhile {
        stopped: Some(StopCause::Asked),
        ..Meanwhile::default()
    });
    assert_eq!(review.verdict, Verdict::Inconclusive, "nobody has judged it");
    let mut blocked = review.clone();
    blocked.findings.push(fresh("F3", Severity::Critical, "e"));
    blocked.add_meanwhile(&Meanwhile {
        stopped: Some(StopCause::OutOfTime),
        ..Meanwhile::default()
    });
    assert_eq!(blocked.verdict, Verdict::SignificantConcerns, "its code was checked");
    review.add_meanwhile(&of(found(Severity::Critical, "c")));
    assert_eq!(review.verdict, Verdict::SignificantConcerns);
}

fn unproven() -> RememberedUnproven {
    RememberedUnproven {
        finding: UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: "critical".into(),
            category: "injection".into(),
            file: FILE.into(),
            line: Some(3),
            claim: "The query is built of text.".into(),
            reason: "its quote is not in the file".into(),
        },
        patch: PatchId::of_all(std::iter::empty()),
        parts: Vec::new(),
        object: None,
        text: None,
        outside: false,
        written: Vec::new(),
    }
}

fn refuted(status: RefutationStatus) -> RefutedFinding {
    RefutedFinding {
        record: found(Severity::Critical, "c").record,
        evidence: "c".into(),
        refutation: Refutation {
            file: "src/guard.py".into(),
            line: 3,
            end_line: None,
            quote: "name = checked(name)".into(),
            status,
            needed: true,
            lost_by_target: false,
            altered_use: None,
            uncertain: None,
            fault: None,
            surroundings: None,
        },
        code: None,
        reason: None,
        now: RefutingCode::None,
    }
}

#[test]
fn what_another_run_holds_is_remembered_and_withholds_the_approval() {
    let unlisted = Unlisted {
        patch: PatchId::of_all(std::iter::empty()),
        severity: Severity::Warning,
        object: None,
    };
    let cases = [
        HeldMeanwhile {
            unproven: vec![unproven()],
            ..HeldMeanwhile::default()
        },
        HeldMeanwhile {
            refuted: vec![refuted(RefutationStatus::ThisChange)],
            ..HeldMeanwhile::default()
        },
        HeldMeanwhile {
            unlisted: vec![unlisted],
            ..HeldMeanwhile::default()
        },
    ];
    for held in cases {
        let mut review = review();
        let meanwhile = Meanwhile {
            held: held.clone(),
            ..Meanwhile::default()
        };
        assert!(!meanwhile.is_empty() && !meanwhile.describe().is_empty());
        review.add_meanwhile(&meanwhile);
        assert!(!review.may_approve() && !review.lifts_blocks(), "{held:?}");
        let HeldMeanwhile {
            unproven,
            refuted,
            unlisted,
        } = held;
        let known = &review.carry_over;
        assert_eq!((&known.unproven, &known.refuted), (&unproven, &refuted));
        assert_eq!(known.unlisted, unlisted);
        let before = review.clone();
        review.add_meanwhile(&meanwhile);
        assert_eq!(review, before, "a second time it changes nothing");
    }
}

#[test]
fn what_older_code_refutes_is_remembered_and_withholds_nothing() {
    let mut review = review();
    let meanwhile = Meanwhile {
        held: HeldMeanwhile {
            refuted: vec![refuted(RefutationStatus::UnchangedCode)],
            ..HeldMeanwhile::default()
        },
        ..Meanwhile::default()
    };
    review.add_meanwhile(&meanwhile);
    assert!(meanwhile.is_empty() && review.may_approve());
    assert_eq!(review.carry_over.refuted.len(), 1);
}

#[test]
fn nothing_changes_nothing() {
    let mut amended = review();
    amended.add_meanwhile(&Meanwhile::default());
    assert_eq!(amended, review());
}
