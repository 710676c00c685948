-- How runs end: failures, lost runs, causes of inconclusive verdicts, reviews of merge requests, repositories. And tiers of what was
-- counted before tiers were kept (0004), as far as the raw rows know them.

-- ---- raw rows -------------------------------------------------------------------------------------------------------

-- Where and why a run failed, as `run_failed` states it; NULL for every other run.
ALTER TABLE runs ADD COLUMN failed_stage TEXT;
ALTER TABLE runs ADD COLUMN failed_kind TEXT;
-- The run's time limit. A run without an end is lost some minutes after it; NULL means two hours.
ALTER TABLE runs ADD COLUMN limit_ms INTEGER;
-- `skipped` (0002) is 2 where there was nothing to review.

-- Runs without an end, which are few: lost runs are counted from it. Its condition stands in `src/store/lost.rs`.
CREATE INDEX runs_open ON runs (at_ms DESC, run_id DESC) WHERE verdict IS NULL AND skipped = 0 AND failed_kind IS NULL;
-- Retention looks for the rows of a run.
CREATE INDEX glasses_by_run ON glasses (run_id);

-- How often a merge request was reviewed. Those that are known were reviewed or skipped at least once.
ALTER TABLE merge_requests ADD COLUMN reviews INTEGER NOT NULL DEFAULT 1;
UPDATE merge_requests SET reviews = r.n
  FROM (SELECT project, merge_request, count(verdict) AS n FROM runs WHERE merge_request IS NOT NULL GROUP BY 1, 2) AS r
  WHERE merge_requests.project = r.project AND merge_requests.merge_request = r.merge_request;

-- ---- rollups --------------------------------------------------------------------------------------------------------

-- Reviews of a repository by day. The day stands first, so that the list of all repositories reads its days only. Of each project
-- alone: there is no grain `*`.
CREATE TABLE daily_projects (
  day INTEGER NOT NULL,
  project TEXT NOT NULL,
  tier TEXT NOT NULL DEFAULT '',
  runs INTEGER NOT NULL,
  inconclusive INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  findings INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  PRIMARY KEY (day, project, tier)
) WITHOUT ROWID;
INSERT INTO daily_projects (day, project, tier, runs, inconclusive, failed, cost_usd, findings, critical)
  SELECT day, project, tier, sum(runs), sum(iif(verdict = 'inconclusive', runs, 0)), 0, sum(cost_usd),
    sum(critical + warning + suggestion), sum(critical)
  FROM daily_runs WHERE project <> '*' AND day > 0 GROUP BY 1, 2, 3;

-- Reviews that failed.
CREATE VIEW daily_failed AS
  SELECT project, day, tier, a AS stage, b AS kind, n AS runs FROM daily_counts WHERE kind = 'failed';
-- Reviews that had nothing to review.
CREATE VIEW daily_unneeded AS
  SELECT project, day, tier, a AS reason, n AS runs FROM daily_counts WHERE kind = 'run_skipped';
-- Inconclusive reviews by cause.
CREATE VIEW daily_inconclusive AS
  SELECT project, day, tier, a AS cause, n AS runs FROM daily_counts WHERE kind = 'inconclusive';
-- Completed reviews of merge requests. `review` is `first` or `again`.
CREATE VIEW daily_merge_request_reviews AS
  SELECT project, day, tier, a AS review, n AS runs FROM daily_counts WHERE kind = 'mr_review';

-- What the raw rows tell of them. A run counts on the day of its end, as in `daily_runs`.
INSERT INTO daily_counts (project, kind, day, tier, a, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'inconclusive', CASE grain WHEN 2 THEN 0 ELSE day END,
    CASE grain WHEN 2 THEN '' ELSE tier END, cause, count(*)
  FROM (SELECT project, at_ms / 86400000 AS day, coalesce(body->>'tier', '') AS tier, CASE
      WHEN body->>'degraded' THEN 'no_judgment'
      WHEN body->>'$.coverage.not_read' > 0 THEN 'files_not_read'
      WHEN body->>'$.coverage.cut' > 0 THEN 'files_cut'
      WHEN body->>'$.coverage.gaps' > 0 THEN 'gaps'
      ELSE 'other' END AS cause
    FROM events WHERE kind = 'run_completed' AND body->>'verdict' = 'inconclusive')
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5;
INSERT INTO daily_counts (project, kind, day, tier, a, n)
  SELECT CASE grain WHEN 0 THEN project ELSE '*' END, 'mr_review', CASE grain WHEN 2 THEN 0 ELSE day END,
    CASE grain WHEN 2 THEN '' ELSE tier END, iif(place = 1, 'first', 'again'), count(*)
  FROM (SELECT project, completed_ms / 86400000 AS day, coalesce(tier, '') AS tier,
      row_number() OVER (PARTITION BY project, merge_request ORDER BY completed_ms, run_id) AS place
    FROM runs WHERE verdict IS NOT NULL AND merge_request IS NOT NULL AND completed_ms IS NOT NULL)
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1), (2))) GROUP BY 1, 3, 4, 5;

