//! The statements that write rollups.
//!
//! Each takes one parameter, a JSON array of rows, which are arrays themselves: what the row is told apart by, project and day
//! first, and then what is added (`sums.rs`). Each row counts in every grain: for its project and day, for all projects and
//! their day, and for all projects and all time.

/// Of each kind of name the first so many stand for themselves in rollups.
const DISTINCT_NAMES: u32 = 300;

/// How values of a column come together.
#[derive(Clone, Copy)]
pub(super) enum Merge {
    Sum,
    Max,
}

/// What a row is told apart by.
#[derive(Clone, Copy)]
pub(super) enum Key {
    /// As it is.
    Plain(&'static str),
    /// The tier, which is not told apart for all time.
    Tier,
    /// A name of a kind, which clients choose freely: late ones are `other`.
    Name(&'static str, &'static str),
    /// A name whose kind stands so many places behind it; no kind, and it is as it is.
    Labelled(&'static str, usize),
}

/// A rollup: its table, what rows are told apart by behind project and day, places that are skipped, and what is added up.
pub(super) struct Rollup {
    table: &'static str,
    keys: &'static [Key],
    skipped: usize,
    values: &'static [(&'static str, Merge)],
}

impl Key {
    const fn column(self) -> &'static str {
        match self {
            Self::Plain(column) | Self::Name(column, _) | Self::Labelled(column, _) => column,
            Self::Tier => "tier",
        }
    }

    fn expression(self, place: usize) -> String {
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
            Self::Labelled(_, behind) => {
                let kind = format!("j.value->>{}", place + behind);
                format!("CASE WHEN {kind} IS NULL OR {}", named(&kind))
            }
        }
    }
}

impl Rollup {
    /// Its statement.
    pub(super) fn statement(&self) -> String {
        let keys: Vec<&str> = self.keys.iter().map(|key| key.column()).collect();
        let key_expressions: Vec<String> = (2..).zip(self.keys).map(|(place, key)| key.expression(place)).collect();
        let values: Vec<&str> = self.values.iter().map(|(column, _)| *column).collect();
        let first = 2 + self.keys.len() + self.skipped;
        let value_expressions: Vec<String> = (first..)
            .zip(self.values)
            .map(|(place, (_, merge))| match merge {
                Merge::Sum => format!("sum(j.value->>{place})"),
                Merge::Max => format!("max(j.value->>{place})"),
            })
            .collect();
        let updates: Vec<String> = self
            .values
            .iter()
            .map(|(column, merge)| match merge {
                Merge::Sum => format!("{column} = {column} + excluded.{column}"),
                Merge::Max => format!("{column} = max({column}, excluded.{column})"),
            })
            .collect();
        let group: Vec<String> = (1..=2 + keys.len()).map(|place| place.to_string()).collect();
        format!(
            "INSERT INTO {} (project, day, {}, {})
             SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, CASE grain WHEN 2 THEN 0 ELSE j.value->>1 END, {}, {}
             FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
             GROUP BY {} ON CONFLICT DO UPDATE SET {}",
            self.table,
            keys.join(", "),
            values.join(", "),
            key_expressions.join(", "),
            value_expressions.join(", "),
            group.join(", "),
            updates.join(", "),
        )
    }
}

/// Completed runs by tier and verdict.
pub(super) const RUNS: Rollup = Rollup {
    table: "daily_runs",
    keys: &[Key::Plain("tier"), Key::Plain("verdict")],
    skipped: 0,
    values: &[
        ("runs", Merge::Sum),
        ("duration_ms", Merge::Sum),
        ("cost_usd", Merge::Sum),
        ("input", Merge::Sum),
        ("output", Merge::Sum),
        ("reasoning", Merge::Sum),
        ("cache_read", Merge::Sum),
        ("cache_write", Merge::Sum),
        ("files", Merge::Sum),
        ("lines", Merge::Sum),
        ("critical", Merge::Sum),
        ("warning", Merge::Sum),
        ("suggestion", Merge::Sum),
        ("degraded", Merge::Sum),
        ("partial", Merge::Sum),
    ],
};

/// Tokens and cost by model and reviewer.
pub(super) const USAGE: Rollup = Rollup {
    table: "daily_usage",
    keys: &[
        Key::Tier,
        Key::Name("model", "model"),
        Key::Name("reviewer", "reviewer"),
    ],
    skipped: 0,
    values: &[
        ("calls", Merge::Sum),
        ("input", Merge::Sum),
        ("output", Merge::Sum),
        ("reasoning", Merge::Sum),
        ("cache_read", Merge::Sum),
        ("cache_write", Merge::Sum),
        ("cost_usd", Merge::Sum),
    ],
};

