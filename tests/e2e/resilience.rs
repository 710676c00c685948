//! Broken and switched-off models with a whole panel at work: circuit open, tried once, left at once.

use std::{process::Output, time::Duration};

use conclave_scripted_provider::{DemoModel, Fault, ScriptedProvider};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Child, time::Instant};

use crate::support::{Conclave, PROVIDER_KEY, Repository, Workers, provider};

on_both_runtimes! {
    a_model_that_is_down_is_asked_a_few_times_by_all_seven_together
    a_broken_provider_is_left_for_the_next_one
    a_model_that_comes_back_is_tried_once_and_used_again
    a_flipped_switch_moves_a_running_panel_and_the_provider_gets_nothing_more
    a_spent_budget_ends_in_a_partial_review_and_never_in_a_dead_gate
    with_four_fifths_of_it_gone_an_optional_reviewer_does_not_start
    a_provider_that_nobody_reaches_is_not_waited_for
}

const PRIMARY: &str = "claude-sonnet-5";
const STAND_IN: &str = "claude-sonnet-4-6";

/// Longer than any of these runs; who waits so long waits in vain.
const LONGEST: Duration = Duration::from_mins(3);

/// A repository whose branch gets the whole panel, all seven reviewers.
fn repository() -> Repository {
    let repository = Repository::flawed();
    repository.write("src/auth/session.py", "def check(token):\n    return token == 'x'\n");
    repository.write("migrations/0001.sql", "ALTER TABLE users ADD COLUMN age INTEGER;\n");
    repository.commit("Check sessions");
    repository
}

/// A document in which all seven reviewers prefer the same model.
fn document(limits: &Value) -> Value {
    let names = [
        "security",
        "correctness",
        "performance",
        "code_quality",
        "documentation",
        "agents_md",
        "release",
    ];
    let models = json!({"models": [format!("anthropic/{PRIMARY}"), "openai/gpt-5.3-codex"]});
    let reviewers: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), models.clone())).collect();
    json!({"schema_version": 1, "reviewers": reviewers, "limits": limits})
}

fn job(repository: &Repository, workers: &Workers) -> Conclave {
    Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
        .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
}

/// The bodies of the events of a kind that the tracker has.
async fn told(workers: &mut Workers, kind: &str) -> Vec<Value> {
    let query = format!("SELECT body FROM events WHERE kind = '{kind}' ORDER BY id");
    let rows = workers.rows(&query, |rows| !rows.is_empty()).await;
    let body = |row: &Value| serde_json::from_str(row["body"].as_str().unwrap()).unwrap();
    rows.iter().map(body).collect()
}

/// A provider whose answers take this long, so that something can happen between two of a session.
async fn slow_provider(delay: Duration) -> ScriptedProvider {
    ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new())
        .delay(delay)
        .start()
        .await
        .expect("a provider")
}

fn count(provider: &ScriptedProvider, model: &str) -> usize {
    provider
        .requests()
        .iter()
        .filter(|request| request.model == model)
        .count()
}

async fn until(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(LONGEST, waiting).await.is_ok(),
        "{what} never happened"
    );
}

/// The end of a run that was started.
async fn ended(child: Child, home: &TempDir) -> (Output, Value) {
    let output = tokio::time::timeout(LONGEST, child.wait_with_output())
        .await
        .expect("it ends")
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let review = std::fs::read_to_string(home.path().join("run/review.json")).expect("a review");
    (output, serde_json::from_str(&review).unwrap())
}

/// All reviewers have answered; there were seven.
fn assert_complete(review: &Value) {
    let reviewers = review["reviewers"].as_array().unwrap();
    assert_eq!(reviewers.len(), 7, "{review:#}");
    for report in reviewers {
        assert_eq!(report["outcome"], "ok", "{report:#}");
    }
    assert_eq!(review["coverage"]["gaps"], json!([]), "{review:#}");
}

