//! The contract: what breaks it is refused and recorded, on both sides.

use conclave_fake_gitlab::ViolationKind;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Sends a request that breaks the contract; returns the answer's error and the recorded reason.
async fn break_with(stage: &Stage, method: Method, path: &str, body: Option<Value>) -> (u16, String, String) {
    stage.gitlab.forget_requests();
    let response = stage.bot.send(method, path, body.as_ref()).await;
    let status = response.status().as_u16();
    let answer: Value = response.json().await.unwrap();
    let violations = stage.gitlab.violations();
    assert_eq!(violations.len(), 1, "{path}: {violations:?}");
    assert_eq!(violations[0].kind, ViolationKind::Request);
    (
        status,
        answer["error"].as_str().unwrap_or_default().to_owned(),
        violations[0].reason.clone(),
    )
}

#[tokio::test]
async fn bodies_are_held_against_the_schema() {
    let stage = Stage::free().await;
    let cases = [
        ("/notes", json!({}), "body is missing"),
        ("/notes", json!({ "body": 7 }), "body is invalid"),
        (
            "/notes",
            json!({ "body": "x", "colour": "red" }),
            "colour is not a parameter",
        ),
        (
            "/discussions",
            json!({ "body": "x", "position": { "base_sha": "a", "start_sha": "a", "position_type": "text" } }),
            "position[head_sha] is missing",
        ),
        (
            "/discussions",
            json!({ "body": "x", "position": { "base_sha": "a", "start_sha": "a", "head_sha": "a", "position_type": "page" } }),
            "position[position_type] does not have a valid value",
        ),
        (
            "/discussions",
            json!({ "body": "x", "position": { "base_sha": "a", "start_sha": "a", "head_sha": "a", "position_type": "text", "new_line": "5" } }),
            "position[new_line] is invalid",
        ),
        (
            "/draft_notes/bulk_publish",
            json!({ "reviewer_state": "approved" }),
            "reviewer_state does not have a valid value",
        ),
        (
            "/unapprove",
            json!({ "sha": "a" }),
            "POST /projects/{id}/merge_requests/{merge_request_iid}/unapprove takes no body",
        ),
    ];
    for (path, body, expected) in cases {
        let (status, error, reason) = break_with(&stage, Method::POST, &stage.at(path), Some(body)).await;
        assert_eq!((status, error.as_str(), reason.as_str()), (400, expected, expected));
    }
    assert_eq!(stage.gitlab.snapshot(stage.merge_request).notes, []);
}

#[tokio::test]
async fn parameters_are_held_against_the_schema() {
    let stage = Stage::free().await;
    let get = async |path: String| break_with(&stage, Method::GET, &path, None).await.2;
    assert_eq!(
        get(stage.at("/notes?sort=up")).await,
        "sort does not have a valid value"
    );
    assert_eq!(get(stage.at("/notes?per_page=many")).await, "per_page is invalid");
    assert_eq!(get(stage.at("/notes?page=0")).await, "page does not have a valid value");
    assert!(
        get(stage.at("/notes?order=asc"))
            .await
            .starts_with("order is not a parameter of GET")
    );
    assert_eq!(
        get(stage.in_project("/repository/compare?from=main")).await,
        "to is missing"
    );
    assert_eq!(
        get(stage.in_project("/merge_requests/first")).await,
        "merge_request_iid is invalid"
    );
}

#[tokio::test]
async fn a_form_is_a_body_too() {
    let stage = Stage::free().await;
    let token = stage
        .gitlab
        .create_token(stage.bot_user, &[conclave_fake_gitlab::Scope::Api]);
    let http = reqwest::Client::new();
    let refs = stage.gitlab.diff_refs(stage.merge_request);
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("body", "from a form");
    for name in ["base_sha", "start_sha", "head_sha"] {
        form.append_pair(&format!("position[{name}]"), refs[name].as_str().unwrap());
    }
    for (name, value) in [
        ("position_type", "text"),
        ("old_path", "new.txt"),
        ("new_path", "new.txt"),
        ("new_line", "2"),
    ] {
        form.append_pair(&format!("position[{name}]"), value);
    }
    let send = async |content_type: &str, body: String| {
        let request = http.post(format!("{}{}", stage.gitlab.api_url(), stage.at("/discussions")));
        let request = request
            .header("PRIVATE-TOKEN", &token)
            .header("content-type", content_type)
            .body(body);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(send("application/x-www-form-urlencoded", form.finish()).await, 201);
    stage.assert_no_violations();
    assert_eq!(send("text/plain", "hello".to_owned()).await, 415);
    assert_eq!(send("application/json", "{".to_owned()).await, 400);
    assert_eq!(stage.gitlab.violations().len(), 2);
}

#[tokio::test]
async fn unknown_routes_are_recorded() {
    let stage = Stage::free().await;
    assert_eq!(
        stage.bot.get("/projects/1/issues").await,
        (404, json!({ "error": "404 Not Found" }))
    );
    assert_eq!(
        stage.bot.delete("/user").await,
        (405, json!({ "error": "405 Not Allowed" }))
    );
    assert_eq!(stage.bot.get("/../../elsewhere").await.0, 404);
    let kinds: Vec<_> = stage
        .gitlab
        .violations()
        .into_iter()
        .map(|violation| (violation.kind, violation.path))
        .collect();
    let expected = ["/projects/1/issues", "/user", "/elsewhere"];
    assert_eq!(
        kinds,
        expected.map(|path| (ViolationKind::UnknownRoute, path.to_owned()))
    );
}

#[tokio::test]
async fn a_wrong_answer_of_the_fake_is_recorded() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .tamper_with_answers(|answer| answer["id"] = json!("not a number"));
    assert_eq!(stage.bot.get("/user").await.0, 200);
    let violations = stage.gitlab.violations();
    assert_eq!((violations.len(), violations[0].kind), (1, ViolationKind::Response));
    assert_eq!(
        (violations[0].method.as_str(), violations[0].path.as_str()),
        ("GET", "/user")
    );
    assert!(violations[0].reason.starts_with("/id: "), "{}", violations[0].reason);
}

#[tokio::test]
async fn the_log_tells_who_sent_what() {
    let stage = Stage::free().await;
    stage.bot.get(&stage.at("/notes?sort=asc")).await;
    stage.bot.post(&stage.at("/notes"), json!({ "body": "x" })).await;
    let requests = stage.gitlab.requests();
    assert_eq!(requests[0].query, [("sort".to_owned(), "asc".to_owned())]);
    assert_eq!(
        (requests[1].user.as_deref(), &requests[1].body),
        (Some("review-bot"), &json!({ "body": "x" }))
    );
    assert!(requests[1].matches("POST", "/projects/*/merge_requests/*/notes"));
    assert_eq!(stage.gitlab.writes().len(), 1);
}

#[tokio::test]
async fn a_snapshot_serialises() {
    let stage = Stage::free().await;
    stage.gitlab.comment(stage.merge_request, stage.human, "Hello.");
    let snapshot = serde_json::to_value(stage.gitlab.snapshot(stage.merge_request)).unwrap();
    assert_eq!(snapshot["notes"][0]["author"], "bob");
    assert_eq!(snapshot["threads"], json!([]));
}
