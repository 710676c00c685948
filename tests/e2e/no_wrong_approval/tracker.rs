//! What can teach the memory.

use conclave_fake_gitlab::{AccessLevel, MergeRequestRef, NewMergeRequest, UserId};
use conclave_shared::telemetry::Event;
use serde_json::{Value, json};

use crate::support::{Conclave, Outcome, PROJECT, Pipeline, Repository, Workers, provider};

on_both_runtimes! {
    whoever_has_stolen_an_ingest_token_teaches_no_review_anything
    a_job_proves_its_project_with_its_own_token_and_an_old_client_teaches_nothing
    opening_a_log_in_link_makes_no_session
}

/// A critical finding of the flawed branch.
const CATEGORY: &str = "sql-injection";

fn finding(review: &Value) -> &Value {
    let findings = review["findings"].as_array().expect("findings");
    let of = |entry: &&Value| entry["finding"]["category"] == CATEGORY;
    findings.iter().find(of).expect("it was found")
}

/// Rejections of a finding in three merge requests, as whoever has a stolen token would make them up.
fn made_up(found: &Value, project: &str) -> Vec<Event> {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time after 1970");
    let now = u64::try_from(now.as_millis()).expect("a time before the end");
    let event = |number: u64| {
        json!({
            "id": uuid::Uuid::now_v7(), "schema": 1, "at_ms": now - number, "run_id": uuid::Uuid::now_v7(), "project": project,
            "event": {
                "type": "finding_outcome", "reviewer": "security", "severity": "critical", "category": CATEGORY,
                "path": found["finding"]["file"], "fingerprint": found["finding"]["fingerprint"], "outcome": "rejected",
                "merge_request": 100 + number, "settled_by": "member",
            },
        })
    };
    let events = (0..3).map(|number| serde_json::from_value(event(number)).expect("an event"));
    events.collect()
}

/// Sends events, and returns the status and the answer.
async fn send(workers: &Workers, token: &str, events: &[Event]) -> (u16, Value) {
    let response = reqwest::Client::new()
        .post(format!("{}/v1/events", workers.tracker_url))
        .bearer_auth(token)
        .json(&json!({ "events": events }))
        .send()
        .await
        .expect("an answer");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

/// A job whose tracker is this one.
fn job(pipeline: &Pipeline, repository: &Repository, of: MergeRequestRef, tracker: &str) -> Conclave {
    pipeline
        .job_of(of, repository, &[])
        .env("CONCLAVE_TRACKER_URL", tracker)
}

async fn whoever_has_stolen_an_ingest_token_teaches_no_review_anything() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::tracker().await);
    let pipeline = Pipeline::new(&repository).await;
    let url = workers.tracker_url.clone();
    let run = || {
        job(&pipeline, &repository, pipeline.merge_request, &url)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
            .env("CONCLAVE_DRY_RUN", "true")
            .anthropic(&provider)
    };
    let before = run().run().await.expect_code(0).review();
    let found = finding(&before);
    assert_eq!(found["finding"]["severity"], "critical");

    // With the token alone; with a signature by another secret; with the token of a job of another project.
    let unsigned = made_up(found, PROJECT);
    let mut forged = made_up(found, PROJECT);
    for event in &mut forged {
        event.sign(b"a guess");
    }
    for events in [&unsigned, &forged] {
        let (status, answer) = send(&workers, Workers::INGEST_TOKEN, events).await;
        assert_eq!((status, &answer["unproven"]), (202, &json!(3)), "{answer}");
    }
    let stranger = workers.job_token("elsewhere/project").await;
    let (status, answer) = send(&workers, &stranger, &made_up(found, PROJECT)).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["rejected"].as_array().map(Vec::len), Some(3), "{answer}");
    let stored = workers
        .rows("SELECT proven FROM outcomes", |rows| rows.len() == 6)
        .await;
    assert!(stored.iter().all(|row| row["proven"] == 0), "{stored:?}");

    let after = run().run().await.expect_code(0).review();
    let found = finding(&after);
    assert_eq!(
        (&found["fate"], &found["finding"]["severity"]),
        (&json!("kept"), &json!("critical"))
    );
    assert_eq!(after["verdict"], before["verdict"]);
    assert_eq!(pipeline.gitlab.violations(), []);
}

/// Reviews a merge request, has a member turn its finding down, and reviews it again.
async fn turned_down(pipeline: &Pipeline, of: MergeRequestRef, member: UserId, job: impl Fn() -> Conclave) -> Outcome {
    job().run().await.expect_code(0);
    let snapshot = pipeline.gitlab.snapshot(of);
    let thread = snapshot
        .threads
        .iter()
        .find(|thread| thread.notes[0].body.contains("mutable-default-argument"));
    pipeline
        .gitlab
        .reply(of, member, &thread.expect("it has a thread").id, "won't fix");
    job().run().await.expect_code(0)
}

