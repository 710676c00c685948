//! Both agent runtimes beside each other: the same review, for fewer tokens; and recordings, which know theirs.

use std::{collections::BTreeMap, fmt::Write};

use conclave_scripted_provider::{Books, ScriptedProvider};
use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, Outcome, Repository, on, provider, repository_root};

/// Tokens of all kinds, by reviewer.
fn by_agent(books: &Books) -> BTreeMap<String, u64> {
    let mut agents = BTreeMap::new();
    for entry in &books.entries {
        let usage = &entry.usage;
        *agents.entry(entry.agent.clone()).or_default() +=
            usage.input + usage.cache_read + usage.cache_write + usage.output;
    }
    agents
}

async fn demo(runtime: AgentRuntime, repository: &Repository) -> (Outcome, ScriptedProvider) {
    let provider = provider().await;
    let mut outcome = None;
    on(runtime, async {
        let review = Conclave::new(repository.path(), &["local", "main..feature/order-export"])
            .anthropic(&provider)
            .run()
            .await;
        outcome = Some(review.expect_code(0));
    })
    .await;
    (outcome.unwrap(), provider)
}

/// The view that a reader of the review has of each finding.
fn findings(outcome: &Outcome) -> Vec<Value> {
    let review = outcome.review();
    let mut findings: Vec<Value> = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let finding = &entry["finding"];
            serde_json::json!([
                finding["reviewer"],
                finding["file"],
                finding["line"],
                finding["category"],
                finding["severity"],
                entry["fate"]
            ])
        })
        .collect();
    findings.sort_by_key(ToString::to_string);
    findings
}

/// The coverage, but for the walls around the agents, which each runtime has of its own.
fn without_sandbox(outcome: &Outcome) -> Value {
    let mut coverage = outcome.review()["coverage"].clone();
    coverage.as_object_mut().unwrap().remove("sandbox").expect("a grade");
    let notes = coverage["notes"].as_array_mut().unwrap();
    notes.retain(|note| !note.as_str().unwrap().starts_with("Sandbox around the agents"));
    coverage
}

#[tokio::test]
async fn the_native_runtime_reviews_the_same_for_fewer_tokens() {
    let repository = Repository::demo();
    let (opencode, of_opencode) = demo(AgentRuntime::OpenCode, &repository).await;
    let (native, of_native) = demo(AgentRuntime::Native, &repository).await;
    assert_eq!(of_native.violations(), []);
    assert_eq!(findings(&native), findings(&opencode));
    for field in ["verdict", "summary", "tier"] {
        assert_eq!(native.review()[field], opencode.review()[field], "{field}");
    }
    assert_eq!(without_sandbox(&native), without_sandbox(&opencode));
    let (more, fewer) = (by_agent(&of_opencode.books()), by_agent(&of_native.books()));
    assert_eq!(more.keys().collect::<Vec<_>>(), fewer.keys().collect::<Vec<_>>());
    for (agent, tokens) in &fewer {
        println!("| {agent} | {} | {tokens} |", more[agent]);
        assert!(
            tokens < &more[agent],
            "{agent}: {tokens}, and {} on OpenCode",
            more[agent]
        );
    }
    let all = |tokens: &BTreeMap<String, u64>| tokens.values().sum::<u64>();
    let read: u64 = of_native
        .books()
        .entries
        .iter()
        .map(|entry| entry.usage.cache_read)
        .sum();
    println!("| all | {} | {} |, read from caches: {read}", all(&more), all(&fewer));
    assert!(all(&fewer) <= 60_000, "{} tokens", all(&fewer));
    // Three models have a cache each, which its first reviewer fills.
    assert!(
        read * 9 >= all(&fewer) * 4,
        "{read} of {} tokens are read from caches",
        all(&fewer)
    );
}

#[tokio::test]
async fn a_recording_is_repeated_on_its_runtime_and_on_no_other() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().to_str().unwrap();
    let record = ["local", "main..feature", "--runtime", "native", "--record", recording];
    let recorded = Conclave::new(repository.path(), &record)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let file = format!("{recording}/model-calls.jsonl");
    let replay = async |more: &[&str]| {
        let all = [&["local", "main..feature", "--replay-models", &file], more].concat();
        Conclave::new(repository.path(), &all).run().await
    };
    let replayed = replay(&[]).await.expect_code(0);
    assert_eq!(replayed.review()["runtime"], "native");
    assert_eq!(findings(&replayed), findings(&recorded));
    assert_eq!(replayed.review()["warnings"], recorded.review()["warnings"]);
    let other = replay(&["--runtime", "opencode"]).await.expect_code(2);
    assert!(
        other.stderr.contains("the recording is of a run on the native runtime"),
        "{}",
        other.stderr
    );
}

const DOCUMENT: &str = "docs/runtimes.md";
const LIST: &str =
    "<!-- the list of tests: CONCLAVE_WRITE_DOCS=1 cargo nextest run -p conclave --test e2e the_list_of_tests -->\n";

/// Every end-to-end test by its file, and the runtimes that it runs on.
fn list() -> String {
    let root = repository_root().join("tests/e2e");
    let mut rows = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let (both, one) = (on_both(&text), on_one(&text));
            if !both.is_empty() || !one.is_empty() {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                rows.insert(name, (both, one));
            }
        }
    }
    let names = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let mut text = format!("{LIST}| file | on both | on one, or without a session |\n|---|---|---|\n");
    for (file, (both, one)) in rows {
        writeln!(text, "| `{file}` | {} | {} |", names(&both), names(&one)).unwrap();
    }
    text
}

/// The names in the list of a file's scenarios for both.
fn on_both(text: &str) -> Vec<String> {
    let blocks = text
        .split("\non_both_runtimes! {\n")
        .skip(1)
        .chain(text.split("\n    on both:\n").skip(1));
    let names = blocks.flat_map(|block| block.split([';', '}']).next().unwrap_or_default().split_whitespace());
    names
        .filter(|name| !name.contains(['$', ':']))
        .map(str::to_owned)
        .collect()
}

/// The names of a file's other tests.
fn on_one(text: &str) -> Vec<String> {
    let tests = |head: &str| {
        text.split(&format!("#[tokio::test{head}]\nasync fn "))
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let tests = [tests(""), tests("(flavor = \"multi_thread\")")].concat();
    let names = tests.iter().filter_map(|test| test.split('(').next());
    let of_opencode = text.split("\n    of OpenCode:\n").skip(1);
    let of_opencode = of_opencode.flat_map(|block| block.split('}').next().unwrap_or_default().split_whitespace());
    let all = names.chain(of_opencode).filter(|name| !name.contains(['$', '\\', '"']));
    all.map(str::to_owned).collect()
}

#[test]
fn the_list_of_tests_is_current() {
    let path = repository_root().join(DOCUMENT);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once(LIST).expect("the document has a place for the list");
    let current = format!("{before}{}", list());
    if std::env::var_os("CONCLAVE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    // The two texts are long, and what differs is known once it is renewed.
    assert!(text == current, "renew {DOCUMENT} as it says");
}
