//! How runs end, and where: failures, causes of inconclusive verdicts, lost runs, reviews of merge requests, repositories.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{D1Database, D1PreparedStatement, D1Result, Result};

use super::{Window, lost, query::rows, window::bound};
use crate::clock;

/// Repositories that are listed.
const MAX_PROJECTS: u32 = 50;

/// What the overview shows of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ends {
    /// Failed runs by stage and kind, the most frequent first.
    pub(crate) failed: Vec<FailedCount>,
    /// Inconclusive runs by cause, the most frequent first.
    pub(crate) causes: Vec<CauseCount>,
    /// First reviews of merge requests.
    pub(crate) first_reviews: u64,
    /// Later reviews of merge requests.
    pub(crate) re_reviews: u64,
    /// Runs whose end was not heard of within their limit.
    pub(crate) lost: u64,
    /// The repositories with the most runs.
    pub(crate) projects: Vec<ProjectSum>,
}

/// Failed runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FailedCount {
    /// Where.
    pub(crate) stage: String,
    /// Why.
    pub(crate) kind: String,
    /// How many.
    pub(crate) runs: u64,
}

/// Inconclusive runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CauseCount {
    /// Why.
    pub(crate) cause: String,
    /// How many.
    pub(crate) runs: u64,
}

/// Reviews of a repository.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ProjectSum {
    /// Its path.
    pub(crate) project: String,
    /// Completed runs.
    pub(crate) runs: u64,
    /// Those of them without a verdict on the change.
    pub(crate) inconclusive: u64,
    /// Failed runs.
    pub(crate) failed: u64,
    /// What the completed runs cost.
    pub(crate) cost_usd: f64,
    /// Findings that stand.
    pub(crate) findings: u64,
    /// Critical ones of them.
    pub(crate) critical: u64,
    /// The last day with a run.
    pub(crate) last_day: i64,
}

#[derive(Deserialize)]
struct ReviewCount {
    part: String,
    n: u64,
}

const FAILED: &str =
    "SELECT a AS stage, b AS kind, sum(n) AS runs FROM daily_counts WHERE project = ?1 AND kind = 'failed'
  AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2 ORDER BY runs DESC, 1, 2";

const CAUSES: &str = "SELECT a AS cause, sum(n) AS runs FROM daily_counts WHERE project = ?1 AND kind = 'inconclusive'
  AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY runs DESC, 1";

const REVIEWS: &str = "SELECT a AS part, sum(n) AS n FROM daily_counts WHERE project = ?1 AND kind = 'mr_review'
  AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1";

/// The statements, for a batch.
pub(super) fn statements(database: &D1Database, query: &Window) -> Result<[D1PreparedStatement; 5]> {
    let projects = format!(
        "SELECT project, sum(runs) AS runs, sum(inconclusive) AS inconclusive, sum(failed) AS failed, sum(cost_usd) AS cost_usd,
         sum(findings) AS findings, sum(critical) AS critical, max(day) AS last_day FROM daily_projects
         WHERE day BETWEEN ?2 AND ?3 AND (?1 = '*' OR project = ?1) AND (?4 IS NULL OR tier = ?4)
         GROUP BY project ORDER BY runs + sum(failed) DESC, project LIMIT {MAX_PROJECTS}"
    );
    Ok([
        bound(database, FAILED, query)?,
        bound(database, CAUSES, query)?,
        bound(database, REVIEWS, query)?,
        lost::statement(database, Some(query), clock::now_ms())?,
        bound(database, &projects, query)?,
    ])
}

/// Reads their results.
pub(super) fn read(results: &mut impl Iterator<Item = D1Result>) -> Outcome<Ends> {
    let (failed, causes) = (rows(results)?, rows(results)?);
    let reviews: Vec<ReviewCount> = rows(results)?;
    let part = |name: &str| reviews.iter().filter(|row| row.part == name).map(|row| row.n).sum();
    Ok(Ends {
        failed,
        causes,
        first_reviews: part("first"),
        re_reviews: part("again"),
        lost: lost::read(results)?,
        projects: rows(results)?,
    })
}
