//! Notes, threads, resolving.

use conclave_fake_gitlab::AccessLevel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn a_note_can_be_posted_changed_and_deleted() {
    let stage = Stage::free().await;
    let (status, note) = stage
        .bot
        .post(&stage.at("/notes"), json!({ "body": "a => b <c>" }))
        .await;
    assert_eq!(
        (status, &note["type"], &note["resolvable"]),
        (201, &Value::Null, &json!(false))
    );
    assert_eq!(
        note["author"].get("bot"),
        None,
        "note authors do not show whether they are bots"
    );
    let path = stage.at(&format!("/notes/{}", note["id"]));
    let (status, note) = stage.bot.put(&path, json!({ "body": "changed" })).await;
    assert_eq!((status, &note["body"]), (200, &json!("changed")));
    assert_eq!(
        stage
            .client(stage.human)
            .put(&path, json!({ "body": "mine now" }))
            .await
            .0,
        403
    );
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!((snapshot.notes.len(), snapshot.notes[0].edited), (1, true));
    assert_eq!(stage.client(stage.human).delete(&path).await.0, 403);
    assert_eq!(stage.bot.delete(&path).await, (204, Value::Null));
    assert_eq!(
        stage.bot.get(&path).await,
        (404, json!({ "message": "404 Note Not Found" }))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn json_is_escaped_the_way_rails_does() {
    let stage = Stage::free().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "a => <b>");
    let response = stage.bot.send(Method::GET, &stage.at("/notes"), None).await;
    let text = response.text().await.unwrap();
    assert!(text.contains(r"a =\u003e \u003cb\u003e"), "{text}");
}

#[tokio::test]
async fn notes_are_listed_newest_first_and_filtered() {
    let stage = Stage::free().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "first");
    stage.gitlab.approve(stage.merge_request, stage.human);
    stage.gitlab.comment(stage.merge_request, stage.human, "last");
    let bodies = async |query: &str| {
        let (_, rows) = stage.bot.get(&stage.at(&format!("/notes?{query}"))).await;
        let bodies = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["body"].as_str().unwrap().to_owned());
        bodies.collect::<Vec<_>>()
    };
    assert_eq!(bodies("").await, ["last", "approved this merge request", "first"]);
    assert_eq!(
        bodies("sort=asc&activity_filter=only_comments").await,
        ["first", "last"]
    );
    assert_eq!(
        bodies("activity_filter=only_activity").await,
        ["approved this merge request"]
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn limits_of_notes() {
    let stage = Stage::free().await;
    stage.gitlab.configure(|options| {
        options.note_characters = 10;
        options.notes_per_merge_request = 1;
    });
    let post =
        async |body: &str| stage.bot.post(&stage.at("/notes"), json!({ "body": body })).await.1["message"].clone();
    assert_eq!(
        post("  ").await,
        r#"400 Bad request - Note {:note=>["can't be blank"]}"#
    );
    assert_eq!(
        post("01234567890").await,
        r#"400 Bad request - Note {:note=>["is too long (maximum is 10 characters)"]}"#
    );
    stage.gitlab.comment(stage.merge_request, stage.human, "full");
    assert_eq!(
        post("x").await,
        r#"400 Bad request - Note {:base=>["Maximum number of comments exceeded"]}"#
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_thread_is_resolved_and_reopened() {
    let stage = Stage::free().await;
    let (status, thread) = stage
        .bot
        .post(&stage.at("/discussions"), json!({ "body": "Why?" }))
        .await;
    assert_eq!(
        (status, &thread["individual_note"], &thread["resolved"]),
        (201, &json!(false), &json!(false))
    );
    assert_eq!(thread["id"].as_str().unwrap().len(), 40);
    let path = stage.at(&format!("/discussions/{}", thread["id"].as_str().unwrap()));
    stage.gitlab.reply(
        stage.merge_request,
        stage.human,
        thread["id"].as_str().unwrap(),
        "Because.",
    );
    let (status, thread) = stage.bot.put(&path, json!({ "resolved": true })).await;
    assert_eq!((status, &thread["resolved"]), (200, &json!(true)));
    assert_eq!(thread["notes"][1]["resolved_by"]["username"], "review-bot");
    let (_, thread) = stage.bot.put(&path, json!({ "resolved": false })).await;
    assert_eq!(
        (&thread["resolved"], &thread["notes"][0]["resolved_by"]),
        (&json!(false), &Value::Null)
    );
    stage
        .gitlab
        .add_member(stage.project, stage.bot_user, AccessLevel::Reporter);
    assert_eq!(stage.bot.put(&path, json!({ "resolved": true })).await.0, 403);
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_project_can_ask_for_resolved_threads() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .set_project(stage.project, |settings| settings.all_threads_must_be_resolved = true);
    let thread = stage
        .gitlab
        .start_thread(stage.merge_request, stage.human, "Why?", &Value::Null);
    let (_, body) = stage.bot.get(&stage.at("")).await;
    assert_eq!(body["detailed_merge_status"], "discussions_not_resolved");
    assert_eq!(body["blocking_discussions_resolved"], false);
    stage.gitlab.resolve(stage.merge_request, stage.human, &thread, true);
    assert_eq!(
        stage.bot.get(&stage.at("")).await.1["detailed_merge_status"],
        "mergeable"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_reply_turns_a_plain_note_into_a_thread() {
    let stage = Stage::free().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "Hello.");
    let (_, discussions) = stage.bot.get(&stage.at("/discussions")).await;
    assert_eq!(discussions[0]["individual_note"], true);
    let path = stage.at(&format!("/discussions/{}", discussions[0]["id"].as_str().unwrap()));
    assert_eq!(stage.bot.put(&path, json!({ "resolved": true })).await.0, 403);
    let (status, note) = stage.bot.post(&format!("{path}/notes"), json!({ "body": "Hi." })).await;
    assert_eq!((status, &note["type"]), (201, &json!("DiscussionNote")));
    assert_eq!(stage.bot.get(&path).await.1["individual_note"], false);
    stage.assert_no_violations();
}

#[tokio::test]
async fn activity_takes_no_reply_and_no_change() {
    let stage = Stage::free().await;
    stage.gitlab.approve(stage.merge_request, stage.human);
    let (_, discussions) = stage.bot.get(&stage.at("/discussions")).await;
    let path = stage.at(&format!(
        "/discussions/{}/notes",
        discussions[0]["id"].as_str().unwrap()
    ));
    let (status, body) = stage.bot.post(&path, json!({ "body": "?" })).await;
    assert_eq!(
        (status, body),
        (400, json!({ "message": "Discussion can not be replied to." }))
    );
    let note = discussions[0]["notes"][0]["id"].clone();
    let human = stage.client(stage.human);
    assert_eq!(
        human
            .put(&stage.at(&format!("/notes/{note}")), json!({ "body": "x" }))
            .await
            .0,
        403
    );
    let (status, body) = human.put(&format!("{path}/{note}"), json!({ "resolved": true })).await;
    assert_eq!(
        (status, &body["message"]),
        (400, &json!("400 Bad request - Note is not resolvable"))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_unknown_discussion_is_404_to_read_and_500_to_resolve() {
    let stage = Stage::free().await;
    let path = stage.at("/discussions/0123456789abcdef");
    assert_eq!(
        stage.bot.get(&path).await,
        (404, json!({ "message": "404 Discussion Not Found" }))
    );
    assert_eq!(stage.bot.put(&path, json!({ "resolved": true })).await.0, 500);
    assert_eq!(
        stage.bot.post(&format!("{path}/notes"), json!({ "body": "x" })).await.0,
        404
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_single_note_of_a_thread_is_changed_or_resolved_but_not_both() {
    let stage = Stage::free().await;
    let (_, thread) = stage
        .bot
        .post(&stage.at("/discussions"), json!({ "body": "Why?" }))
        .await;
    let discussion = stage.at(&format!("/discussions/{}", thread["id"].as_str().unwrap()));
    let note = format!("{discussion}/notes/{}", thread["notes"][0]["id"]);
    assert_eq!(
        stage.bot.put(&note, json!({ "body": "Why not?" })).await.1["body"],
        "Why not?"
    );
    assert_eq!(
        stage.bot.put(&note, json!({ "resolved": true })).await.1["resolved"],
        true
    );
    assert_eq!(stage.bot.get(&note).await.1["resolved_by"]["username"], "review-bot");
    assert_eq!(
        stage
            .bot
            .get(&format!("{discussion}/notes"))
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        1
    );
    stage.assert_no_violations();
    assert_eq!(
        stage.bot.put(&note, json!({ "resolved": true, "body": "x" })).await.0,
        400
    );
    assert_eq!(stage.bot.put(&note, json!({})).await.0, 400);
    assert_eq!(stage.gitlab.violations().len(), 2);
    assert_eq!(stage.bot.delete(&note).await.0, 204);
    assert_eq!(stage.bot.get(&discussion).await.0, 404);
}
