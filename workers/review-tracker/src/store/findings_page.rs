//! The data of the page about findings, from rollups.

use std::{cmp::Reverse, collections::HashMap};

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::Env;

use super::{
    Window,
    query::{database, fault, number, rows},
    spans::week,
    window::{bound, counts, grain, tier},
};
use crate::events::Count;

/// Maximum number of weeks whose hot files are added up.
const MAX_WEEKS: i64 = 14;

/// The data of the page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FindingsPage {
    /// Judged findings by reviewer, severity and fate.
    pub(crate) judged: Vec<Count>,
    /// Kept findings by day.
    pub(crate) days: Vec<DaySeverity>,
    /// Settled findings of earlier reviews by reviewer (`a`) and outcome (`c`).
    pub(crate) outcomes: Vec<Count>,
    /// Merged and dropped findings by fate (`b`) and reason (`c`).
    pub(crate) reasons: Vec<Count>,
    /// Findings that judges removed, by severity, reason and refutation.
    pub(crate) removed: Vec<Count>,
    /// Kept findings by category, the most frequent first.
    pub(crate) categories: Vec<CategoryCount>,
    /// Kept findings by the place where they were posted.
    pub(crate) placements: Vec<Count>,
    /// Findings that completed runs counted themselves: critical, warning, suggestion.
    pub(crate) counted: SeveritySums,
    /// The files with the most kept findings.
    pub(crate) hot: Vec<HotFile>,
}

/// Kept findings of a day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DaySeverity {
    pub(crate) day: i64,
    pub(crate) severity: String,
    pub(crate) n: u64,
}

/// Kept findings of a category.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CategoryCount {
    pub(crate) category: String,
    /// Numbers by severity.
    pub(crate) critical: u64,
    pub(crate) warning: u64,
    pub(crate) suggestion: u64,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(crate) struct SeveritySums {
    pub(crate) critical: u64,
    pub(crate) warning: u64,
    pub(crate) suggestion: u64,
}

/// A file with findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct HotFile {
    pub(crate) project: String,
    pub(crate) path: String,
    /// Kept findings.
    pub(crate) findings: u64,
    /// Of them, by severity.
    pub(crate) critical: u64,
    pub(crate) warning: u64,
    pub(crate) suggestion: u64,
}

const DAYS: &str = "SELECT day, severity, sum(findings) AS n FROM daily_findings
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) AND fate = 'kept' GROUP BY 1, 2";

const CATEGORIES: &str = "SELECT category, sum(iif(severity = 'critical', findings, 0)) AS critical,
  sum(iif(severity = 'warning', findings, 0)) AS warning, sum(iif(severity = 'suggestion', findings, 0)) AS suggestion
  FROM daily_categories WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1
  ORDER BY sum(findings) DESC, 1 LIMIT 50";

const COUNTED: &str = "SELECT coalesce(sum(critical), 0) AS critical, coalesce(sum(warning), 0) AS warning,
  coalesce(sum(suggestion), 0) AS suggestion FROM daily_runs
  WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4)";

/// Critical findings first.
const BY_SEVERITY: &str = "ORDER BY iif(a = 'critical', 0, iif(a = 'warning', 1, 2)), 4 DESC LIMIT 50";

/// The worst files of a week: an index has them in this order, so that a hundred rows are read however many there are.
const HOT: &str = "SELECT project, path, findings, critical, warning, suggestion FROM hot_files
  WHERE grain = ?1 AND tier = coalesce(?2, '*') AND week = ?3 ORDER BY findings DESC LIMIT 100";

/// Reads the page in one round trip.
pub(crate) async fn findings_page(env: &Env, query: &Window) -> Outcome<FindingsPage> {
    let database = database(env)?;
    let mut statements = vec![
        counts(&database, "finding", "a, b, c", "", query)?,
        bound(&database, DAYS, query)?,
        counts(&database, "outcome", "a, c", "", query)?,
        counts(&database, "reason", "b, c", "ORDER BY 3 DESC LIMIT 50", query)?,
        counts(&database, "removed", "a, b, c", BY_SEVERITY, query)?,
        bound(&database, CATEGORIES, query)?,
        counts(&database, "placement", "a", "ORDER BY 2 DESC", query)?,
        bound(&database, COUNTED, query)?,
    ];
    for week in weeks(query) {
        statements.push(database.prepare(HOT).bind(&[grain(query), tier(query), number(week)])?);
    }
    let mut results = database.batch(statements).await.map_err(fault)?.into_iter();
    let mut page = FindingsPage {
        judged: rows(&mut results)?,
        days: rows(&mut results)?,
        outcomes: rows(&mut results)?,
        reasons: rows(&mut results)?,
        removed: rows(&mut results)?,
        categories: rows(&mut results)?,
        placements: rows(&mut results)?,
        counted: rows(&mut results)?.pop().unwrap_or_default(),
        hot: Vec::new(),
    };
    let mut weekly = Vec::new();
    for _ in weeks(query) {
        weekly.extend(rows::<HotFile>(&mut results)?);
    }
    page.hot = added_up(weekly);
    Ok(page)
}

/// The Mondays of the weeks that the window touches, the last ones if there are many.
fn weeks(query: &Window) -> impl Iterator<Item = i64> {
    let last = week(query.last_day);
    let first = week(query.first_day).max(last - 7 * (MAX_WEEKS - 1));
    (0..)
        .map(move |index| first + 7 * index)
        .take_while(move |week| *week <= last)
}

/// Weeks added up, the file with the most findings first.
fn added_up(weekly: Vec<HotFile>) -> Vec<HotFile> {
    let mut files: HashMap<(String, String), HotFile> = HashMap::new();
    for file in weekly {
        let key = (file.project.clone(), file.path.clone());
        files
            .entry(key)
            .and_modify(|known| {
                known.findings += file.findings;
                known.critical += file.critical;
                known.warning += file.warning;
                known.suggestion += file.suggestion;
            })
            .or_insert(file);
    }
    let mut files: Vec<HotFile> = files.into_values().collect();
    files.sort_by_cached_key(|file| {
        let counts = (file.findings, file.critical, file.warning);
        (Reverse(counts), file.project.clone(), file.path.clone())
    });
    files.truncate(30);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, findings: u64) -> HotFile {
        HotFile {
            project: "p".to_owned(),
            path: path.to_owned(),
            findings,
            critical: 0,
            warning: findings,
            suggestion: 0,
        }
    }

    #[test]
    fn weeks_begin_on_mondays_and_are_not_endless() {
        let query = |first_day, last_day| Window {
            project: None,
            tier: None,
            first_day,
            last_day,
        };
        // 1970-01-05, day 4, was a Monday.
        assert_eq!(weeks(&query(5, 11)).collect::<Vec<_>>(), [4, 11]);
        assert_eq!(weeks(&query(0, 3)).collect::<Vec<_>>(), [-3]);
        let year: Vec<i64> = weeks(&query(10_000, 10_365)).collect();
        assert_eq!((year.len(), year.last().copied()), (14, Some(week(10_365))));
    }

    #[test]
    fn files_of_several_weeks_are_added_up() {
        let files = added_up(vec![file("b", 2), file("a", 3), file("b", 2)]);
        let shown: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.findings)).collect();
        assert_eq!(shown, [("b", 4), ("a", 3)]);
    }
}
