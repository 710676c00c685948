//! How long a whole run takes beyond its models, and what conclave itself needs for it.
//!
//! `cargo bench -p conclave --bench runtime`: seven reviewers on the scripted provider with fixed latencies (300 ms to the
//! first byte, 40 tokens a second), several turns with tool calls each, the real OpenCode, the real git, and the GitLab
//! stand-in. The critical path is computed from the provider's books: the slowest reviewer's turns, and what the
//! coordinator does after it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and a broken fixture must stop it"
)]

#[expect(dead_code, unused_imports, reason = "the tests need more of it than this does")]
mod support;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use conclave_scripted_provider::{Books, COORDINATOR, Fault};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use support::{Pipeline, Repository, nothing_left_running, provider};

const FIRST_BYTE: Duration = Duration::from_millis(300);
const TOKENS_PER_SECOND: f64 = 40.0;

/// A change of the full tier that also touches a migration, so that all seven reviewers work.
fn large() -> Repository {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.write(
        "db/migrations/0001_users.sql",
        "CREATE TABLE users (id INTEGER PRIMARY KEY);\n",
    );
    repository.commit("Sessions and users");
    repository
}

/// Seconds of model time that nothing could make shorter.
fn critical_path(books: &Books) -> f64 {
    let mut agents: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for entry in &books.entries {
        #[expect(clippy::cast_precision_loss, reason = "some hundreds of tokens")]
        let seconds = FIRST_BYTE.as_secs_f64() + entry.usage.output as f64 / TOKENS_PER_SECOND;
        agents.entry(&entry.agent).or_default().push(seconds);
    }
    let coordinator = agents.remove(COORDINATOR).unwrap_or_default();
    let (first, rest) = coordinator.split_first().expect("the coordinator was asked");
    let slowest = agents
        .values()
        .map(|turns| turns.iter().sum::<f64>())
        .fold(*first, f64::max);
    println!("  reviewers: {}, calls: {}", agents.len(), books.entries.len());
    slowest + rest.iter().sum::<f64>()
}

/// What a process has used so far: seconds of processor time, its own only, and its peak of memory in MB.
fn used(pid: u32) -> Option<(f64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    // The kernel's ticks are a hundredth of a second on every platform that this runs on.
    Some((ticks / 100.0, kilobytes / 1024))
}

async fn whole_run() {
    let (provider, repository) = (provider().await, large());
    let pipeline = Pipeline::new(&repository).await;
    provider.inject(Fault::slow(FIRST_BYTE, TOKENS_PER_SECOND));
    let last = Arc::new(Mutex::new((0.0, 0)));
    let noted = Arc::clone(&last);
    let started = Instant::now();
    let outcome = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run_while(|pid| async move {
            while let Some(now) = used(pid) {
                *noted.lock().unwrap() = now;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect_code(0);
    let wall = started.elapsed().as_secs_f64();
    let path = critical_path(&provider.books());
    let (processor, memory) = *last.lock().unwrap();
    println!(
        "  wall {wall:.1} s, critical path of the models {path:.1} s: {:.1} s over it (bar: 3)",
        wall - path
    );
    println!("  conclave: {processor:.2} s of processor time (bar: 1), {memory} MB (bar: 40)");
    let stages = outcome.review()["stages"].clone();
    for stage in stages.as_array().unwrap() {
        println!(
            "    {}: {:.1} s",
            stage["stage"].as_str().unwrap(),
            stage["seconds"].as_f64().unwrap()
        );
    }
}

async fn cancelled() {
    let (provider, repository) = (provider().await, large());
    let pipeline = Pipeline::new(&repository).await;
    provider.inject(Fault::hang());
    let (mut child, home) = pipeline.job(&repository, &[]).anthropic(&provider).start();
    assert!(
        provider.wait_for_requests(8, Duration::from_mins(2)).await,
        "all are at work"
    );
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    let sent = Instant::now();
    kill(pid, Signal::SIGTERM).unwrap();
    while pipeline.notes().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    println!("  posted {:.2} s after SIGTERM", sent.elapsed().as_secs_f64());
    child.wait().await.unwrap();
    nothing_left_running(&home.path().join("run")).await;
    println!(
        "  nothing left {:.2} s after SIGTERM (bar: 10)",
        sent.elapsed().as_secs_f64()
    );
}

#[tokio::main]
async fn main() {
    println!("Seven reviewers and the coordinator, 300 ms to the first byte, 40 tokens/s");
    whole_run().await;
    println!("Cancelled in the middle");
    cancelled().await;
}
