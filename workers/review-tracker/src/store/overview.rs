//! Sums and distributions of a window of days, from roll-ups.

use std::collections::BTreeMap;

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    query::{database, fault, number, rows},
    retention::first_day_with_bins,
    spans::{BINS, spans},
};

/// What an overview is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverviewQuery {
    /// One project, or all.
    pub(crate) project: Option<String>,
    /// One tier, or all.
    pub(crate) tier: Option<String>,
    /// The first day.
    pub(crate) first_day: i64,
    /// The last day.
    pub(crate) last_day: i64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Overview {
    /// One entry a day that has runs, in order.
    pub(crate) days: Vec<DaySum>,
    /// Runs by verdict.
    pub(crate) verdicts: Vec<VerdictCount>,
    /// Bins of durations in milliseconds, ascending.
    pub(crate) durations: Vec<(i32, u64)>,
    /// Bins of costs in US dollars, ascending.
    pub(crate) costs: Vec<(i32, u64)>,
    /// Projects that have ever sent an event, in order.
    pub(crate) projects: Vec<String>,
}

/// Sums of a day.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct DaySum {
    /// The day.
    pub(crate) day: i64,
    /// Completed runs.
    pub(crate) runs: u64,
    /// Their cost.
    pub(crate) cost_usd: f64,
    /// Their uncached prompt tokens.
    pub(crate) input: u64,
    /// Their cached prompt tokens.
    pub(crate) cache_read: u64,
    /// Their findings.
    pub(crate) findings: u64,
}

/// Runs with a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct VerdictCount {
    /// The verdict.
    pub(crate) verdict: String,
    /// How many.
    pub(crate) runs: u64,
}

#[derive(Deserialize)]
struct BinRow {
    metric: String,
    tier: String,
    bin: i32,
    n: u64,
}

#[derive(Deserialize)]
struct NameRow {
    name: String,
}

const DAYS: &str = "SELECT day, sum(runs) AS runs, sum(cost_usd) AS cost_usd, sum(input) AS input,
  sum(cache_read) AS cache_read, sum(critical + warning + suggestion) AS findings FROM daily_runs
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY day ORDER BY day";

const VERDICTS: &str = "SELECT verdict, sum(runs) AS runs FROM daily_runs
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY verdict";

const PROJECTS: &str = "SELECT name FROM names WHERE kind = 'project' ORDER BY name LIMIT 500";

/// Reads an overview in one round trip.
pub(crate) async fn overview(env: &Env, query: &OverviewQuery) -> Outcome<Overview> {
    let database = database(env)?;
    let parameters = [
        JsValue::from_str(query.project.as_deref().unwrap_or("*")),
        number(query.first_day),
        number(query.last_day),
        query.tier.as_deref().map_or(JsValue::NULL, JsValue::from_str),
    ];
    let spans = spans(query.first_day, query.last_day, first_day_with_bins(env));
    let bins: Vec<JsValue> = [parameters[0].clone()].into_iter().chain(spans.parameters()).collect();
    let statements = vec![
        database.prepare(DAYS).bind(&parameters)?,
        database.prepare(VERDICTS).bind(&parameters)?,
        database.prepare(BINS).bind(&bins)?,
        database.prepare(PROJECTS),
    ];
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut overview = Overview {
        days: rows(&mut results)?,
        verdicts: rows(&mut results)?,
        ..Overview::default()
    };
    let mut costs = BTreeMap::new();
    let mut durations = BTreeMap::new();
    for row in rows::<BinRow>(&mut results)? {
        if query.tier.as_ref().is_none_or(|tier| *tier == row.tier) {
            let bins = if row.metric == "cost_usd" {
                &mut costs
            } else {
                &mut durations
            };
            *bins.entry(row.bin).or_default() += row.n;
        }
    }
    overview.costs = costs.into_iter().collect();
    overview.durations = durations.into_iter().collect();
    overview.projects = rows::<NameRow>(&mut results)?.into_iter().map(|row| row.name).collect();
    Ok(overview)
}
