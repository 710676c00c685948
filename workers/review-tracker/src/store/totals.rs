//! All-time sums for Prometheus: a number of rows that depends on names, which are bounded, and not on history.

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::{
    lost,
    query::{count, database, fault, number, rows},
    size::size_if_known,
    window::distributions,
};
use crate::{
    clock,
    events::{MAX_MODELS, MAX_OF_A_PROJECT, MAX_OTHER_AGENTS, Totals, built_in_agents, built_in_models},
};

#[derive(Deserialize)]
struct NameRow {
    kind: String,
    name: String,
}

/// The free names among those that are distinguished, of each project the first ones: one project must not take all places. Names
/// from before projects were noted have none.
macro_rules! free_names {
    () => {
        "free AS (SELECT kind, name, position FROM (SELECT kind, name, position, project,
       row_number() OVER (PARTITION BY kind, project ORDER BY position) AS place
       FROM names WHERE kind IN ('reviewer', 'model') AND rank BETWEEN 1 AND 300) WHERE project = '' OR place <= ?1)"
    };
}

const STATEMENTS: [&str; 5] = [
    "SELECT tier, verdict, runs, duration_ms, cost_usd FROM daily_runs WHERE project = '*' AND day = 0
     ORDER BY tier, verdict",
    "SELECT metric, tier, bin, n FROM bins WHERE project = '*' AND metric IN ('duration_ms', 'cost_usd', 'lag_ms')
     AND span = 0 ORDER BY metric, tier, bin",
    // Names that get no series of their own are added up here: there may be 90,000 combinations of names.
    concat!(
        "WITH ",
        free_names!(),
        ", models AS (SELECT value AS name FROM json_each(?2) UNION SELECT name FROM (SELECT name FROM free
       WHERE kind = 'model' AND name NOT IN (SELECT value FROM json_each(?2)) ORDER BY position LIMIT ?3)),
     agents AS (SELECT value AS name FROM json_each(?4) UNION SELECT name FROM (SELECT name FROM free
       WHERE kind = 'reviewer' AND name NOT IN (SELECT value FROM json_each(?4)) ORDER BY position LIMIT ?5))
     SELECT iif(model IN (SELECT name FROM models), model, 'other') AS model,
     iif(reviewer IN (SELECT name FROM agents), reviewer, 'other') AS reviewer, sum(input) AS input, sum(output) AS output,
     sum(reasoning) AS reasoning, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd
     FROM daily_usage WHERE project = '*' AND day = 0 GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    // No metric shows which model took over: two names in one row would be the square of their number.
    // Nor why a judge removed a finding, which clients choose freely.
    "SELECT kind, a, iif(kind IN ('failback', 'removed'), '', b) AS b, c, sum(n) AS n FROM daily_counts WHERE project = '*'
     AND kind IN ('failed', 'run_skipped', 'inconclusive', 'mr_review', 'finding', 'removed', 'outcome', 'session', 'repair', 'failback', 'circuit', 'break_glass', 'verdict', 'dropped', 'event', 'started', 'withdrawn',
     'merge_request') AND day = 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
    // The first ones of each kind: one kind of made-up names must not push the other one out.
    concat!("WITH ", free_names!(), " SELECT kind, name FROM free ORDER BY position"),
];

/// Reads the sums in one round trip. Names without a series of their own are not even read.
pub(crate) async fn totals(env: &Env) -> Outcome<Totals> {
    let database = database(env)?;
    let size = |count: usize| number(i64::try_from(count).unwrap_or(i64::MAX));
    let json = |names: Vec<&str>| serde_json::to_string(&names).map_err(worker::Error::from);
    let names = [
        size(MAX_OF_A_PROJECT),
        json(built_in_models())?.into(),
        size(MAX_MODELS),
        json(built_in_agents())?.into(),
        size(MAX_OTHER_AGENTS),
    ];
    let statements = STATEMENTS
        .into_iter()
        .map(|statement| {
            let prepared = database.prepare(statement);
            if statement.contains("?5") {
                prepared.bind(&names)
            } else if statement.contains("?1") {
                prepared.bind(&names[..1])
            } else {
                Ok(prepared)
            }
        })
        .chain([lost::statement(&database, None, clock::now_ms())])
        .collect::<worker::Result<_>>()?;
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut all = Totals {
        runs: rows(&mut results)?,
        distributions: distributions(&mut results)?,
        usage: rows(&mut results)?,
        counts: rows(&mut results)?,
        database: size_if_known(env).await,
        ..Totals::default()
    };
    for row in rows::<NameRow>(&mut results)? {
        all.names.entry(row.kind).or_default().push(row.name);
    }
    all.lost = count(&mut results)?;
    Ok(all)
}
