//! The memory of repositories. The rows come from a trigger on `events` (`migrations/0006_proof.sql`). Only what is proved
//! to come from the project itself is sent: the rest is from before there was a proof.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::memory::{HotSpot, Rejected, RepositoryMemory, SCHEMA_VERSION};
use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{Env, wasm_bindgen::JsValue};

use super::query::{count, database, fault, number, rows};
use crate::clock::DAY_MS;

/// So long something is remembered: code and people change.
const REMEMBERED_MS: i64 = 365 * DAY_MS;
/// Maximum number of files that are sent.
const MAX_HOT_SPOTS: usize = 50;

/// The newest of one outcome. The number bounds the answer.
const NEWEST: &str = "SELECT merge_request, fingerprint, claim, category, path, at_ms FROM memory
  WHERE project = ?1 AND outcome = ?2 AND at_ms > ?3 AND proven = 1 ORDER BY at_ms DESC LIMIT 500";

const COUNT: &str = "SELECT count(*) AS n FROM memory
  WHERE project = ?1 AND (?2 = '' OR (fingerprint = ?2 AND outcome = 'rejected'))";

const CLEARED: &str = "INSERT INTO memory_cleared (project, fingerprint, at_ms, who) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms, who = excluded.who";

const CLEAR: &str = "DELETE FROM memory
  WHERE project = ?1 AND (?2 = '' OR (fingerprint = ?2 AND outcome = 'rejected'))";

/// A settled finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Row {
    merge_request: u64,
    fingerprint: String,
    claim: Option<String>,
    category: String,
    path: String,
    at_ms: i64,
}

/// Reads the memory of a project.
pub(crate) async fn memory(env: &Env, project: &str, now_ms: i64) -> Outcome<RepositoryMemory> {
    let database = database(env)?;
    let since = now_ms.saturating_sub(REMEMBERED_MS);
    let statements = ["rejected", "fixed"]
        .into_iter()
        .map(|outcome| {
            database
                .prepare(NEWEST)
                .bind(&[JsValue::from_str(project), JsValue::from_str(outcome), number(since)])
        })
        .collect::<worker::Result<_>>()?;
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    Ok(RepositoryMemory {
        schema: SCHEMA_VERSION,
        project: project.to_owned(),
        rejected: rejected(rows(&mut results)?),
        hot_spots: hot_spots(rows(&mut results)?),
    })
}

/// Forgets all of a project, or that people turned one finding down. Returns how much that was. What was sent before and
/// arrives later is not remembered either.
pub(crate) async fn forget(env: &Env, project: &str, fingerprint: &str, now_ms: i64, who: &str) -> Outcome<u64> {
    let database = database(env)?;
    let of = [JsValue::from_str(project), JsValue::from_str(fingerprint)];
    let [project, fingerprint] = of.clone();
    let statements = vec![
        database.prepare(COUNT).bind(&of)?,
        database
            .prepare(CLEARED)
            .bind(&[project, fingerprint, number(now_ms), JsValue::from_str(who)])?,
        database.prepare(CLEAR).bind(&of)?,
    ];
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    count(&mut results)
}

/// One entry for each problem, in the order in which they come.
fn rejected(rows: Vec<Row>) -> Vec<Rejected> {
    let mut entries: Vec<Rejected> = Vec::new();
    for row in rows {
        let same = |entry: &&mut Rejected| entry.fingerprint == row.fingerprint && entry.claim == row.claim;
        match entries.iter_mut().find(same) {
            Some(entry) => {
                if !entry.merge_requests.contains(&row.merge_request) {
                    entry.merge_requests.push(row.merge_request);
                }
            }
            None => entries.push(Rejected {
                fingerprint: row.fingerprint,
                claim: row.claim,
                category: row.category,
                path: row.path,
                merge_requests: vec![row.merge_request],
                last_ms: row.at_ms,
            }),
        }
    }
    entries
}

/// Files, those with the most fixes first.
fn hot_spots(rows: Vec<Row>) -> Vec<HotSpot> {
    let mut files: BTreeMap<String, (u64, BTreeSet<String>, i64)> = BTreeMap::new();
    for row in rows {
        let (fixed, categories, last_ms) = files.entry(row.path).or_default();
        *fixed += 1;
        categories.insert(row.category);
        *last_ms = row.at_ms.max(*last_ms);
    }
    let mut spots: Vec<HotSpot> = files
        .into_iter()
        .map(|(path, (fixed, categories, last_ms))| HotSpot {
            path,
            fixed,
            categories: categories.into_iter().collect(),
            last_ms,
        })
        .collect();
    // Stable: what is equal stays in the order of the paths.
    spots.sort_by_key(|spot| std::cmp::Reverse(spot.fixed));
    spots.truncate(MAX_HOT_SPOTS);
    spots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(merge_request: u64, fingerprint: &str, claim: Option<&str>, path: &str, at_ms: i64) -> Row {
        Row {
            merge_request,
            fingerprint: fingerprint.to_owned(),
            claim: claim.map(str::to_owned),
            category: format!("category-of-{fingerprint}"),
            path: path.to_owned(),
            at_ms,
        }
    }

    #[test]
    fn rejections_of_one_problem_are_one_entry_with_its_merge_requests() {
        let entries = rejected(vec![
            row(9, "f1", Some("c1"), "src/b.py", 30),
            row(8, "f2", Some("c1"), "src/b.py", 20),
            row(7, "f1", Some("c1"), "src/a.py", 10),
            row(7, "f1", Some("c2"), "src/a.py", 5),
        ]);
        let short: Vec<(&str, Option<&str>, &[u64], i64)> = entries
            .iter()
            .map(|entry| {
                (
                    entry.fingerprint.as_str(),
                    entry.claim.as_deref(),
                    entry.merge_requests.as_slice(),
                    entry.last_ms,
                )
            })
            .collect();
        assert_eq!(
            short,
            [
                ("f1", Some("c1"), &[9, 7][..], 30),
                ("f2", Some("c1"), &[8], 20),
                ("f1", Some("c2"), &[7], 5)
            ]
        );
        assert_eq!(entries[0].path, "src/b.py", "where it was last");
    }

    #[test]
    fn files_with_the_most_fixes_come_first_and_there_are_not_too_many() {
        let mut all = vec![row(1, "f1", None, "src/b.py", 1), row(2, "f2", None, "src/b.py", 7)];
        all.extend((0..100).map(|number| row(3, "f3", None, &format!("src/{number:03}.py"), 2)));
        let spots = hot_spots(all);
        assert_eq!(spots.len(), MAX_HOT_SPOTS);
        assert_eq!(
            (spots[0].path.as_str(), spots[0].fixed, spots[0].last_ms),
            ("src/b.py", 2, 7)
        );
        assert_eq!(spots[0].categories, ["category-of-f1", "category-of-f2"]);
        assert_eq!(spots[1].path, "src/000.py");
    }
}