async fn a_model_that_is_down_is_asked_a_few_times_by_all_seven_together() {
    let (provider, repository, mut workers) = (provider().await, repository(), Workers::start().await);
    workers
        .command(&format!("kv put config/document {}", document(&json!({}))))
        .await;
    provider.inject(Fault::status(529).model(PRIMARY));
    let outcome = job(&repository, &workers)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_complete(&outcome.review());
    // The fifth failure opens the circuit; what was under way by then comes on top, and nothing after it.
    let asked = count(&provider, PRIMARY);
    assert!((5..=11).contains(&asked), "{asked} calls of the broken model");
    for part in [
        "anthropic/claude-sonnet-5: circuit open for 120 s (5 calls in a row failed)",
        "anthropic/claude-sonnet-4-6 stands in for anthropic/claude-sonnet-5",
    ] {
        assert!(outcome.stderr.contains(part), "{part}:\n{}", outcome.stderr);
    }
    for part in [
        "circuit open for 120 s",
        "anthropic/claude-sonnet-4-6 stood in for anthropic/claude-sonnet-5",
    ] {
        assert!(outcome.stdout.contains(part), "{part}:\n{}", outcome.stdout);
    }
    assert!(outcome.models().contains(&format!("anthropic/{STAND_IN}")));
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    let circuits = told(&mut workers, "circuit_changed").await;
    assert_eq!(
        circuits[0],
        json!({"type": "circuit_changed", "model": format!("anthropic/{PRIMARY}"), "state": "open"})
    );
    let failbacks = told(&mut workers, "failback").await;
    for failback in &failbacks {
        assert_eq!(failback["from"], format!("anthropic/{PRIMARY}"));
        assert_eq!(failback["to"], format!("anthropic/{STAND_IN}"));
    }
    let reasons: Vec<&str> = failbacks.iter().filter_map(|event| event["reason"].as_str()).collect();
    assert!(reasons.contains(&"circuit_open"), "{reasons:?}");
}

async fn a_broken_provider_is_left_for_the_next_one() {
    let (broken, healthy, repository) = (provider().await, provider().await, Repository::flawed());
    broken.inject(Fault::status(503));
    let outcome = Conclave::new(repository.path(), &["local", "main..feature", "--strict"])
        .anthropic(&broken)
        .openai(&healthy)
        .run()
        .await
        .expect_code(0);
    assert!(
        outcome.models().iter().all(|model| model.starts_with("openai/")),
        "{:?}",
        outcome.models()
    );
    assert!(outcome.stderr.contains("going on with openai/"), "{}", outcome.stderr);
    // What answered nothing has no usage: only the moves name it.
    let review = outcome.review();
    let reports = review["reviewers"].as_array().unwrap().iter();
    let coordinator = [&review["coordinator"]];
    for report in reports
        .chain(coordinator)
        .filter(|report| report["models"] != json!([]))
    {
        let moved = &report["moves"][0];
        let model = |key: &str| moved[key].as_str().unwrap_or_else(|| panic!("{report:#}"));
        assert!(model("from").starts_with("anthropic/"), "{report:#}");
        assert!(model("to").starts_with("openai/"), "{report:#}");
    }
    let note = outcome.record("review.md");
    let mut moves = note.lines().filter(|line| line.contains("` stood in for `anthropic/"));
    assert!(moves.any(|line| line.contains("coordinator: `openai/")), "{note}");
}

async fn a_model_that_comes_back_is_tried_once_and_used_again() {
    let (repository, mut workers) = (repository(), Workers::start().await);
    // The first reviewers take longer than the circuit stays open: those that begin after them find it ready to be tried.
    let provider = slow_provider(Duration::from_millis(1200)).await;
    let limits = json!({"breaker": {"open_seconds": 1}});
    workers
        .command(&format!("kv put config/document {}", document(&limits)))
        .await;
    provider.inject(Fault::status(529).model(PRIMARY));
    let (child, home) = job(&repository, &workers)
        .env("CONCLAVE_AGENTS", "4")
        .anthropic(&provider)
        .start();
    until("the circuit opened", || {
        count(&provider, PRIMARY) >= 5 && count(&provider, STAND_IN) >= 1
    })
    .await;
    let before = count(&provider, PRIMARY);
    provider.heal();
    let (output, review) = ended(child, &home).await;
    assert_complete(&review);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The log says the same beside the account.
    let said = |text: &str| stderr.matches(&format!("! anthropic/{text}")).count();
    assert_eq!(said("claude-sonnet-5: circuit open for 1 s"), 1, "{stderr}");
    assert_eq!(said("claude-sonnet-5: tried with one call"), 1, "{stderr}");
    assert_eq!(said("claude-sonnet-5: in use again"), 1, "{stderr}");
    assert!(count(&provider, PRIMARY) > before);
}

