//! Writing a batch of events: everything or nothing, and each event once.

use conclave_shared::telemetry::Event;
use conclave_worker_common::Outcome;
use serde_json::Value;
use worker::{D1Database, D1PreparedStatement, Env, Result};

use super::{
    query::{database, fault},
    rows::Rows,
    statements as sql,
};

/// Writes events in one transaction. When this returns they are durable; repeating it changes nothing. Without events every
/// statement runs on no rows: that says whether the tables are as they have to be.
pub(crate) async fn write(env: &Env, events: &[Event], received_ms: i64) -> Outcome<()> {
    let database = database(env)?;
    let rows = Rows::of(events, received_ms);
    let mut statements = Vec::new();
    for (statement, rows) in [
        (sql::NAMES, &rows.names),
        (sql::RUNS, &rows.runs),
        (sql::STARTED, &rows.started),
        (sql::COMPLETED, &rows.completed),
        (sql::SESSIONS, &rows.sessions),
        (sql::USAGE, &rows.usage),
        (sql::FINDINGS, &rows.findings),
        (sql::DAILY_RUNS, &rows.completed),
        (sql::DAILY_BINS, &rows.bins),
        (sql::DAILY_FINDINGS, &rows.findings),
        (sql::DAILY_USAGE, &rows.usage),
        (sql::DAILY_DROPPED, &rows.dropped),
        (sql::EVENTS, &rows.events),
    ] {
        if !rows.is_empty() || events.is_empty() {
            statements.push(bound(&database, statement, rows)?);
        }
    }
    database.batch(statements).await.map_err(fault)?;
    Ok(())
}

fn bound(database: &D1Database, statement: &str, rows: &[Value]) -> Result<D1PreparedStatement> {
    database.prepare(statement).bind(&[serde_json::to_string(rows)?.into()])
}
