//! All-time sums, of which the families of `/metrics` are made.

use std::collections::BTreeMap;

use conclave_shared::telemetry::DatabaseSize;
use serde::Deserialize;

/// Everything that the metrics are made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Totals {
    /// Completed runs.
    pub(crate) runs: Vec<RunCount>,
    /// Ascending bins by metric (`duration_ms`, `cost_usd`, `lag_ms`) and tier.
    pub(crate) distributions: BTreeMap<(String, String), Vec<(i32, u64)>>,
    /// Tokens and cost of models and agents.
    pub(crate) usage: Vec<ModelUse>,
    /// Whatever is only counted.
    pub(crate) counts: Vec<Count>,
    /// Names in the order in which they were first seen, by kind.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// Runs of the time whose raw rows are kept that began and did not report an end within their limit.
    pub(crate) lost: u64,
    /// The size of the database, if that is known.
    pub(crate) database: Option<DatabaseSize>,
}

/// Runs of a tier with a verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunCount {
    pub(crate) tier: String,
    pub(crate) verdict: String,
    pub(crate) runs: u64,
    /// Sum of their durations.
    pub(crate) duration_ms: f64,
    /// Sum of their costs.
    pub(crate) cost_usd: f64,
}

/// Tokens and cost of a model in the hands of an agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct ModelUse {
    pub(crate) model: String,
    pub(crate) reviewer: String,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: f64,
}

/// A number of a kind, by up to three labels. The file of an event says what its labels are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Count {
    pub(crate) kind: String,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) c: String,
    pub(crate) n: u64,
}
