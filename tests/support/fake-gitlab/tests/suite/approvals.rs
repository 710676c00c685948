//! Approvals and the formal states around them.

use conclave_fake_gitlab::AccessLevel;
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn approve_and_unapprove() {
    let stage = Stage::free().await;
    let sha = stage.gitlab.head(stage.merge_request);
    let (status, body) = stage.bot.post(&stage.at("/approve"), json!({ "sha": sha })).await;
    assert_eq!(
        (status, &body["user_has_approved"], &body["approved"]),
        (201, &json!(true), &json!(true))
    );
    assert_eq!(body["approved_by"][0]["user"]["username"], "review-bot");
    assert_eq!(body["user_can_approve"], false);
    let (status, body) = stage.bot.post(&stage.at("/unapprove"), json!({})).await;
    assert_eq!((status, &body["approved_by"]), (201, &json!([])));
    assert_eq!(stage.bot.post(&stage.at("/unapprove"), json!({})).await.0, 404);
    let activity: Vec<String> = stage
        .gitlab
        .snapshot(stage.merge_request)
        .system_notes
        .into_iter()
        .map(|note| note.body)
        .collect();
    assert_eq!(
        activity,
        ["approved this merge request", "unapproved this merge request"]
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_wrong_sha_is_a_conflict() {
    let stage = Stage::free().await;
    let refs = stage.gitlab.diff_refs(stage.merge_request);
    let (status, body) = stage
        .bot
        .post(&stage.at("/approve"), json!({ "sha": refs["base_sha"] }))
        .await;
    let message = format!(
        "SHA does not match HEAD of source branch: {}",
        refs["head_sha"].as_str().unwrap()
    );
    assert_eq!((status, body), (409, json!({ "message": message })));
    assert!(stage.gitlab.snapshot(stage.merge_request).approved_by.is_empty());
    stage.assert_no_violations();
}

#[tokio::test]
async fn who_may_not_approve() {
    let stage = Stage::free().await;
    let author = stage.client(stage.author);
    assert_eq!(
        author.post(&stage.at("/approve"), json!({})).await.0,
        401,
        "the own merge request"
    );
    stage
        .gitlab
        .set_project(stage.project, |settings| settings.approvals.author_may_approve = true);
    assert_eq!(author.post(&stage.at("/approve"), json!({})).await.0, 201);
    assert_eq!(author.post(&stage.at("/approve"), json!({})).await.0, 401, "twice");
    stage
        .gitlab
        .configure(|options| options.second_approval_is_refused = false);
    assert_eq!(author.post(&stage.at("/approve"), json!({})).await.0, 201);
    stage
        .gitlab
        .add_member(stage.project, stage.bot_user, AccessLevel::Reporter);
    assert_eq!(
        stage.bot.post(&stage.at("/approve"), json!({})).await.0,
        403,
        "too low a role"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn required_approvals_count_on_premium() {
    let stage = Stage::premium().await;
    stage
        .gitlab
        .set_project(stage.project, |settings| settings.approvals.required = 2);
    let status = async || stage.bot.get(&stage.at("")).await.1["detailed_merge_status"].clone();
    assert_eq!(status().await, "not_approved");
    stage.gitlab.approve(stage.merge_request, stage.human);
    let (_, body) = stage.bot.get(&stage.at("/approvals")).await;
    assert_eq!((&body["approved"], &body["approvals_left"]), (&json!(false), &json!(1)));
    assert_eq!(
        stage.bot.post(&stage.at("/approve"), json!({})).await.1["approved"],
        true
    );
    assert_eq!(status().await, "mergeable");
    let (_, rules) = stage.bot.get(&stage.at("/approval_state")).await;
    assert_eq!(rules["rules"][0]["approved"], true);
    stage.gitlab.configure(|options| options.version = "19.5.0".to_owned());
    assert_eq!(
        stage.bot.get(&stage.at("/approvals")).await.1.get("approvals_left"),
        None,
        "Community Edition"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn only_bots_reset_approvals() {
    let stage = Stage::free().await;
    stage.gitlab.approve(stage.merge_request, stage.human);
    let path = stage.at("/reset_approvals");
    assert_eq!(stage.client(stage.human).put(&path, json!({})).await.0, 401);
    assert_eq!(stage.bot.put(&path, json!({})).await, (202, Value::Null));
    assert!(stage.gitlab.snapshot(stage.merge_request).approved_by.is_empty());
    stage.assert_no_violations();
}
