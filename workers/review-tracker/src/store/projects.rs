//! Projects that have ever sent an event.

use std::collections::BTreeSet;

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

/// Those of the names that are projects which have sent an event before.
pub(crate) async fn known_projects(env: &Env, names: &[&String]) -> worker::Result<BTreeSet<String>> {
    let rows: Vec<NameRow> = env
        .d1("DB")?
        .prepare("SELECT name FROM names WHERE kind = 'project' AND name IN (SELECT value FROM json_each(?1))")
        .bind(&[serde_json::to_string(names)?.into()])?
        .all()
        .await?
        .results()?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}
