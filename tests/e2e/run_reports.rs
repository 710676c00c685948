//! Every run that begins is seen to end: the tracker hears of the start before anything is asked, and of the failure, the stop,
//! or that there was nothing to do.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::Request, response::Response};
use conclave_fake_gitlab::FakeGitlab;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::support::{Conclave, Pipeline, Repository, Workers, crowd, executable, provider};

on_both_runtimes! {
    a_run_without_anything_to_do_ends_too_and_a_review_is_planned_after_its_start
    a_signal_ends_a_run_with_a_word_and_a_tracker_that_hangs_delays_nothing
}

/// Time that a test waits for what has to happen first.
const PATIENCE: Duration = Duration::from_mins(3);

/// A tracker that takes everything.
struct Tracker {
    url: String,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Tracker {
    async fn start() -> Self {
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let taken = Arc::clone(&events);
        let take = move |request: Request| {
            let taken = Arc::clone(&taken);
            async move {
                let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let batch = body["events"].as_array().cloned().unwrap_or_default();
                let answer = json!({"accepted": batch.len(), "duplicates": 0, "rejected": []});
                taken.lock().unwrap().extend(batch);
                Response::new(Body::from(answer.to_string()))
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await });
        Self { url, events }
    }

    fn on(&self, job: Conclave) -> Conclave {
        job.env("CONCLAVE_TRACKER_URL", &self.url)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
    }

    /// The events so far, in the order in which they were made.
    fn told(&self) -> Vec<Value> {
        let mut events = self.events.lock().unwrap().clone();
        // The ids are in the order of their making.
        events.sort_by_key(|event| event["id"].as_str().map(str::to_owned));
        events.into_iter().map(|event| event["event"].clone()).collect()
    }

    /// The kinds, and the end; forgets them.
    #[track_caller]
    fn end_of_failed_run(&self) -> Value {
        let told = self.told();
        self.events.lock().unwrap().clear();
        let kinds: Vec<&str> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds.len(), 2, "{told:?}");
        assert_eq!(kinds[0], "run_started");
        assert_eq!(told[0]["tier"], Value::Null);
        told[1].clone()
    }
}

fn failure(event: &Value) -> (&str, &str, &str) {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    (text("type"), text("stage"), text("kind"))
}

#[tokio::test]
async fn a_run_that_fails_says_where_and_why() {
    let (tracker, provider, repository) = (Tracker::start().await, provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let job = |arguments: &[&str]| tracker.on(pipeline.job(&repository, arguments).anthropic(&provider));

    job(&[])
        .env("CONCLAVE_OPENCODE", "/nowhere/opencode")
        .run()
        .await
        .expect_code(2);
    let event = tracker.end_of_failed_run();
    assert_eq!(failure(&event), ("run_failed", "runtime", "runtime_missing"));
    assert_eq!(event["merge_request"], pipeline.merge_request.iid);

    let directory = tempfile::tempdir().unwrap();
    let other = executable(
        &directory.path().join("opencode"),
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.0.1\nexit 1\n",
    );
    job(&[]).env("CONCLAVE_OPENCODE", other).run().await.expect_code(2);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "runtime", "wrong_image")
    );

    let hangs = executable(&directory.path().join("hangs"), "#!/bin/sh\nexec sleep 600\n");
    let slow = job(&["--limits", "start_seconds=1"]).env("CONCLAVE_OPENCODE", hangs);
    let outcome = slow.run().await.expect_code(2);
    assert!(
        outcome
            .stderr
            .contains("/hangs) did not answer within 1 s of its start")
            && outcome.stderr.contains("CONCLAVE_OPENCODE"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "runtime", "runtime_failed")
    );

    job(&[])
        .env("CI_API_V4_URL", "http://127.0.0.1:9/api/v4")
        .run()
        .await
        .expect_code(3);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "forge", "forge_unreachable")
    );
    job(&[])
        .env("GITLAB_TOKEN", "glpat-of-nobody")
        .run()
        .await
        .expect_code(3);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "forge", "unauthorized")
    );
    job(&[]).without("GITLAB_TOKEN").run().await.expect_code(2);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "arguments", "settings")
    );
    job(&["--agents", "many"]).run().await.expect_code(2);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "arguments", "settings")
    );
    job(&["--models", "antropic/x"]).run().await.expect_code(2);
    assert_eq!(failure(&tracker.end_of_failed_run()).2, "settings");
    let without_key = tracker.on(pipeline.job(&repository, &[]));
    without_key.run().await.expect_code(2);
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "configuration", "unauthorized")
    );
    let empty = tempfile::tempdir().unwrap();
    job(&[]).env("PATH", empty.path()).run().await.expect_code(2);
    assert_eq!(failure(&tracker.end_of_failed_run()).2, "wrong_image");
}

async fn a_run_without_anything_to_do_ends_too_and_a_review_is_planned_after_its_start() {
    let (tracker, provider, repository) = (Tracker::start().await, provider().await, Repository::flawed());
    let local = |range| tracker.on(Conclave::new(repository.path(), &["local", range]).anthropic(&provider));
    local("main..main").run().await.expect_code(0);
    let event = tracker.end_of_failed_run();
    assert_eq!(event, json!({"type": "run_skipped", "reason": "nothing_to_review"}));

    local("main..feature").run().await.expect_code(0);
    let told = tracker.told();
    let kinds: Vec<&str> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["run_started", "run_started"]);
    assert_eq!((&told[0]["planned"], &told[1]["planned"]), (&Value::Null, &json!(true)));
    assert_eq!(kinds.iter().filter(|kind| **kind == "run_completed").count(), 1);
    assert!(
        !kinds.contains(&"run_failed") && !kinds.contains(&"run_skipped"),
        "{kinds:?}"
    );
}

async fn a_signal_ends_a_run_with_a_word_and_a_tracker_that_hangs_delays_nothing() {
    let (tracker, provider, repository) = (Tracker::start().await, provider().await, Repository::flawed());
    let pipeline = Pipeline::on(FakeGitlab::builder(), &repository).await;
    // Whoever takes a connection and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let (connected, mut asked) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = silent.accept().await {
            open.push(stream);
            connected.send_modify(|count| *count += 1);
        }
    });
    let stop = async |job: Conclave, asked: &mut tokio::sync::watch::Receiver<i32>| {
        asked.mark_unchanged();
        let (mut child, _home) = job.start();
        tokio::time::timeout(PATIENCE, asked.changed())
            .await
            .expect("it asks")
            .unwrap();
        let signalled = Instant::now();
        kill(
            Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()),
            Signal::SIGTERM,
        )
        .unwrap();
        let status = tokio::time::timeout(PATIENCE, child.wait())
            .await
            .expect("it ends")
            .unwrap();
        assert_eq!(status.code(), Some(143));
        signalled.elapsed()
    };
    let forge_hangs = pipeline
        .job(&repository, &["--dry-run"])
        .anthropic(&provider)
        .env("CI_API_V4_URL", format!("{address}/api/v4"));
    stop(tracker.on(forge_hangs), &mut asked).await;
    assert_eq!(
        failure(&tracker.end_of_failed_run()),
        ("run_failed", "forge", "stopped")
    );

    let all_hang = pipeline
        .job(&repository, &["--dry-run"])
        .anthropic(&provider)
        .env("CI_API_V4_URL", format!("{address}/api/v4"))
        .env("CONCLAVE_TRACKER_URL", &address)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN);
    let took = stop(all_hang, &mut asked).await;
    // The last events have two seconds.
    assert!(took < Duration::from_secs(4).mul_f64(crowd()), "{took:?}");
}
