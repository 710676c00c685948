-- Everything that the dashboard and the metrics read, from rollups that do not grow with history; what a run's timeline
-- needs; and the rollups' contents, as far as the rows of 0001 know them.
--
-- How it is written: a batch waits in a Durable Object (`src/outbox.rs`) until its alarm writes it here, in one transaction
-- that is safe to repeat (`src/store/write.rs`). Nothing of that waiting is in this database. Pages that show it ask
-- `outbox::status(env)`: per shard how many batches and events wait and since when, and the dead letters (batches that D1
-- refuses again and again) with their errors; `outbox::replay(env, &id)` and `outbox::discard(env, &id)` act on one,
-- `outbox::replay_all(env)` on all. Their HTTP form is `GET /v1/outbox`, `POST /v1/dead-letters/ID/replay`, `POST
-- /v1/dead-letters/replay` and `DELETE /v1/dead-letters/ID`, with a token of OPERATOR_TOKENS.
--
-- Days are days since 1970 in UTC; a week is called by the day of its Monday, `day - (day + 3) % 7`.
--
-- Grains. A rollup has each event three times: for its project and day, for all projects (project `*`) and its day, and for
-- all projects and all time (project `*`, day 0). Never add projects up when reading, never add days up for all time.
--
-- Names that clients choose are bounded in rollups: of each kind of name (reviewer, model, category, metric) the first 300
-- that were ever seen stand for themselves, all later ones are counted as `other`. Projects are not bounded.
--
-- Raw rows (events, runs, sessions, usage, findings, circuits, failbacks, glasses, outcomes) are kept RETENTION_DAYS, 90 if
-- nothing is said; rollups, names and merge requests stay.

-- Names with their rank within their kind, from 1, in the order in which they were first seen.
ALTER TABLE names ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
UPDATE names SET rank = (SELECT count(*) FROM names AS earlier
  WHERE earlier.kind = names.kind AND earlier.position <= names.position);
CREATE INDEX names_by_rank ON names (kind, rank);

-- ---- raw rows -------------------------------------------------------------------------------------------------------

-- What runs tell since this version. `author` is a keyed hash. A review is whole when all three counts are 0; they are
-- NULL when the client did not say.
ALTER TABLE runs ADD COLUMN author TEXT;
ALTER TABLE runs ADD COLUMN not_read INTEGER;
ALTER TABLE runs ADD COLUMN cut INTEGER;
ALTER TABLE runs ADD COLUMN gaps INTEGER;
ALTER TABLE runs ADD COLUMN wanted TEXT;   -- verdict_applied: `approved`, `requested_changes` or `none`
ALTER TABLE runs ADD COLUMN shown TEXT;    -- the same as the forge showed it; NULL where it does not tell
ALTER TABLE runs ADD COLUMN mismatch INTEGER;
-- 1 when a person skipped the review (`glasses` says who): such a run has no verdict and never will.
ALTER TABLE runs ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;

-- A session's bar on the timeline goes from `started_ms` to `at_ms`. `models_tried` is a JSON array of model ids, in the order
-- in which it was started with them; NULL when the client did not say (the models that answered are in `usage`).
ALTER TABLE sessions ADD COLUMN started_ms INTEGER;
ALTER TABLE sessions ADD COLUMN models_tried TEXT;
UPDATE sessions SET started_ms = at_ms - duration_ms;

-- `line`, `file` or `summary`; NULL when nothing was posted or the client did not say.
ALTER TABLE findings ADD COLUMN placement TEXT;

