-- Raw facts: one row an event, and what runs, sessions, usage and findings look like once the events are taken apart.
-- Roll-ups: what the dashboard and the metrics read, so that neither grows slower with history.
--
-- Times are milliseconds since 1970 and days are days since 1970, both UTC.

-- Every accepted event. Its id decides whether an event has been counted before.
CREATE TABLE events (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  received_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX events_by_time ON events (at_ms);

-- One row a run, filled by its `run_started` and `run_completed` in whichever order they arrive. Without a verdict the
-- run has not ended, or its end was never heard of.
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  tier TEXT,
  forge TEXT,
  merge_request INTEGER,
  client_version TEXT,
  panel TEXT,
  verdict TEXT,
  completed_ms INTEGER,
  duration_ms INTEGER,
  cost_usd REAL,
  input INTEGER,
  output INTEGER,
  reasoning INTEGER,
  cache_read INTEGER,
  cache_write INTEGER,
  files INTEGER,
  lines INTEGER,
  filtered_files INTEGER,
  critical INTEGER,
  warning INTEGER,
  suggestion INTEGER,
  degraded INTEGER
) WITHOUT ROWID;
CREATE INDEX runs_by_time ON runs (at_ms DESC, run_id DESC);
CREATE INDEX runs_by_project ON runs (project, at_ms DESC, run_id DESC);

-- One row a reviewer (or coordinator) that ended.
CREATE TABLE sessions (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  outcome TEXT NOT NULL,
  duration_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  findings INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_run ON sessions (run_id, at_ms);

-- What a session used, one row a model.
CREATE TABLE usage (
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  PRIMARY KEY (event_id, position)
) WITHOUT ROWID;
CREATE INDEX usage_by_run ON usage (run_id);

-- One row a judged finding.
CREATE TABLE findings (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  severity TEXT NOT NULL,
  category TEXT NOT NULL,
  path TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  fate TEXT NOT NULL,
  reason_code TEXT
) WITHOUT ROWID;
CREATE INDEX findings_by_run ON findings (run_id, at_ms);

-- Roll-ups. Every event is counted three times: for its project and day, for all projects (`*`) and its day, and for all
-- projects and all time (day 0). So a question about everything never has to add projects or days up.
CREATE TABLE daily_runs (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  tier TEXT NOT NULL,
  verdict TEXT NOT NULL,
  runs INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  input INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  warning INTEGER NOT NULL,
  suggestion INTEGER NOT NULL,
  degraded INTEGER NOT NULL,
  PRIMARY KEY (project, day, tier, verdict)
) WITHOUT ROWID;

-- Quantile sketch as rows: `bin` is the logarithmic bin of a value, 1 % wide to either side. Merging is adding up.
CREATE TABLE daily_bins (
  project TEXT NOT NULL,
  metric TEXT NOT NULL,
  day INTEGER NOT NULL,
  tier TEXT NOT NULL,
  bin INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  PRIMARY KEY (project, metric, day, tier, bin)
) WITHOUT ROWID;

CREATE TABLE daily_findings (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  severity TEXT NOT NULL,
  fate TEXT NOT NULL,
  findings INTEGER NOT NULL,
  PRIMARY KEY (project, day, reviewer, severity, fate)
) WITHOUT ROWID;

CREATE TABLE daily_usage (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  PRIMARY KEY (project, day, model, reviewer)
) WITHOUT ROWID;

CREATE TABLE daily_dropped (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (project, day)
) WITHOUT ROWID;

-- Names in the order in which they were first seen. Metrics keep the first so many and call the rest `other`, which
-- bounds the number of series without ever moving a count from one series to another; the dashboard lists projects.
CREATE TABLE names (
  position INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (kind, name)
);
