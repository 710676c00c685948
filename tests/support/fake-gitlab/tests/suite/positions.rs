//! The position table: each row accepted as it should be written, and refused otherwise.

use conclave_fake_gitlab::Options;
use serde_json::{Value, json};

use crate::stage::Stage;

const NOT_A_LINE: &str = r#"400 Bad request - Note {:line_code=>["can't be blank", "must be a valid line code"]}"#;

fn lib(mut lines: Value) -> Value {
    lines["old_path"] = json!("src/lib.rs");
    lines["new_path"] = json!("src/lib.rs");
    lines
}

fn paths(old: &str, new: &str, mut lines: Value) -> Value {
    lines["old_path"] = json!(old);
    lines["new_path"] = json!(new);
    lines
}

async fn post(stage: &Stage, fields: &Value) -> (u16, Value) {
    let body = json!({ "body": "Look here.", "position": stage.position(fields) });
    stage.bot.post(&stage.at("/discussions"), body).await
}

async fn accepts(stage: &Stage, fields: Value) {
    let (status, body) = post(stage, &fields).await;
    assert_eq!(status, 201, "{fields}: {body}");
    let note = &body["notes"][0];
    assert_eq!(note["type"], "DiffNote", "{fields}");
    assert_eq!(note["position"]["new_line"], fields["new_line"], "{fields}");
    assert_eq!(note["position"]["old_line"], fields["old_line"], "{fields}");
}

async fn refuses(stage: &Stage, fields: Value) {
    let (status, body) = post(stage, &fields).await;
    assert_eq!((status, &body["message"]), (400, &json!(NOT_A_LINE)), "{fields}");
}

