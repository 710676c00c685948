//! Draft notes and publishing them in bulk.

use conclave_fake_gitlab::Tier;
use serde_json::{Value, json};

use crate::stage::Stage;

fn line(stage: &Stage, number: u64) -> Value {
    stage.position(&json!({ "old_path": "src/lib.rs", "new_path": "src/lib.rs", "new_line": number }))
}

#[tokio::test]
async fn a_draft_is_private_until_it_is_published() {
    let stage = Stage::free().await;
    let (status, draft) = stage
        .bot
        .post(
            &stage.at("/draft_notes"),
            json!({ "note": "x", "position": line(&stage, 5) }),
        )
        .await;
    assert_eq!((status, &draft["author_id"]), (201, &json!(stage.bot_user.0)));
    assert!(draft["line_code"].as_str().unwrap().ends_with("_6_5"));
    let path = stage.at(&format!("/draft_notes/{}", draft["id"]));
    assert_eq!(
        stage.client(stage.human).get(&stage.at("/draft_notes")).await.1,
        json!([])
    );
    assert_eq!(stage.client(stage.human).get(&path).await.0, 404);
    let (_, changed) = stage
        .bot
        .put(&path, json!({ "note": "y", "position": line(&stage, 6) }))
        .await;
    assert_eq!(changed["note"], "y");
    assert_eq!(
        stage.bot.put(&format!("{path}/publish"), json!({})).await,
        (204, Value::Null)
    );
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        (
            snapshot.drafts.len(),
            snapshot.threads[0].position.as_ref().unwrap().new_line
        ),
        (0, Some(6))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_update_without_position_loses_it_and_one_without_note_is_refused() {
    let stage = Stage::free().await;
    let (_, draft) = stage
        .bot
        .post(
            &stage.at("/draft_notes"),
            json!({ "note": "x", "position": line(&stage, 5) }),
        )
        .await;
    let path = stage.at(&format!("/draft_notes/{}", draft["id"]));
    let (status, body) = stage.bot.put(&path, json!({ "position": line(&stage, 6) })).await;
    assert_eq!((status, body), (400, json!({ "message": "Missing params to modify" })));
    assert_eq!(
        stage.bot.put(&path, json!({ "note": "y" })).await.1["position"],
        Value::Null
    );
    assert_eq!(stage.bot.delete(&path).await, (204, Value::Null));
    let (status, body) = stage.bot.post(&stage.at("/draft_notes"), json!({ "note": "" })).await;
    assert_eq!(
        (status, body),
        (400, json!({ "message": { "note": ["can't be blank"] } }))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn bulk_publish_carries_the_verdict() {
    let stage = Stage::premium().await;
    stage
        .bot
        .post(&stage.at("/draft_notes"), json!({ "note": "one" }))
        .await;
    stage
        .bot
        .post(
            &stage.at("/draft_notes"),
            json!({ "note": "two\n/submit_review approve" }),
        )
        .await;
    let body = json!({ "reviewer_state": "requested_changes", "note": "Summary." });
    let path = stage.at("/draft_notes/bulk_publish");
    assert_eq!(stage.bot.post(&path, body.clone()).await, (204, Value::Null));
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        (snapshot.threads.len(), snapshot.notes[0].body.as_str()),
        (2, "Summary.")
    );
    assert_eq!(snapshot.detailed_merge_status, "requested_changes");
    assert!(
        snapshot.approved_by.is_empty(),
        "no review is submitted from inside a draft"
    );
    assert_eq!(
        stage.bot.post(&path, json!({ "reviewer_state": "reviewed" })).await.0,
        204,
        "no drafts is fine"
    );
    assert_eq!(
        stage.gitlab.snapshot(stage.merge_request).requested_changes_by,
        ["review-bot"]
    );
    stage.gitlab.configure(|options| options.reviewed_clears_block = true);
    stage.bot.post(&path, json!({ "reviewer_state": "reviewed" })).await;
    assert!(
        stage
            .gitlab
            .snapshot(stage.merge_request)
            .requested_changes_by
            .is_empty()
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_author_cannot_request_changes_in_bulk() {
    let stage = Stage::premium().await;
    let author = stage.client(stage.author);
    let body = json!({ "reviewer_state": "requested_changes" });
    assert_eq!(author.post(&stage.at("/draft_notes/bulk_publish"), body).await.0, 204);
    assert!(
        stage
            .gitlab
            .snapshot(stage.merge_request)
            .requested_changes_by
            .is_empty()
    );
}

#[tokio::test]
async fn an_old_server_ignores_the_body() {
    let stage = Stage::premium().await;
    stage
        .gitlab
        .configure(|options| options.bulk_publish_takes_body = false);
    stage
        .bot
        .post(&stage.at("/draft_notes"), json!({ "note": "one" }))
        .await;
    let body = json!({ "reviewer_state": "requested_changes", "note": "Summary." });
    assert_eq!(
        stage.bot.post(&stage.at("/draft_notes/bulk_publish"), body).await.0,
        204
    );
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!((snapshot.threads.len(), snapshot.notes.len()), (1, 0));
    assert!(snapshot.requested_changes_by.is_empty());
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_bad_line_fails_after_earlier_drafts_were_published() {
    let stage = Stage::free().await;
    for number in [5, 999, 6] {
        let body = json!({ "note": format!("line {number}"), "position": line(&stage, number) });
        assert_eq!(stage.bot.post(&stage.at("/draft_notes"), body).await.0, 201);
    }
    assert_eq!(
        stage
            .bot
            .post(&stage.at("/draft_notes/bulk_publish"), json!({}))
            .await
            .0,
        500
    );
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!((snapshot.threads.len(), snapshot.drafts.len()), (1, 2));
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_draft_reply_resolves_or_reopens_its_thread() {
    let stage = Stage::free().await;
    let thread = stage
        .gitlab
        .start_thread(stage.merge_request, stage.human, "Why?", &Value::Null);
    let resolved = || stage.gitlab.snapshot(stage.merge_request).threads[0].resolved;
    for resolve in [true, false] {
        let body = json!({ "note": "So.", "in_reply_to_discussion_id": thread, "resolve_discussion": resolve });
        assert_eq!(stage.bot.post(&stage.at("/draft_notes"), body).await.0, 201);
        assert_eq!(
            stage
                .bot
                .post(&stage.at("/draft_notes/bulk_publish"), json!({}))
                .await
                .0,
            204
        );
        assert_eq!(resolved(), resolve);
    }
    let nowhere = json!({ "note": "So.", "in_reply_to_discussion_id": "nowhere" });
    assert_eq!(stage.bot.post(&stage.at("/draft_notes"), nowhere).await.0, 400);
    stage.assert_no_violations();
}

#[tokio::test]
async fn publishing_marks_a_reviewer_as_reviewed_and_approve_can_publish() {
    let stage = Stage::free().await;
    stage.gitlab.configure(|options| options.tier = Tier::Premium);
    stage.gitlab.add_reviewer(stage.merge_request, stage.bot_user);
    stage
        .bot
        .post(&stage.at("/draft_notes"), json!({ "note": "one" }))
        .await;
    stage.bot.post(&stage.at("/draft_notes/bulk_publish"), json!({})).await;
    assert_eq!(
        stage.gitlab.snapshot(stage.merge_request).reviewers[0].state,
        "reviewed"
    );
    stage
        .bot
        .post(&stage.at("/draft_notes"), json!({ "note": "two" }))
        .await;
    assert_eq!(
        stage
            .bot
            .post(&stage.at("/approve"), json!({ "publish_review": true }))
            .await
            .0,
        201
    );
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(
        (snapshot.threads.len(), snapshot.reviewers[0].state.as_str()),
        (2, "approved")
    );
    stage.assert_no_violations();
}
