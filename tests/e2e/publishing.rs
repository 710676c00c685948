//! From findings to the merge request: the real program and the real OpenCode, and what stands on GitLab afterwards.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Body, extract::Request, http::StatusCode, response::Response};
use conclave_fake_gitlab::{FakeGitlab, Tier};
use serde_json::Value;

use crate::support::{Conclave, Pipeline, Repository, Workers, provider};

on_both_runtimes! {
    findings_stand_beside_their_lines_and_a_second_run_writes_nothing
    nothing_beside_the_code_if_somebody_wants_it_so
    the_mode_gate_requests_changes_and_fails_the_job
    broken_glass_skips_the_review_approves_and_is_told_to_the_tracker
    any_merge_request_by_its_address
    gitlab_is_reached_through_the_proxy_of_the_environment
    a_file_of_certificates_that_is_none_is_named
}

/// The lines of the change that findings of the demo model are about.
const SQL: (&str, u64) = ("src/users.py", 6);

/// Where the bot's threads are.
fn threads(pipeline: &Pipeline) -> Vec<(String, u64, String)> {
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    let place = |thread: &conclave_fake_gitlab::ThreadSnapshot| {
        let position = thread.position.clone().expect("on the diff");
        let line = position.new_line.expect("on a line at head");
        (position.new_path.expect("a path"), line, thread.notes[0].body.clone())
    };
    state.threads.iter().map(place).collect()
}