-- ---- tiers of older rows --------------------------------------------------------------------------------------------
--
-- What was counted before 0004 has an empty tier. Of the days of which raw rows are left, each raw row tells the tier of its run:
-- as many counts of a tier as there are raw rows, less what that tier has already, were counted without it and are moved. What
-- cannot be moved as a whole stays where it is, so that every sum over all tiers stays what it was.

-- The days that have something to move: none where no version without tiers ever ran.
CREATE TABLE tier_days (day INTEGER PRIMARY KEY);
INSERT INTO tier_days SELECT DISTINCT day FROM daily_counts
  WHERE project = '*' AND kind = 'event' AND day > 0 AND tier = '' AND a NOT IN ('run_started', 'telemetry_dropped');

CREATE TABLE tier_rows (
  id TEXT NOT NULL, project TEXT NOT NULL, day INTEGER NOT NULL, tier TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
INSERT INTO tier_rows
  SELECT e.id, e.project, e.at_ms / 86400000, iif(r.skipped = 1, 'none', r.tier), e.kind, e.body
  FROM tier_days AS d JOIN events AS e ON e.at_ms >= d.day * 86400000 AND e.at_ms < (d.day + 1) * 86400000
  JOIN runs AS r USING (run_id) WHERE r.tier IS NOT NULL OR r.skipped = 1;

-- Names as rollups have them: late ones are `other`, those of the first version are all there.
CREATE TABLE tier_names (kind TEXT NOT NULL, name TEXT NOT NULL, shown TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
INSERT INTO tier_names SELECT kind, name, iif(rank <= 300, name, 'other') FROM names
  WHERE kind IN ('reviewer', 'category', 'reason', 'model', 'metric') AND EXISTS (SELECT 1 FROM tier_days);

CREATE TABLE tier_moves (
  project TEXT NOT NULL, kind TEXT NOT NULL, day INTEGER NOT NULL, tier TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL,
  c TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (project, kind, day, tier, a, b, c)) WITHOUT ROWID;
-- One statement each: D1 takes few parts in one.
CREATE TABLE tier_counts (
  project TEXT NOT NULL, day INTEGER NOT NULL, tier TEXT NOT NULL, kind TEXT NOT NULL, a TEXT, b TEXT, c TEXT);
INSERT INTO tier_counts SELECT project, day, tier, 'event', kind, '', '' FROM tier_rows;
INSERT INTO tier_counts SELECT project, day, tier, 'started', '', '', '' FROM tier_rows
      WHERE kind = 'run_started' AND coalesce(body->>'planned', 0) = 0;
INSERT INTO tier_counts SELECT project, day, tier, 'break_glass', '', '', '' FROM tier_rows WHERE kind = 'break_glass';
INSERT INTO tier_counts SELECT project, day, tier, 'session', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reviewer'
      AND t.name = body->>'reviewer'), body->>'reviewer'), body->>'outcome', '' FROM tier_rows WHERE kind = 'reviewer_completed';
INSERT INTO tier_counts SELECT project, day, tier, 'outcome', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reviewer'
      AND t.name = body->>'reviewer'), body->>'reviewer'), body->>'severity', body->>'outcome' FROM tier_rows WHERE kind = 'finding_outcome';
INSERT INTO tier_counts SELECT project, day, tier, 'finding', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reviewer'
      AND t.name = body->>'reviewer'), body->>'reviewer'), body->>'severity', body->>'fate' FROM tier_rows WHERE kind = 'finding';
INSERT INTO tier_counts SELECT project, day, tier, 'category', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reviewer'
      AND t.name = body->>'reviewer'), body->>'reviewer'), coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'category'
      AND t.name = body->>'category'), body->>'category'), body->>'severity' FROM tier_rows WHERE kind = 'finding' AND body->>'fate' = 'kept';
INSERT INTO tier_counts SELECT project, day, tier, 'placement', body->>'placement', '', '' FROM tier_rows
      WHERE kind = 'finding' AND body->>'fate' = 'kept' AND body->>'placement' IS NOT NULL;
