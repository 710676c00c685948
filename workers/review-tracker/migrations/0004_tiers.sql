-- Tiers in every rollup, so that each page can be filtered by them.
--
-- The tier of an event is that of its run, as `run_started` or `run_completed` said it, empty where neither has been heard of yet,
-- and `none` where a person skipped the review.
-- The three grains stay what they were: the tiers of a project and day, and of all projects and a day, are added up when they are
-- read; of all time no tier is kept, because nobody asks. So a run adds to as many rows as before.
--
-- What was counted before this version keeps its place with an empty tier: it is in every sum over all tiers, and a page that is
-- filtered by tier says how many events it leaves out.

DROP VIEW daily_started;
DROP VIEW daily_merge_requests;
DROP VIEW daily_findings;
DROP VIEW daily_categories;
DROP VIEW daily_reasons;
DROP VIEW daily_placements;
DROP VIEW daily_outcomes;
DROP VIEW daily_sessions;
DROP VIEW daily_failbacks;
DROP VIEW daily_circuits;
DROP VIEW daily_break_glass;
DROP VIEW daily_verdicts;
DROP VIEW daily_dropped;
DROP VIEW daily_events;
DROP VIEW daily_skewed;

CREATE TABLE daily_counts_by_tier (
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  day INTEGER NOT NULL,
  tier TEXT NOT NULL DEFAULT '',
  a TEXT NOT NULL DEFAULT '',
  b TEXT NOT NULL DEFAULT '',
  c TEXT NOT NULL DEFAULT '',
  n INTEGER NOT NULL,
  PRIMARY KEY (project, kind, day, tier, a, b, c)
) WITHOUT ROWID;
INSERT INTO daily_counts_by_tier (project, kind, day, a, b, c, n)
  SELECT project, kind, day, a, b, c, n FROM daily_counts;
DROP TABLE daily_counts;
ALTER TABLE daily_counts_by_tier RENAME TO daily_counts;

CREATE TABLE daily_usage_by_tier (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  tier TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  PRIMARY KEY (project, day, tier, model, reviewer)
) WITHOUT ROWID;
INSERT INTO daily_usage_by_tier
  (project, day, model, reviewer, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT project, day, model, reviewer, calls, input, output, reasoning, cache_read, cache_write, cost_usd FROM daily_usage;
DROP TABLE daily_usage;
ALTER TABLE daily_usage_by_tier RENAME TO daily_usage;

CREATE TABLE daily_metrics_by_tier (
  project TEXT NOT NULL,
  day INTEGER NOT NULL,
  tier TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  total REAL NOT NULL,
  largest REAL NOT NULL,
  PRIMARY KEY (project, day, tier, name)
) WITHOUT ROWID;
INSERT INTO daily_metrics_by_tier (project, day, name, n, total, largest)
  SELECT project, day, name, n, total, largest FROM daily_metrics;
DROP TABLE daily_metrics;
ALTER TABLE daily_metrics_by_tier RENAME TO daily_metrics;

-- The worst files of a week have to be found by an index, so that a file stands there once for all tiers (`*`) and once for each
-- tier in which it has findings.
CREATE TABLE hot_files_by_tier (
  grain TEXT NOT NULL,
  tier TEXT NOT NULL DEFAULT '*',
  week INTEGER NOT NULL,
  project TEXT NOT NULL,
  path TEXT NOT NULL,
  findings INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  warning INTEGER NOT NULL,
  suggestion INTEGER NOT NULL,
  PRIMARY KEY (grain, tier, week, project, path)
) WITHOUT ROWID;
INSERT INTO hot_files_by_tier (grain, week, project, path, findings, critical, warning, suggestion)
  SELECT grain, week, project, path, findings, critical, warning, suggestion FROM hot_files;
DROP TABLE hot_files;
ALTER TABLE hot_files_by_tier RENAME TO hot_files;
CREATE INDEX hot_files_by_findings ON hot_files (grain, tier, week, findings DESC);

-- ---- counts by name ---------------------------------------------------------------------------------------------------

-- Runs that began, whether or not their end was heard of: `started` minus what `daily_runs` has is unfinished or lost.
CREATE VIEW daily_started AS
  SELECT project, day, tier, n AS runs FROM daily_counts WHERE kind = 'started';
-- Merge requests on the day of their first review.
CREATE VIEW daily_merge_requests AS
  SELECT project, day, tier, n AS merge_requests FROM daily_counts WHERE kind = 'merge_request';
-- Judged findings. `fate` is `kept`, `merged` or `dropped`.
CREATE VIEW daily_findings AS
  SELECT project, day, tier, a AS reviewer, b AS severity, c AS fate, n AS findings FROM daily_counts WHERE kind = 'finding';
-- Kept findings by category.
CREATE VIEW daily_categories AS
  SELECT project, day, tier, a AS reviewer, b AS category, c AS severity, n AS findings FROM daily_counts WHERE kind = 'category';
-- Why findings were merged or dropped. `reason` is empty when the client did not say.
CREATE VIEW daily_reasons AS
  SELECT project, day, tier, a AS reviewer, b AS fate, c AS reason, n AS findings FROM daily_counts WHERE kind = 'reason';
-- Kept findings by where they were posted.
CREATE VIEW daily_placements AS
  SELECT project, day, tier, a AS placement, n AS findings FROM daily_counts WHERE kind = 'placement';
-- Settled findings, on the day on which that was noticed. `outcome` is `fixed`, `resolved` or `rejected`.
CREATE VIEW daily_outcomes AS
  SELECT project, day, tier, a AS reviewer, b AS severity, c AS outcome, n AS findings FROM daily_counts WHERE kind = 'outcome';
-- Sessions. `outcome` is `ok`, `failed`, `timed_out` or `skipped`.
CREATE VIEW daily_sessions AS
  SELECT project, day, tier, a AS reviewer, b AS outcome, n AS sessions FROM daily_counts WHERE kind = 'session';
CREATE VIEW daily_failbacks AS
  SELECT project, day, tier, a AS from_model, b AS to_model, c AS reason, n AS failbacks FROM daily_counts WHERE kind = 'failback';
CREATE VIEW daily_circuits AS
  SELECT project, day, tier, a AS model, b AS state, n AS changes FROM daily_counts WHERE kind = 'circuit';
CREATE VIEW daily_break_glass AS
  SELECT project, day, tier, n AS uses FROM daily_counts WHERE kind = 'break_glass';
-- What verdicts asked of the forge, and what that showed. `shown` is empty where the forge does not tell; `mismatch` is `yes` or
-- `no`.
CREATE VIEW daily_verdicts AS
  SELECT project, day, tier, a AS wanted, b AS shown, c AS mismatch, n AS runs FROM daily_counts WHERE kind = 'verdict';
-- Events that clients had to drop.
CREATE VIEW daily_dropped AS
  SELECT project, day, tier, n AS events FROM daily_counts WHERE kind = 'dropped';
-- Accepted events by kind.
CREATE VIEW daily_events AS
  SELECT project, day, tier, a AS kind, n AS events FROM daily_counts WHERE kind = 'event';
-- Accepted events whose clock was ahead: they count at the time of their arrival.
CREATE VIEW daily_skewed AS
  SELECT project, day, tier, n AS events FROM daily_counts WHERE kind = 'skewed';
