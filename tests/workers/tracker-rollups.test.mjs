// Rollups: each event adds to what it is about, in its project and day, in all projects' day and in all time, and nowhere else.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  breakGlass,
  circuit,
  completed,
  dropped,
  event,
  failback,
  finding,
  metrics,
  outcome,
  send,
  session,
  settled,
  started,
  uuid7,
  verdict,
} from '../support/events.mjs';
import { runsOf, seedEvents } from '../support/seed/events.mjs';
import { sendAll } from '../support/seed/send.mjs';
import { TIERS } from '../support/seed/yardstick.mjs';
import { start } from '../support/workerd.mjs';

const DAY = 86_400_000;
const now = Date.now();
const today = Math.floor(now / DAY);

describe('one event of each kind', () => {
  let worker;
  let rows;
  const run = uuid7();
  before(async () => {
    worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't' } });
    const database = await worker.mf.getD1Database('DB');
    rows = async (sql) => (await database.prepare(sql).all()).results;
    const make = (body) => event(body, { run, project: 'one/project', at: now });
    await send(worker.url, 't', [
      make(started({ author: '0123456789abcdef0123456789abcdef' })),
      make(session({ models_tried: ['anthropic/claude-opus-5-5', 'anthropic/claude-sonnet-5'], attempts: 2 })),
      make(finding({ placement: 'line' })),
      make(finding({ fate: 'dropped', reason_code: 'not_in_diff', severity: 'suggestion', removed_by_judge: true, refutation: 'unchanged_code' })),
      make(outcome({ outcome: 'rejected' })),
      make(circuit()),
      make(failback()),
      make(verdict({ shown: 'none', mismatch: true })),
      make(dropped(3)),
      make(metrics({ stage_diff_ms: 12.5, gateway_retries: 2 })),
      make(completed({ coverage: { not_read: 1, cut: 0, gaps: 2 } })),
      event(breakGlass({ merge_request: 8 }), { project: 'one/project', at: now }),
      event(metrics({ stage_diff_ms: 37.5 }), { project: 'one/other', at: now }),
    ]);
  });
  after(() => worker.dispose());

  test('counts are what their views say, in every grain', async () => {
    const expected = {
      daily_started: { runs: 1 },
      daily_categories: { reviewer: 'security', category: 'sql-injection', severity: 'warning', findings: 1 },
      daily_reasons: { reviewer: 'security', fate: 'dropped', reason: 'not_in_diff', findings: 1 },
      daily_removed: { severity: 'suggestion', reason: 'not_in_diff', refutation: 'unchanged_code', findings: 1 },
      daily_placements: { placement: 'line', findings: 1 },
      daily_outcomes: { reviewer: 'security', severity: 'warning', outcome: 'rejected', findings: 1 },
      daily_sessions: { reviewer: 'security', outcome: 'ok', sessions: 1 },
      daily_failbacks: { from_model: 'anthropic/claude-sonnet-5', to_model: 'anthropic/claude-sonnet-4-6', reason: 'circuit_open', failbacks: 1 },
      daily_circuits: { model: 'anthropic/claude-sonnet-5', state: 'open', changes: 1 },
      daily_verdicts: { wanted: 'approved', shown: 'none', mismatch: 'yes', runs: 1 },
      daily_dropped: { events: 3 },
    };
    for (const [view, counts] of Object.entries(expected)) {
      assert.deepEqual(
        await rows(`SELECT * FROM ${view} ORDER BY project DESC, day DESC`),
        [['one/project', today, 'full'], ['*', today, 'full'], ['*', 0, '']].map(([project, day, tier]) => ({ project, day, tier, ...counts })),
        view,
      );
    }
    // A review that was skipped has no tier.
    assert.deepEqual(await rows('SELECT project, day, tier, uses FROM daily_break_glass ORDER BY project DESC, day DESC'), [
      { project: 'one/project', day: today, tier: 'none', uses: 1 },
      { project: '*', day: today, tier: 'none', uses: 1 },
      { project: '*', day: 0, tier: '', uses: 1 },
    ]);
    assert.deepEqual(await rows(`SELECT day, tier, merge_requests FROM daily_merge_requests WHERE project = '*' ORDER BY day, tier`), [
      { day: 0, tier: '', merge_requests: 2 },
      { day: today, tier: 'full', merge_requests: 1 },
      { day: today, tier: 'none', merge_requests: 1 },
    ]);
    assert.deepEqual(await rows(`SELECT severity, fate, findings FROM daily_findings WHERE project = 'one/project' ORDER BY fate`), [
      { severity: 'suggestion', fate: 'dropped', findings: 1 },
      { severity: 'warning', fate: 'kept', findings: 1 },
    ]);
    assert.deepEqual(await rows(`SELECT sum(events) AS n FROM daily_events WHERE project = '*' AND day = 0`), [{ n: 13 }]);
  });

  test('figures have count, sum and maximum', async () => {
    assert.deepEqual(await rows(`SELECT name, n, total, largest FROM daily_metrics WHERE project = '*' AND day = 0 ORDER BY name`), [
      { name: 'gateway_retries', n: 1, total: 2, largest: 2 },
      { name: 'stage_diff_ms', n: 2, total: 50, largest: 37.5 },
    ]);
  });

  test('a run has its coverage and its verdict as shown; a skipped one says so', async () => {
    assert.deepEqual(await rows(`SELECT not_read, cut, gaps, wanted, shown, mismatch, skipped, author FROM runs WHERE run_id = '${run}'`), [
      { not_read: 1, cut: 0, gaps: 2, wanted: 'approved', shown: 'none', mismatch: 1, skipped: 0, author: '0123456789abcdef0123456789abcdef' },
    ]);
    assert.deepEqual(await rows('SELECT merge_request, verdict FROM runs WHERE skipped = 1'), [{ merge_request: 8, verdict: null }]);
    assert.deepEqual(await rows(`SELECT partial FROM daily_runs WHERE project = '*' AND day = 0`), [{ partial: 1 }]);
  });

  test('a session has what a timeline needs', async () => {
    assert.deepEqual(await rows(`SELECT started_ms, at_ms, models_tried FROM sessions`), [
      { started_ms: now - 40_000, at_ms: now, models_tried: '["anthropic/claude-opus-5-5","anthropic/claude-sonnet-5"]' },
    ]);
    assert.deepEqual(await rows(`SELECT placement FROM findings WHERE fate = 'kept'`), [{ placement: 'line' }]);
    assert.deepEqual(await rows('SELECT who FROM glasses'), [{ who: '00112233445566778899aabbccddeeff' }]);
  });

  test('files with findings that stand are hot, in their week', async () => {
    const week = today - ((today + 3) % 7);
    assert.deepEqual(
      await rows('SELECT * FROM hot_files ORDER BY grain, tier'),
      ['*', 'one/project'].flatMap((grain) => ['*', 'full'].map((tier) => [grain, tier])).map(([grain, tier]) => ({
        grain,
        tier,
        week,
        project: 'one/project',
        path: 'src/store.py',
        findings: 1,
        critical: 0,
        warning: 1,
        suggestion: 0,
      })),
    );
  });

  test('values are in their day, their week and all time; how long events waited is known', async () => {
    const week = today - ((today + 3) % 7);
    assert.deepEqual(await rows(`SELECT project, span, start, n FROM bins WHERE metric = 'cost_usd' ORDER BY project, span`), [
      { project: '*', span: 0, start: 0, n: 1 },
      { project: '*', span: 1, start: today, n: 1 },
      { project: '*', span: 7, start: week, n: 1 },
      { project: 'one/project', span: 1, start: today, n: 1 },
      { project: 'one/project', span: 7, start: week, n: 1 },
    ]);
    const lag = await rows(`SELECT DISTINCT project, span FROM bins WHERE metric = 'lag_ms' ORDER BY span`);
    assert.deepEqual(lag, [0, 1, 7].map((span) => ({ project: '*', span })));
  });
});

