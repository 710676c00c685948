//! What the page about findings shows, from rollups.

use std::collections::HashMap;

use conclave_worker_common::Outcome;
use serde::Deserialize;
use worker::{D1PreparedStatement, Env};

use super::{
    Window,
    query::{database, fault, number, rows},
    spans::week,
    window::{bound, grain, tier},
};

/// The most weeks whose hot files are added up.
const MAX_WEEKS: i64 = 14;

/// What the page is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FindingsPage {
    /// Judged findings.
    pub(crate) judged: Vec<JudgedCount>,
    /// Kept findings by day.
    pub(crate) days: Vec<DaySeverity>,
    /// What became of findings of earlier reviews.
    pub(crate) outcomes: Vec<OutcomeCount>,
    /// Why findings were merged or dropped.
    pub(crate) reasons: Vec<ReasonCount>,
    /// What judges removed.
    pub(crate) removed: Vec<RemovedCount>,
    /// Kept findings by category, the most frequent first.
    pub(crate) categories: Vec<CategoryCount>,
    /// Where kept findings were posted.
    pub(crate) placements: Vec<PlacementCount>,
    /// Findings that completed runs counted themselves: critical, warning, suggestion.
    pub(crate) counted: SeveritySums,
    /// The files with the most kept findings.
    pub(crate) hot: Vec<HotFile>,
}

/// Judged findings of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct JudgedCount {
    /// Who reported them.
    pub(crate) reviewer: String,
    /// How bad.
    pub(crate) severity: String,
    /// What the judge did.
    pub(crate) fate: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Kept findings of a day.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DaySeverity {
    /// The day.
    pub(crate) day: i64,
    /// How bad.
    pub(crate) severity: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Settled findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct OutcomeCount {
    /// Who had reported them.
    pub(crate) reviewer: String,
    /// `fixed`, `resolved` or `rejected`.
    pub(crate) outcome: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Findings that were merged or dropped.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReasonCount {
    /// `merged` or `dropped`.
    pub(crate) fate: String,
    /// Why.
    pub(crate) reason: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Findings that judges removed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RemovedCount {
    /// How bad they were reported to be.
    pub(crate) severity: String,
    /// Why.
    pub(crate) reason: String,
    /// The code that was quoted against them: `unchanged_code`, `this_change`, `invalid` or `none`.
    pub(crate) refutation: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Kept findings of a category.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CategoryCount {
    /// The category.
    pub(crate) category: String,
    /// How many, by severity.
    pub(crate) critical: u64,
    /// See `critical`.
    pub(crate) warning: u64,
    /// See `critical`.
    pub(crate) suggestion: u64,
}

/// Kept findings by place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PlacementCount {
    /// `line`, `file` or `summary`.
    pub(crate) placement: String,
    /// How many.
    pub(crate) findings: u64,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(crate) struct SeveritySums {
    /// How many.
    pub(crate) critical: u64,
    /// See `critical`.
    pub(crate) warning: u64,
    /// See `critical`.
    pub(crate) suggestion: u64,
}

/// A file with findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct HotFile {
    /// Its project.
    pub(crate) project: String,
    /// The file.
    pub(crate) path: String,
    /// Kept findings.
    pub(crate) findings: u64,
    /// Of them, by severity.
    pub(crate) critical: u64,
    /// See `critical`.
    pub(crate) warning: u64,
    /// See `critical`.
    pub(crate) suggestion: u64,
}

const STATEMENTS: [&str; 8] = [
    "SELECT reviewer, severity, fate, sum(findings) AS findings FROM daily_findings
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2, 3",
    "SELECT day, severity, sum(findings) AS findings FROM daily_findings
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) AND fate = 'kept' GROUP BY 1, 2",
    "SELECT reviewer, outcome, sum(findings) AS findings FROM daily_outcomes
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2",
    "SELECT fate, reason, sum(findings) AS findings FROM daily_reasons
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50",
    "SELECT severity, reason, refutation, sum(findings) AS findings FROM daily_removed
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1, 2, 3
     ORDER BY iif(severity = 'critical', 0, iif(severity = 'warning', 1, 2)), 4 DESC LIMIT 50",
    "SELECT category, sum(iif(severity = 'critical', findings, 0)) AS critical,
     sum(iif(severity = 'warning', findings, 0)) AS warning, sum(iif(severity = 'suggestion', findings, 0)) AS suggestion
     FROM daily_categories WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY sum(findings) DESC, 1 LIMIT 50",
    "SELECT placement, sum(findings) AS findings FROM daily_placements
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4) GROUP BY 1 ORDER BY 2 DESC",
    "SELECT coalesce(sum(critical), 0) AS critical, coalesce(sum(warning), 0) AS warning,
     coalesce(sum(suggestion), 0) AS suggestion FROM daily_runs
     WHERE project = ?1 AND day BETWEEN ?2 AND ?3 AND (?4 IS NULL OR tier = ?4)",
];

/// The worst files of a week: an index has them in this order, so that a hundred rows are read however many there are.
const HOT: &str = "SELECT project, path, findings, critical, warning, suggestion FROM hot_files
  WHERE grain = ?1 AND tier = coalesce(?2, '*') AND week = ?3 ORDER BY findings DESC LIMIT 100";

/// Reads the page in one round trip.
pub(crate) async fn findings_page(env: &Env, query: &Window) -> Outcome<FindingsPage> {
    let database = database(env)?;
    let mut statements: Vec<D1PreparedStatement> = STATEMENTS
        .into_iter()
        .map(|statement| bound(&database, statement, query))
        .collect::<worker::Result<_>>()?;
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
    files.sort_by(|one, other| {
        let order = |file: &HotFile| {
            (
                std::cmp::Reverse((file.findings, file.critical, file.warning)),
                file.project.clone(),
                file.path.clone(),
            )
        };
        order(one).cmp(&order(other))
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
