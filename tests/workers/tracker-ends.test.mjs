// How runs end: failed, lost, with nothing to review, inconclusive; on the dashboard and in the metrics.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import { breakGlass, completed, event, failed, finding, send, session, started, unneeded, uuid7 } from '../support/events.mjs';
import { parse } from '../support/openmetrics.mjs';
import { start } from '../support/workerd.mjs';

const MINUTE = 60_000;
const vars = { INGEST_TOKENS: 'i', METRICS_TOKENS: 'm', DASHBOARD_TOKENS: 'd' };

let worker;
let database;
let site;
let cookie;
const figure = (html, name) => new RegExp(`<dt>${name}</dt><dd><strong>([^<]+)</strong>`).exec(html)?.[1];
const table = async (path, id) => {
  const separator = path.includes('?') ? '&' : '?';
  const [, ...lines] = (await site.text(`${path}${separator}csv=${id}`, cookie)).trim().split(/\r?\n/);
  return lines.map((line) => line.split(','));
};
const metrics = async () => {
  const response = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
  return parse(await response.text());
};
const value = async (family, sample) => (await metrics()).get(family)?.samples.get(sample);
const first = (sql, ...values) => database.prepare(sql).bind(...values).first();

/** A start as it is sent before the plan, and the same once more when the run is planned. */
const early = (more = {}) => started({ tier: undefined, reviewers: undefined, ...more });
const planned = (more = {}) => started({ planned: true, ...more });

before(async () => {
  worker = await start('review-tracker', { vars });
  database = await worker.mf.getD1Database('DB');
  site = client(worker.url);
  cookie = await site.logIn('d');
});
after(() => worker.dispose());

describe('a start before the plan', () => {
  for (const [how, apart] of [['together', false], ['one after the other', true]]) {
    test(`and the plan, written ${how}, are one run that began once`, async () => {
      const project = `early/${apart}`;
      const at = Date.now() - 30_000;
      const run = uuid7();
      const make = (body, later = 0) => event(body, { run, project, at: at + later });
      const events = [make(early({ limit_seconds: 600 })), make(planned({ limit_seconds: 900 }), 5000), make(session(), 6000)];
      if (apart) for (const one of events) await send(worker.url, 'i', [one]);
      else await send(worker.url, 'i', events);
      const row = await first('SELECT * FROM runs WHERE run_id = ?', run);
      assert.deepEqual(
        [row.at_ms, row.tier, row.forge, row.panel, row.merge_request, row.limit_ms],
        [at, 'full', 'gitlab', '["security","performance"]', 7, 900_000],
      );
      assert.equal((await first('SELECT sum(runs) AS n FROM daily_started WHERE project = ?', project)).n, 1);
      assert.equal((await first(`SELECT tier FROM daily_sessions WHERE project = ?`, project)).tier, 'full');
      // A filter by tier leaves nothing of it out.
      assert.doesNotMatch(await site.text(`/?tier=full&project=${project}`, cookie), /Left out/);
    });
  }
});

