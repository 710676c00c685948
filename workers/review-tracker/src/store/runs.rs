//! Runs, newest first, a page at a time.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    Window,
    lost::{DEADLINE_MS, DEFAULT_LIMIT_MS, GRACE_MS, OPEN},
    query::{database, fault, number},
};
use crate::clock::{self, DAY_MS};

/// One run as the table shows it. What is `None` has not been heard of yet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunRow {
    pub(crate) run_id: Uuid,
    pub(crate) project: String,
    pub(crate) at_ms: i64,
    pub(crate) merge_request: Option<u64>,
    pub(crate) tier: Option<String>,
    pub(crate) verdict: Option<String>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) cost_usd: Option<f64>,
    /// Reviewed files.
    pub(crate) files: Option<u64>,
    /// Findings that stand.
    pub(crate) critical: Option<u64>,
    pub(crate) warning: Option<u64>,
    pub(crate) suggestion: Option<u64>,
    /// 1 when a person skipped the review, 2 when there was nothing to review: it has no verdict and never will.
    pub(crate) skipped: u8,
    /// Where it failed, if it did.
    pub(crate) failed_stage: Option<String>,
    /// Why it failed, if it did.
    pub(crate) failed_kind: Option<String>,
    /// Its time limit, as far as it is known.
    pub(crate) limit_ms: Option<i64>,
}

impl RunRow {
    /// After this time without an end it counts as lost.
    pub(crate) fn deadline_ms(&self) -> i64 {
        let limit = self.limit_ms.map_or(DEFAULT_LIMIT_MS, |limit| limit + GRACE_MS);
        self.at_ms.saturating_add(limit)
    }
}

/// Where a page begins: after this run. A position rather than an offset, so that runs which arrive meanwhile neither
/// shift the page nor make a deep one slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The run's beginning.
    pub(crate) at_ms: i64,
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

/// A search for runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunSearch {
    /// A run.
    pub(crate) run: Option<Uuid>,
    /// A merge request's number.
    pub(crate) merge_request: Option<i64>,
    /// A part of a project's path.
    pub(crate) part: Option<String>,
    pub(crate) ended: Option<Ended>,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this verdict.
    With(&'static str),
    /// With a failure.
    Failed,
    /// Its end was not heard of within its limit.
    Lost,
    /// Its end was not heard of.
    NotYet,
}

/// The statement and its parameters. Only the conditions that are asked for stand in it: with `?1 IS NULL OR …` the planner
/// would use no index.
fn statement(query: &Window, search: &RunSearch, after: Option<Cursor>, limit: u32) -> (String, Vec<JsValue>) {
    let after = after.unwrap_or(Cursor {
        at_ms: (query.last_day + 1) * DAY_MS,
        run_id: Uuid::max(),
    });
    let mut parameters = vec![
        number(query.first_day * DAY_MS),
        number(after.at_ms),
        JsValue::from_str(&after.run_id.to_string()),
    ];
    let mut conditions = String::from("at_ms >= ?1 AND (at_ms, run_id) < (?2, ?3)");
    let mut with = |condition: &str, value: JsValue| {
        parameters.push(value);
        let place = format!("?{}", parameters.len());
        conditions.push_str(" AND ");
        conditions.push_str(&condition.replace('?', &place));
    };
    if let Some(project) = &query.project {
        with("project = ?", JsValue::from_str(project));
    }
    if let Some(tier) = &query.tier {
        with("tier = ?", JsValue::from_str(tier));
    }
    if let Some(run) = search.run {
        with("run_id = ?", JsValue::from_str(&run.to_string()));
    }
    if let Some(merge_request) = search.merge_request {
        with("merge_request = ?", number(merge_request));
    }
    if let Some(part) = &search.part {
        // Projects are fewer than runs: they are looked through, and their runs are found by an index.
        with(
            "project IN (SELECT name FROM names WHERE kind = 'project' AND instr(lower(name), ?) > 0 ORDER BY name LIMIT 100)",
            JsValue::from_str(&part.to_lowercase()),
        );
    }
    match search.ended {
        Some(Ended::With(verdict)) => with("verdict = ? AND failed_kind IS NULL", JsValue::from_str(verdict)),
        Some(Ended::Failed) => conditions.push_str(" AND failed_kind IS NOT NULL"),
        Some(Ended::Lost) => {
            let condition = format!("{OPEN} AND {DEADLINE_MS} < ?");
            with(&condition, number(clock::now_ms()));
        }
        Some(Ended::NotYet) => {
            conditions.push_str(" AND ");
            conditions.push_str(OPEN);
        }
        None => {}
    }
    parameters.push(number(i64::from(limit)));
    let statement = format!(
        "SELECT run_id, project, at_ms, merge_request, tier, verdict, duration_ms, cost_usd, files, critical, warning,
        suggestion, skipped, failed_stage, failed_kind, limit_ms FROM runs WHERE {conditions} ORDER BY at_ms DESC, run_id DESC LIMIT ?{}",
        parameters.len()
    );
    (statement, parameters)
}

/// Reads a page of `size` runs.
pub(crate) async fn runs(
    env: &Env,
    query: &Window,
    search: &RunSearch,
    after: Option<Cursor>,
    size: u32,
) -> Outcome<RunPage> {
    let (statement, parameters) = statement(query, search, after, size + 1);
    let statement = database(env)?.prepare(statement).bind(&parameters)?;
    let mut runs: Vec<RunRow> = statement.all().await.map_err(fault)?.results()?;
    let page = size as usize;
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
