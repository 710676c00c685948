//! What goes to the model providers: formats, caches, prices, recordings.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use conclave_scripted_provider::Usage;
use serde_json::Value;

use crate::support::{Conclave, PROVIDER_KEY, Repository, Workers, played, plays_every_case, provider};

on_both_runtimes! {
    seven_reviewers_read_what_they_share_from_the_cache_and_the_review_says_how_much
    openai_is_reviewed_with_through_responses
    a_recorded_review_runs_again_without_provider_and_without_key
    the_document_decides_the_models_and_one_without_a_price_is_named_in_the_review
    any_endpoint_that_speaks_a_known_format_reviews_and_its_cost_is_unknown
}

/// A repository whose branch brings the whole panel of seven.
fn whole_panel() -> Repository {
    let repository = Repository::flawed();
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.write("db/migrations/0001_users.sql", "CREATE TABLE users (name TEXT);\n");
    // Enough of a change that the panel's common part outweighs each one's own.
    let rows: Vec<String> = (0..400).map(|row| format!("VALUE_{row} = compute({row})\n")).collect();
    repository.write("src/tables.py", &rows.concat());
    repository.commit("Renew sessions");
    repository
}

/// The sum of one kind of tokens over all sessions.
fn sum(review: &Value, kind: &str) -> u64 {
    let reviewers = review["reviewers"].as_array().unwrap().iter();
    let reports = reviewers.chain([&review["coordinator"]]);
    reports
        .flat_map(|report| report["usage"].as_array().unwrap())
        .map(|usage| usage["tokens"][kind].as_u64().unwrap())
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a test")]
fn rate(read: u64, prompt: u64) -> f64 {
    read as f64 / prompt as f64
}

async fn seven_reviewers_read_what_they_share_from_the_cache_and_the_review_says_how_much() {
    let (provider, repository) = (provider().await, whole_panel());
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let review = outcome.review();
    assert_eq!(
        review["reviewers"].as_array().unwrap().len(),
        7,
        "{}",
        review["reviewers"]
    );
    assert_eq!(provider.violations(), []);

    // First messages only: in later turns every session reads its own history.
    let books = provider.books();
    for (model, reviewers) in [("claude-sonnet-5", 4), ("claude-haiku-4-5", 3)] {
        let entries = books
            .entries
            .iter()
            .filter(|entry| entry.turn == 1 && entry.model == model);
        let first: Vec<_> = entries
            .filter(|entry| entry.agent != "coordinator")
            .map(|entry| entry.usage)
            .collect();
        assert_eq!(first.len(), reviewers, "{model}");
        let (readers, writers): (Vec<Usage>, Vec<Usage>) = first.iter().partition(|usage| usage.cache_read > 0);
        assert_eq!(writers.len(), 1, "{model}: one fills the cache: {first:?}");
        let shared = readers[0].cache_read;
        assert!(
            readers.iter().all(|usage| usage.cache_read == shared),
            "{model}: {first:?}"
        );
        // All that they share: what is left is the role.
        assert!(
            readers.iter().all(|usage| usage.cache_read > usage.prompt() / 2),
            "{model}: {first:?}"
        );
    }

    // What the review says is what the provider counted.
    let told = review["cache_hit_rate"].as_f64().unwrap();
    let prompt = sum(&review, "input") + sum(&review, "cache_read") + sum(&review, "cache_write");
    assert!((told - rate(sum(&review, "cache_read"), prompt)).abs() < 1e-9);
    let totals = books.totals();
    let (read, all) = totals.values().fold((0, 0), |(read, all), model| {
        (read + model.usage.cache_read, all + model.usage.prompt())
    });
    assert!((told - rate(read, all)).abs() < 1e-9, "{told} is not {read} of {all}");
    assert!(told > 0.5, "{told}");
    let line = format!("cache hit rate {:.0} %", told * 100.0);
    assert!(outcome.stdout.contains(&line), "{line}: {}", outcome.stdout);
    assert!(outcome.record("review.md").contains(&line));
}

async fn openai_is_reviewed_with_through_responses() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .openai(&provider)
        .env("CONCLAVE_OPENAI_API", "responses")
        .run()
        .await
        .expect_code(0);
    assert!(outcome.models().iter().all(|model| model.starts_with("openai/")));
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    let requests = provider.requests();
    assert!(requests.iter().all(|request| request.path.ends_with("/responses")));
    for request in &requests {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["store"], false, "nothing stays at the provider");
        let key = body["prompt_cache_key"].as_str().unwrap();
        assert!(!key.starts_with("ses_"), "{key}");
    }
    assert_eq!(provider.violations(), []);
    let review = outcome.review();
    let totals = provider.books().totals();
    let booked = |pick: fn(&Usage) -> u64| -> u64 { totals.values().map(|model| pick(&model.usage)).sum() };
    assert_eq!(sum(&review, "input"), booked(|usage| usage.input));
    assert_eq!(sum(&review, "cache_read"), booked(|usage| usage.cache_read));
    let output = sum(&review, "output") + sum(&review, "reasoning");
    assert_eq!(output, booked(|usage| usage.output));
}

/// A proxy that nobody may use; it counts who tries.
fn forbidden_proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let tried = Arc::clone(&count);
    std::thread::spawn(move || {
        for _connection in listener.incoming() {
            tried.fetch_add(1, Ordering::SeqCst);
        }
    });
    (url, count)
}

