//! Writing batches of events: everything or nothing, and each event once.

use std::collections::BTreeSet;

use conclave_worker_common::Outcome;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use uuid::Uuid;
use worker::{D1Database, D1PreparedStatement, Env, Result};

use super::query::fault;
use crate::{
    clock,
    events::{Batch, COUNTED, CountedRun, KnownRuns, STORED, StoredRun, Write, writes},
};

/// Ids that one statement asks for.
const MAX_IDS: usize = 5_000;

/// Number of looks at which events are known before a write is given up for now.
const LOOKS: usize = 3;

/// Writes batches in one transaction. When this returns they are durable; repeating it changes nothing.
///
/// An event is counted in the transaction that makes its row, and there can be no second row with its id: if one of the events
/// is known, nothing is written, and then again without it.
pub(crate) async fn write(env: &Env, batches: &[Batch]) -> Result<()> {
    let database = env.d1("DB")?;
    let mut known = BTreeSet::new();
    let mut known_runs = KnownRuns::default();
    known_runs.learn(batches);
    let stored: Vec<StoredRun> = by_id(&database, STORED, &KnownRuns::of(batches)).await?;
    for run in stored {
        known_runs.remember(run);
    }
    let failing = known_runs.failing_after_all(batches);
    let counted: Vec<CountedRun> = by_id(&database, COUNTED, &failing).await?;
    for end in counted {
        known_runs.remember_end(end);
    }
    for _ in 0..LOOKS {
        let statements = statements(&database, &writes(batches, &known, &known_runs, clock::now_ms()))?;
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

/// The message of `SQLite` when an event has a row already.
const KNOWN_EVENT: &str = "UNIQUE constraint failed: events.id";

/// The events that have a row already.
async fn find_known(database: &D1Database, batches: &[Batch]) -> Result<BTreeSet<Uuid>> {
    #[derive(Deserialize)]
    struct Known {
        id: Uuid,
    }
    let events = batches.iter().flat_map(|batch| &batch.events);
    let ids: Vec<Uuid> = events.map(|event| event.id).collect();
    let statement = "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?1))";
    let rows: Vec<Known> = by_id(database, statement, &ids).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// The rows of a statement about ids, so many at a time.
async fn by_id<T: DeserializeOwned>(database: &D1Database, statement: &str, ids: &[impl Serialize]) -> Result<Vec<T>> {
    let mut rows = Vec::new();
    for ids in ids.chunks(MAX_IDS) {
        let ids = serde_json::to_string(ids)?;
        let found = database.prepare(statement).bind(&[ids.into()])?.all().await?;
        rows.extend(found.results::<T>()?);
    }
    Ok(rows)
}

fn statements(database: &D1Database, writes: &[Write]) -> Result<Vec<D1PreparedStatement>> {
    let mut statements = Vec::new();
    for write in writes {
        for parameter in write.parameters() {
            statements.push(database.prepare(write.statement.as_ref()).bind(&[parameter.into()])?);
        }
    }
    Ok(statements)
}

/// Checks that every table is as this version needs it: runs every statement on no rows. An error names what is missing.
pub(crate) async fn ready(env: &Env) -> Outcome<()> {
    let database = env.d1("DB")?;
    let mut statements = vec![
        database.prepare("SELECT claim, proven FROM memory LIMIT 0"),
        database.prepare(COUNTED).bind(&["[]".into()])?,
    ];
    for write in writes(&[], &BTreeSet::new(), &KnownRuns::default(), 0) {
        statements.push(database.prepare(write.statement.as_ref()).bind(&["[]".into()])?);
    }
    database.batch(statements).await.map(drop).map_err(fault)
}

/// Checks that the database takes writes at all: what fails while it does is the fault of what was written.
pub(crate) async fn probe(env: &Env) -> Result<()> {
    let statement = "INSERT INTO chores (name, position) VALUES ('probe', 1)
      ON CONFLICT DO UPDATE SET position = (position + 1) % 1000000";
    env.d1("DB")?.prepare(statement).run().await?;
    Ok(())
}
