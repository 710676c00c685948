//! Two runs of one merge request at once: whichever posts last makes nothing milder.

use conclave_engine::{
    incremental::{Done, remember},
    ports::Forge,
    review::{CarryOver, PatchId, RememberedUnproven, Review, ReviewMode, UnprovenFinding},
};
use conclave_shared::{reviewer::ReviewerName, severity::Severity, verdict::Verdict};

use super::{
    sample,
    stage::{ForgeStage, in_mode},
};

const GATE: ReviewMode = ReviewMode::Gate;

/// A review with a finding of this severity; it is in the summary only, as no line of it is on the diff.
fn with_finding<S: ForgeStage>(stage: &S, verdict: Verdict, severity: Severity) -> Review {
    let mut entry = sample::finding("The query is built of text.", "query");
    entry.finding.severity = severity;
    let mut review = stage.review(verdict);
    review.findings.push(entry);
    review.carry_over = remember(Done {
        head_sha: &review.head_sha,
        findings: &review.findings,
        reviewers: &review.reviewers,
        coverage: &review.coverage,
        is_cut: false,
        settled: Vec::new(),
        unseen: Vec::new(),
        patches: Vec::new(),
        under: None,
        heard_words: Vec::new(),
        kept: CarryOver::default(),
    });
    review
}

pub(crate) async fn what_another_run_says_of_the_same_commit_is_not_made_milder<S: ForgeStage>() {
    for (other, critical) in [
        (Verdict::Inconclusive, false),
        (Verdict::MinorIssues, false),
        (Verdict::SignificantConcerns, true),
    ] {
        let stage = S::new().await;
        let slow = stage.loaded().await;
        let posted = if critical {
            with_finding(&stage, other, Severity::Critical)
        } else {
            stage.review(other)
        };
        stage.run(&posted, in_mode(GATE)).await;
        let own = stage.review(Verdict::Approved);
        let seen = slow.meanwhile(&own).await.unwrap();
        assert!(!seen.is_empty(), "{other}: it is seen before anything is printed");
        let outcome = stage.publish(&slow, &own, in_mode(GATE)).await.unwrap();
        assert!(!outcome.approved, "{other}");
        assert_eq!(outcome.amended.unwrap().verdict, other);
        let shown = stage.shown();
        assert_eq!(
            (shown.bot_approves(), shown.bot_requests()),
            (false, critical),
            "{other}"
        );
        assert!(
            !shown.summary().contains("Approved: nothing to change"),
            "{}",
            shown.summary()
        );

        // The next run knows it all, and decides.
        let next = stage.run(&own, in_mode(GATE)).await;
        assert!(next.approved, "{other}");
    }
}

pub(crate) async fn what_another_run_holds_is_not_forgotten_by_the_one_that_posts_last<S: ForgeStage>() {
    let stage = S::new().await;
    let slow = stage.loaded().await;
    let mut other = stage.review(Verdict::Inconclusive);
    other.carry_over.unproven.push(RememberedUnproven {
        finding: UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: "critical".to_owned(),
            category: "injection".to_owned(),
            file: "file.txt".to_owned(),
            line: Some(2),
            claim: "The query is built of text.".to_owned(),
            reason: "its quote is not in the file".to_owned(),
        },
        patch: PatchId::of_all(std::iter::empty()),
        parts: Vec::new(),
        object: None,
        text: None,
        outside: false,
        written: Vec::new(),
    });
    stage.run(&other, in_mode(GATE)).await;
    let own = stage.review(Verdict::Approved);
    let outcome = stage.publish(&slow, &own, in_mode(GATE)).await.unwrap();
    assert!(!outcome.approved && !stage.shown().bot_approves());
    // The next run reads it in the one note that there is.
    let next = stage.publisher().load().await.unwrap();
    assert_eq!(next.carry_over.unproven, other.carry_over.unproven);
}

/// Neither has read the other's note when it posts its own, and the older note stays.
pub(crate) async fn of_two_first_notes_at_once_neither_is_lost<S: ForgeStage>() {
    for head_start in 0..4 {
        let stage = S::new().await;
        let (finds, blind) = (stage.loaded().await, stage.loaded().await);
        let with_critical = with_finding(&stage, Verdict::SignificantConcerns, Severity::Critical);
        let clean = stage.review(Verdict::Approved);
        stage.forget();
        let clean_run = async {
            while stage.requests() < head_start {
                tokio::task::yield_now().await;
            }
            stage.publish(&blind, &clean, in_mode(GATE)).await
        };
        let (found, approved) = tokio::join!(stage.publish(&finds, &with_critical, in_mode(GATE)), clean_run);
        found.unwrap();
        approved.unwrap();
        let shown = stage.shown();
        assert!(!shown.bot_approves(), "{head_start}");
        assert!(
            shown.summary().contains("The query is built of text."),
            "{head_start}: {}",
            shown.summary()
        );
        let next = stage.publisher().load().await.unwrap();
        assert!(
            next.carry_over
                .find(&with_critical.findings[0].finding.fingerprint)
                .is_some(),
            "{head_start}: the next run knows it"
        );
    }
}

pub(crate) async fn two_runs_that_approve_are_one_approval<S: ForgeStage>() {
    let stage = S::new().await;
    let slow = stage.loaded().await;
    let own = stage.review(Verdict::Approved);
    stage.run(&own, in_mode(GATE)).await;
    stage.forget();
    let outcome = stage.publish(&slow, &own, in_mode(GATE)).await.unwrap();
    assert!(outcome.approved && outcome.amended.is_none());
    assert_eq!(stage.acts(), []);
}

pub(crate) async fn two_runs_that_request_changes_are_one_request<S: ForgeStage>() {
    let stage = S::new().await;
    let (one, two) = (stage.loaded().await, stage.loaded().await);
    let review = stage.review(Verdict::SignificantConcerns);
    let (first, second) = tokio::join!(
        stage.publish(&one, &review, in_mode(GATE)),
        stage.publish(&two, &review, in_mode(GATE))
    );
    assert_eq!((first.unwrap().warnings, second.unwrap().warnings), (vec![], vec![]));
    assert_eq!(stage.shown().own_requests, 1);
    // What a third run says differently about the same commit needs no other request.
    let mut other = with_finding(&stage, Verdict::SignificantConcerns, Severity::Critical);
    "It is worse than that.".clone_into(&mut other.summary);
    stage.run(&other, in_mode(GATE)).await;
    assert_eq!(stage.shown().own_requests, 1);
    stage.conclude(GATE, Verdict::MinorIssues).await;
    assert_eq!(stage.shown().own_requests, 0);
}

pub(crate) async fn an_older_commits_review_withholds_an_approval_only_for_what_weighs<S: ForgeStage>() {
    for (severity, verdict, approved) in [
        (Severity::Warning, Verdict::MinorIssues, true),
        (Severity::Critical, Verdict::SignificantConcerns, false),
    ] {
        let stage = S::new().await;
        let older = stage.loaded().await;
        let of_older = with_finding(&stage, verdict, severity);
        stage.push_again();
        let newer = stage.loaded().await;
        stage.publish(&older, &of_older, in_mode(GATE)).await.unwrap();
        let own = stage.review(Verdict::Approved);
        let outcome = stage.publish(&newer, &own, in_mode(GATE)).await.unwrap();
        assert_eq!(outcome.approved, approved, "{severity:?}: {:?}", outcome.warnings);
    }
}
