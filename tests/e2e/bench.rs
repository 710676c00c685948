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

#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the tests need more of it than this does"
)]
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
use support::{AgentRuntime, Conclave, Pipeline, Repository, nothing_left_running, on, opencode, provider, used};

const FIRST_BYTE: Duration = Duration::from_millis(300);
const TOKENS_PER_SECOND: f64 = 40.0;

/// The bars of a run. On OpenCode they are about conclave itself, on the native runtime about the whole process tree.
struct Bars {
    /// Seconds beyond the critical path of the models.
    overhead: f64,
    /// Seconds of processor time.
    processor: f64,
    /// Megabytes at the peak.
    memory: u64,
    /// Seconds from the start to the first request to a model.
    first_request: Option<f64>,
}

impl AgentRuntime {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenCode => "opencode",
            Self::Native => "native",
        }
    }

    const fn bars(self) -> Bars {
        match self {
            Self::OpenCode => Bars {
                overhead: 3.0,
                processor: 1.0,
                memory: 40,
                first_request: None,
            },
            Self::Native => Bars {
                overhead: 0.5,
                processor: 1.0,
                memory: 60,
                first_request: Some(0.3),
            },
        }
    }
}

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

/// The use of a process and all below it: seconds of processor time, with what has ended, and MB of memory at this moment.
fn used_by_all(pid: u32) -> (f64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // Its own, and that of children that it has waited for.
    let ticks: f64 = (11..15)
        .filter_map(|field| fields.get(field)?.parse::<f64>().ok())
        .sum();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes: u64 = resident
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|child| child.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    children
        .into_iter()
        .map(used_by_all)
        .fold((ticks / 100.0, kilobytes / 1024), |sum, below| {
            (sum.0 + below.0, sum.1 + below.1)
        })
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
    match AgentRuntime::current() {
        AgentRuntime::OpenCode => job.env("CONCLAVE_OPENCODE", opencode()),
        AgentRuntime::Native => job,
    }
}

async fn whole_run() -> Measured {
    let bars = AgentRuntime::current().bars();
    let (provider, repository) = (provider().await, large());
    thorough(&provider);
    let pipeline = Pipeline::new(&repository).await;
    provider.inject(Fault::slow(FIRST_BYTE, TOKENS_PER_SECOND));
    let last = Arc::new(Mutex::new((0.0, 0)));
    let tree = Arc::new(Mutex::new((0.0_f64, 0_u64)));
    let posted = Arc::new(Mutex::new(None));
    let runtime = Arc::new(Mutex::new(None::<f64>));
    let started = Instant::now();
    let watching = async |pid| {
        while let Some(now) = used(pid) {
            *last.lock().unwrap() = now;
            let all = used_by_all(pid);
            {
                let mut tree = tree.lock().unwrap();
                *tree = (tree.0.max(all.0), tree.1.max(all.1));
            }
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
    let (own, whole) = (*last.lock().unwrap(), *tree.lock().unwrap());
    let (processor, memory) = match AgentRuntime::current() {
        AgentRuntime::OpenCode => own,
        AgentRuntime::Native => whole,
    };
    let first = asked.values().flatten().copied().fold(f64::INFINITY, f64::min);
    let total = books.totals().values().fold([0; 2], |[all, read], totals| {
        let usage = &totals.usage;
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        [all + prompt + usage.output, read + usage.cache_read]
    });
    assert!(!pipeline.notes().is_empty(), "the review was posted");
    // A run may end in the moment after it.
    let posted = posted.lock().unwrap().unwrap_or(wall);
    let runtime = *runtime.lock().unwrap();
    let stages = outcome.review()["stages"].clone();
    Measured {
        result: json!({
            "runtime": AgentRuntime::current().name(),
            "wall_seconds": rounded(wall),
            "critical_path_seconds": {"panel": rounded(panel), "judging": rounded(judging), "both": rounded(path)},
            "overhead_seconds": rounded(wall - path),
            "overhead_seconds_at_most": bars.overhead,
            "first_request_seconds": first,
            "first_request_seconds_at_most": bars.first_request,
            "tokens": {"all": total[0], "cache_read": total[1]},
            "tree": {"processor_seconds": rounded(whole.0), "peak_memory_mb": whole.1},
            "opencode_main_thread_seconds_until_first_request": runtime.map(rounded),
            "overhead_seconds_beyond_that": runtime.map(|runtime| rounded(wall - path - runtime)),
            "first_posted_byte_seconds": rounded(posted),
            "model_calls": books.entries.len(),
            "processor_seconds": rounded(processor),
            "processor_seconds_at_most": bars.processor,
            "peak_memory_mb": memory,
            "peak_memory_mb_at_most": bars.memory,
            "stages": stages,
            "asked_at_seconds": asked,
        }),
        bars: vec![
            ("wall time beyond the models", wall - path <= bars.overhead),
            ("processor time", processor <= bars.processor),
            ("memory", memory <= bars.memory),
            (
                "the first request to a model",
                bars.first_request.is_none_or(|most| first <= most),
            ),
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

/// The runtimes that are measured, one after the other: `--runtime opencode`, `native` or `both`, the default.
fn runtimes() -> Vec<AgentRuntime> {
    let arguments: Vec<String> = std::env::args().collect();
    let named = arguments.iter().position(|argument| argument == "--runtime");
    match named.and_then(|at| arguments.get(at + 1)).map(String::as_str) {
        Some("opencode") => vec![AgentRuntime::OpenCode],
        Some("native") => vec![AgentRuntime::Native],
        None | Some("both") => vec![AgentRuntime::OpenCode, AgentRuntime::Native],
        Some(other) => panic!("--runtime {other}: give opencode, native or both"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (mut results, mut bars) = (Vec::new(), Vec::new());
    for runtime in runtimes() {
        on(runtime, async {
            let (run, stop) = (whole_run().await, cancelled().await);
            let of_runtime = [run.bars, stop.bars].concat();
            bars.extend(of_runtime.into_iter().map(|(name, held)| (runtime.name(), name, held)));
            results.push(json!({"runtime": runtime.name(), "run": run.result, "sigterm": stop.result}));
        })
        .await;
    }
    let held = |(runtime, name, held): &(&str, &str, bool)| json!({"runtime": runtime, "bar": name, "held": held});
    let result = json!({
        "models": {"first_byte_ms": FIRST_BYTE.as_millis(), "tokens_per_second": TOKENS_PER_SECOND},
        "runs": results,
        "bars": bars.iter().map(held).collect::<Vec<_>>(),
    });
    println!("{result:#}");
    if bars.iter().all(|(_, _, held)| *held) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
