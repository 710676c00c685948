//! What the tracker is told, by the real program to the real Worker; and that a tracker in whatever state changes nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, http::StatusCode, response::Response};
use conclave_fake_gitlab::{AccessLevel, FakeGitlab, Fault, FaultKind, Tier};
use conclave_shared::telemetry::is_keyed_hash;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{AgentRuntime, Conclave, Pipeline, Repository, Workers, provider};

on_both_runtimes! {
    every_event_of_two_reviews_is_told_with_its_content
    what_was_lost_is_told_once_the_tracker_is_back
    a_tracker_that_hangs_changes_neither_the_review_nor_its_exit_code
    a_review_that_cannot_be_posted_counts_once_and_as_failed
    events_that_the_tracker_refuses_are_counted_and_told
}

fn tracked(job: Conclave, url: &str) -> Conclave {
    job.env("CONCLAVE_TRACKER_URL", url)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
}

/// The events of the runs that have ended, in the order of their recording; so many runs there are.
async fn events(workers: &mut Workers, runs: usize) -> Vec<Value> {
    let query = "SELECT body, project, run_id FROM events ORDER BY id";
    // Requests overtake each other, so the end of a run may be there before the rest of it.
    let whole = |rows: &[Value]| {
        let of = |kind: &str| {
            rows.iter()
                .filter(|row| row["body"].as_str().unwrap().contains(kind))
                .count()
        };
        of(r#""type":"run_completed""#) == runs && of(r#""type":"metrics""#) == runs && of(r#""planned":true"#) == runs
    };
    let rows = workers.rows(query, whole).await;
    let body = |row: &Value| serde_json::from_str(row["body"].as_str().unwrap()).unwrap();
    rows.iter().map(body).collect()
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The start, and the end of each session.
fn run_and_sessions(told: &[Value], first: &Value, merge_request: u64) {
    let starts = of_kind(told, "run_started");
    assert_eq!(told[0]["type"], "run_started", "before anything else is known");
    assert_eq!(
        (&starts[0]["tier"], &starts[0]["planned"]),
        (&Value::Null, &Value::Null)
    );
    let started = starts[1];
    assert_eq!(started["limit_seconds"], 2400);
    assert_eq!(
        (&started["forge"], &started["tier"]),
        (&json!("gitlab"), &first["tier"])
    );
    assert_eq!(started["merge_request"].as_u64(), Some(merge_request));
    assert!(
        is_keyed_hash(started["author"].as_str().expect("an author")),
        "{started}"
    );
    let panel = first["reviewers"].as_array().unwrap();
    assert_eq!(started["reviewers"].as_array().unwrap().len(), panel.len());

    let sessions = of_kind(told, "reviewer_completed");
    assert_eq!(sessions.len(), panel.len() + 1, "the panel and the coordinator");
    for session in sessions {
        assert_eq!(session["outcome"], "ok");
        assert!(
            session["attempts"].as_u64() >= Some(1) && session["duration_ms"].as_u64() > Some(0),
            "{session}"
        );
        let tried = session["models_tried"].as_array().expect("models");
        let used = session["usage"].as_array().expect("usage");
        assert!(tried.contains(&used[0]["model"]), "{session}");
        for kind in ["input", "output", "reasoning", "cache_read", "cache_write"] {
            assert!(used[0]["tokens"][kind].is_u64(), "{kind}: {session}");
        }
        assert!(used[0]["cost_usd"].as_f64() > Some(0.0), "{session}");
    }
}

/// Each finding, with what became of it.
fn findings(told: &[Value], first: &Value) {
    let findings = of_kind(told, "finding");
    let judged = first["findings"].as_array().unwrap();
    assert_eq!(findings.len(), judged.len());
    for entry in judged {
        let finding = findings
            .iter()
            .find(|event| event["fingerprint"] == entry["finding"]["fingerprint"] && event["fate"] == entry["fate"])
            .unwrap_or_else(|| panic!("{entry:#} was not told"));
        assert_eq!(finding["path"], entry["finding"]["file"]);
        assert_eq!(finding["severity"], entry["finding"]["severity"]);
        assert_eq!(finding["reason_code"], entry["reason_code"]);
        let expected = match (
            entry["fate"].as_str().unwrap(),
            entry["finding"]["severity"].as_str().unwrap(),
        ) {
            ("kept", "suggestion") => json!("summary"),
            ("kept", _) => json!("line"),
            _ => Value::Null,
        };
        assert_eq!(finding["placement"], expected, "{finding}");
    }
}

/// What was asked of GitLab, the end, and the figures.
fn end_of_run(told: &[Value], first: &Value) {
    let stance = of_kind(told, "verdict_applied")[0];
    assert_eq!(
        (&stance["wanted"], &stance["shown"], &stance["mismatch"]),
        (&json!("requested_changes"), &json!("requested_changes"), &json!(false))
    );
    let completed = of_kind(told, "run_completed")[0];
    assert_eq!(
        (&completed["verdict"], &completed["tier"]),
        (&json!("significant_concerns"), &first["tier"])
    );
    assert_eq!(completed["files"], 2);
    assert_eq!(completed["lines"], first["coverage"]["changed_lines"]);
    assert_eq!(completed["cost_usd"], first["cost_usd"]);
    assert!(completed["duration_ms"].as_u64() > Some(0));
    assert_eq!(completed["coverage"], json!({"not_read": 0, "cut": 0, "gaps": 0}));
    let samples = of_kind(told, "metrics")[0]["samples"].as_array().unwrap().clone();
    let figure = |name: &str| {
        let sample = samples.iter().find(|sample| sample["name"] == name);
        sample.unwrap_or_else(|| panic!("{name} is missing in {samples:#?}"))["value"]
            .as_f64()
            .unwrap()
    };
    let start = match AgentRuntime::current() {
        AgentRuntime::OpenCode => "stage_opencode_start_ms",
        AgentRuntime::Native => "stage_native_start_ms",
    };
    assert!(figure(start) > 0.0 && figure("model_calls_count") > 1.0);
    assert!(figure("gateway_retries_count") < 0.5);
}

async fn every_event_of_two_reviews_is_told_with_its_content() {
    let (provider, repository, mut workers) = (provider().await, Repository::two_flaws(), Workers::tracker().await);
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    let job = || {
        let job = pipeline.job(&repository, &["--mode", "gate"]).anthropic(&provider);
        tracked(job, &workers.tracker_url)
    };
    let first = job().run().await.expect_code(1).review();
    let url = workers.tracker_url.clone();
    let told = events(&mut workers, 1).await;

    run_and_sessions(&told, &first, pipeline.merge_request.iid);
    findings(&told, &first);
    end_of_run(&told, &first);

    // One is fixed, the other is resolved by a person: the second review tells both, and the third neither again.
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write(
        "src/users.py",
        "import sqlite3\n\n\ndef find(connection, name):\n    query = \"SELECT * FROM users WHERE name = ?\"\n    return \
         connection.execute(query, (name,)).fetchall()\n",
    );
    repository.commit("Bind the name");
    pipeline
        .gitlab
        .push(pipeline.merge_request.project, repository.path(), "feature");
    // The author settles no critical finding; another member does.
    let member = pipeline.gitlab.create_user("bob");
    let project = pipeline.merge_request.project;
    pipeline.gitlab.add_member(project, member, AccessLevel::Developer);
    for thread in pipeline.gitlab.snapshot(pipeline.merge_request).threads {
        if thread.position.as_ref().and_then(|place| place.new_path.as_deref()) == Some("src/orders.py") {
            pipeline
                .gitlab
                .resolve(pipeline.merge_request, member, &thread.id, true);
        }
    }
    for _ in 0..2 {
        tracked(pipeline.job(&repository, &[]).anthropic(&provider), &url)
            .run()
            .await
            .expect_code(0);
    }
    let told = events(&mut workers, 3).await;
    let outcomes: Vec<(&Value, &Value)> = of_kind(&told, "finding_outcome")
        .into_iter()
        .filter(|event| event["category"] == "sql-injection")
        .map(|event| (&event["path"], &event["outcome"]))
        .collect();
    let expected =
        [("src/users.py", "fixed"), ("src/orders.py", "resolved")].map(|(path, how)| (json!(path), json!(how)));
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    for (path, how) in &expected {
        assert!(
            outcomes.contains(&(path, how)),
            "{path} {how} is missing in {outcomes:?}"
        );
    }

    // Metadata only: neither the code, nor what was said of it, nor who people are.
    let all = workers.command("sql SELECT * FROM events").await.to_string();
    let claim = first["findings"][0]["finding"]["claim"].as_str().unwrap();
    let summary = first["summary"].as_str().unwrap();
    for text in [
        "SELECT * FROM users",
        "fetchall",
        "DEBUG find",
        "alice",
        claim,
        summary,
        &pipeline.token,
    ] {
        assert!(!all.contains(text), "{text} was told");
    }
    assert_eq!(pipeline.gitlab.violations(), []);
}

/// A proxy in front of the tracker that fails at first and then hands everything on.
async fn fails_at_first(tracker: String, failures: usize) -> String {
    let asked = Arc::new(AtomicUsize::new(0));
    let forward = move |request: Request| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let tracker = tracker.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            if number < failures {
                return Response::builder()
                    .status(StatusCode::BAD_GATEWAY)
                    .body(Body::empty())
                    .unwrap();
            }
            let answer = reqwest::Client::new()
                .request(parts.method, format!("{tracker}{}", parts.uri))
                .header("authorization", &parts.headers["authorization"])
                .header("content-type", "application/json")
                .body(body)
                .send()
                .await
                .unwrap();
            let status = StatusCode::from_u16(answer.status().as_u16()).unwrap();
            Response::builder()
                .status(status)
                .body(Body::from(answer.bytes().await.unwrap()))
                .unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(forward)).await });
    address
}

