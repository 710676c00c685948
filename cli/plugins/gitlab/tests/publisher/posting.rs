//! One note a merge request: posted, found again, edited.

use conclave_fake_gitlab::{Fault, FaultKind, MergeRequestSnapshot};
use conclave_shared::verdict::Verdict;

use crate::stage::{Stage, approved, posted};

#[tokio::test]
async fn a_clean_review_is_one_note_and_an_approval() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    let outcome = stage.run(Verdict::Approved).await;
    assert_eq!(outcome, stage.outcome(true, &[]));
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![posted(&stage.review(Verdict::Approved))],
            system_notes: vec![approved()],
            approved_by: vec!["review-bot".to_owned()],
            ..before
        }
    );
    assert_eq!(stage.writes(), ["POST /notes 201", "POST /approve 201"]);
}

/// An approval that GitLab does not date may stand for an older commit, so it is asked for again.
#[tokio::test]
async fn an_approval_without_a_date_is_given_again() {
    let stage = Stage::new().await;
    stage.run(Verdict::Approved).await;
    let undated = FaultKind::Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: r#"{"user_has_approved":true,"approved_by":null}"#.to_owned(),
    };
    let approvals = "/projects/{id}/merge_requests/{iid}/approvals";
    stage.gitlab.inject(Fault::once("GET", approvals, undated));
    stage.gitlab.forget_requests();
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(true, &[]));
    assert_eq!(stage.writes(), ["POST /approve 401"]);
}

#[tokio::test]
async fn a_server_that_takes_a_second_approval_is_fine() {
    let stage = Stage::new().await;
    stage
        .gitlab
        .configure(|options| options.second_approval_is_refused = false);
    stage.run(Verdict::Approved).await;
    assert_eq!(stage.run(Verdict::Approved).await, stage.outcome(true, &[]));
    assert_eq!(stage.gitlab.snapshot(stage.merge_request).approved_by, ["review-bot"]);
}

#[tokio::test]
async fn a_note_is_found_behind_many_others() {
    let stage = Stage::new().await;
    stage.gitlab.configure(|options| {
        options.pagination.largest_page = 2;
        options.pagination.totals = false;
    });
    for number in 0..5 {
        stage
            .gitlab
            .comment(stage.merge_request, stage.human, &format!("Comment {number}"));
    }
    stage.run(Verdict::MinorIssues).await;
    stage.gitlab.comment(stage.merge_request, stage.human, "One more");
    stage.run(Verdict::Inconclusive).await;
    assert_eq!(stage.writes(), ["POST /notes 201", "PUT /notes/[5] 200"]);
}