-- Changes of circuits, for their history (by model and time) and a run's timeline. `state` is `closed`, `open` or `half_open`.
CREATE TABLE circuits (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  model TEXT NOT NULL,
  state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX circuits_by_run ON circuits (run_id, at_ms);
CREATE INDEX circuits_by_time ON circuits (at_ms DESC);

-- Models that took over. `reason` is `failed`, `circuit_open` or `reprompted`. It is a switch of provider when what stands
-- before the first `/` of both differs.
CREATE TABLE failbacks (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  from_model TEXT NOT NULL,
  to_model TEXT NOT NULL,
  reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX failbacks_by_run ON failbacks (run_id, at_ms);
CREATE INDEX failbacks_by_time ON failbacks (at_ms DESC);

-- Reviews that a person skipped. `who` is a keyed hash, or `unknown`.
CREATE TABLE glasses (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  merge_request INTEGER NOT NULL,
  who TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX glasses_by_time ON glasses (at_ms DESC);

-- Findings of earlier reviews that were settled, by the run that noticed it. `outcome` is `fixed`, `resolved` (by a person) or
-- `rejected`.
CREATE TABLE outcomes (
  event_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  severity TEXT NOT NULL,
  category TEXT NOT NULL,
  path TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  outcome TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX outcomes_by_run ON outcomes (run_id, at_ms);

-- Merge requests that were ever reviewed or skipped, so that a new one can be told from one that is reviewed again.
CREATE TABLE merge_requests (
  project TEXT NOT NULL,
  merge_request INTEGER NOT NULL,
  PRIMARY KEY (project, merge_request)
) WITHOUT ROWID;

-- ---- rollups --------------------------------------------------------------------------------------------------------

-- Completed runs (0001), with the rest of their tokens and sizes. `partial` counts runs with a gap or an unread file, of those
-- that said so.
ALTER TABLE daily_runs ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_runs ADD COLUMN reasoning INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_runs ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_runs ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_runs ADD COLUMN lines INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_runs ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;

-- Distributions: how many values of `metric` fell into a logarithmic bin (`src/sketch.rs`: quantiles are right to within 1 % of
-- themselves). `metric` is `duration_ms` or `cost_usd` (completed runs, by tier), or `lag_ms` (tier ``, project `*`
-- only, one value a batch: from when the tracker took it until it was in this database). `span` is 1 for a day, 7 for a week, 0 for all time (start
-- 0, project `*` only); `start` is its first day. Every value is in its day and in its week, always: a window is its whole weeks and
-- the days at its edges (`store::spans` cuts it; `store::BINS` reads it), so that 30 days are 12 spans at most. Days older than
-- the raw rows are dropped by the cron; their weeks stay, and such a window is widened to whole weeks.
CREATE TABLE bins (
  project TEXT NOT NULL,
  metric TEXT NOT NULL,
  span INTEGER NOT NULL,
  start INTEGER NOT NULL,
  tier TEXT NOT NULL,
  bin INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (project, metric, span, start, tier, bin)
) WITHOUT ROWID;

-- Whatever is only counted. What `a`, `b` and `c` are depends on `kind`; read them by the views below, whose columns have names.
CREATE TABLE daily_counts (
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  day INTEGER NOT NULL,
  a TEXT NOT NULL DEFAULT '',
  b TEXT NOT NULL DEFAULT '',
  c TEXT NOT NULL DEFAULT '',
  n INTEGER NOT NULL,
  PRIMARY KEY (project, kind, day, a, b, c)
) WITHOUT ROWID;

-- Figures of the runs themselves: how many values, their sum and the largest.
CREATE TABLE daily_metrics (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  total REAL NOT NULL,
  largest REAL NOT NULL,
  PRIMARY KEY (project, day, name)
) WITHOUT ROWID;

-- Hot files: kept findings by file and week. `grain` is a project or `*`; `project` is always the file's own. Bounded: for weeks
-- that are over, the cron keeps the 200 worst of each grain, and a page reads the worst of each week by the index
-- (`WHERE grain = ? AND week = ? ORDER BY findings DESC LIMIT 100`, one week at a time, then adds up).
CREATE TABLE hot_files (
  grain TEXT NOT NULL,
  week INTEGER NOT NULL,
  project TEXT NOT NULL,
  path TEXT NOT NULL,
  findings INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  warning INTEGER NOT NULL,
  suggestion INTEGER NOT NULL,
  PRIMARY KEY (grain, week, project, path)
) WITHOUT ROWID;
CREATE INDEX hot_files_by_findings ON hot_files (grain, week, findings DESC);

-- How far the cron is with what it does in small steps, by the name of the task.
CREATE TABLE chores (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL
) WITHOUT ROWID;

-- ---- what 0001 knows, in the new shapes -------------------------------------------------------------------------------

INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT project, metric, CASE day WHEN 0 THEN 0 ELSE 1 END, day, tier, bin, runs FROM daily_bins;
INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT project, metric, 7, day - (day + 3) % 7, tier, bin, sum(runs) FROM daily_bins WHERE day > 0 GROUP BY 1, 2, 4, 5, 6;
DROP TABLE daily_bins;

INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT project, 'finding', day, reviewer, severity, fate, findings FROM daily_findings;
DROP TABLE daily_findings;
INSERT INTO daily_counts (project, kind, day, n) SELECT project, 'dropped', day, events FROM daily_dropped;
DROP TABLE daily_dropped;

INSERT INTO circuits (event_id, run_id, project, at_ms, model, state)
  SELECT id, run_id, project, at_ms, body->>'model', body->>'state' FROM events WHERE kind = 'circuit_changed';
INSERT INTO failbacks (event_id, run_id, project, at_ms, reviewer, from_model, to_model, reason)
  SELECT id, run_id, project, at_ms, body->>'reviewer', body->>'from', body->>'to', body->>'reason'
  FROM events WHERE kind = 'failback';
-- Clients of that time sent names of people. They end here.
INSERT INTO glasses (event_id, run_id, project, at_ms, merge_request, who)
  SELECT id, run_id, project, at_ms, body->>'merge_request', 'unknown' FROM events WHERE kind = 'break_glass';
UPDATE events SET body = json_set(body, '$.user', 'unknown') WHERE kind = 'break_glass';
UPDATE runs SET wanted = e.body->>'wanted', shown = e.body->>'shown', mismatch = e.body->>'mismatch'
  FROM events AS e WHERE e.kind = 'verdict_applied' AND e.run_id = runs.run_id;

UPDATE runs SET skipped = 1, merge_request = g.merge_request FROM glasses AS g WHERE g.run_id = runs.run_id;

INSERT INTO merge_requests (project, merge_request)
  SELECT project, merge_request FROM runs WHERE merge_request IS NOT NULL
  UNION SELECT project, merge_request FROM glasses;

INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'circuit', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, model, state,
    '', count(*)
  FROM circuits CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'failback', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, from_model, to_model,
    reason, count(*)
  FROM failbacks CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'break_glass', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, '', '',
    '', count(*)
  FROM glasses CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'verdict', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, body->>'wanted', coalesce(body->>'shown', ''),
    CASE body->>'mismatch' WHEN 1 THEN 'yes' ELSE 'no' END, count(*)
  FROM events CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) WHERE kind = 'verdict_applied' GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN r.project ELSE '*' END, 'category', CASE grain WHEN 2 THEN 0 ELSE f.at_ms / 86400000 END, f.reviewer, f.category,
    f.severity, count(*)
  FROM findings AS f JOIN runs AS r USING (run_id) CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) WHERE f.fate = 'kept' GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN r.project ELSE '*' END, 'session', CASE grain WHEN 2 THEN 0 ELSE s.at_ms / 86400000 END, s.reviewer, s.outcome,
    '', count(*)
  FROM sessions AS s JOIN runs AS r USING (run_id) CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'event', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, kind, '',
    '', count(*)
  FROM events CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, a, b, c, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'started', CASE grain WHEN 2 THEN 0 ELSE at_ms / 86400000 END, '', '',
    '', count(*)
  FROM events CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) WHERE kind = 'run_started' GROUP BY 1, 3, 4, 5, 6;
INSERT INTO daily_counts (project, kind, day, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'merge_request', CASE grain WHEN 2 THEN 0 ELSE day END, count(*)
  FROM (SELECT project, merge_request, min(at_ms) / 86400000 AS day FROM (
      SELECT project, merge_request, at_ms FROM runs WHERE merge_request IS NOT NULL
      UNION ALL SELECT project, merge_request, at_ms FROM glasses) GROUP BY project, merge_request)
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3;

UPDATE daily_runs SET output = r.output, reasoning = r.reasoning, cache_write = r.cache_write, files = r.files,
  lines = r.lines FROM (
    SELECT CASE grain WHEN 0 THEN project ELSE '*' END AS project,
      CASE grain WHEN 2 THEN 0 ELSE completed_ms / 86400000 END AS day, tier, verdict, sum(output) AS output,
      sum(reasoning) AS reasoning, sum(cache_write) AS cache_write, sum(files) AS files, sum(lines) AS lines
    FROM runs CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) WHERE verdict IS NOT NULL GROUP BY 1, 2, 3, 4
  ) AS r
  WHERE r.project = daily_runs.project AND r.day = daily_runs.day AND r.tier = daily_runs.tier
    AND r.verdict = daily_runs.verdict;

INSERT INTO hot_files (grain, week, project, path, findings, critical, warning, suggestion)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, day - (day + 3) % 7, project, path, count(*),
    sum(severity = 'critical'), sum(severity = 'warning'), sum(severity = 'suggestion') FROM (
      SELECT r.project AS project, f.path AS path, f.at_ms / 86400000 AS day, f.severity AS severity
      FROM findings AS f JOIN runs AS r USING (run_id) WHERE f.fate = 'kept')
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))) GROUP BY 1, 2, 3, 4;