async fn what_was_lost_is_told_once_the_tracker_is_back() {
    let (provider, repository, mut workers) = (provider().await, Repository::clean(), Workers::tracker().await);
    // The review outlasts its first request to the tracker, as one by a real model does: else everything would be in that one.
    provider.inject(conclave_scripted_provider::Fault::slow(Duration::from_secs(1), 0.0));
    let proxy = fails_at_first(workers.tracker_url.clone(), 1).await;
    let job = Conclave::new(repository.path(), &["local", "main..feature"]).anthropic(&provider);
    let outcome = tracked(job, &proxy).run().await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "approved");
    let query = "SELECT body FROM events WHERE kind = 'telemetry_dropped'";
    let rows = workers.rows(query, |rows| !rows.is_empty()).await;
    let told: Value = serde_json::from_str(rows[0]["body"].as_str().unwrap()).unwrap();
    // The start of the run was lost, and what went with it.
    let lost = told["events"].as_u64().unwrap();
    assert_eq!(told, json!({"type": "telemetry_dropped", "events": lost}));
    let said = outcome
        .stderr
        .split_once(" did not reach the tracker")
        .expect("it says so")
        .0;
    let said = said.rsplit("! ").next().unwrap();
    let (number, what) = said.split_once(' ').expect("a number");
    assert_eq!(
        what,
        if number == "1" {
            "telemetry event"
        } else {
            "telemetry events"
        }
    );
    // On a busy machine the tracker may be late once more after it has the first number.
    assert!(number.parse::<u64>().expect("a number") >= lost, "{said}");
    // Requests overtake each other: the end of the run may be there last.
    let query = "SELECT verdict FROM runs WHERE verdict IS NOT NULL";
    let runs = workers.rows(query, |rows| !rows.is_empty()).await;
    assert_eq!(runs[0]["verdict"], "approved", "what came later was stored");
}

