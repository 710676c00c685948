//! Writing batches of events: everything or nothing, and each event once.

use std::{borrow::Cow, collections::HashSet};

use conclave_worker_common::Outcome;
use serde::Deserialize;
use uuid::Uuid;
use worker::{D1Database, D1PreparedStatement, Env, Result};

use super::{Batch, query::fault, rollups, rows::Rows, statements as sql, sums::Sums, tiers::Tiers};
use crate::clock;

/// The most bytes of one parameter. D1 takes 2 MB, earlier 1 MB; what is longer goes into several statements of the same transaction.
const MAX_PARAMETER_BYTES: usize = 900_000;
/// Ids that one statement asks for.
pub(super) const MAX_IDS: usize = 5_000;

/// How often it is looked up which events are known before a write is given up for now.
const LOOKS: usize = 3;

/// Writes batches in one transaction. When this returns they are durable; repeating it changes nothing.
///
/// An event is counted in the transaction that makes its row, and there can be no second row with its id: if one of the events
/// is known, nothing is written, and then again without it.
pub(crate) async fn write(env: &Env, batches: &[Batch]) -> Result<()> {
    let database = env.d1("DB")?;
    let mut known = HashSet::new();
    let mut tiers = Tiers::default();
    tiers.tell(batches);
    tiers.remember(&database, batches).await?;
    for _ in 0..LOOKS {
        let rows = Rows::of(batches, &known, &tiers, clock::now_ms());
        let statements = statements(&database, &rows)?;
        if statements.is_empty() {
            return Ok(());
        }
        match database.batch(statements).await {
            Err(error) if error.to_string().contains(KNOWN_EVENT) => known = find_known(&database, batches).await?,
            written => return written.map(drop),
        }
    }
    Err("events became known while they were written".into())
}

/// What `SQLite` says when an event has a row already.
const KNOWN_EVENT: &str = "UNIQUE constraint failed: events.id";

/// Which events have a row already.
async fn find_known(database: &D1Database, batches: &[Batch]) -> Result<HashSet<Uuid>> {
    #[derive(Deserialize)]
    struct Known {
        id: Uuid,
    }
    let ids: Vec<Uuid> = batches
        .iter()
        .flat_map(|batch| &batch.events)
        .map(|event| event.id)
        .collect();
    let mut known = HashSet::new();
    for ids in ids.chunks(MAX_IDS) {
        let rows: Vec<Known> = database
            .prepare("SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?1))")
            .bind(&[serde_json::to_string(ids)?.into()])?
            .all()
            .await?
            .results()?;
        known.extend(rows.into_iter().map(|row| row.id));
    }
    Ok(known)
}

fn statements(database: &D1Database, rows: &Rows) -> Result<Vec<D1PreparedStatement>> {
    let mut statements = Vec::new();
    for (statement, rows) in every(rows) {
        for parameter in parameters(&rows) {
            statements.push(database.prepare(statement.as_ref()).bind(&[parameter.into()])?);
        }
    }
    Ok(statements)
}

/// A statement, and the rows that it writes.
type Write<'a> = (Cow<'static, str>, Cow<'a, [String]>);

