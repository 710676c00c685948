//! Reviews: places, all or nothing, one pending, and who may approve what.

use conclave_fake_github::{Permissions, ReviewState, Side};
use serde_json::{Value, json};

use crate::stage::Stage;

const LIB: &str = "src/lib.rs";

#[tokio::test]
async fn a_review_stands_on_lines_of_both_sides_and_is_listed() {
    let stage = Stage::new().await;
    let comments = json!([
        { "path": LIB, "body": "One line.", "line": 5, "side": "RIGHT" },
        { "path": LIB, "body": "```suggestion\nline 5\n```", "start_line": 5, "line": 6 },
        { "path": LIB, "body": "Removed.", "line": 40, "side": "LEFT" },
        { "path": LIB, "body": "Context.", "line": 8 },
        { "path": "new_name.txt", "body": "Renamed.", "line": 3 },
    ]);
    let head = stage.github.head(stage.pull);
    let body = json!({ "event": "COMMENT", "commit_id": head, "body": "Five.", "comments": comments });
    let (status, review) = stage.bot.post("/pulls/1/reviews", body).await;
    assert_eq!(
        (status, &review["state"], &review["user"]["login"]),
        (200, &json!("COMMENTED"), &json!("conclave[bot]"))
    );
    assert!(review.get("comments").is_none());

    let (_, listed) = stage.bot.get("/pulls/1/comments").await;
    let facts: Vec<Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["line"], one["side"], one["start_line"]]))
        .collect();
    assert_eq!(
        json!(facts),
        json!([
            [5, "RIGHT", null],
            [6, "RIGHT", 5],
            [40, "LEFT", null],
            [8, "RIGHT", null],
            [3, "RIGHT", null]
        ])
    );
    let hunk = listed[0]["diff_hunk"].as_str().unwrap();
    assert!(
        hunk.starts_with("@@ -2,7 +2,8 @@") && hunk.ends_with("+line five"),
        "{hunk}"
    );
    // The legacy form has no lines.
    let (_, legacy) = stage
        .bot
        .get(&format!("/pulls/1/reviews/{}/comments", review["id"]))
        .await;
    assert!(legacy[0].get("line").is_none() && legacy[0]["position"].is_number());

    let snapshot = stage.github.snapshot(stage.pull);
    assert_eq!(snapshot.threads[1].suggestion.as_deref(), Some("line 5\n"));
    let applied = stage
        .github
        .with_suggestion(stage.pull, listed[1]["id"].as_u64().unwrap());
    assert!(
        applied.starts_with("line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n"),
        "{applied}"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn one_bad_place_refuses_the_whole_review_without_saying_which() {
    let stage = Stage::new().await;
    let outside = [
        "Pull request review thread line must be part of the diff",
        "Pull request review thread diff hunk can't be blank",
    ];
    let cases = [
        (json!({ "line": 20 }), json!(outside)),
        (json!({ "line": 40, "side": "RIGHT" }), Value::Null),
        (json!({ "line": 5, "side": "LEFT" }), Value::Null),
        (json!({ "line": 6, "side": "LEFT" }), json!(outside)),
        (json!({}), json!(outside)),
        (
            json!({ "start_line": 6, "line": 41 }),
            json!(["Pull request review thread start line must be part of the same hunk as the line."]),
        ),
        (
            json!({ "start_line": 6, "line": 6 }),
            json!(["Pull request review thread start line must precede the end line."]),
        ),
        (
            json!({ "path": "untouched.txt", "line": 1 }),
            json!(["Pull request review thread path is invalid", outside[1]]),
        ),
    ];
    for (place, errors) in cases {
        let mut comment = json!({ "path": LIB, "body": "Here." });
        for (name, value) in place.as_object().unwrap() {
            comment[name.as_str()] = value.clone();
        }
        let good = json!({ "path": LIB, "body": "Good.", "line": 5 });
        let body = json!({ "event": "COMMENT", "body": "x", "comments": [good, comment] });
        let before = stage.github.snapshot(stage.pull);
        let (status, answer) = stage.bot.post("/pulls/1/reviews", body).await;
        if errors.is_null() {
            assert_eq!(status, 200, "{place}: {answer}");
        } else {
            assert_eq!((status, &answer["errors"]), (422, &errors), "{place}");
            assert_eq!(stage.github.snapshot(stage.pull), before);
        }
    }
    stage.assert_no_violations();
}

#[tokio::test]
async fn single_comments_have_errors_as_objects_and_take_whole_files() {
    let stage = Stage::new().await;
    let head = stage.github.head(stage.pull);
    let post = |fields: Value| {
        let mut body = json!({ "body": "Here.", "commit_id": head, "path": LIB });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        stage.bot.post("/pulls/1/comments", body)
    };
    let (status, answer) = post(json!({ "line": 20 })).await;
    assert_eq!(
        (status, &answer["errors"][0]["field"]),
        (422, &json!("pull_request_review_thread.line"))
    );
    assert_eq!(answer["errors"][1]["code"], "missing_field");
    let (status, file) = post(json!({ "subject_type": "file" })).await;
    assert_eq!(
        (status, &file["line"], &file["subject_type"]),
        (201, &Value::Null, &json!("file"))
    );
    let (status, _) = post(json!({ "line": 5, "commit_id": "a".repeat(40) })).await;
    assert_eq!(status, 422);
    let (status, top) = post(json!({ "line": 5 })).await;
    assert_eq!(status, 201);
    let reply = format!("/pulls/1/comments/{}/replies", top["id"]);
    let (status, answer) = stage.bot.post(&reply, json!({ "body": "And." })).await;
    assert_eq!((status, &answer["in_reply_to_id"]), (201, &top["id"]));
    // Answers have no answers.
    let nested = format!("/pulls/1/comments/{}/replies", answer["id"]);
    assert_eq!(stage.bot.post(&nested, json!({ "body": "No." })).await.0, 404);
    // Each single comment, and the answer, shows as an empty review.
    let (_, reviews) = stage.bot.get("/pulls/1/reviews").await;
    let empty = reviews
        .as_array()
        .unwrap()
        .iter()
        .filter(|review| review["body"] == "" && review["state"] == "COMMENTED");
    assert_eq!(empty.count(), 3);

    // The two kinds of comments share their numbers and not their places.
    let (_, issue) = stage
        .bot
        .post("/issues/1/comments", json!({ "body": "Summary." }))
        .await;
    assert_eq!(issue["id"], file["id"]);
    let (_, edited) = stage
        .bot
        .patch(&format!("/issues/comments/{}", issue["id"]), json!({ "body": "New." }))
        .await;
    assert_eq!(edited["body"], "New.");
    assert_eq!(stage.github.snapshot(stage.pull).threads[0].comments[0].body, "Here.");
    assert_eq!(
        stage.bot.delete(&format!("/pulls/comments/{}", file["id"])).await.0,
        204
    );
    assert_eq!(stage.bot.get(&format!("/pulls/comments/{}", file["id"])).await.0, 404);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_pending_review_is_seen_by_its_author_and_blocks_every_other() {
    let stage = Stage::new().await;
    let comment = json!({ "path": LIB, "body": "Draft.", "line": 5 });
    let (_, pending) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "comments": [comment] }))
        .await;
    assert_eq!(pending["state"], "PENDING");
    assert!(pending.get("submitted_at").is_none());
    let bob = stage.person(stage.bob);
    assert_eq!(bob.get("/pulls/1/reviews").await.1, json!([]));
    assert_eq!(stage.bot.get("/pulls/1/reviews").await.1.as_array().unwrap().len(), 1);
    assert_eq!(stage.bot.get("/pulls/1/comments").await.1, json!([]));
    assert_eq!((bob.threads("").await.len(), stage.bot.threads("").await.len()), (0, 1));

    let one = ["User can only have one pending review per pull request"];
    let (status, refused) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "event": "COMMENT", "body": "x" }))
        .await;
    assert_eq!((status, &refused["errors"]), (422, &json!(one)));
    assert_eq!(
        bob.post("/pulls/1/reviews", json!({ "event": "COMMENT", "body": "x" }))
            .await
            .0,
        200
    );

    let path = format!("/pulls/1/reviews/{}", pending["id"]);
    assert_eq!(bob.get(&path).await.0, 404);
    let (_, submitted) = stage
        .bot
        .post(&format!("{path}/events"), json!({ "event": "COMMENT", "body": "Now." }))
        .await;
    assert_eq!(
        (&submitted["state"], &submitted["body"]),
        (&json!("COMMENTED"), &json!("Now."))
    );
    let (status, refused) = stage.bot.delete(&path).await;
    assert_eq!(
        (status, &refused["errors"][0]),
        (422, &json!("Can not delete a non-pending pull request review"))
    );
    let (_, again) = stage.bot.post("/pulls/1/reviews", json!({})).await;
    assert_eq!(
        stage.bot.delete(&format!("/pulls/1/reviews/{}", again["id"])).await.0,
        200
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn who_may_approve_and_who_may_take_it_back() {
    let stage = Stage::new().await;
    let github = &stage.github;
    let approve = |client: crate::stage::Client| async move {
        let (status, answer) = client.post("/pulls/1/reviews", json!({ "event": "APPROVE" })).await;
        (status, answer["errors"][0].as_str().unwrap_or_default().to_owned())
    };
    let own = stage.person(stage.alice);
    assert_eq!(
        approve(own.clone()).await,
        (422, "Can not approve your own pull request".to_owned())
    );
    let (_, refused) = own
        .post("/pulls/1/reviews", json!({ "event": "REQUEST_CHANGES", "body": "x" }))
        .await;
    assert_eq!(
        refused["errors"][0],
        "Review Can not request changes on your own pull request"
    );
    let actions = crate::stage::Client::new(github, &github.actions_token(stage.repository, Permissions::review()));
    let message = "GitHub Actions is not permitted to approve pull requests.";
    assert_eq!(approve(actions.clone()).await, (422, message.to_owned()));
    github.allow_actions_to_approve(stage.repository, true);
    assert_eq!(approve(actions).await.0, 200);
    assert_eq!(approve(stage.bot.clone()).await.0, 200);

    let (_, blank) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "event": "REQUEST_CHANGES" }))
        .await;
    assert_eq!(blank["errors"][0], "Body can't be blank");
    let (_, request) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "event": "REQUEST_CHANGES", "body": "No." }))
        .await;
    let dismissals = format!("/pulls/1/reviews/{}/dismissals", request["id"]);
    let body = json!({ "message": "Fixed.", "event": "DISMISS" });
    let (status, dismissed) = stage.bot.put(&dismissals, body.clone()).await;
    assert_eq!((status, &dismissed["state"]), (200, &json!("DISMISSED")));
    let (status, refused) = stage.bot.put(&dismissals, body.clone()).await;
    assert_eq!(
        (status, &refused["errors"][0]),
        (422, &json!("Can not dismiss a dismissed pull request review"))
    );

    // A list of those who may dismiss leaves the bot out.
    let protection = conclave_fake_github::Protection {
        may_dismiss: Some(vec![stage.bob]),
        ..Default::default()
    };
    github.protect(stage.repository, "main", protection);
    let review = github.review(stage.pull, stage.bob, ReviewState::Approved, "");
    let dismissals = format!("/pulls/1/reviews/{review}/dismissals");
    assert_eq!(stage.bot.put(&dismissals, body.clone()).await.0, 403);
    assert_eq!(stage.person(stage.bob).put(&dismissals, body).await.0, 200);
    stage.assert_no_violations();
}

