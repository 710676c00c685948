//! What the page about models shows: from rollups, and the latest changes of circuits.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    Window,
    query::{database, fault, number, rows},
    window::{bound, tier},
};
use crate::clock::DAY_MS;

/// What the page is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelsPage {
    /// What models were used for, the dearest first.
    pub(crate) models: Vec<UsageSum>,
    /// What reviewers and the coordinator used.
    pub(crate) agents: Vec<UsageSum>,
    /// Cost by day and model.
    pub(crate) days: Vec<DayCost>,
    /// How sessions ended.
    pub(crate) sessions: Vec<SessionCount>,
    /// Models that took over.
    pub(crate) failbacks: Vec<FailbackCount>,
    /// The latest changes of circuits.
    pub(crate) circuits: Vec<CircuitRow>,
    /// The latest switches from one provider to another.
    pub(crate) switches: Vec<SwitchRow>,
}

/// Tokens and cost of a model or an agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct UsageSum {
    /// The model, or the agent.
    pub(crate) name: String,
    /// Requests.
    pub(crate) calls: u64,
    /// Uncached prompt tokens.
    pub(crate) input: u64,
    /// Answers, reasoning included.
    pub(crate) output: u64,
    /// Cached prompt tokens.
    pub(crate) cache_read: u64,
    /// Prompt tokens that went into a cache.
    pub(crate) cache_write: u64,
    /// Their price.
    pub(crate) cost_usd: f64,
}

impl UsageSum {
    /// Both added up.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            name: self.name,
            calls: self.calls + other.calls,
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cost_usd: self.cost_usd + other.cost_usd,
        }
    }
}

/// A model's cost on a day.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct DayCost {
    /// The day.
    pub(crate) day: i64,
    /// The model.
    pub(crate) model: String,
    /// What it cost.
    pub(crate) cost_usd: f64,
}

/// Sessions of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SessionCount {
    /// Who.
    pub(crate) reviewer: String,
    /// How they ended.
    pub(crate) outcome: String,
    /// How many.
    pub(crate) sessions: u64,
}

/// How often a model took over from another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FailbackCount {
    /// The model that was replaced.
    pub(crate) from_model: String,
    /// The model that took over.
    pub(crate) to_model: String,
    /// `failed`, `circuit_open` or `reprompted`.
    pub(crate) reason: String,
    /// How often.
    pub(crate) failbacks: u64,
}

/// A circuit changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CircuitRow {
    /// When.
    pub(crate) at_ms: i64,
    /// In which run.
    pub(crate) run_id: Uuid,
    /// The run's project.
    pub(crate) project: String,
    /// Whose circuit.
    pub(crate) model: String,
    /// `closed`, `open` or `half_open`.
    pub(crate) state: String,
}

/// A session went on with another provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SwitchRow {
    /// When.
    pub(crate) at_ms: i64,
    /// In which run.
    pub(crate) run_id: Uuid,
    /// The run's project.
    pub(crate) project: String,
    /// Whose session.
    pub(crate) reviewer: String,
    /// The model that was replaced.
    pub(crate) from_model: String,
    /// The model that took over.
    pub(crate) to_model: String,
    /// Why.
    pub(crate) reason: String,
}

const SUMS: &str = "sum(calls) AS calls, sum(input) AS input, sum(output + reasoning) AS output,
  sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd";

const DAYS: &str = "SELECT day, model, sum(cost_usd) AS cost_usd FROM daily_usage
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2";

const SESSIONS: &str = "SELECT reviewer, outcome, sum(sessions) AS sessions FROM daily_sessions
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2";

const FAILBACKS: &str = "SELECT from_model, to_model, reason, sum(failbacks) AS failbacks FROM daily_failbacks
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 100";

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
    Ok(statement.all().await.map_err(fault)?.results()?)
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
        bound(&database, SESSIONS, query)?,
        bound(&database, FAILBACKS, query)?,
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
