//! Injected faults: what the client sees, and what is stored all the same.

use conclave_fake_gitlab::{Fault, FaultKind};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

const NOTES: &str = "/projects/{id}/merge_requests/{iid}/notes";

async fn post(stage: &Stage) -> reqwest::Response {
    stage
        .bot
        .send(Method::POST, &stage.at("/notes"), Some(&json!({ "body": "x" })))
        .await
}

fn stored(stage: &Stage) -> usize {
    stage.gitlab.snapshot(stage.merge_request).notes.len()
}

#[tokio::test]
async fn a_rate_limit_is_plain_text() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .inject(Fault::once("POST", NOTES, FaultKind::RateLimited { retry_after: Some(7) }).times(2));
    for _ in 0..2 {
        let response = post(&stage).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (429, &"7".parse().unwrap())
        );
        assert_eq!(response.headers()["content-type"], "text/plain");
        assert_eq!(response.text().await.unwrap().trim(), "Retry later");
    }
    assert_eq!((post(&stage).await.status().as_u16(), stored(&stage)), (201, 1));
    assert_eq!(stage.gitlab.remaining_faults(), 0);
    let statuses: Vec<_> = stage.gitlab.writes().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [Some(429), Some(429), Some(201)]);
    stage.assert_no_violations();
}

#[tokio::test]
async fn faults_that_store_nothing() {
    let stage = Stage::free().await;
    let cases = [
        (FaultKind::ApplicationLimit, 429, "message"),
        (FaultKind::ResourceLock, 409, "Resource lock"),
        (FaultKind::ServerError, 500, "500 Internal Server Error"),
        (FaultKind::BadGateway, 502, "<html>"),
        (FaultKind::Unavailable, 503, "not responding"),
        (FaultKind::InvalidToken, 401, "invalid_token"),
        (FaultKind::InsufficientScope, 403, "insufficient_scope"),
        (
            FaultKind::Answer {
                status: 418,
                content_type: "text/plain".to_owned(),
                body: "tea".to_owned(),
            },
            418,
            "tea",
        ),
    ];
    for (kind, status, text) in cases {
        stage.gitlab.inject(Fault::once("POST", NOTES, kind.clone()));
        let response = post(&stage).await;
        assert_eq!(response.status(), status, "{kind:?}");
        assert!(response.text().await.unwrap().contains(text), "{kind:?}");
    }
    assert_eq!(stored(&stage), 0);
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_error_after_the_note_was_stored() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .inject(Fault::once("POST", NOTES, FaultKind::ErrorAfterStore));
    assert_eq!(post(&stage).await.status(), 500);
    assert_eq!(stored(&stage), 1);
}

#[tokio::test]
async fn a_body_that_ends_too_early() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .inject(Fault::once("POST", NOTES, FaultKind::TruncatedBody));
    let response = post(&stage).await;
    assert_eq!(response.status(), 201);
    assert!(response.bytes().await.is_err());
    assert_eq!(stored(&stage), 1);
}

#[tokio::test]
async fn a_request_that_hangs_can_be_waited_for() {
    let stage = Stage::free().await;
    stage.gitlab.inject(Fault::once("GET", "/user", FaultKind::Hang));
    let client = stage.bot.clone();
    let request = tokio::spawn(async move {
        client
            .try_send(Method::GET, "/user", None)
            .await
            .map(|response| response.status())
    });
    stage
        .gitlab
        .wait_for_requests(|requests| {
            requests
                .iter()
                .any(|request| request.fault.is_some() && request.status.is_none())
        })
        .await;
    assert!(!request.is_finished());
    drop(stage.gitlab);
    assert!(
        request.await.unwrap().is_ok_and(|status| status == 503),
        "the stop of the server ends it"
    );
}

#[tokio::test]
async fn a_fault_can_wait_for_its_turn() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .inject(Fault::once("POST", "/projects/**", FaultKind::ServerError).after(1));
    stage.gitlab.inject(Fault::any(FaultKind::BadGateway).after(5));
    assert_eq!(post(&stage).await.status(), 201);
    assert_eq!(stage.bot.get("/user").await.0, 200);
    assert_eq!(post(&stage).await.status(), 500);
    stage.gitlab.clear_faults();
    assert_eq!(
        (stage.gitlab.remaining_faults(), post(&stage).await.status().as_u16()),
        (0, 201)
    );
}

#[tokio::test]
async fn notes_come_no_faster_than_allowed() {
    let stage = Stage::free().await;
    stage.gitlab.configure(|options| options.notes_per_minute = Some(2));
    let note = json!({ "body": "Hello" });
    for path in ["/notes", "/discussions"] {
        assert_eq!(stage.bot.post(&stage.at(path), note.clone()).await.0, 201);
    }
    assert_eq!(stage.bot.post(&stage.at("/notes"), note.clone()).await.0, 429);
    // Each user has an allowance of its own, and reading has none.
    assert_eq!(stage.bot.get(&stage.at("/notes")).await.0, 200);
    let human = stage.client(stage.human);
    assert_eq!(human.post(&stage.at("/notes"), note).await.0, 201);
}

#[tokio::test]
async fn every_request_takes_its_time() {
    let stage = Stage::free().await;
    let latency = std::time::Duration::from_millis(120);
    stage.gitlab.configure(|options| options.latency = latency);
    let started = std::time::Instant::now();
    // Beside each other they wait together.
    tokio::join!(stage.bot.get("/user"), stage.bot.get("/user"), stage.bot.get("/user"));
    assert!(started.elapsed() >= latency);
}
