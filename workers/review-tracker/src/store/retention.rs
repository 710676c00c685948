//! Retention: raw rows for some days, rollups for ever, distributions of old days as weeks.
//!
//! Everything is done in small steps, so that no statement runs long and the database answers others in between.

use worker::{D1Database, Env, Result, wasm_bindgen::JsValue};

use super::{query::number, spans::week};
use crate::clock::{self, DAY_MS, day};

/// The variable that says for how many days raw rows are kept.
const RETENTION_DAYS: &str = "RETENTION_DAYS";
const DEFAULT_DAYS: i64 = 90;
/// Less than a week would break windows of the dashboard, more than ten years is a slip.
const MIN_DAYS: i64 = 7;
const MAX_DAYS: i64 = 3660;

/// Events that one step deletes; runs, each with everything that hangs on it; rows of a table that hang on them; projects whose
/// rollups are looked at.
const EVENTS_A_STEP: i64 = 1000;
const RUNS_A_STEP: i64 = 100;
const ROWS_A_STEP: i64 = 2000;
const PROJECTS_A_STEP: i64 = 50;
/// In so many turns of the cron, three and a half days, each project has its turn, however many there are: a week's hot files are
/// looked at for two weeks.
const TURNS: i64 = 1000;
/// The most steps of a kind in one go, and the most rows that hang on runs: the next one goes on. A client may hang as many rows on
/// a run as its quota lets it, and deleting millions of them at once would keep the database from everything else.
const STEPS: usize = 20;
const ROWS_A_TURN: usize = 40_000;
/// Files that stay of each week that is over.
const HOT_FILES_A_WEEK: i64 = 200;

/// Tables of what hangs on a run: and the key of its rows.
const OF_A_RUN: [(&str, &str); 7] = [
    ("sessions", "event_id"),
    ("usage", "event_id, position"),
    ("findings", "event_id"),
    ("circuits", "event_id"),
    ("failbacks", "event_id"),
    ("glasses", "event_id"),
    ("outcomes", "event_id"),
];

/// The result of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CleanedUp {
    /// Events that were deleted.
    pub(crate) events: usize,
    /// Runs that were deleted.
    pub(crate) runs: usize,
    /// Set if there is more to delete.
    pub(crate) more: bool,
}

/// The days for which raw rows are kept. What is set and makes no sense is said and not followed: deleting is for good.
fn retention_days(env: &Env) -> std::result::Result<i64, String> {
    let Ok(set) = env.var(RETENTION_DAYS).map(|value| value.to_string()) else {
        return Ok(DEFAULT_DAYS);
    };
    parse_days(&set)
}

fn parse_days(set: &str) -> std::result::Result<i64, String> {
    match set.trim().parse() {
        Ok(days) if (MIN_DAYS..=MAX_DAYS).contains(&days) => Ok(days),
        _ => Err(format!(
            "{RETENTION_DAYS} is `{set}`: set a number of days from {MIN_DAYS} to {MAX_DAYS}; until then nothing is deleted"
        )),
    }
}

/// The oldest time of an event that is still taken. An event that is older would be deleted, and could then count again.
pub(crate) fn oldest_accepted_ms(env: &Env, now_ms: i64) -> i64 {
    now_ms - retention_days(env).unwrap_or(MAX_DAYS) * DAY_MS
}

/// The first day whose distributions are kept by day; earlier ones are kept by week.
pub(crate) fn first_day_with_bins(env: &Env) -> i64 {
    week(day(oldest_accepted_ms(env, clock::now_ms())))
}

/// Deletes what is too old, a limited number of steps of it.
pub(crate) async fn clean_up(env: &Env) -> Result<CleanedUp> {
    let days = retention_days(env)?;
    let now_ms = clock::now_ms();
    let cutoff = now_ms - days * DAY_MS;
    let database = env.d1("DB")?;
    let mut done = CleanedUp::default();
    let mut runs_left = true;
    let mut rows = 0;
    for _ in 0..STEPS {
        let deleted = delete_runs(&database, cutoff).await?;
        done.runs += deleted.runs;
        rows += deleted.rows;
        runs_left = deleted.runs + deleted.rows > 0;
        if !runs_left || rows >= ROWS_A_TURN {
            break;
        }
    }
    let mut events_left = true;
    for _ in 0..STEPS {
        let deleted = delete_events(&database, cutoff).await?;
        done.events += deleted;
        events_left = deleted > 0;
        if !events_left {
            break;
        }
    }
    done.more = runs_left || events_left;
    compact(&database, week(day(cutoff)), week(day(now_ms))).await?;
    Ok(done)
}

/// The result of a step.
#[derive(Debug, Clone, Copy, Default)]
struct Deleted {
    runs: usize,
    /// Rows that hung on runs.
    rows: usize,
}