INSERT INTO tier_counts SELECT project, day, tier, 'reason', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reviewer'
      AND t.name = body->>'reviewer'), body->>'reviewer'), body->>'fate', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'reason'
      AND t.name = body->>'reason_code'), body->>'reason_code') FROM tier_rows WHERE kind = 'finding' AND body->>'fate' <> 'kept';
INSERT INTO tier_counts SELECT project, day, tier, 'circuit', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'model'
      AND t.name = body->>'model'), body->>'model'), body->>'state', '' FROM tier_rows WHERE kind = 'circuit_changed';
INSERT INTO tier_counts SELECT project, day, tier, 'failback', coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'model'
      AND t.name = body->>'from'), body->>'from'), coalesce((SELECT shown FROM tier_names AS t WHERE t.kind = 'model'
      AND t.name = body->>'to'), body->>'to'), body->>'reason' FROM tier_rows WHERE kind = 'failback';
INSERT INTO tier_counts SELECT project, day, tier, 'verdict',
      iif(body->>'wanted' IN ('approved', 'requested_changes', 'none', ''), body->>'wanted', 'other'),
      iif(coalesce(body->>'shown', '') IN ('approved', 'requested_changes', 'none', ''), coalesce(body->>'shown', ''), 'other'),
      iif(body->>'mismatch', 'yes', 'no') FROM tier_rows WHERE kind = 'verdict_applied';
INSERT INTO tier_moves
  SELECT iif(grain = 0, project, '*'), kind, day, tier, coalesce(a, ''), coalesce(b, ''), coalesce(c, ''), count(*)
  FROM tier_counts CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))) GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- Less what the tier has already.
UPDATE tier_moves SET n = n - coalesce((SELECT d.n FROM daily_counts AS d WHERE d.project = tier_moves.project
  AND d.kind = tier_moves.kind AND d.day = tier_moves.day AND d.tier = tier_moves.tier AND d.a = tier_moves.a
  AND d.b = tier_moves.b AND d.c = tier_moves.c), 0);
DELETE FROM tier_moves WHERE n <= 0;
-- What was counted without a tier has to be enough for all of them.
CREATE TABLE tier_sums (
  project TEXT NOT NULL, kind TEXT NOT NULL, day INTEGER NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL,
  n INTEGER NOT NULL, PRIMARY KEY (project, kind, day, a, b, c)) WITHOUT ROWID;
INSERT INTO tier_sums SELECT project, kind, day, a, b, c, sum(n) FROM tier_moves GROUP BY 1, 2, 3, 4, 5, 6;
DELETE FROM tier_sums WHERE n > coalesce((SELECT d.n FROM daily_counts AS d WHERE d.project = tier_sums.project
  AND d.kind = tier_sums.kind AND d.day = tier_sums.day AND d.tier = '' AND d.a = tier_sums.a AND d.b = tier_sums.b
  AND d.c = tier_sums.c), 0);
INSERT INTO daily_counts (project, kind, day, tier, a, b, c, n)
  SELECT m.project, m.kind, m.day, m.tier, m.a, m.b, m.c, m.n FROM tier_moves AS m
  JOIN tier_sums AS s USING (project, kind, day, a, b, c) WHERE true ON CONFLICT DO UPDATE SET n = n + excluded.n;
UPDATE daily_counts SET n = daily_counts.n - s.n FROM tier_sums AS s
  WHERE daily_counts.project = s.project AND daily_counts.kind = s.kind AND daily_counts.day = s.day AND daily_counts.tier = ''
  AND daily_counts.a = s.a AND daily_counts.b = s.b AND daily_counts.c = s.c;
DELETE FROM daily_counts WHERE n = 0 AND tier = '' AND day IN (SELECT day FROM tier_days);

-- Tokens and cost in the same way.
CREATE TABLE tier_usage (
  project TEXT NOT NULL, day INTEGER NOT NULL, tier TEXT NOT NULL, model TEXT NOT NULL, reviewer TEXT NOT NULL, calls INTEGER NOT NULL,
  input INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL, cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL, cost_usd REAL NOT NULL, PRIMARY KEY (project, day, tier, model, reviewer)) WITHOUT ROWID;
INSERT INTO tier_usage
  SELECT iif(grain = 0, t.project, '*'), t.day, t.tier,
    coalesce((SELECT shown FROM tier_names AS n WHERE n.kind = 'model'
      AND n.name = u.model), u.model),
    coalesce((SELECT shown FROM tier_names AS n WHERE n.kind = 'reviewer'
      AND n.name = u.reviewer), u.reviewer),
    sum(u.calls), sum(u.input), sum(u.output), sum(u.reasoning), sum(u.cache_read), sum(u.cache_write), sum(u.cost_usd)
  FROM tier_rows AS t JOIN usage AS u ON u.event_id = t.id
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))) WHERE t.kind = 'reviewer_completed' GROUP BY 1, 2, 3, 4, 5;
-- Of a key that some tier has already, nothing is moved: which part of its sums that is cannot be told.
DELETE FROM tier_usage WHERE EXISTS (SELECT 1 FROM daily_usage AS d WHERE d.project = tier_usage.project
  AND d.day = tier_usage.day AND d.tier <> '' AND d.model = tier_usage.model AND d.reviewer = tier_usage.reviewer);
