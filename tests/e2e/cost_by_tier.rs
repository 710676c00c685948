//! The cost of a review, by tier: calls and tokens by the provider's books, and the price. `scripts/bench prompts` shows the table.

use conclave_scripted_provider::{
    Answer, COORDINATOR, Degraded, DemoModel, Misbehavior, Model, ModelRequest, ScriptedProvider,
};
use serde_json::json;

use crate::support::{AgentRuntime, Conclave, Outcome, PROVIDER_KEY, Repository, played};

on_both_runtimes! {
    a_small_change_costs_little
    an_unreadable_answer_costs_at_most_two_percent_of_a_review
}

/// A line of the table.
struct Row {
    name: &'static str,
    repository: Repository,
    range: &'static str,
    /// True for a change of many lines, whose review takes long.
    is_large: bool,
    /// Number of times that each reviewer looks into the source besides.
    looks: usize,
    bar: Bar,
}

/// Maximum cost of a review, and the least share of its prompts that has to come from the cache, in percent.
#[derive(Clone, Copy)]
struct Bar {
    calls: usize,
    tokens: u64,
    cached: f64,
}

/// The review of a row, as the provider has counted it.
struct Counted {
    calls: usize,
    tokens: u64,
    judge_calls: usize,
    /// The share of prompt tokens that the provider served from its cache, in percent.
    cached: f64,
    outcome: Outcome,
}

/// A service, and a branch that makes some of it longer. `edits` are pairs of a path and a text.
fn change(edits: &[(&str, &str)]) -> Repository {
    let repository = Repository::new();
    let steps: Vec<String> = (0..20)
        .map(|number| format!("def step_{number}(order):\n    return order.total + {number}\n\n"))
        .collect();
    repository.write("src/orders.py", &steps.concat());
    repository.commit("Orders");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    for (path, text) in edits {
        let before = std::fs::read_to_string(repository.path().join(path)).unwrap_or_default();
        repository.write(path, &format!("{before}{text}"));
    }
    repository.commit("More steps");
    repository
}

/// Lines without a fault, this many times three.
fn steps(count: usize) -> String {
    let step = |number| format!("def another_{number}(order):\n    return order.weight + {number}\n\n");
    (0..count).map(step).collect()
}

/// A line that the demo model has something to say about.
const FLAW: &str = "def rows(connection, name):\n    return connection.execute(f\"SELECT * FROM rows WHERE name = '{name}'\").fetchall()\n";

fn rows() -> Vec<Row> {
    let bar = |calls, tokens| Bar {
        calls,
        tokens,
        cached: 0.0,
    };
    let row = |name, repository, looks, bar| Row {
        name,
        repository,
        range: "main..feature",
        is_large: false,
        looks,
        bar,
    };
    let lite = |steps: &str| {
        let more = self::steps(12);
        change(&[
            (SOURCE, steps),
            ("src/weights.py", &more),
            ("docs/guide.md", "# Guide\n\nCall the steps.\n"),
        ])
    };
    let full = || {
        let more = steps(160);
        change(&[(SOURCE, &more), ("src/weights.py", &more), ("src/sizes.py", &more)])
    };
    let large = |name, looks, bar| Row {
        is_large: true,
        ..row(name, full(), looks, bar)
    };
    let thorough = Bar {
        cached: 80.0,
        ..bar(100, 2_000_000)
    };
    vec![
        // As often as reviewers of large changes do: see the estimate of `conclave plan`.
        large("full, clean, six looks", 6, thorough),
        // Who finds something, and the judge, in one review.
        row("lite, a finding", lite(&(steps(12) + FLAW)), 0, bar(4, 40_000)),
        row("trivial, clean", change(&[(SOURCE, &steps(2))]), 0, bar(1, 12_000)),
        row("trivial, a finding", change(&[(SOURCE, FLAW)]), 0, bar(2, 12_000)),
        row("lite, clean", lite(&steps(12)), 0, bar(3, 40_000)),
        large("full, clean", 0, bar(12, 140_000)),
        Row {
            range: "main..feature/order-export",
            ..row("full, the demo", Repository::demo(), 0, bar(9, 90_000))
        },
    ]
}