/// Runs with all that hangs on them, in one transaction, so that no page ever shows half of one. Only of a run with more rows than
/// a step may delete, some go earlier than the run itself.
async fn delete_runs(database: &D1Database, cutoff: i64) -> Result<Deleted> {
    let old = "SELECT run_id FROM runs WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2";
    let mut statements = Vec::new();
    let mut empty = String::new();
    for (table, key) in OF_A_RUN {
        let statement = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE run_id IN ({old}) LIMIT ?3)"
        );
        let parameters = [number(cutoff), number(RUNS_A_STEP), number(ROWS_A_STEP)];
        statements.push(database.prepare(statement).bind(&parameters)?);
        empty.push_str(" AND NOT EXISTS (SELECT 1 FROM ");
        empty.push_str(table);
        empty.push_str(" AS t WHERE t.run_id = runs.run_id)");
    }
    let runs = format!("DELETE FROM runs WHERE run_id IN ({old}){empty}");
    statements.push(database.prepare(runs).bind(&[number(cutoff), number(RUNS_A_STEP)])?);
    let results = database.batch(statements).await?;
    let mut deleted = Deleted {
        runs: changes(results.last())?,
        rows: 0,
    };
    for result in results.iter().take(OF_A_RUN.len()) {
        deleted.rows += changes(Some(result))?;
    }
    Ok(deleted)
}

/// Events, by their own time. Until they are gone, they show that an id was counted.
async fn delete_events(database: &D1Database, cutoff: i64) -> Result<usize> {
    let statement = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)";
    let result = database
        .prepare(statement)
        .bind(&[number(cutoff), number(EVENTS_A_STEP)])?
        .run()
        .await?;
    changes(Some(&result))
}

fn changes(result: Option<&worker::D1Result>) -> Result<usize> {
    let meta = result.map(worker::D1Result::meta).transpose()?.flatten();
    Ok(meta.and_then(|meta| meta.changes).unwrap_or_default())
}

/// Makes rollups of the past smaller, some projects at a time: days whose week is enough, and files that are not hot.
async fn compact(database: &D1Database, first_day: i64, this_week: i64) -> Result<()> {
    let next = format!(
        "FROM names WHERE kind = 'project'
         AND rank > coalesce((SELECT position FROM chores WHERE name = 'compact'), 0) ORDER BY rank
         LIMIT max(?1, coalesce((SELECT max(rank) FROM names WHERE kind = 'project'), 0) / {TURNS})"
    );
    let projects = format!("SELECT '*' UNION ALL SELECT name FROM (SELECT name {next})");
    let bins = format!(
        "DELETE FROM bins WHERE project IN ({projects}) AND metric IN ('duration_ms', 'cost_usd', 'lag_ms') AND span = 1
         AND start < ?2"
    );
    // By name, because what is looked for begins with them.
    let tiers = "'*', 'trivial', 'lite', 'full'";
    // Of the last two weeks that are over: an event may come late, but not later than that.
    let hot_files = format!(
        "DELETE FROM hot_files WHERE grain IN ({projects}) AND tier IN ({tiers}) AND week IN (?2 - 7, ?2 - 14)
         AND (grain, tier, week, project, path) IN (SELECT grain, tier, week, project, path FROM (
           SELECT grain, tier, week, project, path,
             row_number() OVER (PARTITION BY grain, tier, week ORDER BY findings DESC, path) AS place
           FROM hot_files WHERE grain IN ({projects}) AND tier IN ({tiers}) AND week IN (?2 - 7, ?2 - 14))
         WHERE place > {HOT_FILES_A_WEEK})"
    );
    // Where it has got to; from the beginning again when that was the last one.
    let position = format!(
        "INSERT INTO chores (name, position) SELECT 'compact', coalesce((SELECT max(rank) FROM (SELECT rank {next})), 0)
         ON CONFLICT DO UPDATE SET position = excluded.position"
    );
    let limit = || number(PROJECTS_A_STEP);
    let parameters: [(&str, Vec<JsValue>); 3] = [
        (&bins, vec![limit(), number(first_day)]),
        (&hot_files, vec![limit(), number(this_week)]),
        (&position, vec![limit()]),
    ];
    let statements = parameters
        .into_iter()
        .map(|(statement, parameters)| database.prepare(statement).bind(&parameters))
        .collect::<Result<_>>()?;
    database.batch(statements).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse_days;

    #[test]
    fn a_retention_that_makes_no_sense_deletes_nothing_and_says_so() {
        assert_eq!(parse_days(" 90 "), Ok(90));
        for set in ["", "0", "-1", "6", "3661", "90 days", "1e3"] {
            let fault = parse_days(set).expect_err("no number of days");
            assert!(
                fault.contains("RETENTION_DAYS") && fault.contains("nothing is deleted"),
                "{fault}"
            );
        }
    }
}