/// A tracker that begins every answer and never ends one.
async fn hangs_in_the_middle() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"schema\":1,")
                .await;
            open.push(stream);
        }
    });
    (address, asked)
}

async fn a_tracker_that_hangs_changes_neither_the_review_nor_its_exit_code() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    let (url, asked) = hangs_in_the_middle().await;
    let job = pipeline.job(&repository, &["--mode", "gate"]).anthropic(&provider);
    let outcome = tracked(job, &url).run().await.expect_code(1);
    let review = outcome.review();
    assert_eq!(review["verdict"], "significant_concerns");
    assert_eq!(review["warnings"], json!([]), "it is no business of the review");
    assert!(
        asked.load(Ordering::SeqCst) >= 2,
        "both the memory and the events were tried"
    );
    assert!(
        outcome.stderr.contains("telemetry events did not reach the tracker"),
        "{}",
        outcome.stderr
    );
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert_eq!(state.requested_changes_by, ["conclave-bot"]);
    assert_eq!(pipeline.gitlab.violations(), []);
}

/// The forge lets everything be read, and refuses what is posted at the end.
async fn a_review_that_cannot_be_posted_counts_once_and_as_failed() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::tracker().await);
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    let refusals = [
        (FaultKind::InsufficientScope, "unauthorized"),
        (FaultKind::Unavailable, "forge_unreachable"),
    ];
    for (number, (refusal, kind)) in refusals.into_iter().enumerate() {
        for pattern in [
            "/projects/*/merge_requests/*/notes",
            "/projects/*/merge_requests/*/discussions",
        ] {
            pipeline
                .gitlab
                .inject(Fault::once("POST", pattern, refusal.clone()).times(1000));
        }
        let job = pipeline.job(&repository, &[]).anthropic(&provider);
        let outcome = tracked(job, &workers.tracker_url).run().await.expect_code(3);
        assert_eq!(
            outcome.review()["verdict"],
            "significant_concerns",
            "it is in the records"
        );
        pipeline.gitlab.clear_faults();

        let query =
            format!("SELECT verdict, failed_stage, failed_kind, cost_usd FROM runs WHERE failed_kind = '{kind}'");
        let rows = workers.rows(&query, |rows| !rows.is_empty()).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (&rows[0]["verdict"], &rows[0]["failed_stage"]),
            (&json!("significant_concerns"), &json!("publish"))
        );
        assert!(
            rows[0]["cost_usd"].as_f64() > Some(0.0),
            "what it cost is known: {rows:?}"
        );
        let told = workers
            .rows(
                "SELECT body FROM events WHERE kind IN ('run_completed', 'run_failed') ORDER BY id",
                |rows| rows.len() == 2 * (number + 1),
            )
            .await;
        let told: Vec<Value> = told[2 * number..]
            .iter()
            .map(|row| serde_json::from_str(row["body"].as_str().unwrap()).unwrap())
            .collect();
        assert_eq!(of_kind(&told, "run_completed")[0]["unpublished"], kind);
        let failed = of_kind(&told, "run_failed")[0];
        assert_eq!((&failed["stage"], &failed["kind"]), (&json!("publish"), &json!(kind)));
        // A review that was not shown settles nothing.
        let outcomes = workers.command("sql SELECT * FROM outcomes").await;
        assert_eq!(outcomes["rows"], json!([]));
    }
    let counted = workers
        .command("sql SELECT (SELECT count(*) FROM daily_runs) AS completed, (SELECT sum(runs) FROM daily_failed WHERE project = '*' AND day > 0) AS failed")
        .await;
    assert_eq!(counted["rows"], json!([{"completed": 0, "failed": 2}]));

    // The same merge request, when the forge is well again.
    let job = pipeline.job(&repository, &[]).anthropic(&provider);
    tracked(job, &workers.tracker_url).run().await.expect_code(0);
    let rows = workers
        .rows(
            "SELECT sum(runs) AS runs FROM daily_runs WHERE project = '*' AND day > 0",
            |rows| rows[0]["runs"] == 1,
        )
        .await;
    assert_eq!(rows.len(), 1);
}

