//! Everything about one run.

use conclave_shared::pricing::TokenUsage;
use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    RunRow,
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
    /// What the sessions used.
    pub(crate) usage: Vec<UsageRow>,
    /// Its findings: what stands first, the worst first.
    pub(crate) findings: Vec<FindingRow>,
}

/// What only a run's own page shows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunMore {
    /// `gitlab` or `local`.
    pub(crate) forge: Option<String>,
    /// The version of the CLI.
    pub(crate) client_version: Option<String>,
    /// Tokens of each kind.
    pub(crate) input: Option<u64>,
    /// See `input`.
    pub(crate) output: Option<u64>,
    /// See `input`.
    pub(crate) reasoning: Option<u64>,
    /// See `input`.
    pub(crate) cache_read: Option<u64>,
    /// See `input`.
    pub(crate) cache_write: Option<u64>,
    /// Changed lines.
    pub(crate) lines: Option<u64>,
    /// Files that were filtered out.
    pub(crate) filtered_files: Option<u64>,
    /// 1 when the verdict was given without the coordinator.
    pub(crate) degraded: Option<u8>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SessionRow {
    /// The event that told of it.
    pub(crate) event_id: Uuid,
    /// When it ended.
    pub(crate) at_ms: i64,
    /// Who.
    pub(crate) reviewer: String,
    /// How it ended.
    pub(crate) outcome: String,
    /// How long it took.
    pub(crate) duration_ms: i64,
    /// How often it was started.
    pub(crate) attempts: u32,
    /// What it reported.
    pub(crate) findings: u64,
}

/// What a session used of one model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct UsageRow {
    /// The session's event.
    pub(crate) event_id: Uuid,
    /// The model.
    pub(crate) model: String,
    /// Requests.
    pub(crate) calls: u64,
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
    /// Who reported it.
    pub(crate) reviewer: String,
    /// How bad.
    pub(crate) severity: String,
    /// What kind.
    pub(crate) category: String,
    /// Where.
    pub(crate) path: String,
    /// What the judge did.
    pub(crate) fate: String,
    /// Why.
    pub(crate) reason_code: Option<String>,
}

const RUN: &str = "SELECT * FROM runs WHERE run_id = ?1";

const SESSIONS: &str = "SELECT event_id, at_ms, reviewer, outcome, duration_ms, attempts, findings FROM sessions
  WHERE run_id = ?1 ORDER BY at_ms, reviewer LIMIT 200";

const USAGE: &str = "SELECT event_id, model, calls, input, output, reasoning, cache_read, cache_write, cost_usd
  FROM usage WHERE run_id = ?1 ORDER BY event_id, position LIMIT 1000";

const FINDINGS: &str = "SELECT reviewer, severity, category, path, fate, reason_code FROM findings WHERE run_id = ?1
  ORDER BY CASE fate WHEN 'kept' THEN 0 WHEN 'merged' THEN 1 ELSE 2 END,
  CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, path LIMIT 1000";

/// Reads a run in one round trip; `None` when nobody has heard of it.
pub(crate) async fn run(env: &Env, id: Uuid) -> Outcome<Option<RunDetail>> {
    let database = database(env)?;
    let parameters = [JsValue::from_str(&id.to_string())];
    let statements = [RUN, RUN, SESSIONS, USAGE, FINDINGS]
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
    }))
}
