//! Events that a filter by tier leaves out.

use conclave_worker_common::Outcome;
use worker::Env;

use super::{
    Window,
    query::{Counted, database, fault, number},
    window::grain,
};

/// Events of runs whose tier is not known, and what was counted before tiers were kept; of that, neither reviews that were skipped
/// nor starts, which are sent before the tier is decided.
const STATEMENT: &str = "SELECT coalesce(sum(n), 0) AS n FROM daily_counts WHERE project = ?1 AND kind = 'event'
  AND day BETWEEN ?2 AND ?3 AND tier = '' AND a NOT IN ('break_glass', 'run_started')";

/// Returns how many events of a window are of no known tier, where only one tier is looked at.
pub(crate) async fn unclassified(env: &Env, query: &Window) -> Outcome<u64> {
    if query.tier.is_none() {
        return Ok(0);
    }
    let parameters = [grain(query), number(query.first_day), number(query.last_day)];
    let statement = database(env)?.prepare(STATEMENT).bind(&parameters)?;
    let counted: Option<Counted> = statement.first(None).await.map_err(fault)?;
    Ok(counted.map_or(0, |counted| counted.n))
}
