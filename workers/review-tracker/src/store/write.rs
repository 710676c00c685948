//! Writing batches of events: everything or nothing, and each event once.

use serde_json::Value;
use worker::{D1Database, D1PreparedStatement, Env, Result};

use super::{Batch, rollups, rows::Rows, statements as sql};
use crate::clock;

/// The most bytes of one parameter. D1 takes 2 MB, earlier 1 MB; what is longer goes into several statements of the same transaction.
const MAX_PARAMETER_BYTES: usize = 900_000;

/// Writes batches in one transaction. When this returns they are durable; repeating it changes nothing.
pub(crate) async fn write(env: &Env, batches: &[Batch]) -> Result<()> {
    let database = env.d1("DB")?;
    let rows = Rows::of(batches, clock::now_ms());
    let mut statements = Vec::new();
    for (statement, rows) in [
        (sql::NAMES, &rows.names),
        (sql::RUNS, &rows.runs),
        (sql::STARTED, &rows.started),
        (sql::COMPLETED, &rows.completed),
        (sql::VERDICTS, &rows.verdicts),
        (sql::SKIPPED, &rows.glasses),
        (sql::GLASSES, &rows.glasses),
        (sql::SESSIONS, &rows.sessions),
        (sql::USAGE, &rows.usage),
        (sql::FINDINGS, &rows.findings),
        (sql::OUTCOMES, &rows.outcomes),
        (sql::CIRCUITS, &rows.circuits),
        (sql::FAILBACKS, &rows.failbacks),
        (&rollups::runs(), &rows.completed),
        (&rollups::usage(), &rows.usage),
        (&rollups::counts(), &rows.counts),
        (&rollups::metrics(), &rows.metrics),
        (rollups::BINS, &rows.bins),
        (rollups::HOT_FILES, &rows.kept),
        (rollups::MERGE_REQUESTS, &rows.merge_requests),
        (sql::MERGE_REQUESTS, &rows.merge_requests),
        (sql::EVENTS, &rows.events),
    ] {
        bind(&database, statement, rows, &mut statements)?;
    }
    if !statements.is_empty() {
        database.batch(statements).await?;
    }
    Ok(())
}

/// Whether the database takes writes at all: what fails while it does is the fault of what was written.
pub(crate) async fn probe(env: &Env) -> Result<()> {
    let statement = "INSERT INTO chores (name, position) VALUES ('probe', 1)
      ON CONFLICT DO UPDATE SET position = (position + 1) % 1000000";
    env.d1("DB")?.prepare(statement).run().await?;
    Ok(())
}

/// Binds rows to a statement, or to several of it.
fn bind(
    database: &D1Database,
    statement: &str,
    rows: &[Value],
    statements: &mut Vec<D1PreparedStatement>,
) -> Result<()> {
    for parameter in parameters(rows) {
        statements.push(database.prepare(statement).bind(&[parameter.into()])?);
    }
    Ok(())
}

/// JSON arrays with all rows, none of them longer than a parameter may be, unless one row alone is.
fn parameters(rows: &[Value]) -> Vec<String> {
    let mut parameters: Vec<String> = Vec::new();
    let mut current = String::new();
    for row in rows {
        let row = row.to_string();
        if !current.is_empty() && current.len() + row.len() + 2 > MAX_PARAMETER_BYTES {
            parameters.push(format!("[{current}]"));
            current.clear();
        }
        if !current.is_empty() {
            current.push(',');
        }
        current.push_str(&row);
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
        let rows: Vec<Value> = (0..2500).map(|index| Value::from(format!("{index:0>1000}"))).collect();
        let parameters = parameters(&rows);
        assert_eq!(parameters.len(), 3);
        let back: Vec<Value> = parameters
            .iter()
            .flat_map(|text| {
                assert!(text.len() <= MAX_PARAMETER_BYTES, "{}", text.len());
                serde_json::from_str::<Vec<Value>>(text).expect("an array")
            })
            .collect();
        assert_eq!(back, rows);
    }
}
