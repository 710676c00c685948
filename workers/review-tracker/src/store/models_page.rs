//! The data of the page about models: from rollups, and the latest changes of circuits.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    Window,
    query::{database, fault, number, read, rows},
    window::{bound, counts, tier},
};
use crate::{clock::DAY_MS, events::Count};

/// The data of the page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelsPage {
    /// Usage by model, the dearest first.
    pub(crate) models: Vec<UsageSum>,
    /// Usage by reviewer and the coordinator.
    pub(crate) agents: Vec<UsageSum>,
    /// Cost by day and model.
    pub(crate) days: Vec<DayCost>,
    /// Sessions by agent and outcome.
    pub(crate) sessions: Vec<Count>,
    /// Replaced models (`a`), the models that took over, and the reason, the most frequent first.
    pub(crate) failbacks: Vec<Count>,
    /// The latest changes of circuits.
    pub(crate) circuits: Vec<CircuitRow>,
    /// The latest switches from one provider to another.
    pub(crate) switches: Vec<FailbackRow>,
}

/// Tokens and cost of a model or an agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct UsageSum {
    /// The model, or the agent.
    pub(crate) name: String,
    pub(crate) calls: u64,
    /// Uncached prompt tokens.
    pub(crate) input: u64,
    /// Answers, reasoning included.
    pub(crate) output: u64,
    /// Cached prompt tokens.
    pub(crate) cache_read: u64,
    /// Prompt tokens that went into a cache.
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: f64,
}

impl UsageSum {
    /// The sum of all.
    pub(crate) fn total(all: &[Self]) -> Self {
        all.iter().fold(Self::default(), |mut sum, usage| {
            sum.calls += usage.calls;
            sum.input += usage.input;
            sum.output += usage.output;
            sum.cache_read += usage.cache_read;
            sum.cache_write += usage.cache_write;
            sum.cost_usd += usage.cost_usd;
            sum
        })
    }
}

/// A model's cost on a day.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct DayCost {
    pub(crate) day: i64,
    pub(crate) model: String,
    pub(crate) cost_usd: f64,
}

/// A circuit changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CircuitRow {
    pub(crate) at_ms: i64,
    pub(crate) run_id: Uuid,
    pub(crate) project: String,
    pub(crate) model: String,
    /// `closed`, `open` or `half_open`.
    pub(crate) state: String,
}

/// A model took over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FailbackRow {
    pub(crate) at_ms: i64,
    pub(crate) run_id: Uuid,
    pub(crate) project: String,
    pub(crate) reviewer: String,
    pub(crate) from_model: String,
    pub(crate) to_model: String,
    pub(crate) reason: String,
}

const SUMS: &str = "sum(calls) AS calls, sum(input) AS input, sum(output + reasoning) AS output,
  sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd";

const DAYS: &str = "SELECT day, model, sum(cost_usd) AS cost_usd FROM daily_usage
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2";

/// The latest ones by an index on their time, so that it does not matter how many there are.
const CIRCUITS: &str = "SELECT at_ms, run_id, project, model, state FROM circuits
  WHERE at_ms >= ?1 AND at_ms < ?2 AND (?3 IS NULL OR project = ?3)
  AND (?4 IS NULL OR EXISTS (SELECT 1 FROM runs WHERE runs.run_id = circuits.run_id AND runs.tier = ?4))
  ORDER BY at_ms DESC LIMIT 50";

const SWITCHES: &str = "SELECT at_ms, run_id, project, reviewer, from_model, to_model, reason FROM failbacks
  WHERE at_ms >= ?1 AND at_ms < ?2 AND (?3 IS NULL OR project = ?3)
  AND (?4 IS NULL OR EXISTS (SELECT 1 FROM runs WHERE runs.run_id = failbacks.run_id AND runs.tier = ?4))
  AND substr(from_model, 1, instr(from_model, '/')) <> substr(to_model, 1, instr(to_model, '/'))
  ORDER BY at_ms DESC LIMIT 50";

/// Reads what reviewers and the coordinator used.
pub(crate) async fn usage_by_agent(env: &Env, query: &Window) -> Outcome<Vec<UsageSum>> {
    let statement = bound(&database(env)?, &usage_by("reviewer"), query)?;
    Ok(read(&statement.all().await.map_err(fault)?)?)
}

/// Sums of a window, by `column`.
fn usage_by(column: &str) -> String {
    format!(
        "SELECT {column} AS name, {SUMS} FROM daily_usage
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY
         cost_usd DESC, 1"
    )
}

/// Reads the page in one round trip.
pub(crate) async fn models_page(env: &Env, query: &Window) -> Outcome<ModelsPage> {
    let database = database(env)?;
    let raw = [
        number(query.first_day * DAY_MS),
        number((query.last_day + 1) * DAY_MS),
        query.project.as_deref().map_or(JsValue::NULL, JsValue::from_str),
        tier(query),
    ];
    let statements = vec![
        bound(&database, &usage_by("model"), query)?,
        bound(&database, &usage_by("reviewer"), query)?,
        bound(&database, DAYS, query)?,
        counts(&database, "session", "a, b", "", query)?,
        counts(
            &database,
            "failback",
            "a, b, c",
            "ORDER BY 4 DESC, 1, 2, 3 LIMIT 100",
            query,
        )?,
        database.prepare(CIRCUITS).bind(&raw)?,
        database.prepare(SWITCHES).bind(&raw)?,
    ];
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    Ok(ModelsPage {
        models: rows(&mut results)?,
        agents: rows(&mut results)?,
        days: rows(&mut results)?,
        sessions: rows(&mut results)?,
        failbacks: rows(&mut results)?,
        circuits: rows(&mut results)?,
        switches: rows(&mut results)?,
    })
}