test('an event has the tier of its run, also when that was told in an earlier batch or is told later in the same one', async () => {
  const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't' } });
  try {
    const database = await worker.mf.getD1Database('DB');
    const [early, late, unknown] = [uuid7(), uuid7(), uuid7()];
    const make = (run, body) => event(body, { run, project: 'tier/project', at: now });
    await send(worker.url, 't', [make(early, started({ tier: 'trivial' }))]);
    await send(worker.url, 't', [
      make(early, finding()),
      make(late, finding()),
      make(late, session()),
      make(late, completed({ tier: 'lite' })),
      make(unknown, finding()),
      make(unknown, metrics({ stage_diff_ms: 5 })),
    ]);
    const rows = async (sql) => (await database.prepare(sql).all()).results;
    assert.deepEqual(await rows(`SELECT tier, findings FROM daily_findings WHERE project = 'tier/project' ORDER BY tier`), [
      { tier: '', findings: 1 },
      { tier: 'lite', findings: 1 },
      { tier: 'trivial', findings: 1 },
    ]);
    assert.deepEqual(await rows(`SELECT day, tier, calls FROM daily_usage WHERE project = '*' ORDER BY day`), [
      { day: 0, tier: '', calls: 3 },
      { day: today, tier: 'lite', calls: 3 },
    ]);
    assert.deepEqual(await rows(`SELECT tier FROM daily_metrics WHERE project = 'tier/project'`), [{ tier: '' }]);
    assert.deepEqual(await rows(`SELECT tier, findings FROM hot_files WHERE grain = '*' ORDER BY tier`), [
      { tier: '*', findings: 3 },
      { tier: 'lite', findings: 1 },
      { tier: 'trivial', findings: 1 },
    ]);
    // Told again, all of it: nothing moves.
    const before = await rows('SELECT * FROM daily_counts ORDER BY 1, 2, 3, 4, 5, 6, 7');
    const events = await rows('SELECT id, run_id, at_ms, body FROM events');
    await send(worker.url, 't', events.map(({ id, run_id: run, at_ms: at, body }) => event(JSON.parse(body), { id, run, at, project: 'tier/project' })));
    assert.deepEqual(await rows('SELECT * FROM daily_counts ORDER BY 1, 2, 3, 4, 5, 6, 7'), before);
  } finally {
    await worker.dispose();
  }
});

