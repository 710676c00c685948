//! How long a whole run takes beyond its models, and what conclave itself needs for it.
//!
//! Part of `scripts/bench runtime`: seven reviewers on the scripted provider with fixed latencies (300 ms to the
//! first byte, 40 tokens a second), several turns with tool calls each, the real OpenCode, the real git, and the GitLab
//! stand-in. The critical path is computed from the provider's books: the slowest reviewer's turns, and what the
//! coordinator does after it. Prints JSON; fails if a bar of it is missed.

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
    process::ExitCode,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use conclave_scripted_provider::{Answer, Books, COORDINATOR, Fault, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use support::{Conclave, Pipeline, Repository, nothing_left_running, opencode, provider, used};

const FIRST_BYTE: Duration = Duration::from_millis(300);
const TOKENS_PER_SECOND: f64 = 40.0;

/// Seconds beyond the critical path of the models.
const MAX_OVERHEAD: f64 = 3.0;
/// Seconds of processor time of conclave itself.
const MAX_PROCESSOR: f64 = 1.0;
/// Megabytes of conclave itself at its peak.
const MAX_MEMORY: u64 = 40;
/// Seconds from SIGTERM until nothing runs any more.
const MAX_END: f64 = 10.0;

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

/// Seconds of model time that nothing could make shorter: until the panel has answered, and after it, when the judge begins.
fn critical_path(books: &Books) -> (f64, f64) {
    let mut agents: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for entry in &books.entries {
        #[expect(clippy::cast_precision_loss, reason = "some hundreds of tokens")]
        let seconds = FIRST_BYTE.as_secs_f64() + entry.usage.output as f64 / TOKENS_PER_SECOND;
        agents.entry(&entry.agent).or_default().push(seconds);
    }
    let coordinator = agents.remove(COORDINATOR).unwrap_or_default();
    let slowest = agents
        .values()
        .map(|turns| turns.iter().sum::<f64>())
        .fold(0.0, f64::max);
    assert_eq!(agents.len(), 7, "all seven reviewers were asked");
    for (agent, turns) in &agents {
        assert!(turns.len() >= 3, "{agent} took {} turns", turns.len());
    }
    (slowest, coordinator.iter().sum())
}

/// Seconds of processor time of the main thread of OpenCode, the child of this process: what it cannot do on two cores at once.
fn runtime_used(pid: u32) -> Option<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> = children
        .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let runtime = children.iter().find(|child| {
        let command = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        command.contains("opencode") && command.contains("serve")
    })?;
    let stat = std::fs::read_to_string(format!("/proc/{runtime}/task/{runtime}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// What a run is measured by, and whether each bar holds.
struct Measured {
    result: Value,
    bars: Vec<(&'static str, bool)>,
}

/// Two decimals are all that a run says.
fn rounded(seconds: f64) -> f64 {
    (seconds * 100.0).round() / 100.0
}

/// Reviewers are given these few patches with their message; each of these also reads the code around, twice, before it reports.
const REVIEWERS: [&str; 7] = [
    "security",
    "correctness",
    "code_quality",
    "performance",
    "documentation",
    "release",
    "agents_md",
];

/// Makes every reviewer take three turns.
fn thorough(provider: &ScriptedProvider) {
    for reviewer in REVIEWERS {
        let looks = |pattern: &str| {
            Answer::call("grep", json!({"pattern": pattern})).and_call("read", json!({"filePath": "auth/session.py"}))
        };
        provider.set(reviewer, 1, looks("renew"));
        provider.set(reviewer, 2, looks("token"));
    }
}

/// A job with OpenCode as people run it; tests tell it that it will be brief.
fn job(pipeline: &Pipeline, repository: &Repository, provider: &ScriptedProvider) -> Conclave {
    let job = pipeline.job(repository, &[]).anthropic(provider);
    job.env("CONCLAVE_OPENCODE", opencode())
}

async fn whole_run() -> Measured {
    let (provider, repository) = (provider().await, large());
    thorough(&provider);
    let pipeline = Pipeline::new(&repository).await;
    provider.inject(Fault::slow(FIRST_BYTE, TOKENS_PER_SECOND));
    let last = Arc::new(Mutex::new((0.0, 0)));
    let posted = Arc::new(Mutex::new(None));
    let runtime = Arc::new(Mutex::new(None::<f64>));
    let started = Instant::now();
    let watching = async |pid| {
        while let Some(now) = used(pid) {
            *last.lock().unwrap() = now;
            // What OpenCode needs until it asks a model for the first time: nothing of ours can be quicker than that.
            if !provider.requests().is_empty() {
                let used = || runtime_used(pid).unwrap_or_default();
                runtime.lock().unwrap().get_or_insert_with(used);
            }
            if !pipeline.notes().is_empty() {
                posted
                    .lock()
                    .unwrap()
                    .get_or_insert_with(|| started.elapsed().as_secs_f64());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let job = job(&pipeline, &repository, &provider);
    let outcome = job.run_while(watching).await.expect_code(0);
    let wall = started.elapsed().as_secs_f64();
    let books = provider.books();
    let (panel, judging) = critical_path(&books);
    let mut asked: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for request in provider.requests() {
        let at = rounded((request.received - started).as_secs_f64());
        asked.entry(request.agent).or_default().push(at);
    }
    let path = panel + judging;
    let (processor, memory) = *last.lock().unwrap();
    let posted = posted.lock().unwrap().expect("the review was posted");
    let runtime = *runtime.lock().unwrap();
    let stages = outcome.review()["stages"].clone();
    Measured {
        result: json!({
            "wall_seconds": rounded(wall),
            "critical_path_seconds": {"panel": rounded(panel), "judging": rounded(judging), "both": rounded(path)},
            "overhead_seconds": rounded(wall - path),
            "overhead_seconds_at_most": MAX_OVERHEAD,
            "opencode_main_thread_seconds_until_first_request": runtime.map(rounded),
            "overhead_seconds_beyond_that": runtime.map(|runtime| rounded(wall - path - runtime)),
            "first_posted_byte_seconds": rounded(posted),
            "model_calls": books.entries.len(),
            "processor_seconds": rounded(processor),
            "processor_seconds_at_most": MAX_PROCESSOR,
            "peak_memory_mb": memory,
            "peak_memory_mb_at_most": MAX_MEMORY,
            "stages": stages,
            "asked_at_seconds": asked,
        }),
        bars: vec![
            ("wall time beyond the models", wall - path <= MAX_OVERHEAD),
            ("processor time", processor <= MAX_PROCESSOR),
            ("memory", memory <= MAX_MEMORY),
        ],
    }
}

async fn cancelled() -> Measured {
    let (provider, repository) = (provider().await, large());
    let pipeline = Pipeline::new(&repository).await;
    provider.inject(Fault::hang());
    let (mut child, home) = job(&pipeline, &repository, &provider).start();
    assert!(
        provider.wait_for_requests(7, Duration::from_mins(2)).await,
        "all are at work"
    );
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    let sent = Instant::now();
    kill(pid, Signal::SIGTERM).unwrap();
    while pipeline.notes().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let posted = sent.elapsed().as_secs_f64();
    child.wait().await.unwrap();
    nothing_left_running(&home.path().join("run")).await;
    let over = sent.elapsed().as_secs_f64();
    Measured {
        result: json!({
            "posted_after_seconds": rounded(posted),
            "nothing_left_after_seconds": rounded(over),
            "nothing_left_after_seconds_at_most": MAX_END,
        }),
        bars: vec![("end after SIGTERM", over <= MAX_END)],
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let (run, stop) = (whole_run().await, cancelled().await);
    let bars = [run.bars, stop.bars].concat();
    let result = json!({
        "models": {"first_byte_ms": FIRST_BYTE.as_millis(), "tokens_per_second": TOKENS_PER_SECOND},
        "run": run.result,
        "sigterm": stop.result,
        "bars": bars.iter().map(|(name, held)| json!({"bar": name, "held": held})).collect::<Vec<_>>(),
    });
    println!("{result:#}");
    if bars.iter().all(|(_, held)| *held) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