async fn a_recorded_review_runs_again_without_provider_and_without_key() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let recordings = tempfile::tempdir().unwrap();
    let recorded = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_RECORD", recordings.path())
        .run()
        .await
        .expect_code(0);
    let file = recordings.path().join("model-calls.jsonl");
    let calls = std::fs::read_to_string(&file).unwrap();
    assert!(!calls.contains(PROVIDER_KEY), "the key is in the recording");
    assert_eq!(calls.matches("{\"call\":{").count(), provider.requests().len());
    drop(provider);

    let (proxy, tried) = forbidden_proxy();
    let again = Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_REPLAY_MODELS", &file)
        .env("HTTPS_PROXY", &proxy)
        .env("HTTP_PROXY", &proxy)
        .run()
        .await
        .expect_code(0);
    assert_eq!(tried.load(Ordering::SeqCst), 0, "no call left this machine");
    let (before, after) = (recorded.review(), again.review());
    for same in ["verdict", "findings", "summary", "cost_usd", "cache_hit_rate"] {
        assert_eq!(before[same], after[same], "{same}");
    }
    for kind in ["input", "output", "cache_read", "cache_write"] {
        assert_eq!(sum(&before, kind), sum(&after, kind), "{kind}");
    }
    assert!(!recorded.categories().is_empty());

    // Another change is another run: it is not answered with what was said about the recorded one, on whichever runtime.
    if !plays_every_case() {
        return;
    }
    repository.write(
        "src/users.py",
        "import os\n\n\ndef list_home():\n    os.system('ls ~')\n",
    );
    repository.commit("List the home directory");
    let other = Conclave::new(repository.path(), &["local", "main..feature", "--strict"])
        .env("CONCLAVE_REPLAY_MODELS", &file)
        .run()
        .await
        .expect_code(4);
    assert_eq!(other.review()["verdict"], "inconclusive");
    assert!(other.stdout.contains("not in the recording"), "{}", other.stdout);
    assert!(other.stdout.contains("in place of"), "{}", other.stdout);
}

async fn the_document_decides_the_models_and_one_without_a_price_is_named_in_the_review() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workers = Workers::config().await;
    workers
        .command(
            r#"kv put config/document {"schema_version":1,"reviewers":{"generalist":{"models":["anthropic/a-model-of-our-own"]}}}"#,
        )
        .await;
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
        .run()
        .await
        .expect_code(0);
    assert!(
        outcome
            .stdout
            .contains("no price is known for anthropic/a-model-of-our-own"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.models().contains(&"anthropic/a-model-of-our-own".to_owned()));
}

async fn any_endpoint_that_speaks_a_known_format_reviews_and_its_cost_is_unknown() {
    let repository = Repository::flawed();
    // On OpenCode every format is played by `wire_faults`.
    for (api, path) in played([
        ("chat", "/chat/completions"),
        ("responses", "/responses"),
        ("anthropic", "/messages"),
    ]) {
        let provider = provider().await;
        let own = |arguments: &[&str]| {
            Conclave::new(repository.path(), arguments)
                .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
                .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
                .env("CONCLAVE_COMPATIBLE_API", api)
                .env("CONCLAVE_MODELS", "compatible/group/model-of-ours:30b")
        };
        let outcome = own(&["local", "main..feature"]).run().await.expect_code(0);
        assert_eq!(outcome.models(), ["compatible/group/model-of-ours:30b"], "{api}");
        assert!(outcome.categories().contains(&"sql-injection".to_owned()), "{api}");
        let requests = provider.requests();
        assert!(
            !requests.is_empty() && requests.iter().all(|request| request.path.ends_with(path)),
            "{api}"
        );
        assert!(
            requests
                .iter()
                .all(|request| request.model == "group/model-of-ours:30b"),
            "{api}"
        );
        assert_eq!(provider.violations(), []);
        for text in [outcome.stdout.clone(), outcome.record("review.md")] {
            assert!(
                text.contains("cost unknown") && !text.contains("$0.00"),
                "{api}: {text}"
            );
        }
        let usage = &outcome.review()["coordinator"]["usage"][0];
        assert_eq!(usage["unpriced"], true, "{usage}");

        let plan = own(&["plan", "main..feature"]).run().await.expect_code(0);
        assert!(
            plan.stdout.contains("cost unknown") && plan.stdout.contains("named by the job"),
            "{}",
            plan.stdout
        );
    }
    let typo = Conclave::new(
        repository.path(),
        &["plan", "main..feature", "--models", "antropic/claude-sonnet-5"],
    );
    let typo = typo.run().await.expect_code(2);
    assert!(
        typo.stderr.contains("Did you mean `anthropic/claude-sonnet-5`?"),
        "{}",
        typo.stderr
    );
    // A provider may have a model that nobody here has heard of.
    let typo = Conclave::new(
        repository.path(),
        &["plan", "main..feature", "--models", "anthropic/claude-sonet-5"],
    );
    let typo = typo.run().await.expect_code(0);
    assert!(
        typo.stdout
            .contains("! no model anthropic/claude-sonet-5 is known to this version; did you mean"),
        "{}",
        typo.stdout
    );
}