describe('a run that failed', () => {
  test('is counted by stage and kind, on the dashboard, in the metrics, and shown as failed', async () => {
    const project = 'ends/failed';
    const at = Date.now() - 5 * 3_600_000;
    const runs = [['forge', 'forge_unreachable'], ['runtime', 'runtime_missing'], ['runtime', 'runtime_missing'], ['orbit', 'moon']];
    const ids = runs.map(() => uuid7());
    const before = await value('conclave_runs_failed', 'conclave_runs_failed_total{stage="runtime",kind="runtime_missing"}');
    assert.equal(before, 0, 'a series from the beginning');
    await send(worker.url, 'i', runs.flatMap(([stage, kind], index) => {
      const make = (body, later) => event(body, { run: ids[index], project, at: at + later });
      return [make(early(), 0), make(failed({ stage, kind, duration_ms: 1500 }), 1500)];
    }));
    assert.equal(await value('conclave_runs_failed', 'conclave_runs_failed_total{stage="runtime",kind="runtime_missing"}'), 2);
    assert.equal(await value('conclave_runs_failed', 'conclave_runs_failed_total{stage="other",kind="other"}'), 1);
    assert.deepEqual(await table(`/?project=${project}`, 'failed'), [
      ['runtime', 'runtime_missing', '2'],
      ['forge', 'forge_unreachable', '1'],
      ['other', 'other', '1'],
    ]);
    const overview = await site.text(`/?project=${project}`, cookie);
    assert.deepEqual([figure(overview, 'Failed reviews'), figure(overview, 'Lost reviews')], ['100.0%', '0']);
    const list = await site.text(`/runs?project=${project}&verdict=failed`, cookie);
    assert.equal(list.match(/class="verdict v-failed" title="[^"]+">Failed</g).length, 4);
    assert.match(list, /title="Runtime: runtime missing"/);
    assert.match(await site.text(`/runs/${ids[0]}`, cookie), /Forge: forge unreachable/);
    assert.equal((await table(`/runs?project=${project}&verdict=open`, 'runs')).length, 0);
    const repositories = await table(`/?project=${project}`, 'repositories');
    assert.deepEqual(repositories.map((row) => [row[0], row[1], row[3]]), [[project, '0', '4']]);
  });
});

describe('a run that is reported as completed and as failed', () => {
  const failure = () => failed({ stage: 'publish', kind: 'unauthorized' });
  const unpublished = () => completed({ unpublished: 'unauthorized' });
  const orders = {
    'its verdict first': [completed, failure],
    'its failure first': [failure, completed],
    'a verdict that says so first': [unpublished, failure],
    'a verdict that says so last': [failure, unpublished],
    'only a verdict that says so': [unpublished],
    'both, and each once more': [completed, failure, completed, failure],
    'a verdict, and then one that says so': [completed, unpublished],
  };
  let number = 0;
  for (const [how, ends] of Object.entries(orders)) {
    for (const apart of [false, true]) {
      test(`counts once, as failed: ${how}, ${apart ? 'one after the other' : 'together'}`, async () => {
        const project = `ends/both-${number++}`;
        const at = Date.now() - 60_000;
        const run = uuid7();
        // Another review of the same day stays what it is.
        const other = event(completed({ verdict: 'approved', merge_request: 8, critical: 1, cost_usd: 2, inconclusive_cause: undefined }), { project, at });
        const inconclusive = { verdict: 'inconclusive', inconclusive_cause: 'gaps', coverage: { not_read: 0, cut: 0, gaps: 2 } };
        const make = (body, later) => event(body.type === 'run_completed' ? { ...body, ...inconclusive } : body, { run, project, at: at + later });
        const events = [early(), ...ends.map((end) => end())].map((body, index) => make(body, index));
        const failures = await value('conclave_runs_failed', 'conclave_runs_failed_total{stage="publish",kind="unauthorized"}');
        await send(worker.url, 'i', [other]);
        if (apart) for (const one of events) await send(worker.url, 'i', [one]);
        else await send(worker.url, 'i', events);

        const overview = await site.text(`/?project=${project}`, cookie);
        assert.deepEqual(
          ['Reviews', 'Failed reviews', 'Inconclusive', 'Reviews per merge request', 'Lost reviews'].map((name) => figure(overview, name)),
          ['1', '50.0%', '0.0%', '1.0', '0'],
        );
        assert.match(overview, /<dt>Cost<\/dt><dd><strong>\$2\.00</);
        assert.deepEqual(await table(`/?project=${project}`, 'failed'), [['publish', 'unauthorized', '1']]);
        assert.deepEqual(await table(`/?project=${project}`, 'inconclusive'), []);
        const repositories = await table(`/?project=${project}`, 'repositories');
        assert.deepEqual(repositories.map((row) => row.slice(1, 8)), [['1', '', '1', '', '4', '1', '2']]);
        const sums = async (sql) => Object.values(await first(sql, project));
        assert.deepEqual(await sums('SELECT sum(runs), sum(cost_usd), sum(duration_ms), min(verdict) FROM daily_runs WHERE project = ?'), [1, 2, 60_000, 'approved']);
        assert.deepEqual(await sums("SELECT sum(n), min(n), count(*) FROM bins WHERE project = ? AND metric = 'cost_usd'"), [2, 1, 2]);
        assert.deepEqual(await sums('SELECT sum(runs), min(runs) FROM daily_merge_request_reviews WHERE project = ?'), [1, 1]);
        assert.deepEqual(await sums('SELECT count(*) FROM daily_inconclusive WHERE project = ?'), [0]);
        assert.equal((await first('SELECT reviews FROM merge_requests WHERE project = ? AND merge_request = 7', project)).reviews, 0);
        // Of all projects, too: nothing is below zero, and the rows of the project add up.
        const negative = "SELECT (SELECT count(*) FROM daily_runs WHERE runs <= 0) + (SELECT count(*) FROM daily_counts WHERE n <= 0) + (SELECT count(*) FROM bins WHERE n <= 0) AS n";
        assert.equal((await first(negative)).n, 0);
        assert.equal(await value('conclave_runs_failed', 'conclave_runs_failed_total{stage="publish",kind="unauthorized"}'), failures + 1);

        const list = await site.text(`/runs?project=${project}`, cookie);
        assert.equal(list.match(/v-failed/g).length, 1);
        assert.match(list, /title="Publish: unauthorized"/);
        assert.equal((await table(`/runs?project=${project}&verdict=failed`, 'runs')).length, 1);
        assert.equal((await table(`/runs?project=${project}&verdict=inconclusive`, 'runs')).length, 0);
        assert.match(await site.text(`/runs/${run}`, cookie), /not posted: inconclusive/);
      });
    }
  }

  test('of all projects and a day, the sums are those of the projects', async () => {
    const { results } = await database.prepare(`SELECT t.runs AS runs, p.runs AS of_projects FROM
      (SELECT sum(runs) AS runs FROM daily_runs WHERE project = '*' AND day > 0) AS t,
      (SELECT sum(runs) AS runs FROM daily_runs WHERE project <> '*' AND day > 0) AS p`).all();
    assert.equal(results[0].runs, results[0].of_projects);
  });

  test('a counter does not fall: what was counted before its failure came is a counter of its own', async () => {
    const before = await metrics();
    const sum = (all, family) => [...(all.get(family)?.samples.values() ?? [])].reduce((a, b) => a + b, 0);
    const run = uuid7();
    const make = (body) => event(body, { run, project: 'ends/counter' });
    await send(worker.url, 'i', [make(completed())]);
    const between = await metrics();
    await send(worker.url, 'i', [make(failure())]);
    const after = await metrics();
    assert.equal(sum(between, 'conclave_runs'), sum(before, 'conclave_runs') + 1);
    assert.equal(sum(after, 'conclave_runs'), sum(between, 'conclave_runs'));
    assert.equal(sum(after, 'conclave_runs_withdrawn'), sum(between, 'conclave_runs_withdrawn') + 1);
  });
});

describe('a run without an end', () => {
  test('is lost after its limit, and in progress before', async () => {
    const project = 'ends/lost';
    const gauge = (await value('conclave_runs_lost', 'conclave_runs_lost')) ?? 0;
    const begin = (minutes, limit) => event(early({ limit_seconds: limit }), { project, at: Date.now() - minutes * MINUTE });
    await send(worker.url, 'i', [
      begin(16, 600), // 10 minutes and five more
      begin(14, 600),
      begin(119, undefined),
      begin(121, undefined),
      begin(30, 7200),
    ]);
    assert.equal(figure(await site.text(`/?project=${project}`, cookie), 'Lost reviews'), '2');
    assert.equal((await table(`/runs?project=${project}&verdict=lost`, 'runs')).length, 2);
    assert.equal((await table(`/runs?project=${project}&verdict=open`, 'runs')).length, 5);
    assert.equal(await value('conclave_runs_lost', 'conclave_runs_lost'), gauge + 2);
    const list = await site.text(`/runs?project=${project}`, cookie);
    assert.equal(list.match(/v-lost/g).length, 2);
    assert.equal(list.match(/v-running/g).length, 3);
    // No run of this repository was ever completed, and it is listed: all of its reviews may be dying.
    for (const path of ['/', `/?project=${project}`]) {
      const rows = (await table(path, 'repositories')).filter((row) => row[0] === project);
      assert.deepEqual(rows.map((row) => [row[1], row[3], row[4]]), [['0', '', '2']], path);
    }
    assert.deepEqual(await table(`/?project=${project}&tier=full`, 'repositories'), []);
  });

  test('is none when there was nothing to review, or a person skipped it', async () => {
    const project = 'ends/skipped';
    const [one, two] = [uuid7(), uuid7()];
    const at = Date.now() - 300 * MINUTE;
    await send(worker.url, 'i', [
      event(early(), { run: one, project, at }),
      event(unneeded(), { run: one, project, at: at + 5 }),
      event(early(), { run: two, project, at }),
      event(breakGlass(), { run: two, project, at: at + 5 }),
    ]);
    const list = await site.text(`/runs?project=${project}`, cookie);
    assert.match(list, />Nothing to review</);
    assert.match(list, />Skipped</);
    assert.doesNotMatch(list, /v-lost|v-running/);
    assert.equal(figure(await site.text(`/?project=${project}`, cookie), 'Lost reviews'), '0');
    assert.equal(await value('conclave_runs_unneeded', 'conclave_runs_unneeded_total'), 1);
  });
});

test('inconclusive runs are counted by cause; of older clients as far as their counts tell', async () => {
  const project = 'ends/causes';
  const make = (more) => event(completed({ verdict: 'inconclusive', ...more }), { project });
  await send(worker.url, 'i', [
    make({ inconclusive_cause: 'reviewer_timed_out', coverage: { not_read: 3, cut: 0, gaps: 0 } }),
    make({ inconclusive_cause: 'reviewer_timed_out' }),
    make({ inconclusive_cause: 'invented_later' }),
    make({ degraded: true }),
    make({ coverage: { not_read: 0, cut: 2, gaps: 1 } }),
    make({}),
    event(completed({ inconclusive_cause: 'gaps' }), { project }),
  ]);
  assert.deepEqual((await table(`/?project=${project}`, 'inconclusive')).map((row) => row.slice(0, 2)), [
    ['other', '2'],
    ['reviewer_timed_out', '2'],
    ['files_cut', '1'],
    ['no_judgment', '1'],
  ]);
  assert.equal(await value('conclave_inconclusive_runs', 'conclave_inconclusive_runs_total{cause="reviewer_timed_out"}'), 2);
});

test('reviews of a merge request: the first one, and later ones, in one write or in several, each once', async () => {
  const project = 'ends/requests';
  const review = (number) => event(completed({ merge_request: number }), { project });
  const again = review(1);
  await send(worker.url, 'i', [review(1), again, review(2), event(completed({ merge_request: undefined }), { project })]);
  await send(worker.url, 'i', [again, review(1), review(3)]);
  const html = await site.text(`/?project=${project}`, cookie);
  assert.deepEqual([figure(html, 'Reviews per merge request'), figure(html, 'Re-reviews')], ['1.7', '40.0%']);
  const counts = await database.prepare(`SELECT review, sum(runs) AS n FROM daily_merge_request_reviews WHERE project = ? GROUP BY 1 ORDER BY 1`).bind(project).all();
  assert.deepEqual(counts.results, [{ review: 'again', n: 2 }, { review: 'first', n: 3 }]);
  assert.equal((await first('SELECT reviews AS n FROM merge_requests WHERE project = ? AND merge_request = 1', project)).n, 3);
});

test('repositories are listed with their figures, and a tier narrows them', async () => {
  await send(worker.url, 'i', [
    event(completed({ tier: 'lite', critical: 1, warning: 0, suggestion: 0, cost_usd: 0.5 }), { project: 'list/one' }),
    event(completed({ tier: 'full', verdict: 'inconclusive', critical: 0, cost_usd: 1.5 }), { project: 'list/one' }),
    event(completed({ tier: 'full' }), { project: 'list/two' }),
  ]);
  const rows = (await table('/', 'repositories')).filter(([project]) => project.startsWith('list/'));
  assert.deepEqual(rows.map((row) => row.slice(0, 9)), [
    ['list/one', '2', '1', '', '', '4', '1', '2', '1'],
    ['list/two', '1', '', '', '', '3', '', '0.5', '0.5'],
  ]);
  assert.deepEqual((await table('/?tier=lite&project=list/one', 'repositories')).map((row) => row[1]), ['1']);
  assert.match(await site.text('/', cookie), /href="\/\?project=list%2Ftwo/);
});

test('what the judge removed is a figure of its own', async () => {
  const project = 'ends/removed';
  const removed = (severity) => finding({ severity, fate: 'dropped', reason_code: 'refuted', removed_by_judge: true, refutation: 'this_change' });
  await send(worker.url, 'i', [removed('critical'), removed('warning'), finding(), finding({ fate: 'dropped', reason_code: 'not_in_diff' })].map((body) => event(body, { project })));
  const html = await site.text(`/findings?project=${project}`, cookie);
  assert.deepEqual(['Removed by the judge', 'Critical ones removed', 'Share removed'].map((name) => figure(html, name)), ['2', '1', '50.0%']);
  assert.match(html, /<dt>Critical ones removed<\/dt><dd><strong>1<\/strong><span>1 refuted by code</);
});

test('a critical finding that was removed as a duplicate is not called refuted', async () => {
  const project = 'ends/duplicate';
  const duplicate = finding({ severity: 'critical', fate: 'dropped', reason_code: 'duplicate', removed_by_judge: true });
  await send(worker.url, 'i', [event(duplicate, { project })]);
  const html = await site.text(`/findings?project=${project}`, cookie);
  assert.match(html, /<dt>Critical ones removed<\/dt><dd><strong>1<\/strong><span>1 duplicate</);
  assert.doesNotMatch(html, /refuted by code|only by code/);
});

test('a run counts once, under its project and with its first verdict, however often its end is sent', async () => {
  const run = uuid7();
  const end = (project, verdict) => event(completed({ verdict, cost_usd: 2 }), { run, project });
  await send(worker.url, 'i', [end('ends/once', 'approved'), end('ends/once', 'significant_concerns')]);
  await send(worker.url, 'i', [end('ends/once', 'significant_concerns')]);
  await send(worker.url, 'i', [end('ends/somebody-else', 'approved')]);
  const { runs, verdict } = await first("SELECT sum(runs) AS runs, min(verdict) AS verdict FROM daily_runs WHERE project = 'ends/once'");
  assert.deepEqual([runs, verdict], [1, 'approved']);
  assert.equal((await first("SELECT count(*) AS n FROM daily_runs WHERE project = 'ends/somebody-else'")).n, 0);
  const kept = await first('SELECT project, verdict FROM runs WHERE run_id = ?', run);
  assert.deepEqual([kept.project, kept.verdict], ['ends/once', 'approved']);
});
