-- One project, one name: the Worker stores paths of projects in lower case (`shared/src/project.rs`), as forges take them in any.
-- What was stored under another spelling goes to that name, and what is counted there is added to what is counted already.
CREATE TABLE respelled (name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO respelled SELECT name FROM names WHERE kind = 'project' AND name <> lower(name);

-- Nothing is read where nothing has to change.
UPDATE events SET project = lower(project) WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);
UPDATE runs SET project = lower(project) WHERE project IN (SELECT name FROM respelled);
UPDATE circuits SET project = lower(project) WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);
UPDATE failbacks SET project = lower(project) WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);
UPDATE glasses SET project = lower(project) WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);
UPDATE outcomes SET project = lower(project) WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);

INSERT INTO merge_requests (project, merge_request, reviews)
  SELECT lower(project), merge_request, sum(reviews) FROM merge_requests WHERE project IN (SELECT name FROM respelled) GROUP BY 1, 2
  ON CONFLICT DO UPDATE SET reviews = reviews + excluded.reviews;
DELETE FROM merge_requests WHERE project IN (SELECT name FROM respelled);

INSERT INTO daily_runs (project, day, tier, verdict, runs, duration_ms, cost_usd, input, cache_read, critical, warning, suggestion,
    degraded, output, reasoning, cache_write, files, lines, partial)
  SELECT lower(project), day, tier, verdict, sum(runs), sum(duration_ms), sum(cost_usd), sum(input), sum(cache_read), sum(critical),
    sum(warning), sum(suggestion), sum(degraded), sum(output), sum(reasoning), sum(cache_write), sum(files), sum(lines), sum(partial)
  FROM daily_runs WHERE project IN (SELECT name FROM respelled) GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, duration_ms = duration_ms + excluded.duration_ms,
    cost_usd = cost_usd + excluded.cost_usd, input = input + excluded.input, cache_read = cache_read + excluded.cache_read,
    critical = critical + excluded.critical, warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion,
    degraded = degraded + excluded.degraded, output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
    cache_write = cache_write + excluded.cache_write, files = files + excluded.files, lines = lines + excluded.lines,
    partial = partial + excluded.partial;
DELETE FROM daily_runs WHERE project IN (SELECT name FROM respelled);

INSERT INTO bins (project, metric, span, start, tier, bin, n)
  SELECT lower(project), metric, span, start, tier, bin, sum(n) FROM bins WHERE project IN (SELECT name FROM respelled)
  GROUP BY 1, 2, 3, 4, 5, 6 ON CONFLICT DO UPDATE SET n = n + excluded.n;
DELETE FROM bins WHERE project IN (SELECT name FROM respelled);

INSERT INTO daily_counts (project, kind, day, tier, a, b, c, n)
  SELECT lower(project), kind, day, tier, a, b, c, sum(n) FROM daily_counts WHERE project IN (SELECT name FROM respelled)
  GROUP BY 1, 2, 3, 4, 5, 6, 7 ON CONFLICT DO UPDATE SET n = n + excluded.n;
DELETE FROM daily_counts WHERE project IN (SELECT name FROM respelled);

INSERT INTO daily_metrics (project, day, tier, name, n, total, largest)
  SELECT lower(project), day, tier, name, sum(n), sum(total), max(largest) FROM daily_metrics
  WHERE project IN (SELECT name FROM respelled) GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET n = n + excluded.n, total = total + excluded.total, largest = max(largest, excluded.largest);
DELETE FROM daily_metrics WHERE project IN (SELECT name FROM respelled);

INSERT INTO daily_usage (project, day, tier, model, reviewer, calls, input, output, reasoning, cache_read, cache_write, cost_usd)
  SELECT lower(project), day, tier, model, reviewer, sum(calls), sum(input), sum(output), sum(reasoning), sum(cache_read),
    sum(cache_write), sum(cost_usd)
  FROM daily_usage WHERE project IN (SELECT name FROM respelled) GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input = input + excluded.input, output = output + excluded.output,
    reasoning = reasoning + excluded.reasoning, cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, cost_usd = cost_usd + excluded.cost_usd;
DELETE FROM daily_usage WHERE project IN (SELECT name FROM respelled);

INSERT INTO daily_projects (day, project, tier, runs, inconclusive, failed, cost_usd, findings, critical)
  SELECT day, lower(project), tier, sum(runs), sum(inconclusive), sum(failed), sum(cost_usd), sum(findings), sum(critical)
  FROM daily_projects WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled) GROUP BY 1, 2, 3
  ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, inconclusive = inconclusive + excluded.inconclusive,
    failed = failed + excluded.failed, cost_usd = cost_usd + excluded.cost_usd, findings = findings + excluded.findings,
    critical = critical + excluded.critical;
DELETE FROM daily_projects WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);

-- The file's own project stands in the grain of all projects, too.
INSERT INTO hot_files (grain, tier, week, project, path, findings, critical, warning, suggestion)
  SELECT lower(grain), tier, week, lower(project), path, sum(findings), sum(critical), sum(warning), sum(suggestion)
  FROM hot_files WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled) GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET findings = findings + excluded.findings, critical = critical + excluded.critical,
    warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion;
DELETE FROM hot_files WHERE EXISTS (SELECT 1 FROM respelled) AND project IN (SELECT name FROM respelled);

-- Of two memories of one outcome the proved one stays. What a person has cleared under one spelling is cleared under all.
UPDATE OR REPLACE memory SET project = lower(project) WHERE project IN (SELECT name FROM respelled) AND proven = 1;
UPDATE OR IGNORE memory SET project = lower(project) WHERE project IN (SELECT name FROM respelled);
DELETE FROM memory WHERE project IN (SELECT name FROM respelled);
INSERT INTO respelled SELECT DISTINCT project FROM memory_cleared WHERE project <> lower(project) ON CONFLICT DO NOTHING;
INSERT INTO memory_cleared (project, fingerprint, at_ms, who)
  SELECT lower(project), fingerprint, max(at_ms), who FROM memory_cleared WHERE project IN (SELECT name FROM respelled) GROUP BY 1, 2
  ON CONFLICT DO UPDATE SET who = iif(excluded.at_ms > at_ms, excluded.who, who), at_ms = max(at_ms, excluded.at_ms);
DELETE FROM memory_cleared WHERE project IN (SELECT name FROM respelled);
DELETE FROM memory WHERE project IN (SELECT lower(name) FROM respelled) AND EXISTS (SELECT 1 FROM memory_cleared AS c
  WHERE c.project = memory.project AND c.at_ms >= memory.at_ms
    AND (c.fingerprint = '' OR (c.fingerprint = memory.fingerprint AND memory.outcome = 'rejected')));

UPDATE OR IGNORE names SET name = lower(name) WHERE kind = 'project' AND name <> lower(name);
DELETE FROM names WHERE kind = 'project' AND name <> lower(name);
DROP TABLE respelled;
