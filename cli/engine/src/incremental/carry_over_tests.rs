use conclave_shared::{
    reviewer::ReviewerName, risk::RiskTier, severity::Severity, telemetry::ReviewerOutcome, verdict::Verdict,
};

use super::*;
use crate::{
    diff::FileDiff,
    incremental::{Identities, Objects, still_unlisted, test_support::fresh, unlisted_hold},
    review::{
        Coverage, HoldCause, JudgedFinding, PathId, RememberedUnproven, Review, ReviewerReport, SCHEMA_VERSION,
        UnprovenFinding,
    },
};

fn review(findings: Vec<JudgedFinding>) -> Review {
    let report = |name: &str| ReviewerReport {
        outcome: ReviewerOutcome::Ok,
        ..ReviewerReport::skipped(ReviewerName::new(name).expect("a name"))
    };
    Review {
        schema_version: SCHEMA_VERSION,
        run_id: "run".into(),
        forge: "gitlab".into(),
        project: "group/project".into(),
        merge_request: Some(1),
        base_sha: "b".repeat(40),
        head_sha: "a".repeat(40),
        settings_sha: None,
        from_fork: false,
        tier: RiskTier::Lite,
        tier_reasons: Vec::new(),
        verdict: Verdict::Approved,
        verdict_reason: String::new(),
        proposed_verdict: None,
        summary: String::new(),
        findings,
        reviewers: vec![report("security"), report("tests")],
        coordinator: report("coordinator"),
        degraded: None,
        manual_reviews: Vec::new(),
        approval_holds: Vec::new(),
        partial: None,
        configuration: None,
        runtime: None,
        coverage: Coverage::default(),
        warnings: Vec::new(),
        stages: Vec::new(),
        threads: Vec::new(),
        settled: Vec::new(),
        accepted: Vec::new(),
        answers: Vec::new(),
        aside: None,
        carry_over: CarryOver::default(),
        seconds: 1.0,
        cost_usd: 0.0,
        cost_incomplete: false,
        cache_hit_rate: None,
    }
}

fn patches(count: usize) -> Vec<PatchId> {
    (0..count)
        .map(|number| PatchId::new(&FileDiff::default(), format!("@@ -1 +1 @@\n+{number}\n").as_bytes()))
        .collect()
}

fn kept() -> CarryOver {
    CarryOver {
        touched: vec![PathId::new("a.py")],
        ..CarryOver::default()
    }
}

fn done(review: &Review, patches: Vec<PatchId>) -> Done<'_> {
    Done {
        head_sha: &review.head_sha,
        findings: &review.findings,
        reviewers: &review.reviewers,
        coverage: &review.coverage,
        is_cut: review.partial.is_some() || review.degraded.is_some(),
        settled: Vec::new(),
        unseen: Vec::new(),
        patches,
        under: None,
        kept: kept(),
        heard_words: Vec::new(),
    }
}

#[test]
fn a_whole_review_remembers_who_looked_at_what() {
    let mut review = review(Vec::new());
    review.reviewers[1].outcome = ReviewerOutcome::Failed;
    let carry_over = remember(done(&review, patches(2)));
    let [reviewed] = &carry_over.reviewed[..] else {
        panic!("one review, not {:?}", carry_over.reviewed)
    };
    assert_eq!(reviewed.head_sha, review.head_sha);
    assert_eq!(reviewed.panel, [ReviewerName::new("security").expect("a name")]);
    assert_eq!(reviewed.patches, patches(2));
}

#[test]
fn a_review_that_is_not_whole_counts_for_nothing() {
    let whole = review(Vec::new());
    let mut gap = whole.clone();
    gap.coverage.gaps.push("security failed".into());
    let mut partial = whole.clone();
    partial.partial = Some("the budget".into());
    let mut degraded = whole.clone();
    degraded.degraded = Some("no judge".into());
    let earlier = ReviewedFiles {
        head_sha: "c".repeat(40),
        panel: Vec::new(),
        patches: patches(1),
        under: None,
    };
    for review in [gap, partial, degraded] {
        let done = Done {
            kept: CarryOver {
                reviewed: vec![earlier.clone()],
                ..kept()
            },
            ..done(&review, patches(2))
        };
        // What was reviewed before stays so.
        assert_eq!(remember(done).reviewed, std::slice::from_ref(&earlier));
    }
}

