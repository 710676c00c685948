//! Share of reviews that end conclusive when reviewers misbehave as real models do.
//!
//! Part of `scripts/bench degraded`: whole reviews by the real program and the real OpenCode, of clean and of flawed changes in
//! turn, of all tiers. Each reviewer misbehaves once with the given probability, in one of the twelve ways of `Misbehavior`;
//! who does, and how, follows from the seed. Prints JSON; fails if too few reviews are conclusive, or if one approves a
//! flawed change.

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
    hash::{DefaultHasher, Hash, Hasher},
    process::ExitCode,
    time::Instant,
};

use conclave_scripted_provider::{Degraded, DemoModel, Misbehavior, ScriptedProvider};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use support::{Conclave, PROVIDER_KEY, Repository};

/// Percent of reviews that have to end conclusive.
const MIN_CONCLUSIVE: f64 = 99.0;
/// Reviews at once.
const AT_ONCE: usize = 2;
/// Everybody who may sit on a panel here.
const REVIEWERS: [&str; 8] = [
    "generalist",
    "security",
    "correctness",
    "performance",
    "code_quality",
    "documentation",
    "agents_md",
    "release",
];

/// Python that reads a table.
const CLEAN: &str =
    "def find(connection, name):\n    return connection.execute(\"SELECT * FROM users WHERE name = ?\", (name,))\n";
/// The same with the name in the statement.
const FLAWED: &str =
    "def find(connection, name):\n    return connection.execute(f\"SELECT * FROM users WHERE name = '{name}'\")\n";

struct Change {
    tier: &'static str,
    flawed: bool,
    repository: Repository,
}

/// A change of each tier, clean and flawed. Of the full tier the patches have to be opened.
fn changes() -> Vec<Change> {
    let mut changes = Vec::new();
    for (tier, files, lines) in [("trivial", 1, 0), ("lite", 3, 20), ("full", 4, 60)] {
        for flawed in [false, true] {
            let repository = Repository::new();
            repository.git(&["checkout", "--quiet", "-b", "feature"]);
            for file in 0..files {
                let value = |line| format!("VALUE_{file}_{line} = \"{}\"\n", "a value of some length ".repeat(5));
                let values: String = (0..lines).map(value).collect();
                let code = match (file, flawed) {
                    (0, true) => FLAWED,
                    (0, false) => CLEAN,
                    _ => "",
                };
                repository.write(&format!("src/values_{file}.py"), &format!("{code}{values}"));
            }
            repository.commit("Values");
            changes.push(Change {
                tier,
                flawed,
                repository,
            });
        }
    }
    changes
}

/// A number below 1 that follows from the seed and these words.
#[expect(clippy::cast_precision_loss, reason = "a share of all numbers")]
fn chance(seed: u64, words: impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, words).hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}

/// Reviewers that misbehave in this review, each with its way.
fn ways(seed: u64, review: usize, probability: f64) -> Vec<(String, Misbehavior)> {
    let misbehaves = REVIEWERS
        .iter()
        .filter(|name| chance(seed, (review, **name, "whether")) < probability);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index below twelve"
    )]
    let way = |name: &str| (chance(seed, (review, name, "how")) * Misbehavior::ALL.len() as f64) as usize;
    misbehaves
        .map(|name| {
            (
                (*name).to_owned(),
                Misbehavior::ALL[way(name).min(Misbehavior::ALL.len() - 1)],
            )
        })
        .collect()
}

/// Result of a review.
struct Ended {
    tier: &'static str,
    ways: Vec<Misbehavior>,
    conclusive: bool,
    wrongly_approved: bool,
    repairs: usize,
    gaps: Value,
}

async fn review(change: &Change, ways: Vec<(String, Misbehavior)>) -> Ended {
    let model = Degraded::new(DemoModel::new(), ways.clone());
    let builder = ScriptedProvider::builder().api_key(PROVIDER_KEY).model(model);
    let provider = builder.start().await.expect("a provider");
    let job = Conclave::new(change.repository.path(), &["local", "main..feature"]).anthropic(&provider);
    let review = job.run().await.expect_code(0).review();
    let reports = review["reviewers"].as_array().unwrap();
    let of_panel = |name: &str| reports.iter().any(|report| report["name"] == name);
    let approves = ["approved", "approved_with_comments"].contains(&review["verdict"].as_str().unwrap());
    let whole = review["coverage"]["gaps"] == json!([]);
    Ended {
        tier: change.tier,
        ways: ways
            .iter()
            .filter(|(name, _)| of_panel(name))
            .map(|(_, way)| *way)
            .collect(),
        conclusive: review["verdict"] != "inconclusive" && whole,
        wrongly_approved: approves && (change.flawed || !whole),
        repairs: reports
            .iter()
            .filter_map(|report| report["repairs"].as_array())
            .map(Vec::len)
            .sum(),
        gaps: review["coverage"]["gaps"].clone(),
    }
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| {
        text.parse().ok().unwrap_or_else(|| panic!("{name} is not a number"))
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of reviews")]
fn percent(part: usize, whole: usize) -> f64 {
    (part as f64 * 1000.0 / whole.max(1) as f64).round() / 10.0
}

#[tokio::main]
async fn main() -> ExitCode {
    let reviews: usize = setting("CONCLAVE_BENCH_REVIEWS", 300);
    let seed: u64 = setting("CONCLAVE_BENCH_SEED", 1);
    let probability: f64 = setting("CONCLAVE_BENCH_PROBABILITY", 0.3);
    let (started, changes) = (Instant::now(), changes());
    let ended: Vec<Ended> = stream::iter(0..reviews)
        .map(|number| review(&changes[number % changes.len()], ways(seed, number, probability)))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let share = |chosen: &dyn Fn(&&Ended) -> bool| {
        let chosen: Vec<&Ended> = ended.iter().filter(chosen).collect();
        let conclusive = chosen.iter().filter(|review| review.conclusive).count();
        json!({"reviews": chosen.len(), "conclusive": conclusive, "percent": percent(conclusive, chosen.len())})
    };
    let by_way: BTreeMap<String, Value> = Misbehavior::ALL
        .into_iter()
        .map(|way| (format!("{way:?}"), share(&|review| review.ways.contains(&way))))
        .collect();
    let by_tier: BTreeMap<&str, Value> = ["trivial", "lite", "full"]
        .into_iter()
        .map(|tier| (tier, share(&|review| review.tier == tier)))
        .collect();
    let conclusive = ended.iter().filter(|review| review.conclusive).count();
    let wrong = ended.iter().filter(|review| review.wrongly_approved).count();
    let gaps: Vec<&Value> = ended
        .iter()
        .filter(|review| !review.conclusive)
        .map(|review| &review.gaps)
        .collect();
    let held = percent(conclusive, reviews) >= MIN_CONCLUSIVE && wrong == 0;
    let result = json!({
        "bench": "degraded",
        "seed": seed,
        "probability": probability,
        "reviews": reviews,
        "with_misbehavior": ended.iter().filter(|review| !review.ways.is_empty()).count(),
        "repair_turns": ended.iter().map(|review| review.repairs).sum::<usize>(),
        "conclusive": conclusive,
        "conclusive_percent": percent(conclusive, reviews),
        "conclusive_percent_at_least": MIN_CONCLUSIVE,
        "wrong_approvals": wrong,
        "by_way": by_way,
        "by_tier": by_tier,
        "inconclusive": gaps,
        "seconds": started.elapsed().as_secs(),
        "held": held,
    });
    println!("{result:#}");
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