-- ---- counts by name ---------------------------------------------------------------------------------------------------

-- Runs that began, whether or not their end was heard of: `started` minus what `daily_runs` has is unfinished or lost.
CREATE VIEW daily_started AS
  SELECT project, day, n AS runs FROM daily_counts WHERE kind = 'started';
-- Merge requests on the day of their first review.
CREATE VIEW daily_merge_requests AS
  SELECT project, day, n AS merge_requests FROM daily_counts WHERE kind = 'merge_request';
-- Judged findings. `fate` is `kept`, `merged` or `dropped`.
CREATE VIEW daily_findings AS
  SELECT project, day, a AS reviewer, b AS severity, c AS fate, n AS findings FROM daily_counts WHERE kind = 'finding';
-- Kept findings by category.
CREATE VIEW daily_categories AS
  SELECT project, day, a AS reviewer, b AS category, c AS severity, n AS findings FROM daily_counts WHERE kind = 'category';
-- Why findings were merged or dropped. `reason` is empty when the client did not say.
CREATE VIEW daily_reasons AS
  SELECT project, day, a AS reviewer, b AS fate, c AS reason, n AS findings FROM daily_counts WHERE kind = 'reason';
-- Kept findings by where they were posted.
CREATE VIEW daily_placements AS
  SELECT project, day, a AS placement, n AS findings FROM daily_counts WHERE kind = 'placement';