#[test]
fn what_stands_is_remembered_whole() {
    let mut shown = fresh("F1", Severity::Warning, "a");
    shown.thread = Some("thread".into());
    let mut deleted = fresh("F2", Severity::Critical, "b");
    deleted.thread = Some(String::new());
    let mut dropped = fresh("F3", Severity::Critical, "c");
    dropped.fate = conclave_shared::telemetry::FindingFate::Dropped;
    let summary = fresh("F4", Severity::Suggestion, "d");
    let of = |entry: &JudgedFinding| entry.finding.fingerprint.clone();
    let review = review(vec![shown.clone(), deleted.clone(), dropped.clone(), summary.clone()]);
    let carry_over = remember(done(&review, Vec::new()));
    let seen = |entry: &JudgedFinding| {
        let entry = carry_over.find(&of(entry))?;
        Some((entry.before, entry.severity, entry.record.is_some()))
    };
    assert_eq!(seen(&shown), Some((Before::Posted, Severity::Warning, true)));
    assert_eq!(seen(&deleted), Some((Before::Posted, Severity::Critical, true)));
    assert_eq!(seen(&dropped), None);
    assert_eq!(seen(&summary), Some((Before::Stood, Severity::Suggestion, true)));

    let mut posted = carry_over.clone();
    posted.posted([&of(&summary)]);
    let entry = posted.find(&of(&summary)).expect("there");
    assert_eq!((entry.before, entry.record.is_some()), (Before::Posted, true));
}

#[test]
fn what_a_person_opened_again_stays_that_persons() {
    let mut open = fresh("F1", Severity::Warning, "a");
    open.thread = Some("thread".into());
    let settled = |letter: &str, before| Remembered {
        fingerprint: fresh("F", Severity::Warning, letter).finding.fingerprint,
        severity: Severity::Warning,
        production_risk: false,
        before,
        record: None,
        heard: None,
    };
    let carry_over = remember(Done {
        settled: vec![settled("a", Before::Reopened), settled("b", Before::Resolved)],
        ..done(&review(vec![open]), Vec::new())
    });
    let mut states: Vec<Before> = carry_over.findings.iter().map(|entry| entry.before).collect();
    states.sort_by_key(|before| format!("{before:?}"));
    assert_eq!(states, [Before::Reopened, Before::Resolved]);
}

#[test]
fn what_was_resolved_and_cannot_be_seen_now_stays_resolved_for_the_next_review() {
    let mut shown = fresh("F1", Severity::Warning, "a");
    shown.thread = Some("thread".into());
    let print = shown.finding.fingerprint.clone();
    let carry_over = remember(Done {
        unseen: vec![(print.clone(), Before::Resolved)],
        ..done(&review(vec![shown]), Vec::new())
    });
    let known = carry_over.find(&print).map(|entry| entry.before);
    assert_eq!(known, Some(Before::Resolved));
}

#[test]
fn it_stays_within_its_size_and_findings_go_last() {
    let findings: Vec<JudgedFinding> = ["a", "b", "c"]
        .iter()
        .map(|letter| fresh(letter, Severity::Critical, letter))
        .collect();
    let carry_over = remember(done(&review(findings), patches(2000)));
    let text = serde_json::to_string(&carry_over).expect("JSON");
    assert!(text.len() <= MAX_CARRY_OVER_BYTES, "{}", text.len());
    assert_eq!(carry_over.findings.len(), 3);
    assert!(carry_over.findings.iter().all(|entry| entry.record.is_some()));
    let kept = carry_over.reviewed[0].patches.len();
    assert!(kept >= 500, "{kept} patches are kept");

    let mut mixed = CarryOver::default();
    for (letter, severity, before) in [
        ("a", Severity::Critical, Before::Resolved),
        ("b", Severity::Critical, Before::Stood),
        ("c", Severity::Suggestion, Before::Stood),
    ] {
        mixed.findings.push(Remembered {
            fingerprint: fresh("F", severity, letter).finding.fingerprint,
            severity,
            production_risk: false,
            before,
            record: None,
            heard: None,
        });
    }
    let size = serde_json::to_string(&mixed).expect("JSON").len();
    let left = |most| -> Vec<(Severity, Before)> {
        let carry_over = mixed.clone().within(most);
        carry_over
            .findings
            .iter()
            .map(|entry| (entry.severity, entry.before))
            .collect()
    };
    assert_eq!(left(size).len(), 3);
    assert_eq!(
        left(size - 1),
        [
            (Severity::Critical, Before::Stood),
            (Severity::Suggestion, Before::Stood)
        ]
    );
    assert_eq!(left(size - 120), [(Severity::Critical, Before::Stood)]);
    assert_eq!(mixed.clone().within(0).findings, []);
}

