//! Runs whose end was not heard of within their limit.

use worker::{D1Database, D1PreparedStatement, Result, wasm_bindgen::JsValue};

use super::{Window, query::number};
use crate::clock::DAY_MS;

/// Limit of a run that does not state one, in milliseconds. No review's default limits add up to more.
pub(crate) const DEFAULT_LIMIT_MS: i64 = 2 * 3_600_000;
/// The time that a run may take beyond its limit: it ends what it has begun, and its events arrive a little later.
pub(crate) const GRACE_MS: i64 = 5 * 60_000;

/// The condition for a run without an end. The words of the index `runs_open`, which holds these runs only.
pub(super) const OPEN: &str = "verdict IS NULL AND skipped = 0 AND failed_kind IS NULL";
/// When it is lost: after its limit and the grace, or after the default.
pub(super) const DEADLINE_MS: &str = "(at_ms + coalesce(limit_ms + 300000, 7200000))";
/// More are not counted: enough to know, and never slow.
const MAX_COUNTED: i64 = 10_000;

/// Counts lost runs: those of a window, or all.
pub(super) fn statement(database: &D1Database, query: Option<&Window>, now_ms: i64) -> Result<D1PreparedStatement> {
    let statement = format!(
        "SELECT count(*) AS n FROM (SELECT 1 FROM runs INDEXED BY runs_open WHERE {OPEN} AND at_ms >= ?1 AND at_ms < ?2
         AND {DEADLINE_MS} < ?3 AND (?4 IS NULL OR project = ?4) AND (?5 IS NULL OR tier = ?5) LIMIT {MAX_COUNTED})"
    );
    let text = |text: Option<&String>| text.map_or(JsValue::NULL, |text| JsValue::from_str(text));
    database.prepare(statement).bind(&[
        number(query.map_or(0, |query| query.first_day * DAY_MS)),
        number(query.map_or(now_ms, |query| (query.last_day + 1) * DAY_MS)),
        number(now_ms),
        text(query.and_then(|query| query.project.as_ref())),
        text(query.and_then(|query| query.tier.as_ref())),
    ])
}

/// Lost runs of a window as rows (`project`, `day`), where `?1` to `?4` are the window's parameters and `?5` is the time now.
pub(super) fn of_repositories() -> String {
    format!(
        "SELECT project, at_ms / {DAY_MS} AS day FROM runs INDEXED BY runs_open WHERE {OPEN} AND at_ms >= ?2 * {DAY_MS}
         AND at_ms < (?3 + 1) * {DAY_MS} AND {DEADLINE_MS} < ?5 AND (?1 = '*' OR project = ?1) AND (?4 IS NULL OR tier = ?4)
         LIMIT {MAX_COUNTED}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_has_the_limits_of_the_page() {
        assert_eq!(
            DEADLINE_MS,
            format!("(at_ms + coalesce(limit_ms + {GRACE_MS}, {DEFAULT_LIMIT_MS}))")
        );
    }
}