-- Settled findings, on the day on which that was noticed. `outcome` is `fixed`, `resolved` or `rejected`.
CREATE VIEW daily_outcomes AS
  SELECT project, day, a AS reviewer, b AS severity, c AS outcome, n AS findings FROM daily_counts WHERE kind = 'outcome';
-- Sessions. `outcome` is `ok`, `failed`, `timed_out` or `skipped`.
CREATE VIEW daily_sessions AS
  SELECT project, day, a AS reviewer, b AS outcome, n AS sessions FROM daily_counts WHERE kind = 'session';
CREATE VIEW daily_failbacks AS
  SELECT project, day, a AS from_model, b AS to_model, c AS reason, n AS failbacks FROM daily_counts WHERE kind = 'failback';
CREATE VIEW daily_circuits AS
  SELECT project, day, a AS model, b AS state, n AS changes FROM daily_counts WHERE kind = 'circuit';
CREATE VIEW daily_break_glass AS
  SELECT project, day, n AS uses FROM daily_counts WHERE kind = 'break_glass';
-- What verdicts asked of the forge, and what that showed. `shown` is empty where the forge does not tell; `mismatch` is `yes` or
-- `no`.
CREATE VIEW daily_verdicts AS
  SELECT project, day, a AS wanted, b AS shown, c AS mismatch, n AS runs FROM daily_counts WHERE kind = 'verdict';
-- Events that clients had to drop.
CREATE VIEW daily_dropped AS
  SELECT project, day, n AS events FROM daily_counts WHERE kind = 'dropped';
-- Accepted events by kind.
CREATE VIEW daily_events AS
  SELECT project, day, a AS kind, n AS events FROM daily_counts WHERE kind = 'event';
-- Accepted events whose clock was ahead: they count at the time of their arrival.
CREATE VIEW daily_skewed AS
  SELECT project, day, n AS events FROM daily_counts WHERE kind = 'skewed';