/// A tracker that reads every batch and takes none of it.
async fn events_that_the_tracker_refuses_are_counted_and_told() {
    let (provider, repository) = (provider().await, Repository::clean());
    let refused = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&refused);
    let refuse = move |request: Request| {
        let seen = Arc::clone(&seen);
        async move {
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
            let batch: Value = serde_json::from_slice(&body).unwrap_or_default();
            let events = batch["events"].as_array().map_or(0, Vec::len);
            seen.fetch_add(events, Ordering::SeqCst);
            let rejected: Vec<Value> = (0..events)
                .map(|index| json!({"index": index, "detail": "`project` is too long"}))
                .collect();
            let answer = json!({"accepted": 0, "rejected": rejected});
            Response::builder()
                .status(StatusCode::UNPROCESSABLE_ENTITY)
                .body(Body::from(answer.to_string()))
                .unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(refuse)).await });
    let job = Conclave::new(repository.path(), &["local", "main..feature"]).anthropic(&provider);
    let outcome = tracked(job, &address).run().await.expect_code(0);
    let count = refused.load(Ordering::SeqCst);
    assert!(count > 3, "{count}");
    let said = format!("the tracker refused {count} telemetry events, which are lost: `project` is too long");
    assert_eq!(outcome.stderr.matches(&said).count(), 1, "{}", outcome.stderr);
}
