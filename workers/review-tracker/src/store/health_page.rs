//! The data of the page about the tracker itself, from rollups.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::{
    Window,
    query::{database, fault, number, rows},
    window::{Bins, bound, counts},
};
use crate::events::Count;

/// The data of the page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HealthPage {
    /// The time that events waited, by day.
    pub(crate) lag: Vec<(i64, Bins)>,
    /// Accepted events by day.
    pub(crate) days: Vec<DayCount>,
    /// Accepted events by kind.
    pub(crate) kinds: Vec<Count>,
    /// Events that clients dropped, by day.
    pub(crate) dropped: Vec<DayCount>,
    /// Events whose clock was ahead, by day.
    pub(crate) skewed: Vec<DayCount>,
    /// Verdicts by the state that they asked of the forge, the one that it showed, and whether they differ (`yes` or `no`).
    pub(crate) verdicts: Vec<Count>,
    /// Figures of the runs themselves.
    pub(crate) figures: Vec<Figure>,
    /// When the newest event of all projects happened, and when it came.
    pub(crate) newest: Option<Newest>,
}

/// A count of a day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DayCount {
    pub(crate) day: i64,
    pub(crate) n: u64,
}

/// A figure of runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Figure {
    /// Its name, with its unit at the end.
    pub(crate) name: String,
    /// Number of values.
    pub(crate) n: u64,
    /// Their sum.
    pub(crate) total: f64,
    /// The largest.
    pub(crate) largest: f64,
}

/// The newest event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Newest {
    /// When it happened.
    pub(crate) at_ms: i64,
    /// When it came.
    pub(crate) received_ms: i64,
}

#[derive(Deserialize)]
struct LagRow {
    day: i64,
    bin: i32,
    n: u64,
}

const FIGURES: &str = "SELECT name, sum(n) AS n, sum(total) AS total, max(largest) AS largest FROM daily_metrics
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY 1";

/// Lag has no project and no tier. By day, because days are what an operator compares.
const LAG: &str = "SELECT start AS day, bin, sum(n) AS n FROM bins
  WHERE project = '*' AND metric = 'lag_ms' AND span = 1 AND start BETWEEN ?1 AND ?2
  GROUP BY 1, 2 ORDER BY 1, 2";

const NEWEST: &str = "SELECT at_ms, received_ms FROM events ORDER BY at_ms DESC LIMIT 1";

/// Reads the page in one round trip.
pub(crate) async fn health_page(env: &Env, query: &Window) -> Outcome<HealthPage> {
    let database = database(env)?;
    let days = [number(query.first_day), number(query.last_day)];
    let statements = vec![
        database.prepare(LAG).bind(&days)?,
        database.prepare(NEWEST),
        counts(&database, "event", "day", "", query)?,
        counts(&database, "event", "a", "ORDER BY 2 DESC", query)?,
        counts(&database, "dropped", "day", "", query)?,
        counts(&database, "skewed", "day", "", query)?,
        counts(&database, "verdict", "a, b, c", "ORDER BY 4 DESC", query)?,
        bound(&database, FIGURES, query)?,
    ];
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut lag: Vec<(i64, Bins)> = Vec::new();
    for row in rows::<LagRow>(&mut results)? {
        match lag.last_mut() {
            Some((day, bins)) if *day == row.day => bins.push((row.bin, row.n)),
            _ => lag.push((row.day, vec![(row.bin, row.n)])),
        }
    }
    Ok(HealthPage {
        lag,
        newest: rows(&mut results)?.pop(),
        days: rows(&mut results)?,
        kinds: rows(&mut results)?,
        dropped: rows(&mut results)?,
        skewed: rows(&mut results)?,
        verdicts: rows(&mut results)?,
        figures: rows(&mut results)?,
    })
}
