//! The statements that write rollups.
//!
//! Each takes one parameter, a JSON array of rows, adds them up once, and counts the sums in every grain: for their project
//! and day, for all projects and their day, and for all projects and all time. Only events count that are not in `events` yet.

/// Of each kind of name the first so many stand for themselves in rollups.
const DISTINCT_NAMES: u32 = 300;

/// Not yet counted.
const NEW: &str = "NOT EXISTS (SELECT 1 FROM events WHERE events.id = j.value->>'id')";

/// How values of a column come together.
#[derive(Clone, Copy)]
enum Merge {
    Sum,
    Max,
}

impl Merge {
    const fn function(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "max",
        }
    }
}

/// A rollup: its table, what rows of it are told apart by, and what is added up.
struct Rollup {
    table: &'static str,
    keys: Vec<(&'static str, String)>,
    values: Vec<(&'static str, Merge, &'static str)>,
}

impl Rollup {
    fn statement(&self) -> String {
        let list = |parts: Vec<String>| parts.join(", ");
        let keys = |prefix: &str| list(self.keys.iter().map(|(name, _)| format!("{prefix}{name}")).collect());
        let each = |render: fn(&str, Merge, &str) -> String| {
            let values = self.values.iter();
            list(
                values
                    .map(|(name, merge, expression)| render(name, *merge, expression))
                    .collect(),
            )
        };
        let inner_keys = self
            .keys
            .iter()
            .map(|(name, expression)| format!("{expression} AS {name}"));
        format!(
            "INSERT INTO {table} (project, day, {keys}, {columns})
             SELECT CASE grain WHEN 0 THEN new.project ELSE '*' END, CASE grain WHEN 2 THEN 0 ELSE new.day END, {new_keys},
               {sums_of_sums}
             FROM (SELECT j.value->>'project' AS project, j.value->>'day' AS day, {inner_keys}, {sums}
               FROM json_each(?1) AS j WHERE {NEW} GROUP BY {group}) AS new
             CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
             GROUP BY {group} ON CONFLICT DO UPDATE SET {updates}",
            table = self.table,
            keys = keys(""),
            columns = each(|name, _, _| name.to_owned()),
            new_keys = keys("new."),
            inner_keys = list(inner_keys.collect()),
            sums = each(|name, merge, expression| format!("{}({expression}) AS {name}", merge.function())),
            sums_of_sums = each(|name, merge, _| format!("{}(new.{name})", merge.function())),
            group = list((1..=self.keys.len() + 2).map(|index| index.to_string()).collect()),
            updates = each(|name, merge, _| match merge {
                Merge::Sum => format!("{name} = {name} + excluded.{name}"),
                Merge::Max => format!("{name} = max({name}, excluded.{name})"),
            }),
        )
    }
}

/// A field of a row.
fn field(path: &str) -> String {
    format!("j.value->>'$.of.{path}'")
}

/// A field that clients choose freely: late names are `other`.
fn bounded(path: &str, kind: &str) -> String {
    let field = field(path);
    format!(
        "CASE WHEN (SELECT rank FROM names WHERE names.kind = '{kind}' AND names.name = {field}) <= {DISTINCT_NAMES} \
         THEN {field} ELSE 'other' END"
    )
}

/// A label of a count: bounded if a kind of name stands beside it.
fn label(path: &str) -> String {
    let (field, kind) = (field(path), field(&format!("k{path}")));
    format!(
        "CASE WHEN {kind} IS NULL OR (SELECT rank FROM names WHERE names.kind = {kind} AND names.name = {field}) \
         <= {DISTINCT_NAMES} THEN {field} ELSE 'other' END"
    )
}

/// Completed runs by tier and verdict.
pub(super) fn runs() -> String {
    let sum = |name, expression| (name, Merge::Sum, expression);
    Rollup {
        table: "daily_runs",
        keys: vec![("tier", field("tier")), ("verdict", field("verdict"))],
        values: vec![
            sum("runs", "1"),
            sum("duration_ms", "j.value->>'$.of.duration_ms'"),
            sum("cost_usd", "j.value->>'$.of.cost_usd'"),
            sum("input", "j.value->>'$.of.tokens.input'"),
            sum("output", "j.value->>'$.of.tokens.output'"),
            sum("reasoning", "j.value->>'$.of.tokens.reasoning'"),
            sum("cache_read", "j.value->>'$.of.tokens.cache_read'"),
            sum("cache_write", "j.value->>'$.of.tokens.cache_write'"),
            sum("files", "j.value->>'$.of.files'"),
            sum("lines", "j.value->>'$.of.lines'"),
            sum("critical", "j.value->>'$.of.critical'"),
            sum("warning", "j.value->>'$.of.warning'"),
            sum("suggestion", "j.value->>'$.of.suggestion'"),
            sum("degraded", "j.value->>'$.of.degraded'"),
            sum(
                "partial",
                "coalesce(j.value->>'$.of.coverage.not_read' + j.value->>'$.of.coverage.cut' \
                 + j.value->>'$.of.coverage.gaps' > 0, 0)",
            ),
        ],
    }
    .statement()
}

/// Tokens and cost by model and reviewer.
pub(super) fn usage() -> String {
    let sum = |name, expression| (name, Merge::Sum, expression);
    Rollup {
        table: "daily_usage",
        keys: vec![
            ("model", bounded("used.model", "model")),
            ("reviewer", bounded("reviewer", "reviewer")),
        ],
        values: vec![
            sum("calls", "j.value->>'$.of.used.calls'"),
            sum("input", "j.value->>'$.of.used.tokens.input'"),
            sum("output", "j.value->>'$.of.used.tokens.output'"),
            sum("reasoning", "j.value->>'$.of.used.tokens.reasoning'"),
            sum("cache_read", "j.value->>'$.of.used.tokens.cache_read'"),
            sum("cache_write", "j.value->>'$.of.used.tokens.cache_write'"),
            sum("cost_usd", "j.value->>'$.of.used.cost_usd'"),
        ],
    }
    .statement()
}

/// Whatever is only counted.
pub(super) fn counts() -> String {
    Rollup {
        table: "daily_counts",
        keys: vec![
            ("kind", field("kind")),
            ("a", label("a")),
            ("b", label("b")),
            ("c", label("c")),
        ],
        values: vec![("n", Merge::Sum, "j.value->>'$.of.n'")],
    }
    .statement()
}

/// Figures of the runs themselves.
pub(super) fn metrics() -> String {
    Rollup {
        table: "daily_metrics",
        keys: vec![("name", bounded("name", "metric"))],
        values: vec![
            ("n", Merge::Sum, "1"),
            ("total", Merge::Sum, "j.value->>'$.of.value'"),
            ("largest", Merge::Max, "j.value->>'$.of.value'"),
        ],
    }
    .statement()
}

/// Merge requests on the day of their first review. Not by the events: what decides is whether the request is known.
pub(super) const MERGE_REQUESTS: &str = "INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN j.value->>'project' ELSE '*' END, 'merge_request',
  CASE grain WHEN 2 THEN 0 ELSE j.value->>'day' END, '', '', '', count(*)
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2)))
  WHERE NOT EXISTS (SELECT 1 FROM merge_requests AS m
    WHERE m.project = j.value->>'project' AND m.merge_request = j.value->>'of')
  GROUP BY 1, 3 ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Distributions: every value in its day and in its week, for its project and for all, and once for all time. How long events