#[tokio::test]
async fn texts_have_a_largest_size_and_a_lock_keeps_bots_out() {
    let stage = Stage::new().await;
    let long = "ä".repeat(65_537);
    let (status, answer) = stage.bot.post("/issues/1/comments", json!({ "body": long })).await;
    assert_eq!(
        (status, &answer["errors"][0]["message"]),
        (422, &json!("body is too long (maximum is 65536 characters)"))
    );
    let (status, answer) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "event": "COMMENT", "body": long }))
        .await;
    assert_eq!(
        (status, &answer["errors"][0]),
        (422, &json!("Body is too long (maximum is 65536 characters)"))
    );
    assert_eq!(
        stage
            .bot
            .post("/issues/1/comments", json!({ "body": "ä".repeat(65_536) }))
            .await
            .0,
        201
    );
    stage.github.set_locked(stage.pull, true);
    let (status, answer) = stage.bot.post("/issues/1/comments", json!({ "body": "x" })).await;
    assert_eq!(
        (status, &answer["message"]),
        (403, &json!("Unable to create comment because issue is locked."))
    );
    assert_eq!(
        stage
            .person(stage.bob)
            .post("/issues/1/comments", json!({ "body": "x" }))
            .await
            .0,
        201
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn reviewers_are_collaborators_and_teams() {
    let stage = Stage::new().await;
    let path = "/pulls/1/requested_reviewers";
    let owner = stage.github.create_organization("other");
    stage.github.create_team(owner, "core");
    assert_eq!(stage.bot.post(path, json!({ "reviewers": ["alice"] })).await.0, 422);
    assert_eq!(stage.bot.post(path, json!({ "reviewers": ["nobody"] })).await.0, 422);
    assert_eq!(stage.bot.post(path, json!({ "team_reviewers": ["core"] })).await.0, 422);
    let (status, pull) = stage.bot.post(path, json!({ "reviewers": ["bob"] })).await;
    assert_eq!((status, &pull["requested_reviewers"][0]["login"]), (201, &json!("bob")));
    let (_, asked) = stage.bot.get(path).await;
    assert_eq!(
        (&asked["users"][0]["login"], &asked["teams"]),
        (&json!("bob"), &json!([]))
    );
    // A review answers the request.
    stage.github.review(stage.pull, stage.bob, ReviewState::Approved, "");
    assert_eq!(
        stage.github.snapshot(stage.pull).requested_reviewers,
        Vec::<String>::new()
    );
    stage
        .github
        .review_comment(stage.pull, stage.bob, (LIB, Side::Right, 5), "A person's.");
    stage.assert_no_violations();
}
