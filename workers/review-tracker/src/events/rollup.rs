//! Rollups: tables of sums by project, day and more, and the statements that add to them.
//!
//! A statement takes one parameter, a JSON array of rows, which are arrays themselves: the keys, project and day first, and then
//! the values. Values are added up before they are sent, so that the database has one row a sum and not one an event. Each row
//! counts in every grain: for its project and day, for all projects and their day, and for all projects and all time.

use std::{borrow::Cow, collections::BTreeMap};

/// Of each kind of name the first so many stand for themselves in rollups.
const DISTINCT_NAMES: u32 = 300;

/// A rollup.
#[derive(Debug)]
pub(super) enum Rollup {
    /// A table whose statement is made from its columns.
    Table {
        /// Its name.
        table: &'static str,
        /// Its keys behind project and day.
        keys: &'static [Key],
        /// The columns that are added up, separated by commas.
        sums: &'static str,
        /// A last column that keeps the largest value.
        max: Option<&'static str>,
    },
    /// A statement of its own, with values that are added up.
    Statement(&'static str),
    /// Statements of its own, with values that are added up and can be taken back.
    Reversible {
        /// Adds rows.
        adding: &'static str,
        /// Takes the same rows back, and what is then empty away.
        taking_back: [&'static str; 2],
    },
}

/// A key of a rollup's rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    /// As it is.
    Plain(&'static str),
    /// The tier, which is not told apart for all time.
    Tier,
    /// A name of a kind, which clients choose freely: late ones are `other`.
    Name(&'static str, &'static str),
    /// A name whose kind stands in its row, behind all keys and in their order; without a kind it is as it is.
    Labelled(&'static str),
}

impl Key {
    const fn column(self) -> &'static str {
        match self {
            Self::Plain(column) | Self::Name(column, _) | Self::Labelled(column) => column,
            Self::Tier => "tier",
        }
    }

    /// The value of a key at a place, with the kind of its name, if it has one, so many places behind it.
    fn expression(self, place: usize, behind: usize) -> String {
        let named = |kind: &str| {
            format!(
                "(SELECT rank FROM names WHERE names.kind = {kind} AND names.name = j.value->>{place}) <= {DISTINCT_NAMES} \
                 THEN j.value->>{place} ELSE 'other' END"
            )
        };
        match self {
            Self::Plain(_) => format!("j.value->>{place}"),
            Self::Tier => format!("CASE grain WHEN 2 THEN '' ELSE j.value->>{place} END"),
            Self::Name(_, kind) => format!("CASE WHEN {}", named(&format!("'{kind}'"))),
            Self::Labelled(_) => {
                let kind = format!("j.value->>{}", place + behind);
                format!("CASE WHEN {kind} IS NULL OR {}", named(&kind))
            }
        }
    }
}

impl Rollup {
    /// Its statement.
    pub(super) fn statement(&self) -> Cow<'static, str> {
        let (table, keys, sums, max) = match self {
            Self::Statement(adding) | Self::Reversible { adding, .. } => return (*adding).into(),
            Self::Table { table, keys, sums, max } => (table, keys, sums, max),
        };
        let labelled = keys.iter().filter(|key| matches!(key, Key::Labelled(_))).count();
        let columns: Vec<&str> = keys.iter().map(|key| key.column()).collect();
        let expressions = (2..)
            .zip(*keys)
            .map(|(place, key)| key.expression(place, labelled))
            .collect::<Vec<_>>();
        let sums = sums.split(", ").map(|column| (column, "sum"));
        let values: Vec<(&str, &str)> = sums.chain(max.map(|column| (column, "max"))).collect();
        let added: Vec<String> = (2 + keys.len() + labelled..)
            .zip(&values)
            .map(|(place, (_, how))| format!("{how}(j.value->>{place})"))
            .collect();
        let updates: Vec<String> = values
            .iter()
            .map(|(column, how)| match *how {
                "max" => format!("{column} = max({column}, excluded.{column})"),
                _ => format!("{column} = {column} + excluded.{column}"),
            })
            .collect();
        let group: Vec<String> = (1..=2 + keys.len()).map(|place| place.to_string()).collect();
        let names: Vec<&str> = values.iter().map(|(column, _)| *column).collect();
        let statement = format!(
            "INSERT INTO {table} (project, day, {}, {})
             SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, CASE grain WHEN 2 THEN 0 ELSE j.value->>1 END, {}, {}
             FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
             GROUP BY {} ON CONFLICT DO UPDATE SET {}",
            columns.join(", "),
            names.join(", "),
            expressions.join(", "),
            added.join(", "),
            group.join(", "),
            updates.join(", "),
        );
        statement.into()
    }

    /// The statements that take rows back out of the sums of days, in order; the rows are those that were added.
    ///
    /// Sums of all time stay: `/metrics` shows them as counters, and a counter that falls reads as one that began again. No sum gets
    /// below zero, whatever the rows say.
    ///
    /// What is then empty is looked for by days of its own: of values without a type `SQLite` takes no more than the names in a key, and
    /// would read all days of a project.
    pub(super) fn taking_back(&self) -> Vec<Cow<'static, str>> {
        let (table, keys, sums) = match self {
            Self::Statement(_) => return Vec::new(),
            Self::Reversible { taking_back, .. } => return taking_back.map(Cow::from).to_vec(),
            Self::Table { table, keys, sums, .. } => (table, keys, sums),
        };
        let labelled = keys.iter().filter(|key| matches!(key, Key::Labelled(_))).count();
        let keyed: Vec<String> = (2..)
            .zip(*keys)
            .map(|(place, key)| format!("{} AS {}", key.expression(place, labelled), key.column()))
            .collect();
        let columns: Vec<&str> = keys.iter().map(|key| key.column()).collect();
        let names: Vec<&str> = sums.split(", ").collect();
        let values: Vec<String> = (2 + keys.len() + labelled..)
            .zip(&names)
            .map(|(place, name)| format!("sum(j.value->>{place}) AS {name}"))
            .collect();
        let updates: Vec<String> = names
            .iter()
            .map(|name| format!("{name} = max(0, {table}.{name} - back.{name})"))
            .collect();
        let same: Vec<String> = columns
            .iter()
            .map(|column| format!("{table}.{column} = back.{column}"))
            .collect();
        let group: Vec<String> = (1..=2 + keys.len()).map(|place| place.to_string()).collect();
        let rows = format!(
            "SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END AS project, j.value->>1 AS day, {}, {}
             FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))) GROUP BY {}",
            keyed.join(", "),
            values.join(", "),
            group.join(", "),
        );
        let key = format!("project, day, {}", columns.join(", "));
        let update = format!(
            "UPDATE {table} SET {} FROM ({rows}) AS back WHERE {table}.project = back.project AND {table}.day = back.day AND {}",
            updates.join(", "),
            same.join(" AND "),
        );
        let first = names.first().copied().unwrap_or_default();
        let delete = format!(
            "DELETE FROM {table} WHERE {first} = 0 AND ({key}) IN (SELECT {key} FROM ({rows})) \
             AND day IN (SELECT value->>1 FROM json_each(?1))"
        );
        vec![update.into(), delete.into()]
    }

    const fn has_max(&self) -> bool {
        matches!(self, Self::Table { max: Some(_), .. })
    }
}

