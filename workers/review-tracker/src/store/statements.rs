//! The statements that write raw rows.
//!
//! Each takes one parameter, a JSON array of rows, and rows have the event's id as their key. `events` itself decides whether
//! anything is written.

/// Names with their rank, in the order in which they are first seen.
pub(super) const NAMES: &str = "INSERT INTO names (kind, name, rank)
  SELECT kind, name, coalesce((SELECT max(rank) FROM names AS n WHERE n.kind = new.kind), 0)
    + row_number() OVER (PARTITION BY kind ORDER BY name)
  FROM (SELECT value->>0 AS kind, value->>1 AS name FROM json_each(?1)) AS new
  WHERE NOT EXISTS (SELECT 1 FROM names AS n WHERE n.kind = new.kind AND n.name = new.name)";

/// A row a run, so that whatever arrives first can be shown.
pub(super) const RUNS: &str = "INSERT OR IGNORE INTO runs (run_id, project, at_ms)
  SELECT value->>0, value->>1, value->>2 FROM json_each(?1)";

/// What a run's start says, and what it says once more when the run is planned. What is not known yet takes nothing away.
pub(super) const STARTED: &str = "UPDATE runs SET
  at_ms = CASE WHEN j.value->>'$.of.planned' AND forge IS NOT NULL THEN at_ms ELSE j.value->>'at_ms' END,
  tier = coalesce(j.value->>'$.of.tier', tier),
  forge = j.value->>'$.of.forge', merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  client_version = j.value->>'$.of.client_version',
  panel = CASE json_array_length(j.value->'$.of.reviewers') WHEN 0 THEN panel ELSE j.value->'$.of.reviewers' END,
  author = coalesce(j.value->>'$.of.author', author),
  limit_ms = coalesce(j.value->>'$.of.limit_seconds' * 1000, limit_ms)
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// What a run's end says. Without a known start, the run began its duration before its end.
pub(super) const COMPLETED: &str = "UPDATE runs SET
  at_ms = CASE WHEN forge IS NULL THEN j.value->>'at_ms' - j.value->>'$.of.duration_ms' ELSE at_ms END,
  completed_ms = j.value->>'at_ms', tier = j.value->>'$.of.tier', verdict = j.value->>'$.of.verdict',
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  duration_ms = j.value->>'$.of.duration_ms', cost_usd = j.value->>'$.of.cost_usd',
  input = j.value->>'$.of.tokens.input', output = j.value->>'$.of.tokens.output',
  reasoning = j.value->>'$.of.tokens.reasoning', cache_read = j.value->>'$.of.tokens.cache_read',
  cache_write = j.value->>'$.of.tokens.cache_write', files = j.value->>'$.of.files', lines = j.value->>'$.of.lines',
  filtered_files = j.value->>'$.of.filtered_files', critical = j.value->>'$.of.critical',
  warning = j.value->>'$.of.warning', suggestion = j.value->>'$.of.suggestion', degraded = j.value->>'$.of.degraded',
  not_read = j.value->>'$.of.coverage.not_read', cut = j.value->>'$.of.coverage.cut', gaps = j.value->>'$.of.coverage.gaps'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Where and why a run failed.
pub(super) const FAILED: &str =
    "UPDATE runs SET failed_stage = j.value->>'$.of.stage', failed_kind = j.value->>'$.of.kind',
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request),
  duration_ms = coalesce(duration_ms, j.value->>'$.of.duration_ms')
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Runs that had nothing to review. Told apart from those that a person skipped.
pub(super) const UNNEEDED: &str = "UPDATE runs SET skipped = 2,
  merge_request = coalesce(j.value->>'$.of.merge_request', merge_request)
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id' AND skipped = 0";

/// What a verdict asked of the forge, and what that showed.
pub(super) const VERDICTS: &str = "UPDATE runs SET wanted = j.value->>'$.of.wanted', shown = j.value->>'$.of.shown',
  mismatch = j.value->>'$.of.mismatch' FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Runs that a person skipped.
pub(super) const SKIPPED: &str = "UPDATE runs SET skipped = 1, merge_request = j.value->>'$.of.merge_request'
  FROM json_each(?1) j WHERE runs.run_id = j.value->>'run_id'";

/// Who skipped them.
pub(super) const GLASSES: &str = "INSERT OR IGNORE INTO glasses (event_id, run_id, project, at_ms, merge_request, who)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.merge_request',
  value->>'$.of.user' FROM json_each(?1)";

/// Sessions. One ended when its event was made, and began its duration before.
pub(super) const SESSIONS: &str = "INSERT OR IGNORE INTO sessions
  (event_id, run_id, at_ms, reviewer, outcome, duration_ms, attempts, findings, started_ms, models_tried)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>2 - value->>5,
  value->>8 FROM json_each(?1)";

/// What sessions used.
pub(super) const USAGE: &str = "INSERT OR IGNORE INTO usage
  (event_id, position, run_id, reviewer, model, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
  value->>10, value->>11 FROM json_each(?1)";

/// Findings.
pub(super) const FINDINGS: &str = "INSERT OR IGNORE INTO findings
  (event_id, run_id, at_ms, reviewer, severity, category, path, fingerprint, fate, reason_code, placement)
  SELECT value->>'id', value->>'run_id', value->>'at_ms', value->>'$.of.reviewer', value->>'$.of.severity',
  value->>'$.of.category', value->>'$.of.path', value->>'$.of.fingerprint', value->>'$.of.fate',
  value->>'$.of.reason_code', value->>'$.of.placement' FROM json_each(?1)";

/// How findings were settled.
pub(super) const OUTCOMES: &str = "INSERT OR IGNORE INTO outcomes
  (event_id, run_id, project, at_ms, reviewer, severity, category, path, fingerprint, outcome, proven)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.reviewer',
  value->>'$.of.severity', value->>'$.of.category', value->>'$.of.path', value->>'$.of.fingerprint',
  value->>'$.of.outcome', coalesce(value->>'proven', 0) FROM json_each(?1)";

/// Changes of circuits.
pub(super) const CIRCUITS: &str = "INSERT OR IGNORE INTO circuits (event_id, run_id, project, at_ms, model, state)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.model', value->>'$.of.state'
  FROM json_each(?1)";

/// Models that took over.
pub(super) const FAILBACKS: &str = "INSERT OR IGNORE INTO failbacks
  (event_id, run_id, project, at_ms, reviewer, from_model, to_model, reason)
  SELECT value->>'id', value->>'run_id', value->>'project', value->>'at_ms', value->>'$.of.reviewer',
  value->>'$.of.from', value->>'$.of.to', value->>'$.of.reason' FROM json_each(?1)";

/// Merge requests that are known from now on.
pub(super) const MERGE_REQUESTS: &str = "INSERT OR IGNORE INTO merge_requests (project, merge_request, reviews)
  SELECT value->>0, value->>1, 0 FROM json_each(?1)";

/// How often they were reviewed.
pub(super) const REVIEWED: &str = "UPDATE merge_requests SET reviews = reviews + j.n
  FROM (SELECT value->>0 AS project, value->>1 AS number, sum(value->>4) AS n FROM json_each(?1) GROUP BY 1, 2) AS j
  WHERE merge_requests.project = j.project AND merge_requests.merge_request = j.number";

/// The events themselves. Fails if one of them is known.
pub(super) const EVENTS: &str = "INSERT INTO events
  (id, run_id, project, kind, schema_version, at_ms, received_ms, body, proven)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8 FROM json_each(?1)";
