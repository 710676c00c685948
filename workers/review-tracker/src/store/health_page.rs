//! What the page about the tracker itself shows, from rollups.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::{
    Window,
    query::{database, fault, number, rows},
    window::{Bins, bound},
};

/// What the page is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HealthPage {
    /// How long events waited, by day.
    pub(crate) lag: Vec<(i64, Bins)>,
    /// Accepted events by day.
    pub(crate) days: Vec<DayCount>,
    /// Accepted events by kind.
    pub(crate) kinds: Vec<KindCount>,
    /// Events that clients dropped, by day.
    pub(crate) dropped: Vec<DayCount>,
    /// Events whose clock was ahead, by day.
    pub(crate) skewed: Vec<DayCount>,
    /// What verdicts asked of the forge, and what that showed.
    pub(crate) verdicts: Vec<VerdictShown>,
    /// Figures of the runs themselves.
    pub(crate) figures: Vec<Figure>,
    /// When the newest event of all projects happened, and when it came.
    pub(crate) newest: Option<Newest>,
}

/// A count of a day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DayCount {
    /// The day.
    pub(crate) day: i64,
    /// How many.
    pub(crate) events: u64,
}

/// Events of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct KindCount {
    /// The kind.
    pub(crate) kind: String,
    /// How many.
    pub(crate) events: u64,
}

/// What verdicts asked of the forge.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct VerdictShown {
    /// What was asked.
    pub(crate) wanted: String,
    /// What is shown; empty where the forge does not tell.
    pub(crate) shown: String,
    /// `yes` or `no`.
    pub(crate) mismatch: String,
    /// How many.
    pub(crate) runs: u64,
}

/// A figure of runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Figure {
    /// Its name, with its unit at the end.
    pub(crate) name: String,
    /// How many values.
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

const STATEMENTS: [&str; 6] = [
    "SELECT day, sum(events) AS events FROM daily_events
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1",
    "SELECT kind, sum(events) AS events FROM daily_events
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY 2 DESC",
    "SELECT day, sum(events) AS events FROM daily_dropped
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1",
    "SELECT day, sum(events) AS events FROM daily_skewed
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1",
    "SELECT wanted, shown, mismatch, sum(runs) AS runs FROM daily_verdicts
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4)
     GROUP BY 1, 2, 3 ORDER BY 4 DESC",
    "SELECT name, sum(n) AS n, sum(total) AS total, max(largest) AS largest FROM daily_metrics
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY 1",
];

/// Lag has no project and no tier. By day, because days are what an operator compares.
const LAG: &str = "SELECT start AS day, bin, sum(n) AS n FROM bins
  WHERE project = '*' AND metric = 'lag_ms' AND span = 1 AND start BETWEEN ?1 AND ?2
  GROUP BY 1, 2 ORDER BY 1, 2";

const NEWEST: &str = "SELECT at_ms, received_ms FROM events ORDER BY at_ms DESC LIMIT 1";

/// Reads the page in one round trip.
pub(crate) async fn health_page(env: &Env, query: &Window) -> Outcome<HealthPage> {
    let database = database(env)?;
    let days = [number(query.first_day), number(query.last_day)];
    let mut statements = vec![database.prepare(LAG).bind(&days)?, database.prepare(NEWEST)];
    for statement in STATEMENTS {
        statements.push(bound(&database, statement, query)?);
    }
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