/// Sums by their keys: JSON arrays without their end.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<String, Vec<f64>>);

impl Sums {
    /// Adds values to those of a key.
    pub(super) fn add(&mut self, rollup: &Rollup, key: String, values: &[f64]) {
        let Some(sums) = self.0.get_mut(&key) else {
            self.0.insert(key, values.to_vec());
            return;
        };
        let max = rollup.has_max().then(|| values.len().saturating_sub(1));
        for (place, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
            *sum = if Some(place) == max {
                sum.max(*value)
            } else {
                *sum + value
            };
        }
    }

    /// The rows: arrays of the key and the sums.
    pub(super) fn rows(self) -> Vec<String> {
        let row = |(mut row, sums): (String, Vec<f64>)| {
            for sum in sums {
                row.push(',');
                row.push_str(&sum.to_string());
            }
            row.push(']');
            row
        };
        self.0.into_iter().map(row).collect()
    }
}

/// Completed runs by tier and verdict.
pub(super) static RUNS: Rollup = Rollup::Table {
    table: "daily_runs",
    keys: &[Key::Plain("tier"), Key::Plain("verdict")],
    sums: "runs, duration_ms, cost_usd, input, output, reasoning, cache_read, cache_write, files, lines, \
           critical, warning, suggestion, degraded, partial",
    max: None,
};

/// The rollups that several kinds of events add to.
pub(super) static SHARED: [&Rollup; 3] = [&COUNTS, &PROJECTS, &DISTRIBUTIONS];

/// Whatever is only counted. Behind the labels stand the kinds of their names.
pub(super) static COUNTS: Rollup = Rollup::Table {
    table: "daily_counts",
    keys: &[
        Key::Tier,
        Key::Plain("kind"),
        Key::Labelled("a"),
        Key::Labelled("b"),
        Key::Labelled("c"),
    ],
    sums: "n",
    max: None,
};

