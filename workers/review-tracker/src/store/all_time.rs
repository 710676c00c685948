//! All-time sums for Prometheus: a number of rows that depends on names, which are bounded, and not on history.

use std::collections::BTreeMap;

use conclave_shared::telemetry::DatabaseSize;
use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use crate::clock;

use super::{
    lost,
    query::{database, fault, number, rows},
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
    /// Runs of the time whose raw rows are kept that began and whose end was not heard of within their limit.
    pub(crate) lost: u64,
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
    // Names that get no series of their own are added up here: there may be 90,000 combinations of names.
    "WITH models AS (SELECT name FROM names WHERE kind = 'model' ORDER BY position LIMIT ?3),
     agents AS (SELECT value AS name FROM json_each(?1) UNION SELECT name FROM (SELECT name FROM names
       WHERE kind = 'reviewer' AND name NOT IN (SELECT value FROM json_each(?1)) ORDER BY position LIMIT ?2))
     SELECT iif(model IN (SELECT name FROM models), model, 'other') AS model,
     iif(reviewer IN (SELECT name FROM agents), reviewer, 'other') AS reviewer, sum(input) AS input, sum(output) AS output,
     sum(reasoning) AS reasoning, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd
     FROM daily_usage WHERE project = '*' AND day = 0 GROUP BY 1, 2 ORDER BY 1, 2",
    // No metric tells which model took over: two names in one row would be the square of their number.
    // Nor why a judge removed a finding, which clients choose freely.
    "SELECT kind, a, iif(kind IN ('failback', 'removed'), '', b) AS b, c, sum(n) AS n FROM daily_counts WHERE project = '*'
     AND kind IN ('failed', 'run_skipped', 'inconclusive', 'mr_review', 'finding', 'removed', 'outcome', 'session', 'failback', 'circuit', 'break_glass', 'verdict', 'dropped', 'event', 'started',
     'merge_request') AND day = 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
    // The first ones of each kind: one kind of made-up names must not push the other one out.
    "SELECT kind, name FROM names WHERE kind IN ('reviewer', 'model') AND rank <= 300 ORDER BY position",
];

/// Which names of usage are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameLimits<'a> {
    /// Agents that always are.
    pub(crate) standing: &'a [&'a str],
    /// How many other agents.
    pub(crate) agents: usize,
    /// How many models.
    pub(crate) models: usize,
}

/// Reads the sums in one round trip.
pub(crate) async fn all_time(env: &Env, limits: NameLimits<'_>) -> Outcome<AllTime> {
    let database = database(env)?;
    let size = |count: usize| number(i64::try_from(count).unwrap_or(i64::MAX));
    let names = [
        serde_json::to_string(limits.standing)
            .map_err(worker::Error::from)?
            .into(),
        size(limits.agents),
        size(limits.models),
    ];
    let statements = STATEMENTS
        .into_iter()
        .map(|statement| {
            let statement_with = database.prepare(statement);
            if statement.contains("?1") {
                statement_with.bind(&names)
            } else {
                Ok(statement_with)
            }
        })
        .chain([lost::statement(&database, None, clock::now_ms())])
        .collect::<worker::Result<_>>()?;
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
    all.lost = lost::read(&mut results)?;
    Ok(all)
}