/// Whatever is only counted. Behind the labels stand the kinds of their names.
pub(super) const COUNTS: Rollup = Rollup {
    table: "daily_counts",
    keys: &[
        Key::Tier,
        Key::Plain("kind"),
        Key::Labelled("a", 3),
        Key::Labelled("b", 3),
        Key::Labelled("c", 3),
    ],
    skipped: 3,
    values: &[("n", Merge::Sum)],
};

/// Figures of the runs themselves.
pub(super) const METRICS: Rollup = Rollup {
    table: "daily_metrics",
    keys: &[Key::Tier, Key::Name("name", "metric")],
    skipped: 0,
    values: &[("n", Merge::Sum), ("total", Merge::Sum), ("largest", Merge::Max)],
};

/// Merge requests on the day of their first review. What decides is whether the request is known.
pub(super) const MERGE_REQUESTS: &str = "INSERT INTO daily_counts (project, kind, day, tier, n)
  SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, 'merge_request', CASE grain WHEN 2 THEN 0 ELSE j.value->>2 END,
  CASE grain WHEN 2 THEN '' ELSE j.value->>3 END, count(*) FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
  WHERE NOT EXISTS (SELECT 1 FROM merge_requests AS m
    WHERE m.project = j.value->>0 AND m.merge_request = j.value->>1)
  GROUP BY 1, 3, 4 ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Reviews of merge requests, told apart by whether the merge request had been reviewed before. What decides is how often it was
/// until now.
pub(super) const REVIEWS_OF_MERGE_REQUESTS: &str = "INSERT INTO daily_counts (project, kind, day, tier, a, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'mr_review', CASE grain WHEN 2 THEN 0 ELSE day END,
  CASE grain WHEN 2 THEN '' ELSE tier END, part, sum(CASE part WHEN 'first' THEN is_first ELSE reviews - is_first END)
  FROM (SELECT value->>0 AS project, value->>2 AS day, value->>3 AS tier, value->>4 AS reviews,
      value->>5 AND NOT EXISTS (SELECT 1 FROM merge_requests AS m WHERE m.project = value->>0 AND m.merge_request = value->>1
        AND m.reviews > 0) AS is_first FROM json_each(?1))
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
  CROSS JOIN (SELECT column1 AS part FROM (VALUES ('first'), ('again')))
  WHERE part = 'first' AND is_first = 1 OR part = 'again' AND reviews > is_first
  GROUP BY 1, 3, 4, 5 ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Reviews of projects by day, for a list of all projects: the day stands first, so that the list reads its days only.
pub(super) const PROJECTS: &str = "INSERT INTO daily_projects
  (project, day, tier, runs, inconclusive, failed, cost_usd, findings, critical)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
  FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, inconclusive = inconclusive + excluded.inconclusive,
  failed = failed + excluded.failed, cost_usd = cost_usd + excluded.cost_usd, findings = findings + excluded.findings,
  critical = critical + excluded.critical";

/// Distributions: every value in its day and in its week, for its project and for all, and once for all time. How long events
/// waited is only kept for all projects.
pub(super) const BINS: &str = "INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT CASE WHEN grain < 2 THEN j.value->>0 ELSE '*' END, j.value->>2,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN 7 WHEN 3 THEN 7 ELSE 1 END,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN j.value->>1 - (j.value->>1 + 3) % 7
    WHEN 3 THEN j.value->>1 - (j.value->>1 + 3) % 7 ELSE j.value->>1 END,
  j.value->>3, j.value->>4, sum(j.value->>5)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2), (3), (4)))
  WHERE grain >= 2 OR j.value->>2 <> 'lag_ms' GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Files with findings that stand, by week: for all tiers (`*`) and for the tier in which they were found, as far as it is known.
pub(super) const HOT_FILES: &str = "INSERT INTO hot_files
  (grain, tier, week, project, path, findings, critical, warning, suggestion)
  SELECT CASE grain WHEN 0 THEN j.value->>0 ELSE '*' END, CASE every WHEN 1 THEN '*' ELSE j.value->>2 END, j.value->>1,
  j.value->>0, j.value->>3, sum(j.value->>4), sum(j.value->>5), sum(j.value->>6), sum(j.value->>7)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1)))
  CROSS JOIN (SELECT column1 AS every FROM (VALUES (0), (1))) WHERE every = 1 OR j.value->>2 <> ''
  GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET findings = findings + excluded.findings, critical = critical + excluded.critical,
  warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion";