/// Every statement of a write with its rows, in order.
fn every(rows: &Rows) -> [Write<'_>; 28] {
    let raw = |statement: &'static str, rows| (Cow::from(statement), Cow::Borrowed(rows));
    let sums = |statement: Cow<'static, str>, sums: &Sums| (statement, Cow::Owned(sums.rows()));
    let Rows { sums: all, .. } = rows;
    [
        // First what fails when an event is known.
        raw(sql::EVENTS, &rows.events[..]),
        raw(sql::NAMES, &rows.names),
        raw(sql::RUNS, &rows.runs),
        raw(sql::STARTED, &rows.started),
        raw(sql::STARTED, &rows.planned),
        raw(sql::COMPLETED, &rows.completed),
        raw(sql::FAILED, &rows.failed),
        raw(sql::UNNEEDED, &rows.unneeded),
        raw(sql::VERDICTS, &rows.verdicts),
        raw(sql::SKIPPED, &rows.glasses),
        raw(sql::GLASSES, &rows.glasses),
        raw(sql::SESSIONS, &rows.sessions),
        raw(sql::USAGE, &rows.usage),
        raw(sql::FINDINGS, &rows.findings),
        raw(sql::OUTCOMES, &rows.outcomes),
        raw(sql::CIRCUITS, &rows.circuits),
        raw(sql::FAILBACKS, &rows.failbacks),
        sums(rollups::RUNS.statement().into(), &all.runs),
        sums(rollups::PROJECTS.into(), &all.projects),
        sums(rollups::USAGE.statement().into(), &all.usage),
        sums(rollups::COUNTS.statement().into(), &all.counts),
        sums(rollups::METRICS.statement().into(), &all.metrics),
        sums(rollups::BINS.into(), &all.bins),
        sums(rollups::HOT_FILES.into(), &all.hot_files),
        raw(rollups::MERGE_REQUESTS, &rows.merge_requests),
        raw(sql::MERGE_REQUESTS, &rows.merge_requests),
        raw(rollups::REVIEWS_OF_MERGE_REQUESTS, &rows.reviews),
        raw(sql::REVIEWED, &rows.reviews),
    ]
}

/// All statements that write, in order.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn all_statements() -> Vec<String> {
    let nothing = every(&Rows::default()).map(|(statement, _)| statement.into_owned());
    nothing.into()
}

/// What a write binds: the places of its statements among all, each with a parameter.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn all_parameters(rows: &Rows) -> Vec<(usize, String)> {
    let of =
        |(place, (_, rows)): (usize, Write<'_>)| parameters(&rows).into_iter().map(move |one| (place, one)).collect();
    let lists: Vec<Vec<(usize, String)>> = every(rows).into_iter().enumerate().map(of).collect();
    lists.concat()
}

/// Whether every table is as this version needs it: runs every statement on no rows. An error names what is missing.
pub(crate) async fn ready(env: &Env) -> Outcome<()> {
    let database = env.d1("DB")?;
    let mut statements = vec![database.prepare("SELECT claim, proven FROM memory LIMIT 0")];
    for (statement, _) in every(&Rows::default()) {
        statements.push(database.prepare(statement.as_ref()).bind(&["[]".into()])?);
    }
    database.batch(statements).await.map(drop).map_err(fault)
}

/// Whether the database takes writes at all: what fails while it does is the fault of what was written.
pub(crate) async fn probe(env: &Env) -> Result<()> {
    let statement = "INSERT INTO chores (name, position) VALUES ('probe', 1)
      ON CONFLICT DO UPDATE SET position = (position + 1) % 1000000";
    env.d1("DB")?.prepare(statement).run().await?;
    Ok(())
}

/// JSON arrays with all rows, none of them longer than a parameter may be, unless one row alone is.
fn parameters(rows: &[String]) -> Vec<String> {
    let mut parameters: Vec<String> = Vec::new();
    let mut current = String::new();
    for row in rows {
        if !current.is_empty() && current.len() + row.len() + 2 > MAX_PARAMETER_BYTES {
            parameters.push(format!("[{current}]"));
            current.clear();
        }
        if !current.is_empty() {
            current.push(',');
        }
        current.push_str(row);
    }
    if !current.is_empty() {
        parameters.push(format!("[{current}]"));
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_whole_arrays_and_never_too_long() {
        assert_eq!(parameters(&[]), Vec::<String>::new());
        let rows: Vec<String> = (0..2500).map(|index| format!("\"{index:0>1000}\"")).collect();
        let parameters = parameters(&rows);
        assert_eq!(parameters.len(), 3);
        let back: Vec<String> = parameters
            .iter()
            .flat_map(|text| {
                assert!(text.len() <= MAX_PARAMETER_BYTES, "{}", text.len());
                serde_json::from_str::<Vec<String>>(text).expect("an array")
            })
            .map(|text| format!("\"{text}\""))
            .collect();
        assert_eq!(back, rows);
    }
}
