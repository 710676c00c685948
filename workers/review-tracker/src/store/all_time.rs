//! All-time sums for Prometheus: a number of rows that depends on names, which are bounded, and not on history.

use std::collections::BTreeMap;

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::{
    query::{database, fault, rows},
    size::size_if_known,
    window::{Distributions, distributions},
};

/// Everything that the metrics are made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AllTime {
    /// Completed runs.
    pub(crate) runs: Vec<RunCount>,
    /// Distributions of `duration_ms`, `cost_usd` (by tier) and `lag_ms`.
    pub(crate) distributions: Distributions,
    /// What models and agents used.
    pub(crate) usage: Vec<ModelUse>,
    /// Whatever is only counted.
    pub(crate) counts: Vec<Count>,
    /// Names in the order in which they were first seen, by kind.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// How full the database is, if that is known.
    pub(crate) database: Option<DatabaseSize>,
}

/// Runs of a tier with a verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunCount {
    /// The tier.
    pub(crate) tier: String,
    /// The verdict.
    pub(crate) verdict: String,
    /// How many.
    pub(crate) runs: u64,
    /// Sum of their durations.
    pub(crate) duration_ms: f64,
    /// Sum of their costs.
    pub(crate) cost_usd: f64,
}

/// Tokens and cost of a model in the hands of an agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct ModelUse {
    /// The model.
    pub(crate) model: String,
    /// The agent.
    pub(crate) reviewer: String,
    /// Tokens of each kind.
    pub(crate) input: u64,
    /// See `input`.
    pub(crate) output: u64,
    /// See `input`.
    pub(crate) reasoning: u64,
    /// See `input`.
    pub(crate) cache_read: u64,
    /// See `input`.
    pub(crate) cache_write: u64,
    /// Their price.
    pub(crate) cost_usd: f64,
}

/// How many of a kind; what `a`, `b` and `c` are is said by the views of the migrations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Count {
    /// What is counted.
    pub(crate) kind: String,
    /// See the views.
    pub(crate) a: String,
    /// See the views.
    pub(crate) b: String,
    /// See the views.
    pub(crate) c: String,
    /// How many.
    pub(crate) n: u64,
}

#[derive(Deserialize)]
struct NameRow {
    kind: String,
    name: String,
}

const STATEMENTS: [&str; 5] = [
    "SELECT tier, verdict, runs, duration_ms, cost_usd FROM daily_runs WHERE project = '*' AND day = 0
     ORDER BY tier, verdict",
    "SELECT metric, tier, bin, n FROM bins WHERE project = '*' AND metric IN ('duration_ms', 'cost_usd', 'lag_ms')
     AND span = 0 ORDER BY metric, tier, bin",
    "SELECT model, reviewer, input, output, reasoning, cache_read, cache_write, cost_usd FROM daily_usage
     WHERE project = '*' AND day = 0 ORDER BY model, reviewer",
    // No metric tells which model took over: two names in one row would be the square of their number.
    "SELECT kind, a, iif(kind = 'failback', '', b) AS b, c, sum(n) AS n FROM daily_counts WHERE project = '*'
     AND kind IN ('finding', 'removed', 'outcome', 'session', 'failback', 'circuit', 'break_glass', 'verdict', 'dropped', 'event', 'started',
     'merge_request') AND day = 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
    "SELECT kind, name FROM names WHERE kind IN ('reviewer', 'model') ORDER BY position LIMIT 1000",
];

/// Reads the sums in one round trip.
pub(crate) async fn all_time(env: &Env) -> Outcome<AllTime> {
    let database = database(env)?;
    let statements = STATEMENTS
        .into_iter()
        .map(|statement| database.prepare(statement))
        .collect();
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut all = AllTime {
        runs: rows(&mut results)?,
        distributions: distributions(&mut results)?,
        usage: rows(&mut results)?,
        counts: rows(&mut results)?,
        database: size_if_known(env).await,
        ..AllTime::default()
    };
    for row in rows::<NameRow>(&mut results)? {
        all.names.entry(row.kind).or_default().push(row.name);
    }
    Ok(all)
}