async fn a_flipped_switch_moves_a_running_panel_and_the_provider_gets_nothing_more() {
    let (repository, mut workers) = (repository(), Workers::start().await);
    // Too much to stand in the prompt: the reviewers have to open it, and so ask more than once.
    let rates: Vec<String> = (0..1200)
        .map(|number| format!("RATE_{number} = {number} * base"))
        .collect();
    repository.write("src/rates.py", &rates.join("\n"));
    repository.commit("Rates");
    let anthropic = slow_provider(Duration::from_millis(2500)).await;
    let openai = slow_provider(Duration::from_millis(2500)).await;
    workers
        .command(&format!("kv put config/document {}", document(&json!({}))))
        .await;
    let (child, home) = job(&repository, &workers).anthropic(&anthropic).openai(&openai).start();
    // Seven reviewers are in the middle of their work.
    until("everybody is at work", || anthropic.requests().len() >= 7).await;
    workers
        .command(r#"kv put provider/anthropic {"enabled":false,"reason":"incident 7"}"#)
        .await;
    let flipped = Instant::now();
    until("somebody asked the other provider", || !openai.requests().is_empty()).await;
    let moved = flipped.elapsed();
    // This is the bar itself: five seconds after the flip nothing more may come.
    tokio::time::sleep_until(flipped + Duration::from_secs(5)).await;
    let asked = anthropic.requests().len();
    let (output, review) = ended(child, &home).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        anthropic.requests().len(),
        asked,
        "a request after the flip + 5 s\n{stderr}"
    );
    // Three to four seconds on a machine that has nothing else to do; three times the bar on one that has.
    assert!(moved <= Duration::from_secs(15), "moved after {moved:?}\n{stderr}");
    assert_complete(&review);
    assert!(
        stderr.contains("anthropic was switched off during the review: incident 7"),
        "{stderr}"
    );
    for report in review["reviewers"].as_array().unwrap() {
        let last = report["models"].as_array().unwrap().last().unwrap().as_str().unwrap();
        assert!(last.starts_with("openai/"), "{report:#}");
    }
    assert_ne!(review["verdict"], "inconclusive", "{review:#}");
}

async fn a_spent_budget_ends_in_a_partial_review_and_never_in_a_dead_gate() {
    let (provider, repository) = (provider().await, repository());
    let outcome = Conclave::new(repository.path(), &["local", "main..feature", "--max-calls", "6"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(provider.requests().len(), 6, "not one more");
    let partial = review["partial"].as_str().expect("it says so");
    assert!(
        partial.starts_with("all of the budget of 6 model calls for the run is spent, without "),
        "{partial}"
    );
    assert!(
        review["verdict"] != "approved" && review["verdict"] != "approved_with_comments",
        "{review:#}"
    );
    assert!(outcome.record("review.md").contains("**Partial:** all of the budget"));
    assert!(outcome.stdout.to_lowercase().contains("partial"), "{}", outcome.stdout);
}

async fn with_four_fifths_of_it_gone_an_optional_reviewer_does_not_start() {
    let (provider, repository) = (provider().await, repository());
    // One after the other: when the optional ones' turn comes, the required ones have used nearly everything.
    let alone = ["local", "main..feature", "--agents", "1"];
    let whole = Conclave::new(repository.path(), &alone)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let calls: u64 = whole.review()["reviewers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|report| report["required"] == true)
        .flat_map(|report| report["usage"].as_array().unwrap().clone())
        .map(|usage| usage["calls"].as_u64().unwrap())
        .sum();
    let coordinator: u64 = whole.review()["coordinator"]["usage"][0]["calls"].as_u64().unwrap();
    let budget = ((calls + coordinator) * 5 / 4).to_string();
    let outcome = Conclave::new(
        repository.path(),
        &["local", "main..feature", "--agents", "1", "--max-calls", &budget],
    )
    .anthropic(&provider)
    .run()
    .await
    .expect_code(0);
    let review = outcome.review();
    let reports = review["reviewers"].as_array().unwrap();
    let required = reports.iter().filter(|report| report["required"] == true);
    assert!(
        required.clone().count() >= 4 && required.clone().all(|report| report["outcome"] == "ok"),
        "{review:#}"
    );
    let skipped: Vec<&Value> = reports.iter().filter(|report| report["outcome"] == "skipped").collect();
    assert!(!skipped.is_empty(), "{review:#}");
    for report in skipped {
        assert_eq!(report["required"], false);
        let reason = report["reason"].as_str().unwrap();
        assert!(reason.starts_with("not started: "), "{reason}");
    }
    assert!(
        review["partial"]
            .as_str()
            .expect("it says so")
            .contains("of the budget of"),
        "{review:#}"
    );
}

/// Its circuits open as usual; but a model that was never there is not tried again after minutes.
async fn a_provider_that_nobody_reaches_is_not_waited_for() {
    let repository = Repository::flawed();
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .env("ANTHROPIC_API_KEY", PROVIDER_KEY)
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "inconclusive");
    let told = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "no connection to the provider anthropic can be made";
    assert_eq!(told.matches(said).count(), 1, "{told}");
    assert!(told.contains("stands in for"), "every model has its attempts: {told}");
    assert!(!told.contains("tried with one call"), "{told}");
}
