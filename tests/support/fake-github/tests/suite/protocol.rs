//! HTTP: pages, headers, limits, faults, and requests that break the contract.

use std::time::Duration;

use conclave_fake_github::{FakeGithub, Fault, FaultKind, Options, ViolationKind};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn lists_come_in_pages_that_are_linked_by_the_id() {
    let options = Options {
        short_middle_page: true,
        ..Options::default()
    };
    let stage = Stage::with(FakeGithub::builder().options(options)).await;
    for number in 1..=35 {
        stage
            .github
            .comment(stage.pull, stage.bob, &format!("Comment {number}"));
    }
    let answer = stage
        .bot
        .request(Method::GET, "/issues/1/comments")
        .send()
        .await
        .unwrap();
    let link = answer.headers()["link"].to_str().unwrap().to_owned();
    let next = format!(
        "<{}/repositories/{}/issues/1/comments?page=2>; rel=\"next\"",
        stage.github.api_url(),
        stage.repository.0
    );
    assert!(link.starts_with(&next) && link.ends_with("rel=\"last\""), "{link}");
    let mut sizes = Vec::new();
    for page in 1..=5 {
        let (_, rows) = stage
            .bot
            .get(&format!("/issues/1/comments?per_page=10&page={page}"))
            .await;
        sizes.push(rows.as_array().unwrap().len());
    }
    assert_eq!(sizes, [10, 5, 10, 10, 0]);
    let whole = stage
        .bot
        .request(Method::GET, "/issues/1/comments?per_page=100")
        .send()
        .await
        .unwrap();
    assert!(!whole.headers().contains_key("link"));
    stage.assert_no_violations();
    stage.bot.get("/issues/1/comments?per_page=101").await;
    assert_eq!(stage.github.violations().len(), 1);
}

#[tokio::test]
async fn requests_that_break_the_contract_are_refused_as_github_refuses_them() {
    let stage = Stage::new().await;
    let text = |value: &serde_json::Value| value["message"].as_str().unwrap_or_default().to_owned();
    let (status, answer) = stage.bot.post("/issues/1/comments", json!({})).await;
    assert_eq!(
        (status, text(&answer)),
        (422, "Invalid request.\n\n\"body\" wasn't supplied.".to_owned())
    );
    let comment = json!({ "path": "a", "body": "b", "line": 1, "subject_type": "file" });
    let (status, answer) = stage
        .bot
        .post("/pulls/1/reviews", json!({ "comments": [comment] }))
        .await;
    assert_eq!(status, 422);
    assert!(
        text(&answer).contains("\"comments/0/subject_type\" is not a permitted key."),
        "{answer}"
    );
    let (status, _) = stage.bot.post("/pulls/1/reviews", json!({ "event": "PENDING" })).await;
    assert_eq!(status, 422);
    let not_json = stage
        .bot
        .request(Method::POST, "/issues/1/comments")
        .body("{")
        .send()
        .await
        .unwrap();
    assert_eq!(not_json.status(), 400);
    assert_eq!(stage.bot.get("/pulls/1?page=1").await.0, 422);
    assert_eq!(stage.bot.get("/pulls/one").await.0, 422);
    assert_eq!(stage.bot.get("/pulls/").await.0, 404);
    assert_eq!(stage.bot.post("/merges", json!({})).await.0, 404);
    let version = stage
        .bot
        .request(Method::GET, "/pulls/1")
        .header("x-github-api-version", "2020-01-01")
        .send()
        .await
        .unwrap();
    assert_eq!(version.status(), 400);
    let html = stage.bot.accepting("text/html").get("/pulls/1").await;
    assert_eq!(html.0, 415);
    let anonymous = reqwest::get(format!("{}/repos/acme/shop", stage.github.api_url()))
        .await
        .unwrap();
    assert_eq!(anonymous.status(), 403);

    let violations = stage.github.violations();
    let unknown = violations
        .iter()
        .filter(|one| one.kind == ViolationKind::UnknownRoute)
        .count();
    assert_eq!((violations.len(), unknown), (11, 2), "{violations:#?}");
}

