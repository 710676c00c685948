//! What the overview shows, from rollups.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{Env, wasm_bindgen::JsValue};

use super::{
    Ends, Window, ends,
    query::{database, fault, rows},
    retention::first_day_with_bins,
    spans::{BINS, spans},
    window::{Distributions, bound, distributions, grain},
};

/// What the overview is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OverviewPage {
    /// Completed runs by day and verdict.
    pub(crate) days: Vec<DayVerdict>,
    /// Sums by tier.
    pub(crate) tiers: Vec<TierSum>,
    /// Distributions of `duration_ms` and `cost_usd` by tier.
    pub(crate) distributions: Distributions,
    /// Other counts of the window.
    pub(crate) counts: Counts,
    /// How runs end, and where.
    pub(crate) ends: Ends,
}

/// Runs of a day with a verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct DayVerdict {
    /// The day.
    pub(crate) day: i64,
    /// The verdict.
    pub(crate) verdict: String,
    /// How many.
    pub(crate) runs: u64,
    /// What they cost.
    pub(crate) cost_usd: f64,
}

/// Sums of a tier.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct TierSum {
    /// The tier.
    pub(crate) tier: String,
    /// Completed runs.
    pub(crate) runs: u64,
    /// Their durations.
    pub(crate) duration_ms: f64,
    /// Their cost.
    pub(crate) cost_usd: f64,
    /// Their uncached prompt tokens.
    pub(crate) input: u64,
    /// What they were answered, reasoning included.
    pub(crate) output: u64,
    /// Their cached prompt tokens.
    pub(crate) cache_read: u64,
    /// Prompt tokens that went into a cache.
    pub(crate) cache_write: u64,
    /// Findings that stand, by severity.
    pub(crate) critical: u64,
    /// See `critical`.
    pub(crate) warning: u64,
    /// See `critical`.
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
    /// How long a run took on average.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(crate) fn mean_duration_ms(&self) -> Option<f64> {
        let runs: u64 = self.tiers.iter().map(|tier| tier.runs).sum();
        let all: f64 = self.tiers.iter().map(|tier| tier.duration_ms).sum();
        (runs > 0).then(|| all / runs as f64)
    }
}

/// Counts of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Runs that began.
    pub(crate) started: u64,
    /// Merge requests that were reviewed for the first time.
    pub(crate) merge_requests: u64,
    /// Runs that ended because there was nothing to review.
    pub(crate) nothing_to_review: u64,
    /// Reviews that a person skipped. They have no tier.
    pub(crate) break_glass: u64,
}

#[derive(Deserialize)]
struct CountRow {
    kind: String,
    n: u64,
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
    let mut statements = vec![
        bound(&database, DAYS, query)?,
        bound(&database, TIERS, query)?,
        database.prepare(BINS).bind(&bins)?,
        bound(&database, COUNTS, query)?,
    ];
    statements.extend(ends::statements(&database, query)?);
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut page = OverviewPage {
        days: rows(&mut results)?,
        tiers: rows(&mut results)?,
        distributions: distributions(&mut results)?
            .into_iter()
            .filter(|((_, tier), _)| query.tier.as_ref().is_none_or(|wanted| wanted == tier))
            .collect(),
        ..OverviewPage::default()
    };
    for row in rows::<CountRow>(&mut results)? {
        match row.kind.as_str() {
            "started" => page.counts.started = row.n,
            "merge_request" => page.counts.merge_requests = row.n,
            "run_skipped" => page.counts.nothing_to_review = row.n,
            _ => page.counts.break_glass = row.n,
        }
    }
    page.ends = ends::read(&mut results)?;
    Ok(page)
}