async fn a_job_proves_its_project_with_its_own_token_and_an_old_client_teaches_nothing() {
    let (provider, mut workers) = (provider().await, Workers::tracker().await);
    let repository = Repository::new();
    for branch in ["feature", "feature-2"] {
        repository.git(&["checkout", "--quiet", "-b", branch, "main"]);
        repository.write(
            "src/basket.py",
            "def add(item, basket=[]):\n    basket.append(item)\n    return basket\n",
        );
        repository.commit("Fill baskets");
    }
    let pipeline = Pipeline::new(&repository).await;
    let second = {
        let new = NewMergeRequest::new(pipeline.author, "feature-2", "main");
        pipeline
            .gitlab
            .create_merge_request(pipeline.merge_request.project, new)
    };

    let member = pipeline.gitlab.create_user("bob");
    pipeline
        .gitlab
        .add_member(pipeline.merge_request.project, member, AccessLevel::Developer);

    let url = workers.tracker_url.clone();
    // As a client of before: an ingest token, no job's token, no secret.
    let plain = || {
        job(&pipeline, &repository, pipeline.merge_request, &url)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
            .anthropic(&provider)
    };
    let outcome = turned_down(&pipeline, pipeline.merge_request, member, plain).await;
    assert_eq!(outcome.review()["settled"][0]["outcome"], "rejected");
    assert!(
        outcome.stderr.contains("CONCLAVE_TRACKER_OIDC_TOKEN") && outcome.stderr.contains("learns nothing"),
        "it is said what is missing: {}",
        outcome.stderr
    );
    workers
        .rows("SELECT * FROM outcomes WHERE proven = 0", |rows| rows.len() == 1)
        .await;

    // The job's own token, and no other.
    let token = workers.job_token(PROJECT).await;
    let proving = || {
        job(&pipeline, &repository, second, &url)
            .env("CONCLAVE_TRACKER_OIDC_TOKEN", &token)
            .anthropic(&provider)
    };
    let outcome = turned_down(&pipeline, second, member, proving).await;
    assert_eq!(outcome.review()["settled"][0]["outcome"], "rejected");
    assert!(!outcome.stderr.contains("learns nothing"), "{}", outcome.stderr);
    let learned = workers
        .rows("SELECT merge_request FROM memory", |rows| !rows.is_empty())
        .await;
    assert_eq!(
        learned,
        [json!({ "merge_request": second.iid })],
        "the other one taught nothing"
    );

    // A review asks for the memory of its own project; of another one it is told nothing.
    let show = |project: &str| {
        Conclave::new(std::path::Path::new("/"), &["memory", "show", "--project", project])
            .env("CONCLAVE_TRACKER_URL", &url)
            .env("CONCLAVE_TRACKER_OIDC_TOKEN", &token)
    };
    let own = show(PROJECT).run().await.expect_code(0);
    assert!(own.stdout.contains("mutable-default-argument"), "{}", own.stdout);
    let other = show("elsewhere/project").run().await.expect_code(2);
    assert!(other.stderr.contains("own project"), "{}", other.stderr);
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn opening_a_log_in_link_makes_no_session() {
    const TOKEN: &str = "token-of-a-person";
    let workers = Workers::tracker_with(&format!("DASHBOARD_TOKENS={TOKEN}")).await;
    let tracker = &workers.tracker_url;
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    // However an address is opened: as a link, by a preview, as an image, with the token where servers see it.
    for path in [
        "/login",
        "/login?token=token-of-a-person",
        "/?token=token-of-a-person",
        "/",
    ] {
        for destination in ["document", "image", "iframe"] {
            let request = client
                .get(format!("{tracker}{path}"))
                .header("sec-fetch-dest", destination);
            let response = request.send().await.expect("an answer");
            assert!(
                response.headers().get("set-cookie").is_none(),
                "{path} as {destination}"
            );
            assert!(
                [200, 303].contains(&response.status().as_u16()),
                "{path} as {destination}"
            );
        }
    }
    let page = client.get(format!("{tracker}/login")).send().await.expect("the form");
    for (name, value) in [("referrer-policy", "no-referrer"), ("cache-control", "no-store")] {
        assert_eq!(page.headers()[name], value);
    }
    let script = client
        .get(format!("{tracker}/assets/login.js"))
        .send()
        .await
        .expect("the script");
    let script = script.text().await.expect("its text");
    assert!(!script.contains("submit"), "the page's script sends nothing: {script}");
    // A person's step: the form, from our own page.
    let send = |origin: &str, site: &str| {
        client
            .post(format!("{tracker}/login"))
            .header("origin", origin)
            .header("sec-fetch-site", site)
            .body(format!("token={TOKEN}"))
            .send()
    };
    for (origin, site, status) in [
        (tracker.as_str(), "same-origin", 303),
        ("null", "same-origin", 303),
        ("null", "cross-site", 403),
        ("https://evil.example", "cross-site", 403),
        (tracker.as_str(), "cross-site", 403),
    ] {
        let response = send(origin, site).await.expect("an answer");
        let opened = response.headers().get("set-cookie").is_some();
        assert_eq!(
            (response.status().as_u16(), opened),
            (status, status == 303),
            "{origin} {site}"
        );
    }
}