async fn findings_stand_beside_their_lines_and_a_second_run_writes_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let first = pipeline
        .job(&repository, &["--gate", "block"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(1);
    assert!(!pipeline.approved());
    let found = threads(&pipeline);
    let (path, line, body) = found
        .iter()
        .find(|(_, _, body)| body.contains("sql-injection"))
        .expect("the finding has a thread");
    assert_eq!((path.as_str(), *line), SQL);
    assert!(body.contains("🔴 **Critical**"), "{body}");
    let review = first.review();
    let expected: Vec<u64> = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["fate"] == "kept" && entry["finding"]["severity"] != "suggestion")
        .map(|entry| {
            entry["finding"]["end_line"]
                .as_u64()
                .or(entry["finding"]["line"].as_u64())
                .unwrap()
        })
        .collect();
    let mut lines: Vec<u64> = found.iter().map(|(_, line, _)| *line).collect();
    lines.sort_unstable();
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(lines, sorted, "every finding that stands, each on its line");
    let summary = pipeline.notes().concat();
    for part in ["Significant concerns", "`src/users.py:6`", "<!-- conclave:summary:"] {
        assert!(summary.contains(part), "{part} is missing in:\n{summary}");
    }
    assert!(!first.stderr.contains(&pipeline.token) && !summary.contains(&pipeline.token));
    assert!(summary.contains("#note_"), "the summary says where: {summary}");
    assert!(first.stderr.contains("new beside the code"), "{}", first.stderr);

    let before = pipeline.gitlab.snapshot(pipeline.merge_request);
    pipeline.gitlab.forget_requests();
    pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let writes: Vec<String> = pipeline
        .gitlab
        .writes()
        .iter()
        .map(|write| format!("{} {}", write.method, write.path))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
    assert_eq!(pipeline.gitlab.snapshot(pipeline.merge_request), before);
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn nothing_beside_the_code_if_somebody_wants_it_so() {
    let (provider, repository) = (provider().await, Repository::flawed());
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(".conclave.toml", "[review]\nmax_inline = 0\nmode = \"comment\"\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    let pipeline = Pipeline::new(&repository).await;
    pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert!(threads(&pipeline).is_empty());
    assert!(pipeline.notes().concat().contains("sql-injection"));
    assert!(!pipeline.approved());
}

async fn the_mode_gate_requests_changes_and_fails_the_job() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    let outcome = pipeline
        .job(&repository, &["--mode", "gate"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(1);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert_eq!(state.requested_changes_by, ["conclave-bot"]);
    assert!(
        outcome.stderr.contains("changes requested by the bot"),
        "{}",
        outcome.stderr
    );
    // Another mode finds nothing fixed: the request stays until a review is finished that finds nothing that blocks.
    pipeline
        .job(&repository, &["--mode", "comment"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert_eq!(state.requested_changes_by, ["conclave-bot"]);
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn broken_glass_skips_the_review_approves_and_is_told_to_the_tracker() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::tracker().await);
    let pipeline = Pipeline::new(&repository).await;
    let bob = pipeline.gitlab.create_user("bob");
    pipeline.gitlab.add_member(
        pipeline.merge_request.project,
        bob,
        conclave_fake_gitlab::AccessLevel::Developer,
    );
    let note = pipeline
        .gitlab
        .comment(pipeline.merge_request, bob, "It burns.\n\nbreak glass")
        .expect("a note");
    let job = |arguments: &[&str]| {
        pipeline
            .job(&repository, arguments)
            .anthropic(&provider)
            .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
    };
    let outcome = job(&[]).run().await.expect_code(0);
    assert!(outcome.stderr.contains("Break glass: bob"), "{}", outcome.stderr);
    assert_eq!(provider.requests().len(), 0, "no model is asked");
    assert!(pipeline.approved());
    assert!(pipeline.notes().concat().contains("Not reviewed: break glass"));
    let query = "SELECT body FROM events WHERE kind = 'break_glass'";
    let rows = workers.rows(query, |rows| !rows.is_empty()).await;
    let told: Value = serde_json::from_str(rows[0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(told["note"].as_u64(), Some(note));
    assert_eq!(told["head_sha"], pipeline.gitlab.head(pipeline.merge_request));
    assert_eq!(told["merge_request"].as_u64(), Some(pipeline.merge_request.iid));
    let who = told["user"].as_str().unwrap();
    assert!(
        conclave_shared::telemetry::is_keyed_hash(who),
        "no name, and not nobody: {told}"
    );

    // The job can be stricter than the target branch.
    let job = |arguments: &[&str]| pipeline.job(&repository, arguments).anthropic(&provider);
    let outcome = job(&["--break-glass", "off"]).run().await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    assert!(!pipeline.approved(), "the review takes it back");
}

/// A clone of the project beside the pipeline, as a person has one.
fn clone(pipeline: &Pipeline, repository: &Repository, remote: &str) {
    let url = pipeline.gitlab.url();
    repository.git(&["remote", "add", "origin", &format!("{url}/{remote}.git")]);
}

fn address(pipeline: &Pipeline) -> String {
    format!(
        "{}/group/service/-/merge_requests/{}",
        pipeline.gitlab.url(),
        pipeline.merge_request.iid
    )
}

async fn any_merge_request_by_its_address() {
    let repository = Repository::flawed();
    let pipeline = Pipeline::new(&repository).await;
    clone(&pipeline, &repository, "group/service");
    let elsewhere = tempfile::tempdir().unwrap();
    let address = address(&pipeline);
    let path = repository.path().to_str().unwrap();
    let review = |arguments: &[&str]| {
        let mut all = vec!["review", "--estimate", "--format", "json"];
        all.extend(arguments);
        Conclave::new(elsewhere.path(), &all)
    };
    let outcome = review(&["--mr", &address, "--repo", path])
        .env("GITLAB_TOKEN", &pipeline.token)
        .run()
        .await
        .expect_code(0);
    let plan: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(plan["merge_request"].as_u64(), Some(pipeline.merge_request.iid));
    assert_eq!(plan["files"][0]["path"], "src/users.py");

    let without_token = review(&["--mr", &address, "--repo", path]).run().await.expect_code(2);
    assert!(
        without_token.stderr.contains("GITLAB_TOKEN is not set"),
        "{}",
        without_token.stderr
    );
    for nonsense in ["group/service!7", "1", "http://127.0.0.1/o/r/issues/1"] {
        let stderr = review(&["--mr", nonsense]).run().await.expect_code(2).stderr;
        assert!(
            stderr.contains("is not the address of a merge request")
                && stderr.contains(
                    "/-/merge_requests/7, and that of a pull request like https://github.com/owner/name/pull/7"
                ),
            "{stderr}"
        );
    }
    // Some other repository is not taken for the project.
    let other = Repository::clean();
    clone(&pipeline, &other, "group/other");
    let wrong = review(&["--mr", &address, "--repo", other.path().to_str().unwrap()])
        .env("GITLAB_TOKEN", &pipeline.token)
        .run()
        .await
        .expect_code(2);
    assert!(
        wrong.stderr.contains("is not a clone of 127.0.0.1/group/service"),
        "{}",
        wrong.stderr
    );
    assert_eq!(pipeline.gitlab.violations(), []);
    // Where the code cannot be fetched (the stand-in serves none), the advice is not that for a job.
    let stderr = review(&["--mr", &address])
        .env("GITLAB_TOKEN", &pipeline.token)
        .run()
        .await
        .expect_code(2)
        .stderr;
    assert!(
        stderr.contains("or name a clone that has the commit with --repo PATH") && !stderr.contains("GIT_DEPTH"),
        "{stderr}"
    );
}

/// A proxy that hands everything on, and remembers what it was asked for.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let forward = move |request: Request| {
        let noted = Arc::clone(&noted);
        async move {
            let (parts, body) = request.into_parts();
            noted.lock().unwrap().push(parts.uri.to_string());
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let answer = client
                .request(parts.method, parts.uri.to_string())
                .headers(parts.headers)
                .body(body)
                .send()
                .await
                .unwrap();
            let mut response = Response::builder().status(StatusCode::from_u16(answer.status().as_u16()).unwrap());
            for name in ["x-next-page", "content-type"] {
                if let Some(value) = answer.headers().get(name) {
                    response = response.header(name, value);
                }
            }
            response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(forward)).await });
    (address, seen)
}

async fn gitlab_is_reached_through_the_proxy_of_the_environment() {
    let repository = Repository::flawed();
    let pipeline = Pipeline::new(&repository).await;
    let (proxy, seen) = proxy().await;
    let job = || {
        pipeline
            .job(&repository, &["--estimate"])
            .env("http_proxy", &proxy)
            .env("HTTP_PROXY", &proxy)
    };
    job().run().await.expect_code(0);
    let asked = seen.lock().unwrap().clone();
    assert!(asked.iter().any(|uri| uri.contains("/api/v4/user")), "{asked:?}");
    assert_eq!(
        asked.len(),
        pipeline.gitlab.requests().len(),
        "everything went through it"
    );
    seen.lock().unwrap().clear();
    job().env("NO_PROXY", "127.0.0.1").run().await.expect_code(0);
    assert_eq!(*seen.lock().unwrap(), Vec::<String>::new());
}

async fn a_file_of_certificates_that_is_none_is_named() {
    let repository = Repository::flawed();
    let pipeline = Pipeline::new(&repository).await;
    let readme = repository.path().join("README.md");
    for (file, problem) in [
        (readme.to_str().unwrap(), "no certificate"),
        ("/nowhere.pem", "No such file"),
    ] {
        let outcome = pipeline
            .job(&repository, &["--ca-file", file])
            .run()
            .await
            .expect_code(2);
        assert!(
            outcome.stderr.contains(&format!("the certificates in {file}")),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(problem), "{}", outcome.stderr);
    }
}
