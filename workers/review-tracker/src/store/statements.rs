//! The statements that write a batch.
//!
//! Each takes one parameter, a JSON array of rows, and is safe to repeat: rows have the event's id as their key, and a
//! roll-up counts only events that are not in `events` yet. `events` itself is therefore written last.

/// Rows of roll-ups: every new event three times, for its project and day, for all projects and its day, and for all
/// projects and all time.
macro_rules! rollup {
    (insert $columns:literal, select $values:literal, group $group:literal, $update:literal) => {
        concat!(
            "INSERT INTO ",
            $columns,
            " SELECT CASE grain WHEN 0 THEN j.value->>'project' ELSE '*' END, ",
            "CASE grain WHEN 2 THEN 0 ELSE j.value->>'day' END, ",
            $values,
            " FROM json_each(?1) j CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) ",
            "WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = j.value->>'id') GROUP BY 1, 2, ",
            $group,
            " ON CONFLICT DO UPDATE SET ",
            $update
        )
    };
}

/// A row a run, so that whatever arrives first can be shown.
pub(crate) const RUNS: &str = "INSERT OR IGNORE INTO runs (run_id, project, at_ms)
  SELECT value->>'run_id', value->>'project', min(value->>'at_ms') FROM json_each(?1) GROUP BY 1";

/// What a run's start says.
pub(crate) const STARTED: &str = "UPDATE runs SET at_ms = j.value->>'at_ms', tier = j.value->>'$.of.tier',
  forge = j.value->>'$.of.forge', merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  client_version = j.value->>'$.of.client_version', panel = j.value->'$.of.reviewers'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// What a run's end says. Without a known start, the run began its duration before its end.
pub(crate) const COMPLETED: &str = "UPDATE runs SET
  at_ms = CASE WHEN forge IS NULL THEN j.value->>'at_ms' - j.value->>'$.of.duration_ms' ELSE at_ms END,
  completed_ms = j.value->>'at_ms', tier = j.value->>'$.of.tier', verdict = j.value->>'$.of.verdict',
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  duration_ms = j.value->>'$.of.duration_ms', cost_usd = j.value->>'$.of.cost_usd',
  input = j.value->>'$.of.tokens.input', output = j.value->>'$.of.tokens.output',
  reasoning = j.value->>'$.of.tokens.reasoning', cache_read = j.value->>'$.of.tokens.cache_read',
  cache_write = j.value->>'$.of.tokens.cache_write', files = j.value->>'$.of.files', lines = j.value->>'$.of.lines',
  filtered_files = j.value->>'$.of.filtered_files', critical = j.value->>'$.of.critical',
  warning = j.value->>'$.of.warning', suggestion = j.value->>'$.of.suggestion', degraded = j.value->>'$.of.degraded'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Sessions.
pub(crate) const SESSIONS: &str = "INSERT OR IGNORE INTO sessions
  (event_id, run_id, at_ms, reviewer, outcome, duration_ms, attempts, findings)
  SELECT value->>'id', value->>'run_id', value->>'at_ms', value->>'$.of.reviewer', value->>'$.of.outcome',
  value->>'$.of.duration_ms', value->>'$.of.attempts', value->>'$.of.findings' FROM json_each(?1)";