fn count(provider: &ScriptedProvider, outcome: Outcome) -> Counted {
    let entries = provider.books().entries;
    let prompt: u64 = entries.iter().map(|entry| entry.usage.prompt()).sum();
    let output: u64 = entries.iter().map(|entry| entry.usage.output).sum();
    let read: u64 = entries.iter().map(|entry| entry.usage.cache_read).sum();
    Counted {
        calls: entries.len(),
        tokens: prompt + output,
        judge_calls: entries.iter().filter(|entry| entry.agent == COORDINATOR).count(),
        cached: percent(read, prompt),
        outcome,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens")]
fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 * 1000.0 / whole as f64).round() / 10.0
}

async fn reviewed(row: &Row) -> Counted {
    reviewed_by(row, Thorough { looks: row.looks }).await
}

async fn reviewed_by(row: &Row, model: impl Model + 'static) -> Counted {
    let builder = ScriptedProvider::builder().api_key(PROVIDER_KEY).model(model);
    let provider = builder.start().await.expect("a provider");
    let outcome = Conclave::new(row.repository.path(), &["local", row.range])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    count(&provider, outcome)
}

/// The demo model, whose reviewers also look this many times into the source before they answer.
struct Thorough {
    looks: usize,
}

impl Model for Thorough {
    fn answer(&self, request: &ModelRequest) -> Answer {
        let answer = DemoModel::new().answer(request);
        let exchanges = request.exchanges();
        let looked = exchanges
            .iter()
            .filter(|(call, _)| call.input["filePath"] == SOURCE)
            .count();
        if request.agent == COORDINATOR || !answer.tool_calls.is_empty() || looked >= self.looks {
            return answer;
        }
        Answer::call(
            "read",
            json!({"filePath": SOURCE, "offset": 1 + 30 * looked, "limit": 100}),
        )
    }
}

/// One more turn repeats a conversation that the cache holds, and asks only for what is missing.
async fn an_unreadable_answer_costs_at_most_two_percent_of_a_review() {
    let row = rows()
        .into_iter()
        .find(|row| row.looks > 0)
        .expect("a row of thorough reviewers");
    let price = |counted: &Counted| counted.outcome.review()["cost_usd"].as_f64().expect("a price");
    let smooth = price(&reviewed(&row).await);
    let ways = [("correctness".to_owned(), Misbehavior::ProseOnly)];
    let counted = reviewed_by(&row, Degraded::new(Thorough { looks: row.looks }, ways)).await;
    let review = counted.outcome.review();
    let reports = review["reviewers"].as_array().unwrap();
    let asked = reports
        .iter()
        .filter(|report| report["repairs"] == json!(["unreadable"]))
        .count();
    assert_eq!(asked, 1, "{review:#}");
    let share = (price(&counted) - smooth) / smooth;
    println!(
        "{}",
        json!({"bench": "prompts", "repair_percent_of_cost": (share * 1000.0).round() / 10.0})
    );
    assert!(share <= 0.02, "{share}");
}

/// A source file of some length.
const SOURCE: &str = "src/orders.py";

async fn a_small_change_costs_little() {
    let mut missed = Vec::new();
    // Of the large changes OpenCode plays the first, and of those that people review every day.
    let (large, everyday): (Vec<Row>, Vec<Row>) = rows().into_iter().partition(|row| row.is_large);
    for row in played(everyday).chain(played(large)) {
        let counted = reviewed(&row).await;
        let review = counted.outcome.review();
        let stages = review["stages"].as_array().unwrap();
        let judging = stages.iter().find(|stage| stage["stage"] == "judging after the panel");
        let findings = review["findings"].as_array().unwrap();
        // What `scripts/bench prompts` shows.
        println!(
            "{}",
            json!({"bench": "prompts", "change": row.name, "tier": review["tier"],
                   "reviewers": review["reviewers"].as_array().unwrap().len(), "calls": counted.calls,
                   "judge_calls": counted.judge_calls, "tokens": counted.tokens, "cached_percent": counted.cached,
                   "cost_usd": review["cost_usd"], "findings": findings.len(),
                   "judging_seconds": judging.map(|stage| &stage["seconds"])})
        );
        let Bar { calls, tokens, cached } = row.bar;
        let judge_calls = usize::from(!findings.is_empty());
        // It says less of its own, which a cache would serve: the bar of the share is OpenCode's.
        let is_native = AgentRuntime::current() == AgentRuntime::Native;
        let held = counted.calls <= calls
            && counted.tokens <= tokens
            && (counted.cached >= cached || is_native)
            && counted.judge_calls == judge_calls;
        if !held {
            missed.push(row.name);
        }
    }
    assert_eq!(missed, [""; 0], "bars are missed");
}