/// Reviews of projects by day, for a list of all projects: the day stands first, so that the list reads its days only.
pub(super) static PROJECTS: Rollup = Rollup::Reversible {
    adding: "INSERT INTO daily_projects
  (project, day, tier, runs, inconclusive, failed, cost_usd, findings, critical)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
  FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, inconclusive = inconclusive + excluded.inconclusive,
  failed = failed + excluded.failed, cost_usd = cost_usd + excluded.cost_usd, findings = findings + excluded.findings,
  critical = critical + excluded.critical",
    taking_back: [
        "UPDATE daily_projects SET runs = max(0, runs - (j.value->>3)),
  inconclusive = max(0, inconclusive - (j.value->>4)), failed = max(0, failed - (j.value->>5)),
  cost_usd = max(0, cost_usd - (j.value->>6)), findings = max(0, findings - (j.value->>7)),
  critical = max(0, critical - (j.value->>8))
  FROM json_each(?1) AS j WHERE project = j.value->>0 AND day = j.value->>1 AND tier = j.value->>2",
        "DELETE FROM daily_projects WHERE runs = 0 AND failed = 0 AND (day, project, tier) IN
  (SELECT value->>1, value->>0, value->>2 FROM json_each(?1)) AND day IN (SELECT value->>1 FROM json_each(?1))
  AND project IN (SELECT value->>0 FROM json_each(?1))",
    ],
};

/// The bins of days and weeks that rows of [`DISTRIBUTIONS`] were added to.
macro_rules! bins_of_days {
    () => {
        "SELECT CASE WHEN grain < 2 THEN j.value->>0 ELSE '*' END AS project, j.value->>3 AS metric,
  CASE grain % 2 WHEN 1 THEN 7 ELSE 1 END AS span,
  CASE grain % 2 WHEN 1 THEN j.value->>1 - (j.value->>1 + 3) % 7 ELSE j.value->>1 END AS start,
  j.value->>2 AS tier, j.value->>4 AS bin, sum(j.value->>5) AS n
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2), (3))) GROUP BY 1, 2, 3, 4, 5, 6"
    };
}

/// Distributions: every value in its day and in its week, for its project and for all, and once for all time. The time that events
/// waited is only kept for all projects.
pub(super) static DISTRIBUTIONS: Rollup = Rollup::Reversible {
    adding: "INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT CASE WHEN grain < 2 THEN j.value->>0 ELSE '*' END, j.value->>3,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN 7 WHEN 3 THEN 7 ELSE 1 END,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN j.value->>1 - (j.value->>1 + 3) % 7
    WHEN 3 THEN j.value->>1 - (j.value->>1 + 3) % 7 ELSE j.value->>1 END,
  j.value->>2, j.value->>4, sum(j.value->>5)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2), (3), (4)))
  WHERE grain >= 2 OR j.value->>3 <> 'lag_ms' GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT DO UPDATE SET n = n + excluded.n",
    taking_back: [
        concat!(
            "UPDATE bins SET n = max(0, bins.n - back.n) FROM (",
            bins_of_days!(),
            ") AS back WHERE bins.project = back.project AND bins.metric = back.metric AND bins.span = back.span
  AND bins.start = back.start AND bins.tier = back.tier AND bins.bin = back.bin"
        ),
        concat!(
            "DELETE FROM bins WHERE n = 0 AND (project, metric, span, start, tier, bin) IN
  (SELECT project, metric, span, start, tier, bin FROM (",
            bins_of_days!(),
            ")) AND span IN (1, 7) AND start IN (SELECT value->>1 FROM json_each(?1)
  UNION SELECT value->>1 - (value->>1 + 3) % 7 FROM json_each(?1))"
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_looked_for_in_its_own_days() {
        for (rollup, column) in [
            (&RUNS, "day"),
            (&COUNTS, "day"),
            (&PROJECTS, "day"),
            (&DISTRIBUTIONS, "start"),
        ] {
            let statements = rollup.taking_back();
            let delete = statements.last().expect("one");
            assert!(delete.starts_with("DELETE FROM "), "{delete}");
            assert!(
                delete.contains(&format!("AND {column} IN (SELECT value->>1 FROM json_each(?1)")),
                "{delete}"
            );
        }
    }

    #[test]
    fn rows_are_arrays_of_key_and_sums() {
        let mut sums = Sums::default();
        let of_max = Rollup::Table {
            table: "t",
            keys: &[],
            sums: "n",
            max: Some("largest"),
        };
        for value in [0.5, 0.25] {
            sums.add(&COUNTS, r#"["a]\"",1,"x""#.to_owned(), &[1.0, value]);
        }
        for value in [7.0, 3.0] {
            sums.add(&of_max, r#"["b",1,"x]""#.to_owned(), &[1.0, value]);
        }
        assert_eq!(sums.rows(), [r#"["a]\"",1,"x",2,0.75]"#, r#"["b",1,"x]",2,7]"#]);
    }
}
