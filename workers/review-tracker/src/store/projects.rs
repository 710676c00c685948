//! Projects that have ever sent an event.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::query::{database, fault};

#[derive(Deserialize)]
struct NameRow {
    name: String,
}

/// Names of projects, in order: so many as a page can offer. Others can be typed.
pub(crate) async fn projects(env: &Env) -> Outcome<Vec<String>> {
    let statement = database(env)?.prepare("SELECT name FROM names WHERE kind = 'project' ORDER BY name LIMIT 200");
    let rows: Vec<NameRow> = statement.all().await.map_err(fault)?.results()?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}
