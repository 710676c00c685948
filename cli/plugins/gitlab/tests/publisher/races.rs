//! Two runs of one merge request at once: whichever posts last makes nothing milder.

use conclave_engine::{
    ports::Forge,
    review::{Review, ReviewMode},
};
use conclave_fake_gitlab::{FakeGitlab, Tier};
use conclave_shared::{severity::Severity, verdict::Verdict};

use crate::{
    sample,
    stage::{BOT, Stage, in_mode},
};

const GATE: ReviewMode = ReviewMode::Gate;

/// A review with a finding of this severity; it is in the summary only, as no line of it is on the diff.
fn with_finding(stage: &Stage, verdict: Verdict, severity: Severity) -> Review {
    let mut entry = sample::finding("The query is built of text.", "query");
    entry.finding.severity = severity;
    let mut review = stage.review(verdict);
    review.findings.push(entry);
    review.ledger = conclave_engine::incremental::remember(&review, conclave_engine::incremental::Done::default());
    review
}

#[tokio::test]
async fn what_another_run_says_of_the_same_commit_is_not_made_milder() {
    for (other, critical) in [
        (Verdict::Inconclusive, false),
        (Verdict::MinorIssues, false),
        (Verdict::SignificantConcerns, true),
    ] {
        let stage = Stage::with(FakeGitlab::builder().tier(Tier::Premium)).await;
        let slow = stage.loaded().await;
        let posted = if critical {
            with_finding(&stage, other, Severity::Critical)
        } else {
            stage.review(other)
        };
        stage.run_with(&posted, in_mode(GATE)).await;
        let own = stage.review(Verdict::Approved);
        let seen = slow.meanwhile(&own).await.unwrap();
        assert!(!seen.is_empty(), "{other}: it is seen before anything is printed");
        let outcome = stage.publish_with(&slow, &own, in_mode(GATE)).await.unwrap();
        assert!(!outcome.approved, "{other}");
        assert_eq!(outcome.amended.expect("another review").verdict, other);
        let found = stage.gitlab.snapshot(stage.merge_request);
        assert_eq!(found.approved_by, Vec::<String>::new(), "{other}");
        assert_eq!(!found.requested_changes_by.is_empty(), critical, "{other}");
        let note = found.notes.iter().find(|note| note.author == BOT).unwrap();
        assert!(!note.body.contains("Approved: nothing to change"), "{}", note.body);

        // The next run knows it all, and decides.
        let next = stage.run_with(&own, in_mode(GATE)).await;
        assert!(next.approved, "{other}");
    }
}

#[tokio::test]
async fn two_runs_that_approve_are_one_approval() {
    let stage = Stage::new().await;
    let slow = stage.loaded().await;
    let own = stage.review(Verdict::Approved);
    stage.run_with(&own, in_mode(GATE)).await;
    stage.gitlab.forget_requests();
    let outcome = stage.publish_with(&slow, &own, in_mode(GATE)).await.unwrap();
    assert!(outcome.approved && outcome.amended.is_none());
    assert_eq!(stage.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn an_older_commit_s_review_withholds_an_approval_only_for_what_weighs() {
    for (severity, approved) in [(Severity::Warning, true), (Severity::Critical, false)] {
        let stage = Stage::new().await;
        let older = stage.loaded().await;
        let verdict = match severity {
            Severity::Critical => Verdict::SignificantConcerns,
            _ => Verdict::MinorIssues,
        };
        let of_older = with_finding(&stage, verdict, severity);
        stage.push();
        let newer = stage.loaded().await;
        stage.publish_with(&older, &of_older, in_mode(GATE)).await.unwrap();
        let own = stage.review(Verdict::Approved);
        let outcome = stage.publish_with(&newer, &own, in_mode(GATE)).await.unwrap();
        assert_eq!(outcome.approved, approved, "{severity:?}: {:?}", outcome.warnings);
    }
}
