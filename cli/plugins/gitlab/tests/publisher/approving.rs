//! The approval: for one commit, taken back when the review gets worse, never for a fork.

use conclave_engine::review::Review;
use conclave_fake_gitlab::{AccessLevel, Fault, FaultKind, MergeRequestSnapshot, NewMergeRequest};
use conclave_shared::verdict::Verdict;

use crate::stage::{Stage, approved, edited, posted, publish, unapproved};

const NEWER: &str = "not approved: there is a newer commit than the reviewed one";
const NOT_ALLOWED: &str = "not approved: GitLab does not let the bot approve it. The bot wrote it or a commit of it, which the \
                           project's settings forbid";

/// The review as its note tells it: with what becomes of the earlier approval.
fn noting(mut review: Review) -> Review {
    let taken_back = "The bot takes its earlier approval back: this review does not approve.";
    review.coverage.notes.push(taken_back.to_owned());
    review
}

#[tokio::test]
async fn a_worse_verdict_takes_the_approval_back() {
    for verdict in [
        Verdict::SignificantConcerns,
        Verdict::MinorIssues,
        Verdict::Inconclusive,
    ] {
        let stage = Stage::new().await;
        let before = stage.snapshot();
        stage.run(Verdict::ApprovedWithComments).await;
        assert_eq!(stage.snapshot().approved_by, ["review-bot"], "{verdict}");
        stage.gitlab.forget_requests();
        assert_eq!(stage.run(verdict).await, stage.outcome(false, &[]), "{verdict}");
        assert_eq!(
            stage.snapshot(),
            MergeRequestSnapshot {
                notes: vec![edited(&noting(stage.review(verdict)))],
                system_notes: vec![approved(), unapproved()],
                ..before
            },
            "{verdict}"
        );
        assert_eq!(
            stage.writes(),
            ["PUT /notes/[0] 200", "POST /unapprove 201"],
            "{verdict}"
        );
    }
}

/// GitLab is told the commit, so that what was pushed in the last moment is not approved either.
#[tokio::test]
async fn a_push_in_the_last_moment_is_not_approved() {
    let stage = Stage::new().await;
    let (plugin, review) = (stage.loaded().await, stage.review(Verdict::Approved));
    let before = serde_json::to_string(&serde_json::json!({
        "state": "opened", "sha": review.head_sha, "detailed_merge_status": "mergeable"
    }));
    let answer = FaultKind::Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: before.unwrap(),
    };
    let merge_request = "/projects/{id}/merge_requests/{iid}";
    stage.gitlab.inject(Fault::once("GET", merge_request, answer));
    stage.push();
    let outcome = publish(&plugin, &review).await.unwrap();
    assert_eq!(outcome, stage.outcome(false, &[NEWER]));
    assert_eq!(stage.writes(), ["POST /notes 201", "POST /approve 409"]);
}

#[tokio::test]
async fn the_bots_own_merge_request_is_reviewed_and_not_approved() {
    let mut stage = Stage::new().await;
    let new = NewMergeRequest::new(stage.bot, "feature", "main");
    stage.merge_request = stage.gitlab.create_merge_request(stage.project, new);
    let outcome = stage.run(Verdict::Approved).await;
    assert_eq!(
        (outcome.approved, outcome.warnings),
        (false, vec![NOT_ALLOWED.to_owned()])
    );
    assert_eq!(stage.snapshot().notes.len(), 1);
}

#[tokio::test]
async fn a_reporter_may_comment_and_not_approve() {
    let stage = Stage::new().await;
    stage.gitlab.add_member(stage.project, stage.bot, AccessLevel::Reporter);
    let warning = "not approved: the token's user may not approve it (403 Forbidden). Give it the role Developer in the \
                   project, or a higher one. `conclave doctor` says which it has";
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(false, &[warning]));
    assert_eq!(stage.snapshot().notes, [posted(&stage.review(Verdict::Approved))]);
}

const APPROVE: &str = "/projects/{id}/merge_requests/{iid}/approve";
const UNAPPROVE: &str = "/projects/{id}/merge_requests/{iid}/unapprove";

#[tokio::test]
async fn an_approval_that_fails_for_good_is_a_warning() {
    for before in [false, true] {
        let stage = Stage::new().await;
        if before {
            stage.gitlab.approve(stage.merge_request, stage.bot);
            stage.push();
        }
        stage
            .gitlab
            .inject(Fault::once("POST", APPROVE, FaultKind::BadGateway).times(3));
        let warning = "not approved: GitLab answered 502 when asked to approve it: an HTML page";
        assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(false, &[warning]));
        // The older approval may be for another commit, so it goes, too.
        assert_eq!(stage.snapshot().approved_by, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_lock_is_no_newer_commit() {
    let stage = Stage::new().await;
    stage
        .gitlab
        .inject(Fault::once("POST", APPROVE, FaultKind::ResourceLock).times(2));
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(true, &[]));
    let stage = Stage::new().await;
    stage
        .gitlab
        .inject(Fault::once("POST", APPROVE, FaultKind::ResourceLock).times(3));
    let warning = "not approved: GitLab answered 409 when asked to approve it: Conflict: Resource lock";
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(false, &[warning]));
}

#[tokio::test]
async fn taking_back_is_tried_again() {
    let stage = Stage::new().await;
    stage.gitlab.approve(stage.merge_request, stage.bot);
    stage
        .gitlab
        .inject(Fault::once("POST", UNAPPROVE, FaultKind::BadGateway));
    stage
        .gitlab
        .inject(Fault::once("POST", UNAPPROVE, FaultKind::ErrorAfterStore));
    assert_eq!(stage.run(Verdict::MinorIssues).await, stage.outcome(false, &[]));
    assert_eq!(stage.snapshot().approved_by, Vec::<String>::new());
    let writes = [
        "POST /notes 201",
        "POST /unapprove 502",
        "POST /unapprove 500",
        "POST /unapprove 404",
    ];
    assert_eq!(stage.writes(), writes);
}

#[tokio::test]
async fn an_approval_that_cannot_be_taken_back_is_an_error() {
    let stage = Stage::new().await;
    stage.gitlab.approve(stage.merge_request, stage.bot);
    stage
        .gitlab
        .inject(Fault::once("POST", UNAPPROVE, FaultKind::BadGateway).times(3));
    let failed = publish(&stage.loaded().await, &stage.review(Verdict::MinorIssues)).await;
    let text = "GitLab answered 502 when asked to take its approval back: an HTML page";
    assert_eq!(failed, Err(text.to_owned()));
}

#[tokio::test]
async fn an_approval_that_is_not_shown_is_a_warning() {
    let stage = Stage::new().await;
    let answer = FaultKind::Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: r#"{"user_has_approved":false}"#.to_owned(),
    };
    let approvals = "/projects/{id}/merge_requests/{iid}/approvals";
    stage.gitlab.inject(Fault::once("GET", approvals, answer).after(1));
    let warning = "GitLab shows the merge request as not approved by the bot, which is not what was asked";
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(false, &[warning]));
}