/// waited is only kept for all projects.
pub(super) const BINS: &str = "INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT CASE WHEN grain < 2 THEN new.project ELSE '*' END, new.metric,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN 7 WHEN 3 THEN 7 ELSE 1 END,
  CASE grain WHEN 4 THEN 0 WHEN 1 THEN new.day - (new.day + 3) % 7 WHEN 3 THEN new.day - (new.day + 3) % 7
    ELSE new.day END, new.tier, new.bin, sum(new.n)
  FROM (SELECT j.value->>'project' AS project, j.value->>'day' AS day, j.value->>'$.of.metric' AS metric,
    j.value->>'$.of.tier' AS tier, j.value->>'$.of.bin' AS bin, count(*) AS n FROM json_each(?1) AS j
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE events.id = j.value->>'id') GROUP BY 1, 2, 3, 4, 5) AS new
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2), (3), (4)))
  WHERE grain >= 2 OR new.metric <> 'lag_ms' GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT DO UPDATE SET n = n + excluded.n";

/// Files with findings that stand, by week.
pub(super) const HOT_FILES: &str = "INSERT INTO hot_files
  (grain, week, project, path, findings, critical, warning, suggestion)
  SELECT CASE grain WHEN 0 THEN j.value->>'project' ELSE '*' END, j.value->>'day' - (j.value->>'day' + 3) % 7,
  j.value->>'project', j.value->>'$.of.path', count(*), sum(j.value->>'$.of.severity' = 'critical'),
  sum(j.value->>'$.of.severity' = 'warning'), sum(j.value->>'$.of.severity' = 'suggestion')
  FROM json_each(?1) AS j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1)))
  WHERE NOT EXISTS (SELECT 1 FROM events WHERE events.id = j.value->>'id') GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET findings = findings + excluded.findings, critical = critical + excluded.critical,
  warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion";
