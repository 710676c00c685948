//! The data of the overview, from rollups.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    Window, lost,
    query::{count, database, fault, number, rows},
    retention::first_day_with_bins,
    spans::{BINS, spans},
    window::{Distributions, bound, counts, distributions, grain},
};
use crate::{clock, events::Count};

/// Repositories that are listed.
const MAX_PROJECTS: u32 = 50;

/// The data of the overview.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OverviewPage {
    /// Completed runs by day and verdict.
    pub(crate) days: Vec<DayVerdict>,
    /// Sums by tier.
    pub(crate) tiers: Vec<TierSum>,
    /// Distributions of `duration_ms` and `cost_usd` by tier.
    pub(crate) distributions: Distributions,
    /// Counts of the window by kind.
    counts: Vec<Count>,
    /// Failed runs by stage and kind, the most frequent first.
    pub(crate) failed: Vec<Count>,
    /// Inconclusive runs by cause, the most frequent first.
    pub(crate) causes: Vec<Count>,
    /// Reviews of merge requests: `first` or `again`.
    reviews: Vec<Count>,
    /// Runs that did not report an end within their limit.
    pub(crate) lost: u64,
    /// The repositories with the most runs.
    pub(crate) projects: Vec<ProjectSum>,
}

/// Runs of a day with a verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct DayVerdict {
    pub(crate) day: i64,
    pub(crate) verdict: String,
    pub(crate) runs: u64,
    /// Their cost.
    pub(crate) cost_usd: f64,
}

/// Sums of a tier.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct TierSum {
    pub(crate) tier: String,
    /// Completed runs.
    pub(crate) runs: u64,
    /// Their durations.
    pub(crate) duration_ms: f64,
    pub(crate) cost_usd: f64,
    /// Their uncached prompt tokens.
    pub(crate) input: u64,
    /// Their output tokens, reasoning included.
    pub(crate) output: u64,
    /// Their cached prompt tokens.
    pub(crate) cache_read: u64,
    /// Prompt tokens that went into a cache.
    pub(crate) cache_write: u64,
    /// Findings that stand, by severity.
    pub(crate) critical: u64,
    pub(crate) warning: u64,
    pub(crate) suggestion: u64,
    /// Runs without the coordinator.
    pub(crate) degraded: u64,
    /// Runs with a gap.
    pub(crate) partial: u64,
}

impl TierSum {
    /// All findings that stand.
    pub(crate) const fn findings(&self) -> u64 {
        self.critical + self.warning + self.suggestion
    }
}

impl OverviewPage {
    /// The number of a kind that is counted without labels, or of all its labels.
    pub(crate) fn count(&self, kind: &str) -> u64 {
        let counts = self.counts.iter().filter(|count| count.kind == kind);
        counts.map(|count| count.n).sum()
    }

    /// Completed reviews of merge requests, `first` ones or those that came `again`.
    pub(crate) fn reviews_of_merge_requests(&self, part: &str) -> u64 {
        let reviews = self.reviews.iter().filter(|count| count.a == part);
        reviews.map(|count| count.n).sum()
    }
}

/// Reviews of a repository.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ProjectSum {
    pub(crate) project: String,
    /// Completed runs.
    pub(crate) runs: u64,
    /// Those of them without a verdict on the change.
    pub(crate) inconclusive: u64,
    /// Failed runs.
    pub(crate) failed: u64,
    /// Runs that did not report an end within their limit.
    pub(crate) lost: u64,
    /// Cost of the completed runs.
    pub(crate) cost_usd: f64,
    /// Findings that stand.
    pub(crate) findings: u64,
    /// Critical ones of them.
    pub(crate) critical: u64,
    /// The last day with a run.
    pub(crate) last_day: i64,
}

const DAYS: &str = "SELECT day, verdict, sum(runs) AS runs, sum(cost_usd) AS cost_usd FROM daily_runs
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY day, verdict ORDER BY day";

const TIERS: &str =
    "SELECT tier, sum(runs) AS runs, sum(duration_ms) AS duration_ms, sum(cost_usd) AS cost_usd, sum(input) AS input,
  sum(output + reasoning) AS output, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write,
  sum(critical) AS critical, sum(warning) AS warning, sum(suggestion) AS suggestion, sum(degraded) AS degraded,
  sum(partial) AS partial FROM daily_runs
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY tier ORDER BY tier";

const COUNTS: &str = "SELECT kind, sum(n) AS n FROM daily_counts
  WHERE project = ?1 AND kind IN ('started', 'merge_request', 'break_glass', 'run_skipped') AND day BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR tier = ?4) GROUP BY kind";

/// Reads the overview in one round trip.
pub(crate) async fn overview_page(env: &Env, query: &Window) -> Outcome<OverviewPage> {
    let database = database(env)?;
    let spans = spans(query.first_day, query.last_day, first_day_with_bins(env));
    let bins: Vec<JsValue> = [grain(query)].into_iter().chain(spans.parameters()).collect();
    // A repository may have lost runs only, and then no rollup knows it.
    let projects = format!(
        "SELECT project, sum(runs) AS runs, sum(inconclusive) AS inconclusive, sum(failed) AS failed, sum(lost) AS lost,
         sum(cost_usd) AS cost_usd, sum(findings) AS findings, sum(critical) AS critical, max(day) AS last_day FROM (
           SELECT project, runs, inconclusive, failed, 0 AS lost, cost_usd, findings, critical, day FROM daily_projects
           WHERE day BETWEEN ?2 AND ?3 AND (?1 = '*' OR project = ?1) AND (?4 IS NULL OR tier = ?4)
           UNION ALL SELECT project, 0, 0, 0, 1, 0, 0, 0, day FROM ({lost}))
         GROUP BY project ORDER BY sum(runs) + sum(failed) + sum(lost) DESC, project LIMIT {MAX_PROJECTS}",
        lost = lost::of_repositories()
    );
    let now_ms = clock::now_ms();
    let [grain, first, last, tier] = query.parameters();
    let statements = vec![
        bound(&database, DAYS, query)?,
        bound(&database, TIERS, query)?,
        database.prepare(BINS).bind(&bins)?,
        bound(&database, COUNTS, query)?,
        counts(&database, "failed", "a, b", "ORDER BY 3 DESC, 1, 2", query)?,
        counts(&database, "inconclusive", "a", "ORDER BY 2 DESC, 1", query)?,
        counts(&database, "mr_review", "a", "", query)?,
        lost::statement(&database, Some(query), now_ms)?,
        database
            .prepare(projects)
            .bind(&[grain, first, last, tier, number(now_ms)])?,
    ];
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let of_tier = |tier: &str| query.tier.as_ref().is_none_or(|wanted| wanted == tier);
    Ok(OverviewPage {
        days: rows(&mut results)?,
        tiers: rows(&mut results)?,
        distributions: distributions(&mut results)?
            .into_iter()
            .filter(|((_, tier), _)| of_tier(tier))
            .collect(),
        counts: rows(&mut results)?,
        failed: rows(&mut results)?,
        causes: rows(&mut results)?,
        reviews: rows(&mut results)?,
        lost: count(&mut results)?,
        projects: rows(&mut results)?,
    })
}
