//! The window that a page looks at, as parameters of its statements; and the counts of a window.

use std::collections::BTreeMap;

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{D1Database, D1PreparedStatement, Result, wasm_bindgen::JsValue};

use super::query::number;

/// Bins of a distribution, ascending.
pub(crate) type Bins = Vec<(i32, u64)>;

/// The part of the data that a page is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// One project, or all.
    pub(crate) project: Option<String>,
    /// One tier, or all.
    pub(crate) tier: Option<String>,
    /// The first day.
    pub(crate) first_day: i64,
    /// The last day.
    pub(crate) last_day: i64,
}

impl Window {
    /// The first four parameters of each statement about it: the project or `*`, the days, and the tier or NULL.
    pub(super) fn parameters(&self) -> [JsValue; 4] {
        [grain(self), number(self.first_day), number(self.last_day), tier(self)]
    }
}

/// A statement about a window: `?1` is the project or `*`, `?2` and `?3` are the days, `?4` is the tier or NULL.
pub(crate) fn bound(database: &D1Database, sql: &str, query: &Window) -> Result<D1PreparedStatement> {
    database.prepare(sql).bind(&query.parameters())
}

/// A statement for the counts of a kind in a window, as [`Count`](crate::events::Count), by some of their labels (`a`, `b`, `c`).
/// Those of all time and of all projects are in the same table: the file of an event says what its labels are.
pub(super) fn counts(
    database: &D1Database,
    kind: &str,
    labels: &str,
    order: &str,
    query: &Window,
) -> Result<D1PreparedStatement> {
    let statement = format!(
        "SELECT {labels}, sum(n) AS n FROM daily_counts WHERE project = ?1 AND kind = '{kind}' AND day BETWEEN ?2 AND ?3
         AND (?4 IS NULL OR tier = ?4) GROUP BY {labels} {order}"
    );
    bound(database, &statement, query)
}

/// The tier, or NULL for all of them.
pub(crate) fn tier(query: &Window) -> JsValue {
    query.tier.as_deref().map_or(JsValue::NULL, JsValue::from_str)
}

/// The project, or what stands for all of them in rollups.
pub(crate) fn grain(query: &Window) -> JsValue {
    JsValue::from_str(query.project.as_deref().unwrap_or("*"))
}

#[derive(Deserialize)]
struct BinRow {
    metric: String,
    tier: String,
    bin: i32,
    n: u64,
}

/// Distributions by metric and tier.
pub(crate) type Distributions = BTreeMap<(String, String), Bins>;

/// Reads distributions from the rows of a statement with `metric`, `tier`, `bin` and `n`, in that order.
pub(crate) fn distributions(results: &mut impl Iterator<Item = worker::D1Result>) -> Outcome<Distributions> {
    let mut all = Distributions::new();
    for row in super::query::rows::<BinRow>(results)? {
        all.entry((row.metric, row.tier)).or_default().push((row.bin, row.n));
    }
    Ok(all)
}

/// Adds distributions up.
pub(crate) fn merged<'a>(all: impl IntoIterator<Item = &'a Bins>) -> Bins {
    let mut sums = BTreeMap::new();
    for (bin, n) in all.into_iter().flatten() {
        *sums.entry(*bin).or_insert(0) += n;
    }
    sums.into_iter().collect()
}
