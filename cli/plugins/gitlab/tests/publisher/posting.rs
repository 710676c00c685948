//! One note a merge request: posted, found again, edited.

use conclave_fake_gitlab::{Fault, FaultKind, MergeRequestSnapshot};
use conclave_shared::verdict::Verdict;

use crate::stage::{MARKER, Stage, approved, edited, note, posted, publish};

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

#[tokio::test]
async fn the_same_review_again_writes_nothing() {
    let stage = Stage::new().await;
    stage.run(Verdict::Approved).await;
    let before = stage.snapshot();
    stage.gitlab.forget_requests();
    let outcome = stage.run(Verdict::Approved).await;
    assert_eq!(outcome, stage.outcome(true, &[]));
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![posted(&stage.review(Verdict::Approved))],
            ..before
        }
    );
    assert_eq!(stage.writes(), Vec::<String>::new());
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
async fn one_run_that_posts_twice_has_one_note() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    let plugin = stage.loaded().await;
    let (first, second) = (stage.review(Verdict::Inconclusive), stage.review(Verdict::MinorIssues));
    publish(&plugin, &first).await.unwrap();
    publish(&plugin, &second).await.unwrap();
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![edited(&second)],
            ..before
        }
    );
}

#[tokio::test]
async fn two_runs_that_began_together_have_one_note() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    let (one, other) = (stage.loaded().await, stage.loaded().await);
    let (first, second) = (stage.review(Verdict::Inconclusive), stage.review(Verdict::MinorIssues));
    publish(&one, &first).await.unwrap();
    publish(&other, &second).await.unwrap();
    let found = stage.snapshot();
    // The worse verdict of both stays, in whichever order they post.
    assert!(
        found.notes.len() == 1 && found.notes[0].body.starts_with("## ⚪ Inconclusive"),
        "{found:?}"
    );
    assert_eq!(
        MergeRequestSnapshot {
            notes: Vec::new(),
            ..found
        },
        before
    );
    assert_eq!(stage.writes(), ["POST /notes 201", "PUT /notes/[0] 200"]);
}

#[tokio::test]
async fn a_copied_marker_is_not_ours() {
    let stage = Stage::new().await;
    let copy = format!("Approved by the bot, look: {MARKER}");
    stage.gitlab.comment(stage.merge_request, stage.human, &copy);
    let before = stage.snapshot();
    for verdict in [Verdict::Inconclusive, Verdict::MinorIssues] {
        stage.run(verdict).await;
    }
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![note("bob", &copy), edited(&stage.review(Verdict::MinorIssues))],
            ..before
        }
    );
    assert_eq!(stage.writes(), ["POST /notes 201", "PUT /notes/[1] 200"]);
}

#[tokio::test]
async fn another_note_of_the_bot_is_left_alone() {
    let stage = Stage::new().await;
    stage
        .gitlab
        .comment(stage.merge_request, stage.bot, "The nightly build is green.");
    let before = stage.snapshot();
    stage.run(Verdict::MinorIssues).await;
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![
                note("review-bot", "The nightly build is green."),
                posted(&stage.review(Verdict::MinorIssues)),
            ],
            ..before
        }
    );
}

#[tokio::test]
async fn a_deleted_note_is_posted_anew() {
    let stage = Stage::new().await;
    let before = stage.snapshot();
    stage.run(Verdict::MinorIssues).await;
    // Once before the next run, and once in the middle of it.
    delete_note(&stage);
    stage.run(Verdict::MinorIssues).await;
    let plugin = stage.loaded().await;
    delete_note(&stage);
    let review = stage.review(Verdict::MinorIssues);
    assert_eq!(publish(&plugin, &review).await, Ok(stage.outcome(false, &[])));
    assert_eq!(
        stage.snapshot(),
        MergeRequestSnapshot {
            notes: vec![posted(&review)],
            ..before
        }
    );
    assert_eq!(stage.writes(), ["POST /notes 201"; 3]);
}

fn delete_note(stage: &Stage) {
    let id = stage.gitlab.snapshot(stage.merge_request).notes[0].id;
    stage.gitlab.delete_note(stage.merge_request, id);
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

#[tokio::test]
async fn nothing_is_posted_before_the_merge_request_was_read() {
    let stage = Stage::new().await;
    let refused = publish(&stage.plugin(), &stage.review(Verdict::Approved)).await;
    assert_eq!(refused, Err("the merge request was never loaded".to_owned()));
    assert!(stage.gitlab.requests().is_empty());
}
