//! `conclave replay`: a run shown again, finished or killed.

use std::time::Duration;

use conclave_scripted_provider::Fault;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::support::{Conclave, Outcome, Repository, provider};

on_both_runtimes! {
    a_killed_run_shows_what_was_known_when_it_died
    a_directory_without_records_is_a_usage_error
}

/// Time that a session may take to end.
const SOON: Duration = Duration::from_mins(3);

/// A finished run is shown again without a model or its repository.
pub(crate) async fn shows_again(outcome: &Outcome) {
    let records = outcome.directory().to_str().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let shown = Conclave::new(elsewhere.path(), &["replay", records])
        .run()
        .await
        .expect_code(0);
    let review = outcome.stdout.trim_end();
    // The review as it was printed, the excerpts of the source included, after how it went.
    assert!(shown.stdout.trim_end().ends_with(review), "{}", shown.stdout);
    assert!(review.contains("▌"), "{review}");
    let told = shown.stdout.split('─').next().unwrap();
    for line in [
        "Reading the diff",
        "tier trivial",
        "▸ generalist",
        "✓ generalist",
        "✓ coordinator",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let json = Conclave::new(elsewhere.path(), &["replay", records, "--format", "json"])
        .run()
        .await
        .expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json, outcome.review());
}

async fn a_killed_run_shows_what_was_known_when_it_died() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::hang().agent("coordinator"));
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .start();
    let record = home.path().join("run/progress.jsonl");
    let ended = async {
        while !std::fs::read_to_string(&record).is_ok_and(|text| {
            // The judge has begun.
            text.lines()
                .any(|line| line.contains("session_started") && line.contains("coordinator"))
        }) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.expect("a reviewer ends");
    kill(
        Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    child.wait().await.unwrap();

    let run = home.path().join("run");
    let records = run.to_str().unwrap();
    let shown = Conclave::new(repository.path(), &["replay", records])
        .run()
        .await
        .expect_code(0)
        .stdout;
    assert!(shown.contains("This run ended without a review"), "{shown}");
    assert!(shown.contains("CRITICAL src/users.py:6"), "{shown}");
    assert!(
        shown.contains("… coordinator") && shown.contains("still at work"),
        "{shown}"
    );
    let json = Conclave::new(repository.path(), &["replay", records, "--format", "json"])
        .run()
        .await
        .expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["finished"], false);
    // The sessions stand in the order in which they began, and two that begin together may do so either way.
    let sessions = json["sessions"].as_array().unwrap();
    let reviewer = sessions.iter().find(|session| session["reviewer"] == "generalist");
    assert!(reviewer.expect("it ended")["tokens"].as_u64().unwrap() > 0, "{json}");
    assert!(!json["findings"].as_array().unwrap().is_empty(), "{json}");
}

async fn a_directory_without_records_is_a_usage_error() {
    let nowhere = tempfile::tempdir().unwrap();
    let outcome = Conclave::new(nowhere.path(), &["replay", "."])
        .run()
        .await
        .expect_code(2);
    assert!(outcome.stderr.contains("is not a run directory"), "{}", outcome.stderr);
}