#[tokio::test]
async fn an_added_line_has_only_a_new_line() {
    let stage = Stage::free().await;
    accepts(&stage, lib(json!({ "new_line": 5 }))).await;
    accepts(&stage, lib(json!({ "new_line": 6 }))).await;
    accepts(&stage, paths("new.txt", "new.txt", json!({ "new_line": 1 }))).await;
    refuses(&stage, lib(json!({ "old_line": 5, "new_line": 5 }))).await;
    refuses(&stage, lib(json!({ "old_line": 6, "new_line": 6 }))).await;
    refuses(
        &stage,
        paths("new.txt", "new.txt", json!({ "old_line": 1, "new_line": 1 })),
    )
    .await;
    refuses(&stage, paths("new.txt", "new.txt", json!({ "new_line": 4 }))).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_removed_line_has_only_an_old_line() {
    let stage = Stage::free().await;
    accepts(&stage, lib(json!({ "old_line": 5 }))).await;
    accepts(&stage, lib(json!({ "old_line": 40 }))).await;
    accepts(&stage, paths("gone.txt", "gone.txt", json!({ "old_line": 1 }))).await;
    refuses(&stage, lib(json!({ "old_line": 41, "new_line": 40 }))).await;
    refuses(&stage, paths("gone.txt", "gone.txt", json!({ "new_line": 1 }))).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_unchanged_line_has_both_lines() {
    let stage = Stage::free().await;
    accepts(&stage, lib(json!({ "old_line": 4, "new_line": 4 }))).await;
    accepts(&stage, lib(json!({ "old_line": 6, "new_line": 7 }))).await;
    refuses(&stage, lib(json!({ "old_line": 6, "new_line": 6 }))).await;
    refuses(&stage, lib(json!({ "new_line": 7 }))).await;
    refuses(&stage, lib(json!({ "old_line": 6 }))).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_line_outside_the_hunks_is_unfolded() {
    let stage = Stage::free().await;
    accepts(&stage, lib(json!({ "old_line": 20, "new_line": 21 }))).await;
    accepts(&stage, lib(json!({ "old_line": 60, "new_line": 60 }))).await;
    refuses(&stage, lib(json!({ "old_line": 20, "new_line": 20 }))).await;
    refuses(&stage, lib(json!({ "new_line": 21 }))).await;
    refuses(&stage, lib(json!({ "old_line": 61, "new_line": 61 }))).await;
    stage
        .gitlab
        .configure(|options: &mut Options| options.unfold_context = false);
    refuses(&stage, lib(json!({ "old_line": 20, "new_line": 21 }))).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_renamed_file_has_both_real_paths() {
    let stage = Stage::free().await;
    accepts(&stage, paths("old_name.txt", "new_name.txt", json!({ "new_line": 3 }))).await;
    accepts(
        &stage,
        paths("old_name.txt", "new_name.txt", json!({ "old_line": 4, "new_line": 4 })),
    )
    .await;
    refuses(&stage, paths("new_name.txt", "new_name.txt", json!({ "new_line": 3 }))).await;
    refuses(&stage, paths("old_name.txt", "old_name.txt", json!({ "old_line": 3 }))).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_whole_file_has_no_lines() {
    let stage = Stage::free().await;
    accepts(&stage, lib(json!({ "position_type": "file" }))).await;
    accepts(
        &stage,
        paths("logo.png", "logo.png", json!({ "position_type": "file" })),
    )
    .await;
    refuses(&stage, lib(json!({ "position_type": "file", "new_line": 5 }))).await;
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(snapshot.threads[0].position.as_ref().unwrap().kind, "file");
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_image_has_a_place_in_it() {
    let stage = Stage::free().await;
    let place = json!({ "position_type": "image", "x": 1, "y": 2, "width": 10, "height": 10 });
    accepts(&stage, paths("logo.png", "logo.png", place)).await;
    let (status, body) = post(
        &stage,
        &paths("logo.png", "logo.png", json!({ "position_type": "image" })),
    )
    .await;
    assert_eq!(
        (status, &body["message"]),
        (400, &json!(r#"400 Bad request - Note {:position=>["is incomplete"]}"#))
    );
}

#[tokio::test]
async fn a_file_outside_the_diff_takes_no_comment() {
    let stage = Stage::free().await;
    refuses(
        &stage,
        paths(
            "untouched.txt",
            "untouched.txt",
            json!({ "old_line": 1, "new_line": 1 }),
        ),
    )
    .await;
    refuses(
        &stage,
        paths("nowhere.txt", "nowhere.txt", json!({ "position_type": "file" })),
    )
    .await;
}

#[tokio::test]
async fn shas_come_from_one_version() {
    let stage = Stage::free().await;
    let refs = stage.gitlab.diff_refs(stage.merge_request);
    refuses(&stage, lib(json!({ "new_line": 5, "head_sha": refs["base_sha"] }))).await;
    refuses(&stage, lib(json!({ "new_line": 5, "start_sha": refs["base_sha"] }))).await;
}

#[tokio::test]
async fn an_incomplete_position_says_so() {
    let stage = Stage::free().await;
    let without_lines = post(&stage, &lib(json!({}))).await;
    let without_old_path = post(&stage, &json!({ "new_path": "src/lib.rs", "new_line": 5 })).await;
    for (status, body) in [without_lines, without_old_path] {
        assert_eq!(status, 400);
        let message = body["message"].as_str().unwrap();
        assert!(
            message.contains(":line_code=>") && message.contains(r#":position=>["is incomplete"]"#),
            "{message}"
        );
    }
}

#[tokio::test]
async fn an_unprepared_merge_request_takes_no_diff_notes() {
    let stage = Stage::free().await;
    let new = conclave_fake_gitlab::NewMergeRequest {
        unprepared_reads: 1,
        ..conclave_fake_gitlab::NewMergeRequest::new(stage.author, "feature", "main")
    };
    let key = stage.gitlab.create_merge_request(stage.project, new);
    let path = stage.in_project(&format!("/merge_requests/{}/discussions", key.iid));
    let body = json!({ "body": "x", "position": stage.position(&lib(json!({ "new_line": 5 }))) });
    let (status, refusal) = stage.bot.post(&path, body).await;
    assert_eq!(status, 400);
    assert!(
        refusal["message"].as_str().unwrap().contains(":noteable=>"),
        "{refusal}"
    );
}

/// The SHA-1 of `src/lib.rs`, which begins every line code of the file.
const LIB: &str = "b24749917179fb5e3e613ed2a703fcdcc6cdf9da";

#[tokio::test]
async fn a_range_ends_on_the_line_of_the_position() {
    let stage = Stage::free().await;
    let draft = json!({ "note": "x", "position": stage.position(&lib(json!({ "new_line": 6 }))) });
    let (_, draft) = stage.bot.post(&stage.at("/draft_notes"), draft).await;
    let end = draft["line_code"].as_str().unwrap();
    assert_eq!(end, format!("{LIB}_6_6"));
    let start = end.replace("_6_6", "_6_5");
    let range = |start: &str, start_type: &str, end: &str| json!({ "start": { "line_code": start, "type": start_type }, "end": { "line_code": end, "type": "new" } });
    accepts(
        &stage,
        lib(json!({ "new_line": 6, "line_range": range(&start, "new", end) })),
    )
    .await;
    refuses(
        &stage,
        lib(json!({ "new_line": 5, "line_range": range(&start, "new", end) })),
    )
    .await;
    refuses(
        &stage,
        lib(json!({ "new_line": 6, "line_range": range(&start, "old", end) })),
    )
    .await;
    refuses(
        &stage,
        lib(json!({ "new_line": 6, "line_range": range("nonsense", "new", end) })),
    )
    .await;
    let context = end.replace("_6_6", "_4_4");
    accepts(
        &stage,
        lib(json!({ "new_line": 6, "line_range": range(&context, "old", end) })),
    )
    .await;
    let unfolded = end.replace("_6_6", "_1_1");
    accepts(
        &stage,
        lib(json!({ "new_line": 6, "line_range": range(&unfolded, "old", end) })),
    )
    .await;
    assert!(
        stage
            .gitlab
            .snapshot(stage.merge_request)
            .threads
            .iter()
            .all(|t| t.position.as_ref().unwrap().multi_line)
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn suggestions_know_what_they_replace() {
    let stage = Stage::free().await;
    let body = "Better:\n\n```suggestion:-1+0\nfirst\nsecond\n```\n";
    let position = stage.position(&lib(json!({ "new_line": 6 })));
    let (_, discussion) = stage
        .bot
        .post(&stage.at("/discussions"), json!({ "body": body, "position": position }))
        .await;
    let suggestion = &discussion["notes"][0]["suggestions"][0];
    assert_eq!(
        (&suggestion["from_line"], &suggestion["to_line"]),
        (&json!(5), &json!(6))
    );
    assert_eq!(suggestion["from_content"], "line five\nline five and a half\n");
    assert_eq!(suggestion["to_content"], "first\nsecond\n");
    stage.assert_no_violations();
}
