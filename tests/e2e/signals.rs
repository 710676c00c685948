//! Stopping: nothing is left running, whoever stops it and how.

use std::time::Duration;

use conclave_scripted_provider::Fault;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::support::{Conclave, Repository, nothing_left_running, provider};

/// How long everything may take after a signal.
const ALL_GONE: Duration = Duration::from_secs(10);

async fn stop_with(signal: Signal, expected: Option<i32>) {
    let (provider, repository) = (provider().await, Repository::flawed());
    // Every model call hangs, so the run is in the middle of its work when the signal comes.
    provider.inject(Fault::hang());
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .start();
    assert!(
        provider.wait_for_requests(1, Duration::from_mins(1)).await,
        "a model is asked"
    );
    kill(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()), signal).unwrap();
    let status = tokio::time::timeout(ALL_GONE, child.wait())
        .await
        .expect("it ends in time")
        .unwrap();
    assert_eq!(status.code(), expected);
    nothing_left_running(&home.path().join("run")).await;
    // A killed run cannot tidy up; its record is there all the same, readable line by line.
    let events = std::fs::read_to_string(home.path().join("run/events.jsonl")).expect("a record");
    assert!(!events.is_empty());
    for line in events.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("whole lines");
    }
    if expected.is_some() {
        let left: Vec<_> = std::fs::read_dir(home.path().join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[tokio::test]
async fn an_interrupt_ends_everything() {
    stop_with(Signal::SIGINT, Some(130)).await;
}

#[tokio::test]
async fn a_termination_ends_everything() {
    stop_with(Signal::SIGTERM, Some(143)).await;
}

#[tokio::test]
async fn a_kill_takes_opencode_with_it() {
    stop_with(Signal::SIGKILL, None).await;
}

#[tokio::test]
async fn a_signal_before_the_sessions_start_leaves_nothing_either() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // A configuration service that accepts and never answers holds the run where it prepares.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let job = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_CONFIG_URL", address)
        .env("CONCLAVE_CONFIG_TOKEN", "t");
    let (mut child, home) = job.start();
    let _held = tokio::time::timeout(Duration::from_mins(1), silent.accept())
        .await
        .expect("it asks")
        .unwrap();
    kill(
        Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    let status = tokio::time::timeout(ALL_GONE, child.wait())
        .await
        .expect("it ends in time")
        .unwrap();
    assert_eq!(status.code(), Some(143));
    let left: Vec<_> = std::fs::read_dir(home.path().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    assert!(
        !home.path().join("run").exists(),
        "no run directory is made for a run that does not start"
    );
    assert!(provider.requests().is_empty());
}
