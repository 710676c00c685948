//! How long a flipped switch takes to move a running panel.
//!
//! Part of `scripts/bench config`. Each flip has a run of its own: seven reviewers in the middle of their work on the
//! scripted provider, the Worker in `workerd`. Half of the flips are a `PUT` of the API, half are written to KV by hand. Counted
//! is the time from the answer to that until the first request on the other provider, and how many requests the disabled
//! one still gets later than five seconds. `CONCLAVE_BENCH_FLIPS` says how many flips (100). Prints JSON; fails if a bar of
//! it is missed.

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
    process::ExitCode,
    time::{Duration, Instant},
};

use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use support::{Conclave, PROVIDER_KEY, Repository, Workers, opencode};

const BAR: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_mins(2);
/// Time that the provider thinks, so that a flip meets everybody in the middle of an answer.
const ANSWER: Duration = Duration::from_millis(2500);

fn repository() -> Repository {
    let repository = Repository::flawed();
    repository.write("src/auth/session.py", "def check(token):\n    return token == 'x'\n");
    repository.write("migrations/0001.sql", "ALTER TABLE users ADD COLUMN age INTEGER;\n");
    repository.commit("Check sessions");
    repository
}

async fn slow() -> ScriptedProvider {
    let provider = ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new());
    provider.delay(ANSWER).start().await.expect("a provider")
}

async fn until(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(
        tokio::time::timeout(LONGEST, waiting).await.is_ok(),
        "{what} never happened"
    );
}

async fn api(workers: &Workers, enabled: bool) {
    let response = reqwest::Client::new()
        .put(format!("{}/v1/providers/anthropic", workers.config_url))
        .bearer_auth(Workers::ADMIN_TOKEN)
        .json(&json!({"enabled": enabled, "reason": "bench"}))
        .send()
        .await
        .expect("the Worker answers");
    assert!(response.status().is_success(), "{}", response.status());
}

/// One run with one flip: the time until somebody asked the other provider, and requests on the disabled one after the bar.
async fn flip(repository: &Repository, workers: &mut Workers, by_hand: bool) -> (Duration, usize) {
    let (anthropic, openai) = (slow().await, slow().await);
    let (mut child, _home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_OPENCODE", opencode())
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
        .anthropic(&anthropic)
        .openai(&openai)
        .start();
    until("everybody is at work", || anthropic.requests().len() >= 8).await;
    if by_hand {
        let put = r#"kv put provider/anthropic {"enabled":false,"reason":"bench"}"#;
        workers.command(put).await;
    } else {
        api(workers, false).await;
    }
    let flipped = Instant::now();
    until("somebody asked the other provider", || !openai.requests().is_empty()).await;
    let moved = flipped.elapsed();
    tokio::time::sleep_until((flipped + BAR).into()).await;
    let asked = anthropic.requests().len();
    // Whoever still asked would do so within two of the provider's answers.
    tokio::time::sleep(ANSWER * 2).await;
    let late = anthropic.requests().len() - asked;
    let pid = Pid::from_raw(i32::try_from(child.id().expect("it runs")).expect("a process id"));
    let _ = kill(pid, Signal::SIGTERM);
    tokio::time::timeout(LONGEST, child.wait())
        .await
        .expect("it ends")
        .expect("it was waited for");
    if by_hand {
        workers.command("kv delete provider/anthropic").await;
    } else {
        api(workers, true).await;
    }
    tokio::time::timeout(LONGEST, in_use_again(workers))
        .await
        .expect("the provider is in use again");
    (moved, late)
}

/// The Worker answers from its memory for a second: a run that begins in it would not use the provider at all.
async fn in_use_again(workers: &Workers) {
    let client = reqwest::Client::new();
    loop {
        let config = client
            .get(format!("{}/v1/config", workers.config_url))
            .bearer_auth(Workers::READER_TOKEN);
        let answer = config.send().await.expect("the Worker answers");
        let answer: serde_json::Value = answer.json().await.expect("JSON");
        if answer["config"]["providers"]["anthropic"]["enabled"] != false {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let flips: usize = std::env::var("CONCLAVE_BENCH_FLIPS")
        .ok()
        .and_then(|flips| flips.parse().ok())
        .unwrap_or(100);
    let repository = repository();
    let mut held = true;
    let mut ways = serde_json::Map::new();
    for (name, by_hand) in [("put", false), ("kv", true)] {
        // Each way has a Worker of its own: what was written through the API is the later word for a minute.
        let mut workers = Workers::start().await;
        let mut times = Vec::new();
        let mut late = 0;
        for _ in 0..flips.div_ceil(2) {
            let (moved, more) = flip(&repository, &mut workers, by_hand).await;
            times.push(moved);
            late += more;
        }
        times.sort();
        let within = times.iter().filter(|time| **time <= BAR).count();
        held &= within == times.len() && late == 0;
        let ms = |time: Option<&Duration>| time.map(Duration::as_millis);
        ways.insert(
            name.to_owned(),
            json!({"flips": times.len(), "within_5_s": within, "median_ms": ms(times.get(times.len() / 2)),
                "worst_ms": ms(times.last()), "late_requests": late}),
        );
    }
    println!(
        "{:#}",
        json!({"bench": "config flips", "reviewers": 7, "ways": ways, "held": held})
    );
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
