//! All-time sums for Prometheus: a fixed number of rows, however long the history.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::query::{database, fault, rows};

/// Everything that the metrics are made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AllTime {
    /// Completed runs.
    pub(crate) runs: Vec<RunCount>,
    /// Distributions of durations and costs.
    pub(crate) bins: Vec<TierBin>,
    /// Judged findings.
    pub(crate) findings: Vec<FindingCount>,
    /// What models were used for.
    pub(crate) models: Vec<ModelUse>,
    /// Events that clients dropped.
    pub(crate) dropped: u64,
    /// Reviewers in the order in which they were first seen.
    pub(crate) reviewer_names: Vec<String>,
    /// Models in the order in which they were first seen.
    pub(crate) model_names: Vec<String>,
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

/// Which distribution a bin belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DurationOrCost {
    /// Durations in milliseconds.
    DurationMs,
    /// Costs in US dollars.
    CostUsd,
}

/// One bin of a tier's distribution.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct TierBin {
    /// Of what.
    pub(crate) metric: DurationOrCost,
    /// The tier.
    pub(crate) tier: String,
    /// The bin.
    pub(crate) bin: i32,
    /// How many.
    pub(crate) runs: u64,
}

/// Findings of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FindingCount {
    /// Who reported them.
    pub(crate) reviewer: String,
    /// How bad.
    pub(crate) severity: String,
    /// What the judge did.
    pub(crate) fate: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Tokens and cost of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ModelUse {
    /// The model.
    pub(crate) model: String,
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

#[derive(Deserialize)]
struct Sum {
    events: u64,
}

#[derive(Deserialize)]
struct NameRow {
    kind: String,
    name: String,
}

const STATEMENTS: [&str; 6] = [
    "SELECT tier, verdict, runs, duration_ms, cost_usd FROM daily_runs WHERE project = '*' AND day = 0
     ORDER BY tier, verdict",
    "SELECT metric, tier, bin, n AS runs FROM bins WHERE project = '*' AND metric IN ('duration_ms', 'cost_usd')
     AND span = 0 ORDER BY metric, tier, bin",
    "SELECT reviewer, severity, fate, findings FROM daily_findings WHERE project = '*' AND day = 0
     ORDER BY reviewer, severity, fate",
    "SELECT model, sum(input) AS input, sum(output) AS output, sum(reasoning) AS reasoning,
     sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd FROM daily_usage
     WHERE project = '*' AND day = 0 GROUP BY model ORDER BY model",
    "SELECT coalesce(sum(events), 0) AS events FROM daily_dropped WHERE project = '*' AND day = 0",
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
        bins: rows(&mut results)?,
        findings: rows(&mut results)?,
        models: rows(&mut results)?,
        dropped: rows::<Sum>(&mut results)?.first().map_or(0, |sum| sum.events),
        ..AllTime::default()
    };
    for row in rows::<NameRow>(&mut results)? {
        if row.kind == "model" {
            all.model_names.push(row.name);
        } else {
            all.reviewer_names.push(row.name);
        }
    }
    Ok(all)
}
