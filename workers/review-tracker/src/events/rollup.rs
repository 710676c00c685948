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
            Self::Statement(statement) => return (*statement).into(),
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
pub(super) static PROJECTS: Rollup = Rollup::Statement(
    "INSERT INTO daily_projects
  (project, day, tier, runs, inconclusive, failed, cost_usd, findings, critical)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
  FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, inconclusive = inconclusive + excluded.inconclusive,
  failed = failed + excluded.failed, cost_usd = cost_usd + excluded.cost_usd, findings = findings + excluded.findings,
  critical = critical + excluded.critical",
);

/// Distributions: every value in its day and in its week, for its project and for all, and once for all time. The time that events
/// waited is only kept for all projects.
pub(super) static DISTRIBUTIONS: Rollup = Rollup::Statement(
    "INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT CASE WHEN grain < 2 THEN j.value->>0 ELSE '*' END, j.value->>3,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN 7 WHEN 3 THEN 7 ELSE 1 END,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN j.value->>1 - (j.value->>1 + 3) % 7
    WHEN 3 THEN j.value->>1 - (j.value->>1 + 3) % 7 ELSE j.value->>1 END,
  j.value->>2, j.value->>4, sum(j.value->>5)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2), (3), (4)))
  WHERE grain >= 2 OR j.value->>3 <> 'lag_ms' GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT DO UPDATE SET n = n + excluded.n",
);

#[cfg(test)]
mod tests {
    use super::*;

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