/// What sessions used.
pub(crate) const USAGE: &str = "INSERT OR IGNORE INTO usage
  (event_id, position, run_id, reviewer, model, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT value->>'id', value->>'$.of.position', value->>'run_id', value->>'$.of.reviewer', value->>'$.of.used.model',
  value->>'$.of.used.calls', value->>'$.of.used.tokens.input', value->>'$.of.used.tokens.output',
  value->>'$.of.used.tokens.reasoning', value->>'$.of.used.tokens.cache_read',
  value->>'$.of.used.tokens.cache_write', value->>'$.of.used.cost_usd' FROM json_each(?1)";

/// Findings.
pub(crate) const FINDINGS: &str = "INSERT OR IGNORE INTO findings
  (event_id, run_id, at_ms, reviewer, severity, category, path, fingerprint, fate, reason_code)
  SELECT value->>'id', value->>'run_id', value->>'at_ms', value->>'$.of.reviewer', value->>'$.of.severity',
  value->>'$.of.category', value->>'$.of.path', value->>'$.of.fingerprint', value->>'$.of.fate',
  value->>'$.of.reason_code' FROM json_each(?1)";

/// Names, kept in the order in which they are first seen.
pub(crate) const NAMES: &str = "INSERT OR IGNORE INTO names (kind, name)
  SELECT value->>'kind', value->>'name' FROM json_each(?1)";

/// The events themselves, last.
pub(crate) const EVENTS: &str = "INSERT OR IGNORE INTO events
  (id, run_id, project, kind, schema_version, at_ms, received_ms, body)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'$.of.kind', value->>'$.of.schema',
  value->>'at_ms', value->>'$.of.received_ms', value->>'$.of.body' FROM json_each(?1)";

/// Completed runs by tier and verdict.
pub(crate) const DAILY_RUNS: &str = rollup!(
    insert "daily_runs (project, day, tier, verdict, runs, duration_ms, cost_usd, input, cache_read, critical, warning,
    suggestion, degraded)",
    select "j.value->>'$.of.tier', j.value->>'$.of.verdict', count(*), sum(j.value->>'$.of.duration_ms'),
    sum(j.value->>'$.of.cost_usd'), sum(j.value->>'$.of.tokens.input'), sum(j.value->>'$.of.tokens.cache_read'),
    sum(j.value->>'$.of.critical'), sum(j.value->>'$.of.warning'), sum(j.value->>'$.of.suggestion'),
    sum(j.value->>'$.of.degraded')",
    group "3, 4",
    "runs = runs + excluded.runs, duration_ms = duration_ms + excluded.duration_ms,
    cost_usd = cost_usd + excluded.cost_usd, input = input + excluded.input,
    cache_read = cache_read + excluded.cache_read, critical = critical + excluded.critical,
    warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion,
    degraded = degraded + excluded.degraded"
);

/// Durations and costs of completed runs as sketches.
pub(crate) const DAILY_BINS: &str = rollup!(
    insert "daily_bins (project, day, metric, tier, bin, runs)",
    select "j.value->>'$.of.metric', j.value->>'$.of.tier', j.value->>'$.of.bin', count(*)",
    group "3, 4, 5",
    "runs = runs + excluded.runs"
);

/// Judged findings.
pub(crate) const DAILY_FINDINGS: &str = rollup!(
    insert "daily_findings (project, day, reviewer, severity, fate, findings)",
    select "j.value->>'$.of.reviewer', j.value->>'$.of.severity', j.value->>'$.of.fate', count(*)",
    group "3, 4, 5",
    "findings = findings + excluded.findings"
);

/// Tokens and cost by model and reviewer.
pub(crate) const DAILY_USAGE: &str = rollup!(
    insert "daily_usage (project, day, model, reviewer, calls, input, output, reasoning, cache_read, cache_write,
    cost_usd)",
    select "j.value->>'$.of.used.model', j.value->>'$.of.reviewer', sum(j.value->>'$.of.used.calls'),
    sum(j.value->>'$.of.used.tokens.input'), sum(j.value->>'$.of.used.tokens.output'),
    sum(j.value->>'$.of.used.tokens.reasoning'), sum(j.value->>'$.of.used.tokens.cache_read'),
    sum(j.value->>'$.of.used.tokens.cache_write'), sum(j.value->>'$.of.used.cost_usd')",
    group "3, 4",
    "calls = calls + excluded.calls, input = input + excluded.input, output = output + excluded.output,
    reasoning = reasoning + excluded.reasoning, cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, cost_usd = cost_usd + excluded.cost_usd"
);

/// Events that clients had to drop.
pub(crate) const DAILY_DROPPED: &str = rollup!(
    insert "daily_dropped (project, day, events)",
    select "sum(j.value->>'$.of.events')",
    group "''",
    "events = events + excluded.events"
);