#[tokio::test]
async fn faults_happen_before_or_after_the_write() {
    let stage = Stage::new().await;
    let pattern = "/repos/*/*/issues/{number}/comments";
    let count = || stage.github.snapshot(stage.pull).comments.len();
    let inject = |kind| stage.github.inject(Fault::once("POST", pattern, kind));
    let post = || async {
        let request = stage
            .bot
            .request(Method::POST, "/issues/1/comments")
            .json(&json!({ "body": "x" }));
        request.send().await.map(|answer| (answer.status().as_u16(), answer))
    };
    for (kind, status, stored) in [
        (FaultKind::SecondaryLimit { retry_after: Some(7) }, 403, 0),
        (FaultKind::TooManyRequests { retry_after: None }, 429, 0),
        (FaultKind::RateLimit { reset: 30 }, 403, 0),
        (FaultKind::Abuse, 422, 0),
        (FaultKind::ServerError, 500, 0),
        (FaultKind::BadGateway, 502, 0),
        (FaultKind::BadCredentials, 401, 0),
        (
            FaultKind::Redirect {
                location: "http://127.0.0.1:9/".to_owned(),
            },
            302,
            0,
        ),
        (FaultKind::ErrorAfterStore, 502, 1),
        (FaultKind::Slow(20), 201, 1),
    ] {
        let before = count();
        inject(kind.clone());
        let (found, answer) = post().await.unwrap();
        assert_eq!((found, count() - before), (status, stored), "{kind:?}");
        match kind {
            FaultKind::SecondaryLimit { .. } => assert_eq!(answer.headers()["retry-after"], "7"),
            FaultKind::RateLimit { .. } => assert_eq!(answer.headers()["x-ratelimit-remaining"], "0"),
            FaultKind::Abuse => assert!(answer.text().await.unwrap().contains("was submitted too quickly")),
            _ => {}
        }
    }
    for (kind, stored) in [(FaultKind::CutBeforeStore, 0), (FaultKind::CutAfterStore, 1)] {
        let before = count();
        inject(kind.clone());
        assert!(post().await.is_err(), "{kind:?}");
        assert_eq!(count() - before, stored, "{kind:?}");
    }
    inject(FaultKind::TruncatedBody);
    assert!(post().await.unwrap().1.text().await.is_err());
    inject(FaultKind::Hang);
    let mut hanging = std::pin::pin!(post());
    // Taken first, however long that may be: what is given up before leaves the fault to the next.
    while stage.github.remaining_faults() > 0 {
        let waited = tokio::time::timeout(Duration::from_millis(5), &mut hanging).await;
        assert!(waited.is_err());
    }
    assert!(tokio::time::timeout(Duration::from_millis(200), hanging).await.is_err());

    // The second of two, and only those whose body has a text.
    stage
        .github
        .inject(Fault::once("POST", pattern, FaultKind::ServerError).after(1));
    assert_eq!((post().await.unwrap().0, post().await.unwrap().0), (201, 500));
    let limited = FaultKind::GraphqlError {
        kind: "RATE_LIMITED".to_owned(),
        message: "API rate limit exceeded".to_owned(),
    };
    stage
        .github
        .inject(Fault::once("POST", "/graphql", limited).containing("reviewThreads"));
    assert_eq!(
        stage.bot.graphql("{ viewer { login } }", json!({})).await["data"]["viewer"]["login"],
        "conclave[bot]"
    );
    let answer = stage.bot.graphql("{ reviewThreads }", json!({})).await;
    assert_eq!(answer["errors"][0]["type"], "RATE_LIMITED");
    assert_eq!(stage.github.remaining_faults(), 0);
    stage.assert_no_violations();
}

#[tokio::test]
async fn limits_are_counted_and_a_304_costs_nothing() {
    let options = Options {
        rate_limit: Some(4),
        creations_per_minute: Some(1),
        ..Options::default()
    };
    let stage = Stage::with(FakeGithub::builder().options(options)).await;
    let remaining = |answer: &reqwest::Response| answer.headers()["x-ratelimit-remaining"].to_str().unwrap().to_owned();
    let first = stage.bot.request(Method::GET, "/pulls/1").send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    assert_eq!(remaining(&first), "3");
    let same = stage
        .bot
        .request(Method::GET, "/pulls/1")
        .header("if-none-match", tag)
        .send()
        .await
        .unwrap();
    assert_eq!((same.status().as_u16(), remaining(&same)), (304, "3".to_owned()));
    assert_eq!(
        stage.bot.post("/issues/1/comments", json!({ "body": "x" })).await.0,
        201
    );
    let (status, answer) = stage.bot.post("/issues/1/comments", json!({ "body": "x" })).await;
    assert_eq!(status, 403);
    assert!(answer["message"].as_str().unwrap().contains("secondary rate limit"));
    stage.bot.get("/pulls/1").await;
    let last = stage.bot.request(Method::GET, "/pulls/1").send().await.unwrap();
    assert_eq!((last.status().as_u16(), remaining(&last)), (403, "0".to_owned()));
    // GraphQL has its own.
    assert!(stage.bot.graphql("{ viewer { login } }", json!({})).await["data"].is_object());
    stage.assert_no_violations();
}

#[tokio::test]
async fn writes_that_come_too_close_are_violations_where_a_test_asks_for_a_gap() {
    let options = Options {
        minimum_write_gap: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    let stage = Stage::with(FakeGithub::builder().options(options)).await;
    stage.bot.graphql("{ viewer { login } }", json!({})).await;
    stage.bot.get("/pulls/1").await;
    stage.bot.post("/issues/1/comments", json!({ "body": "x" })).await;
    stage.assert_no_violations();
    stage.bot.post("/issues/1/comments", json!({ "body": "x" })).await;
    assert_eq!(stage.github.violations().len(), 1);
    assert_eq!(stage.github.writes().len(), 2);
    assert!(stage.github.requests()[3].matches("POST", "/repos/*/*/issues/*/comments"));
}