describe('the demo data set', { timeout: 300_000 }, () => {
  const SIZE = 0.008;
  const until = Math.floor(now / DAY) * DAY;
  const make = (seed = 1) => [...seedEvents({ size: SIZE, now: until, seed })];
  let worker;
  let database;
  const events = make().flat();
  const done = events.filter(({ event: { type } }) => type === 'run_completed').map(({ event: body }) => body);
  before(async () => {
    worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't', OUTBOX_FLUSH_MS: '200' } });
    database = await worker.mf.getD1Database('DB');
    assert.equal(await sendAll(worker.url, 't', make()), events.length);
    await settled(worker.url, { within: 120_000 });
  });
  after(() => worker.dispose());

  /** The nearest-rank quantile: exactly what the tracker answers within 1 %. */
  const exact = (values, share) => values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(values.length * share) - 1)];

  test('is the same for the same seed, to the byte, and another one for another', () => {
    assert.equal(JSON.stringify(make()), JSON.stringify(make()));
    assert.notEqual(JSON.stringify(make(2)), JSON.stringify(make()));
  });

  test('has the shape of the yardstick', () => {
    assert.equal(done.length, runsOf(SIZE));
    const near = (found, wanted, share, what) => assert.ok(Math.abs(found / wanted - 1) < share, `${what}: ${found}, not ${wanted}`);
    // So many that chance, which is another one on each day of the week, stays within the bounds: the P95 of 5,000 costs, not of 1,200.
    const many = [...seedEvents({ size: 0.2, now: until, seed: 3 })].flat();
    const completedRuns = many.filter(({ event: { type } }) => type === 'run_completed').map(({ event: body }) => body);
    for (const [tier, { runs, cost }] of Object.entries(TIERS)) {
      const of = completedRuns.filter((one) => one.tier === tier).map((one) => one.cost_usd);
      near(of.length / completedRuns.length, runs / 130_698, 0.08, `share of ${tier}`);
      const known = new Map(cost);
      near(exact(of, 0.5), known.get(0.5), 0.05, `median cost of ${tier}`);
      near(exact(of, 0.95), known.get(0.95), 0.1, `P95 cost of ${tier}`);
    }
    const durations = completedRuns.map((one) => one.duration_ms);
    near(exact(durations, 0.5), 219_000, 0.04, 'median duration');
    near(exact(durations, 0.95), 449_000, 0.06, 'P95 duration');
    const counts = (type) => many.filter(({ event: body }) => body.type === type).length;
    near(counts('finding') / completedRuns.length, 159_103 / 131_246, 0.06, 'findings a run');
    const requests = new Set(many.filter(({ event: body }) => body.type === 'run_started').map(({ project, event: body }) => `${project} ${body.merge_request}`));
    near(completedRuns.length / requests.size, 2.73, 0.06, 'reviews a merge request');
    const used = many.flatMap(({ event: body }) => body.usage ?? []);
    const sum = (kind) => used.reduce((total, { tokens }) => total + tokens[kind], 0);
    near(sum('cache_read') / (sum('cache_read') + sum('input')), 0.857, 0.02, 'cache hit rate');
  });

  test('quantiles from the stored distributions are exact within 1 %, over all and by tier', async () => {
    const growth = 1.01 / 0.99;
    for (const metric of ['cost_usd', 'duration_ms']) {
      for (const tier of [undefined, ...Object.keys(TIERS)]) {
        const where = tier ? `AND tier = '${tier}'` : '';
        const { results: bins } = await database
          .prepare(`SELECT bin, sum(n) AS n FROM bins WHERE project = '*' AND metric = '${metric}' AND span = 7 ${where} GROUP BY bin ORDER BY bin`)
          .all();
        const values = done.filter((one) => !tier || one.tier === tier).map((one) => one[metric]);
        assert.equal(bins.reduce((sum, { n }) => sum + n, 0), values.length);
        for (const share of [0.5, 0.9, 0.95, 0.99]) {
          let left = Math.max(1, Math.ceil(values.length * share));
          const { bin } = bins.find(({ n }) => (left -= n) <= 0);
          const found = (2 * growth ** bin) / (growth + 1);
          const wanted = exact(values, share);
          assert.ok(Math.abs(found / wanted - 1) <= 0.0100001, `${metric} ${tier} P${share * 100}: ${found}, exactly ${wanted}`);
        }
      }
    }
  });

  test('sums are exact', async () => {
    const sums = await database.prepare(`SELECT sum(runs) AS runs, sum(cost_usd) AS cost, sum(duration_ms) AS duration FROM daily_runs WHERE project = '*' AND day > 0`).first();
    assert.equal(sums.runs, done.length);
    assert.equal(sums.duration, done.reduce((sum, one) => sum + one.duration_ms, 0));
    assert.ok(Math.abs(sums.cost - done.reduce((sum, one) => sum + one.cost_usd, 0)) < 1e-6 * sums.cost);
    const kept = events.filter(({ event: body }) => body.type === 'finding' && body.fate === 'kept').length;
    const hot = await database.prepare(`SELECT sum(findings) AS n FROM hot_files WHERE grain = '*' AND tier = '*'`).first();
    assert.equal(hot.n, kept);
  });
});