DELETE FROM tier_usage WHERE NOT EXISTS (SELECT 1 FROM daily_usage AS d WHERE d.project = tier_usage.project
  AND d.day = tier_usage.day AND d.tier = '' AND d.model = tier_usage.model AND d.reviewer = tier_usage.reviewer
  AND d.calls = (SELECT sum(s.calls) FROM tier_usage AS s WHERE s.project = d.project AND s.day = d.day AND s.model = d.model
    AND s.reviewer = d.reviewer)
  AND d.input = (SELECT sum(s.input) FROM tier_usage AS s WHERE s.project = d.project AND s.day = d.day AND s.model = d.model
    AND s.reviewer = d.reviewer));
DELETE FROM daily_usage WHERE tier = '' AND EXISTS (SELECT 1 FROM tier_usage AS s WHERE s.project = daily_usage.project
  AND s.day = daily_usage.day AND s.model = daily_usage.model AND s.reviewer = daily_usage.reviewer);
INSERT INTO daily_usage (project, day, tier, model, reviewer, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT project, day, tier, model, reviewer, calls, input, output, reasoning, cache_read, cache_write, cost_usd FROM tier_usage;

-- Figures of the runs in the same way.
CREATE TABLE tier_metrics (
  project TEXT NOT NULL, day INTEGER NOT NULL, tier TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, total REAL NOT NULL,
  largest REAL NOT NULL, PRIMARY KEY (project, day, tier, name)) WITHOUT ROWID;
INSERT INTO tier_metrics
  SELECT iif(grain = 0, t.project, '*'), t.day, t.tier, n.shown, count(*), sum(s.value->>'value'), max(s.value->>'value')
  FROM tier_rows AS t, json_each(t.body->'samples') AS s JOIN tier_names AS n ON n.kind = 'metric' AND n.name = s.value->>'name'
  CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1))) WHERE t.kind = 'metrics' GROUP BY 1, 2, 3, 4;
DELETE FROM tier_metrics WHERE EXISTS (SELECT 1 FROM daily_metrics AS d WHERE d.project = tier_metrics.project
  AND d.day = tier_metrics.day AND d.tier <> '' AND d.name = tier_metrics.name);
DELETE FROM tier_metrics WHERE NOT EXISTS (SELECT 1 FROM daily_metrics AS d WHERE d.project = tier_metrics.project
  AND d.day = tier_metrics.day AND d.tier = '' AND d.name = tier_metrics.name
  AND d.n = (SELECT sum(s.n) FROM tier_metrics AS s WHERE s.project = d.project AND s.day = d.day AND s.name = d.name));
DELETE FROM daily_metrics WHERE tier = '' AND EXISTS (SELECT 1 FROM tier_metrics AS s WHERE s.project = daily_metrics.project
  AND s.day = daily_metrics.day AND s.name = daily_metrics.name);
INSERT INTO daily_metrics (project, day, tier, name, n, total, largest)
  SELECT project, day, tier, name, n, total, largest FROM tier_metrics;

-- Hot files have a row for all tiers already; those of single tiers hold at least what the raw rows tell.
INSERT INTO hot_files (grain, tier, week, project, path, findings, critical, warning, suggestion)
  SELECT iif(grain = 0, project, '*'), tier, day - (day + 3) % 7, project, body->>'path', count(*),
    sum(body->>'severity' = 'critical'), sum(body->>'severity' = 'warning'), sum(body->>'severity' = 'suggestion')
  FROM tier_rows CROSS JOIN (SELECT column1 AS grain FROM (VALUES (0), (1)))
  WHERE kind = 'finding' AND body->>'fate' = 'kept' GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET findings = max(findings, excluded.findings), critical = max(critical, excluded.critical),
    warning = max(warning, excluded.warning), suggestion = max(suggestion, excluded.suggestion);

DROP TABLE tier_days;
DROP TABLE tier_rows;
DROP TABLE tier_names;
DROP TABLE tier_counts;
DROP TABLE tier_moves;
DROP TABLE tier_sums;
DROP TABLE tier_usage;
DROP TABLE tier_metrics;
