//! Quick actions and the block that "requested changes" puts on a merge request.

use conclave_fake_gitlab::{AccessLevel, Tier};
use serde_json::{Value, json};

use crate::stage::Stage;

async fn note(stage: &Stage, body: &str) -> (u16, Value) {
    stage.bot.post(&stage.at("/notes"), json!({ "body": body })).await
}

async fn merge_status(stage: &Stage) -> String {
    stage.bot.get(&stage.at("")).await.1["detailed_merge_status"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn blockers(stage: &Stage) -> Vec<String> {
    stage.gitlab.snapshot(stage.merge_request).requested_changes_by
}

#[tokio::test]
async fn a_note_with_text_and_a_command_is_stored_without_the_command() {
    let stage = Stage::premium().await;
    let (status, body) = note(&stage, "Summary.\n\n/submit_review requested_changes").await;
    assert_eq!((status, &body["body"]), (201, &json!("Summary.")));
    assert_eq!(merge_status(&stage).await, "requested_changes");
    assert_eq!(blockers(&stage), ["review-bot"]);
    assert_eq!(
        stage.bot.get(&stage.at("/reviewers")).await.1,
        json!([]),
        "a block needs no reviewer row"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_note_of_commands_only_is_202_without_an_id() {
    let stage = Stage::premium().await;
    let (status, body) = note(&stage, "/submit_review requested_changes").await;
    assert_eq!(
        (status, &body["summary"]),
        (202, &json!(["Submitted the current review."]))
    );
    assert_eq!(body.get("id"), None);
    assert!(stage.gitlab.snapshot(stage.merge_request).notes.is_empty());
    let (status, body) = note(&stage, "/submit_review request_changes").await;
    assert_eq!(
        (status, &body["summary"]),
        (202, &json!(["Submitted the current review."])),
        "a wrong word is silent"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn on_free_the_record_stands_but_blocks_nothing() {
    let stage = Stage::free().await;
    note(&stage, "x\n/submit_review requested_changes").await;
    assert_eq!(merge_status(&stage).await, "mergeable");
    stage.gitlab.configure(|options| options.tier = Tier::Premium);
    assert_eq!(merge_status(&stage).await, "requested_changes");
    stage.gitlab.bypass_requested_changes(stage.merge_request);
    assert_eq!(merge_status(&stage).await, "mergeable");
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_block_goes_with_an_approval_of_the_same_user_only() {
    let stage = Stage::premium().await;
    let block = "/submit_review requested_changes";
    note(&stage, block).await;
    assert!(stage.gitlab.approve(stage.merge_request, stage.human));
    assert_eq!(blockers(&stage), ["review-bot"], "somebody else's approval");
    for word in ["reviewed", "unreviewed", "unapproved"] {
        note(&stage, &format!("/submit_review {word}")).await;
        assert_eq!(blockers(&stage), ["review-bot"], "{word}");
    }
    assert_eq!(stage.bot.post(&stage.at("/unapprove"), json!({})).await.0, 404);
    assert_eq!(blockers(&stage), ["review-bot"]);
    assert_eq!(stage.bot.post(&stage.at("/approve"), json!({})).await.0, 201);
    assert!(blockers(&stage).is_empty());

    note(&stage, block).await;
    assert_eq!(note(&stage, "/submit_review approved").await.0, 202);
    assert!(blockers(&stage).is_empty(), "the state alone takes the block back");
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_reviewer_shows_a_state() {
    let stage = Stage::premium().await;
    stage.gitlab.add_reviewer(stage.merge_request, stage.bot_user);
    stage.bot.post(&stage.at("/approve"), json!({})).await;
    let reviewer_state = async || stage.bot.get(&stage.at("/reviewers")).await.1[0]["state"].clone();
    assert_eq!(reviewer_state().await, "approved");
    note(&stage, "/submit_review requested_changes").await;
    assert_eq!(reviewer_state().await, "requested_changes");
    assert!(
        stage.gitlab.snapshot(stage.merge_request).approved_by.is_empty(),
        "the own approval goes"
    );
    note(&stage, "/submit_review").await;
    assert_eq!(reviewer_state().await, "reviewed");
    stage.assert_no_violations();
}

#[tokio::test]
async fn request_changes_is_for_reviewers() {
    let stage = Stage::premium().await;
    let (status, body) = note(&stage, "/request_changes").await;
    assert_eq!(
        (status, &body["message"]),
        (
            400,
            &json!("400 Bad request - Could not apply request_changes command.")
        )
    );
    stage.gitlab.add_reviewer(stage.merge_request, stage.bot_user);
    assert_eq!(note(&stage, "/request_changes").await.0, 202);
    assert_eq!(blockers(&stage), ["review-bot"]);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_low_role_cannot_block_and_is_not_told() {
    let stage = Stage::premium().await;
    stage
        .gitlab
        .add_member(stage.project, stage.bot_user, AccessLevel::Reporter);
    assert_eq!(note(&stage, "/submit_review requested_changes").await.0, 202);
    assert!(blockers(&stage).is_empty());
    stage.assert_no_violations();
}

#[tokio::test]
async fn approval_by_command() {
    let stage = Stage::premium().await;
    assert_eq!(note(&stage, "/submit_review approve").await.0, 202);
    assert_eq!(stage.gitlab.snapshot(stage.merge_request).approved_by, ["review-bot"]);
    assert_eq!(note(&stage, "/unapprove").await.0, 202);
    let author = stage.client(stage.author);
    let (status, body) = author.post(&stage.at("/notes"), json!({ "body": "/approve" })).await;
    assert_eq!(
        (status, &body["message"]),
        (
            400,
            &json!("400 Bad request - Failed to approve the current merge request.")
        )
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn every_command_that_ran_is_on_record() {
    let stage = Stage::free().await;
    note(&stage, "Careless:\n/close\n/label ~bug\n```\n/merge\n```\n> /reopen").await;
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    let ran: Vec<&str> = snapshot
        .executed_commands
        .iter()
        .map(|entry| entry.command.as_str())
        .collect();
    assert_eq!(ran, ["/close", "/label ~bug"]);
    assert_eq!(
        (snapshot.state.as_str(), snapshot.labels),
        ("closed", vec!["bug".to_owned()])
    );
    assert!(snapshot.notes[0].body.contains("/merge"));
}

#[tokio::test]
async fn commands_in_a_discussion_run_and_crash() {
    let stage = Stage::premium().await;
    let body = json!({ "body": "/submit_review requested_changes" });
    assert_eq!(stage.bot.post(&stage.at("/discussions"), body).await.0, 500);
    assert_eq!(blockers(&stage), ["review-bot"]);
}

#[tokio::test]
async fn graphql_takes_a_block_back() {
    let stage = Stage::premium().await;
    note(&stage, "/submit_review requested_changes").await;
    let query = "mutation($input: MergeRequestDestroyRequestedChangesInput!) \
                 { mergeRequestDestroyRequestedChanges(input: $input) { errors } }";
    let body = json!({ "query": query, "variables": { "input": { "projectPath": "group/project", "iid": "1" } } });
    let (status, answer) = stage.bot.post("/../graphql", body.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(
        answer["data"]["mergeRequestDestroyRequestedChanges"]["errors"],
        json!([])
    );
    assert!(blockers(&stage).is_empty());
    stage.gitlab.configure(|options| options.graphql = false);
    assert_eq!(stage.bot.post("/../graphql", body).await.0, 404);
    stage.assert_no_violations();
}
