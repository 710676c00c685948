//! Everything about one run.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    RunRow,
    models_page::{CircuitRow, FailbackRow},
    query::{database, fault, rows},
};

/// One run with what happened in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunDetail {
    /// The run as the table shows it.
    pub(crate) row: RunRow,
    /// The rest of the run.
    pub(crate) more: RunMore,
    /// Its sessions, in the order in which they ended.
    pub(crate) sessions: Vec<SessionRow>,
    /// Usage of the sessions.
    pub(crate) usage: Vec<UsageRow>,
    /// Its findings: what stands first, the worst first.
    pub(crate) findings: Vec<FindingRow>,
    /// Models that took over, in order.
    pub(crate) failbacks: Vec<FailbackRow>,
    /// Circuits that changed, in order.
    pub(crate) circuits: Vec<CircuitRow>,
    /// Findings of earlier reviews that it found settled.
    pub(crate) outcomes: Vec<OutcomeRow>,
}

/// Columns that only a run's own page shows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunMore {
    /// `gitlab` or `local`.
    pub(crate) forge: Option<String>,
    pub(crate) client_version: Option<String>,
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) filtered_files: Option<u64>,
    /// 1 when the verdict was given without the coordinator.
    pub(crate) degraded: Option<u8>,
    /// Files that no reviewer opened.
    pub(crate) not_read: Option<u64>,
    /// Files that were given in part.
    pub(crate) cut: Option<u64>,
    /// Other things that were not reviewed.
    pub(crate) gaps: Option<u64>,
    /// The state that the verdict asked of the forge.
    pub(crate) wanted: Option<String>,
    /// The state that the forge showed.
    pub(crate) shown: Option<String>,
    /// 1 when they differ.
    pub(crate) mismatch: Option<u8>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SessionRow {
    /// The event that told of it.
    pub(crate) event_id: Uuid,
    /// When it ended.
    pub(crate) at_ms: i64,
    pub(crate) reviewer: String,
    pub(crate) outcome: String,
    pub(crate) duration_ms: i64,
    pub(crate) attempts: u32,
    /// Findings that it reported.
    pub(crate) findings: u64,
    pub(crate) started_ms: Option<i64>,
    /// The models that it was started with, as JSON.
    pub(crate) models_tried: Option<String>,
}

impl SessionRow {
    /// When it began; of an older client, as far as its duration shows.
    pub(crate) fn start_ms(&self) -> i64 {
        self.started_ms.unwrap_or(self.at_ms - self.duration_ms)
    }

    /// The models that it was started with, in that order; none if the client did not say.
    pub(crate) fn tried(&self) -> Vec<String> {
        let tried = self.models_tried.as_deref();
        tried
            .and_then(|tried| serde_json::from_str(tried).ok())
            .unwrap_or_default()
    }
}

/// A finding of an earlier review was settled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct OutcomeRow {
    /// The reviewer that had reported it.
    pub(crate) reviewer: String,
    pub(crate) severity: String,
    pub(crate) category: String,
    pub(crate) path: String,
    pub(crate) outcome: String,
}

/// A session's usage of one model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct UsageRow {
    pub(crate) event_id: Uuid,
    pub(crate) model: String,
    pub(crate) calls: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: f64,
}

impl UsageRow {
    /// The tokens.
    pub(crate) const fn tokens(&self) -> TokenUsage {
        TokenUsage {
            input: self.input,
            output: self.output,
            reasoning: self.reasoning,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        }
    }
}

/// One judged finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FindingRow {
    /// The reviewer that reported it.
    pub(crate) reviewer: String,
    pub(crate) severity: String,
    pub(crate) category: String,
    pub(crate) path: String,
    /// The judge's decision.
    pub(crate) fate: String,
    pub(crate) reason_code: Option<String>,
    pub(crate) placement: Option<String>,
}

const RUN: &str = "SELECT * FROM runs WHERE run_id = ?1";

const SESSIONS: &str = "SELECT event_id, at_ms, reviewer, outcome, duration_ms, attempts, findings,
  started_ms, models_tried FROM sessions
  WHERE run_id = ?1 ORDER BY at_ms, reviewer LIMIT 200";

const USAGE: &str = "SELECT event_id, model, calls, input, output, reasoning, cache_read, cache_write, cost_usd
  FROM usage WHERE run_id = ?1 ORDER BY event_id, position LIMIT 1000";

const FINDINGS: &str =
    "SELECT reviewer, severity, category, path, fate, reason_code, placement FROM findings WHERE run_id = ?1
  ORDER BY CASE fate WHEN 'kept' THEN 0 WHEN 'merged' THEN 1 ELSE 2 END,
  CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, path LIMIT 1000";

const FAILBACKS: &str = "SELECT at_ms, run_id, project, reviewer, from_model, to_model, reason FROM failbacks
  WHERE run_id = ?1 ORDER BY at_ms LIMIT 200";

const CIRCUITS: &str =
    "SELECT at_ms, run_id, project, model, state FROM circuits WHERE run_id = ?1 ORDER BY at_ms LIMIT 200";

const OUTCOMES: &str = "SELECT reviewer, severity, category, path, outcome FROM outcomes WHERE run_id = ?1
  ORDER BY outcome, path LIMIT 1000";

/// Reads a run in one round trip; `None` when it is not known.
pub(crate) async fn run(env: &Env, id: Uuid) -> Outcome<Option<RunDetail>> {
    let database = database(env)?;
    let parameters = [JsValue::from_str(&id.to_string())];
    let statements = [RUN, RUN, SESSIONS, USAGE, FINDINGS, FAILBACKS, CIRCUITS, OUTCOMES]
        .into_iter()
        .map(|statement| database.prepare(statement).bind(&parameters))
        .collect::<worker::Result<_>>()?;
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let row: Option<RunRow> = rows(&mut results)?.pop();
    let more: Option<RunMore> = rows(&mut results)?.pop();
    let (Some(row), Some(more)) = (row, more) else {
        return Ok(None);
    };
    Ok(Some(RunDetail {
        row,
        more,
        sessions: rows(&mut results)?,
        usage: rows(&mut results)?,
        findings: rows(&mut results)?,
        failbacks: rows(&mut results)?,
        circuits: rows(&mut results)?,
        outcomes: rows(&mut results)?,
    }))
}