#[test]
fn a_ledger_of_another_version_is_read_as_far_as_it_can_be() {
    let read: CarryOver = serde_json::from_str(r#"{"schema":9,"unheard_of":[1]}"#).expect("JSON");
    assert_eq!((read.findings, read.reviewed), (vec![], vec![]));
    let carry_over = remember(done(&review(vec![fresh("F1", Severity::Warning, "a")]), patches(1)));
    let text = serde_json::to_string(&carry_over).expect("JSON");
    assert_eq!(serde_json::from_str::<CarryOver>(&text).expect("JSON"), carry_over);
}

#[test]
fn a_thread_that_was_left_open_is_not_remembered_as_resolved() {
    let of = |letter: &str| fresh("F", Severity::Critical, letter).finding.fingerprint;
    let entry = |letter: &str, before| Remembered {
        fingerprint: of(letter),
        severity: Severity::Critical,
        production_risk: true,
        before,
        record: None,
        heard: None,
    };
    let mut carry_over = CarryOver {
        findings: vec![
            entry("a", Before::Resolved),
            entry("b", Before::Resolved),
            entry("c", Before::Fixed),
            entry("d", Before::Resolved),
        ],
        ..CarryOver::default()
    };
    carry_over.left_open([(&of("a"), false), (&of("c"), false), (&of("d"), true)]);
    let before: Vec<Before> = carry_over.findings.iter().map(|entry| entry.before).collect();
    assert_eq!(before, [Before::Posted, Before::Resolved, Before::Fixed, Before::Fixed]);
    assert_eq!(carry_over.findings[0].severity, Severity::Critical);
}

#[test]
fn findings_without_room_hold_until_their_patch_changes() {
    let findings = (0..150).map(|number| {
        let mut entry = fresh(&format!("F{number}"), Severity::Warning, "a");
        entry.finding.fingerprint = conclave_shared::finding::fingerprint("a.py", "kind", &format!("code {number}"));
        entry
    });
    let review = review(findings.collect());
    let file = review.findings[0].finding.file.clone();
    let ids = patches(3);
    let identities = |own: usize| {
        Identities::from([
            (file.clone(), ids[own].clone()),
            ("other.py".to_owned(), ids[2].clone()),
        ])
    };
    let done = Done {
        kept: CarryOver {
            patches: identities(0),
            objects: Objects::from([(file.clone(), "1f".to_owned())]),
            ..kept()
        },
        ..done(&review, patches(1))
    };
    let carry_over = remember(done).within(20_000);
    assert!(carry_over.findings.len() < 150, "not all of them fit");
    assert_eq!(carry_over.unlisted.len(), 1, "they are of one file");
    assert_eq!(still_unlisted(&carry_over.unlisted, &identities(0), &[]).len(), 1);
    assert!(still_unlisted(&carry_over.unlisted, &identities(1), &[]).is_empty());
    // Another name is another patch of the same text.
    let renamed = |object: &str| FileDiff {
        path: file.clone(),
        objects: ("0".repeat(40), object.to_owned()),
        ..FileDiff::default()
    };
    let [held] = &still_unlisted(&carry_over.unlisted, &identities(1), &[renamed("1f")])[..] else {
        panic!("it goes along")
    };
    assert_eq!(held.patch, ids[1]);
    assert!(still_unlisted(&carry_over.unlisted, &identities(1), &[renamed("2f")]).is_empty());
    let withheld = unlisted_hold(&carry_over.unlisted, &identities(0)).expect("it holds");
    assert_eq!(
        (withheld.cause, &withheld.places[..]),
        (HoldCause::Unlisted, std::slice::from_ref(&file))
    );
    assert!(unlisted_hold(&[], &identities(0)).is_none());
}

#[test]
fn what_nothing_proved_gives_way_to_its_patches_before_the_note_is_too_long() {
    let unproven = (0..20).map(|number| RememberedUnproven {
        finding: UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: "critical".into(),
            category: "injection".into(),
            file: "elsewhere.py".into(),
            line: None,
            claim: format!("{number} {}", "x".repeat(MAX_CLAIM / 2)),
            reason: "its quote is not in the file".into(),
        },
        patch: PatchId::of_all(&patches(40)),
        parts: patches(40),
        object: None,
        text: None,
        outside: false,
        written: Vec::new(),
    });
    let most = 20_000;
    let carry_over = remember(Done {
        kept: CarryOver {
            unproven: unproven.collect(),
            ..kept()
        },
        ..done(&review(vec![fresh("F1", Severity::Critical, "a")]), Vec::new())
    })
    .within(most);
    let size = serde_json::to_string(&carry_over).expect("JSON").len();
    assert!(size <= most, "{size}");
    assert!(!carry_over.unproven.is_empty() && carry_over.unproven.len() < 20);
    let mut held: Vec<PatchId> = carry_over.unlisted.into_iter().map(|entry| entry.patch).collect();
    let mut all = patches(40);
    held.sort();
    all.sort();
    assert_eq!(held, all, "each of its patches holds");
    assert_eq!(carry_over.findings.len(), 1, "what blocks is kept");
}
