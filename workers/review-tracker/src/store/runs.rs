//! Runs, newest first, a page at a time.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    OverviewQuery,
    query::{database, fault, number},
};
use crate::clock::DAY_MS;

/// Runs on a page.
const PAGE_SIZE: u32 = 50;

/// One run as the table shows it. What is `None` has not been heard of yet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunRow {
    /// The run.
    pub(crate) run_id: Uuid,
    /// Its project.
    pub(crate) project: String,
    /// When it began.
    pub(crate) at_ms: i64,
    /// Its merge request.
    pub(crate) merge_request: Option<u64>,
    /// Its tier.
    pub(crate) tier: Option<String>,
    /// Its verdict.
    pub(crate) verdict: Option<String>,
    /// How long it took.
    pub(crate) duration_ms: Option<i64>,
    /// What it cost.
    pub(crate) cost_usd: Option<f64>,
    /// Reviewed files.
    pub(crate) files: Option<u64>,
    /// Findings that stand.
    pub(crate) critical: Option<u64>,
    /// See `critical`.
    pub(crate) warning: Option<u64>,
    /// See `critical`.
    pub(crate) suggestion: Option<u64>,
}

/// Where a page begins: after this run. A position rather than an offset, so that runs which arrive meanwhile neither
/// shift the page nor make a deep one slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The run's beginning.
    pub(crate) at_ms: i64,
    /// The run.
    pub(crate) run_id: Uuid,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RunPage {
    /// The runs.
    pub(crate) runs: Vec<RunRow>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<Cursor>,
}

/// With one project the condition has to be a plain `project = ?`, or the planner would not use that index.
fn statement(one_project: bool) -> String {
    let project = if one_project { "project = ?1" } else { "?1 IS NULL" };
    format!(
        "SELECT run_id, project, at_ms, merge_request, tier, verdict, duration_ms, cost_usd, files, critical, warning,
        suggestion FROM runs WHERE {project} AND at_ms >= ?2 AND (at_ms, run_id) < (?3, ?4)
        AND (?5 IS NULL OR tier = ?5) ORDER BY at_ms DESC, run_id DESC LIMIT ?6"
    )
}

/// Reads a page.
pub(crate) async fn runs(env: &Env, query: &OverviewQuery, after: Option<Cursor>) -> Outcome<RunPage> {
    let database = database(env)?;
    let after = after.unwrap_or(Cursor {
        at_ms: (query.last_day + 1) * DAY_MS,
        run_id: Uuid::max(),
    });
    let parameters = [
        query.project.as_deref().map_or(JsValue::NULL, JsValue::from_str),
        number(query.first_day * DAY_MS),
        number(after.at_ms),
        JsValue::from_str(&after.run_id.to_string()),
        query.tier.as_deref().map_or(JsValue::NULL, JsValue::from_str),
        number(i64::from(PAGE_SIZE) + 1),
    ];
    let statement = database.prepare(statement(query.project.is_some())).bind(&parameters)?;
    let mut runs: Vec<RunRow> = statement.all().await.map_err(fault)?.results()?;
    let page = PAGE_SIZE as usize;
    let next = (runs.len() > page).then(|| {
        runs.truncate(page);
        runs.last().map(|run| Cursor {
            at_ms: run.at_ms,
            run_id: run.run_id,
        })
    });
    Ok(RunPage {
        runs,
        next: next.flatten(),
    })
}
