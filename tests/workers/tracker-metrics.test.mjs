// review-tracker's metrics in a real workerd, read by a strict parser.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { breakGlass, circuit, completed, dropped, event, failback, finding, outcome, send, session, started, tokens, verdict } from '../support/events.mjs';
import { parse } from '../support/openmetrics.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

const vars = { INGEST_TOKENS: 'i', METRICS_TOKENS: 'old,new' };
const scrape = (url, token = 'new') => fetch(`${url}/metrics`, { headers: token ? { authorization: `Bearer ${token}` } : {} });

async function families(url) {
  const response = await scrape(url);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  return parse(await response.text());
}

describe('an empty tracker', () => {
  let worker;
  before(async () => {
    worker = await start('review-tracker', { vars });
  });
  after(() => worker.dispose());

  test('says what it measures', async () => {
    const found = await families(worker.url);
    assert.deepEqual(
      [...found].map(([name, { type }]) => `${name} ${type}`),
      [
        'conclave_runs_started counter',
        'conclave_runs counter',
        'conclave_inconclusive_runs counter',
        'conclave_merge_request_reviews counter',
        'conclave_run_duration_seconds histogram',
        'conclave_run_cost_usd histogram',
        'conclave_runs_failed counter',
        'conclave_runs_lost gauge',
        'conclave_runs_unneeded counter',
        'conclave_verdicts_applied counter',
        'conclave_break_glass counter',
        'conclave_sessions counter',
        'conclave_repair_turns counter',
        'conclave_tokens counter',
        'conclave_cost_usd counter',
        'conclave_findings counter',
        'conclave_findings_removed counter',
        'conclave_finding_outcomes counter',
        'conclave_circuit_changes counter',
        'conclave_failbacks counter',
        'conclave_telemetry_dropped counter',
        'conclave_merge_requests counter',
        'conclave_events counter',
        'conclave_ingest_delay_seconds histogram',
        'conclave_ingest_outbox_up gauge',
        'conclave_ingest_lag_seconds gauge',
        'conclave_ingest_waiting_events gauge',
        'conclave_dead_letters gauge',
        'conclave_database_bytes gauge',
        'conclave_database_max_bytes gauge',
      ],
    );
    assert.equal(found.get('conclave_telemetry_dropped').samples.get('conclave_telemetry_dropped_total'), 0);
    assert.equal(found.get('conclave_ingest_lag_seconds').samples.get('conclave_ingest_lag_seconds'), 0);
  });

  test('without its outbox still answers what the database knows, and says that', async () => {
    const bare = await start('review-tracker', { vars, without: ['durableObjects'] });
    try {
      const found = await families(bare.url);
      assert.equal(found.get('conclave_ingest_outbox_up').samples.get('conclave_ingest_outbox_up'), 0);
      assert.equal(found.get('conclave_dead_letters').samples.size, 0, 'a 0 would say that there are none');
      assert.equal(found.get('conclave_telemetry_dropped').samples.get('conclave_telemetry_dropped_total'), 0);
    } finally {
      await bare.dispose();
    }
  });

  test('answers in the older format to whoever asks for that', async () => {
    const response = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer new', accept: 'text/plain; version=0.0.4' } });
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    assert.match(text, /^# TYPE conclave_telemetry_dropped_total counter$/m);
    assert.doesNotMatch(text, /# EOF|# UNIT/);
  });

  test('lets in every listed token and nobody else', async () => {
    for (const token of ['old', 'new']) {
      assert.equal((await scrape(worker.url, token)).status, 200);
    }
    for (const token of [null, 'i', 'old,new']) {
      await assertProblem(await scrape(worker.url, token), 401, 'unauthorized');
    }
    await assertProblem(await fetch(`${worker.url}/metrics`, { method: 'POST' }), 405, 'method-not-allowed');
  });

  test('without tokens refuses everybody', async () => {
    const bare = await start('review-tracker');
    try {
      const problem = await assertProblem(await scrape(bare.url), 503, 'not-configured');
      assert.match(problem.detail, /METRICS_TOKENS/);
    } finally {
      await bare.dispose();
    }
  });
});

describe('after ingest', () => {
  let worker;
  before(async () => {
    worker = await start('review-tracker', { vars });
  });
  after(() => worker.dispose());

  test('every figure is what was sent, over projects and days', async () => {
    const yesterday = Date.now() - 86_400_000;
    await send(worker.url, 'i', [
      event(started()),
      event(completed({ duration_ms: 60_000, cost_usd: 0.5 })),
      event(completed({ duration_ms: 90_000, cost_usd: 1.25 }), { project: 'other/project', at: yesterday }),
      event(completed({ tier: 'trivial', verdict: 'approved', duration_ms: 7_200_000, cost_usd: 0 })),
      event(session()),
      event(session({ reviewer: 'coordinator', repair_turns: 2, usage: [{ model: 'openai/gpt-6-sol', tokens: tokens(7, 0), cost_usd: 0.25, calls: 1 }] }), { at: yesterday }),
      event(finding()),
      event(finding(), { project: 'other/project' }),
      event(finding({ reviewer: 'in "quotes"\\', severity: 'critical', fate: 'dropped', reason_code: 'x', removed_by_judge: true, refutation: 'unchanged_code' })),
      event(dropped(4)),
      event(dropped(5), { at: yesterday }),
      event(outcome({ outcome: 'rejected' })),
      event(failback()),
      event(failback({ to: 'openai/gpt-6-sol' }), { at: yesterday }),
      event(circuit()),
      event(breakGlass({ merge_request: 8 })),
      event(verdict()),
      event(verdict({ shown: undefined })),
    ]);
    const found = await families(worker.url);
    const value = (family, sample) => found.get(family).samples.get(sample);
    assert.equal(value('conclave_runs', 'conclave_runs_total{tier="full",verdict="approved_with_comments"}'), 2);
    assert.equal(value('conclave_runs', 'conclave_runs_total{tier="trivial",verdict="approved"}'), 1);
    const duration = 'conclave_run_duration_seconds';
    assert.equal(value(duration, `${duration}_bucket{tier="full",le="30.0"}`), 0);
    assert.equal(value(duration, `${duration}_bucket{tier="full",le="60.0"}`), 1);
    assert.equal(value(duration, `${duration}_bucket{tier="full",le="120.0"}`), 2);
    assert.equal(value(duration, `${duration}_bucket{tier="trivial",le="3600.0"}`), 0);
    assert.equal(value(duration, `${duration}_bucket{tier="trivial",le="+Inf"}`), 1);
    assert.equal(value(duration, `${duration}_sum{tier="full"}`), 150);
    const cost = 'conclave_run_cost_usd';
    assert.equal(value(cost, `${cost}_bucket{tier="full",le="0.5"}`), 1);
    assert.equal(value(cost, `${cost}_bucket{tier="full",le="1.5"}`), 2);
    assert.equal(value(cost, `${cost}_bucket{tier="trivial",le="0.01"}`), 1);
    assert.equal(value(cost, `${cost}_sum{tier="full"}`), 1.75);
    const findings = 'conclave_findings';
    assert.equal(value(findings, `${findings}_total{reviewer="security",severity="warning",fate="kept"}`), 2);
    assert.equal(value(findings, `${findings}_total{reviewer="in \\"quotes\\"\\\\",severity="critical",fate="dropped"}`), 1);
    const spent = 'conclave_tokens';
    assert.equal(value(spent, `${spent}_total{model="anthropic/claude-sonnet-5",agent="security",kind="cache_read"}`), 900);
    assert.equal(value(spent, `${spent}_total{model="openai/gpt-6-sol",agent="coordinator",kind="input"}`), 7);
    assert.equal(value('conclave_cost_usd', 'conclave_cost_usd_total{model="openai/gpt-6-sol",agent="coordinator"}'), 0.25);
    assert.equal(value('conclave_telemetry_dropped', 'conclave_telemetry_dropped_total'), 9);
    for (const [sample, count] of [
      ['conclave_finding_outcomes{reviewer="security",severity="warning",outcome="rejected"}', 1],
      ['conclave_findings_removed{severity="critical",refutation="unchanged_code"}', 1],
      ['conclave_failbacks{model="anthropic/claude-sonnet-5",reason="circuit_open"}', 2],
      ['conclave_circuit_changes{provider="anthropic",model="anthropic/claude-sonnet-5",state="open"}', 1],
      ['conclave_break_glass', 1],
      ['conclave_verdicts_applied{wanted="approved",result="match"}', 1],
      ['conclave_verdicts_applied{wanted="approved",result="unknown"}', 1],
      ['conclave_sessions{agent="coordinator",outcome="ok"}', 1],
      ['conclave_repair_turns{agent="coordinator"}', 2],
      ['conclave_events{kind="finding"}', 3],
      ['conclave_runs_started', 1],
      ['conclave_merge_requests', 3],
    ]) {
      const [, family, labels] = /^([a-z_]+)(.*)$/.exec(sample);
      assert.equal(value(family, `${family}_total${labels}`), count, sample);
    }
    assert.ok(value('conclave_ingest_delay_seconds', 'conclave_ingest_delay_seconds_count') >= 1);
  });

  test('made-up names share the series `other`, and no counter ever falls', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `made_up_${String(index).padStart(3, '0')}`);
    const before = await families(worker.url);
    await send(worker.url, 'i', names.map((reviewer) => event(finding({ reviewer }))));
    const between = await families(worker.url);
    await send(worker.url, 'i', [...names].reverse().flatMap((reviewer) => [event(finding({ reviewer })), event(finding({ reviewer }))]));
    const found = await families(worker.url);
    const { samples } = found.get('conclave_findings');
    assert.ok(samples.size <= 45, `${samples.size} series`);
    const other = 'conclave_findings_total{reviewer="other",severity="warning",fate="kept"}';
    const own = [...samples.keys()].filter((key) => key.includes('made_up_')).length;
    assert.equal(samples.get(other), (names.length - own) * 3);
    for (const [older, newer] of [[before, between], [between, found]]) {
      for (const [name, family] of older) {
        for (const [key, value] of family.samples) {
          assert.ok(newer.get(name).samples.get(key) >= value, `${key} fell`);
        }
      }
    }
  });

  test('the cron writes the same figures into the log, as lines of JSON', async () => {
    const found = await families(worker.url);
    const lines = worker.logs.length;
    await (await worker.mf.getWorker()).scheduled({ cron: '*/5 * * * *' });
    const logged = new Map();
    for (const text of worker.logs.slice(lines)) {
      const line = text.includes('"message":"metrics"') ? JSON.parse(text.slice(text.indexOf('{'))) : undefined;
      if (line) {
        logged.set(line.metric, [...(logged.get(line.metric) ?? []), ...line.samples]);
      }
    }
    for (const [name, family] of found) {
      // Series at zero are left out, unless they are the only one of their family.
      const samples = [...family.samples].filter(([key, value]) => !key.includes('_bucket') && (value !== 0 || !key.includes('{')));
      assert.equal(samples.length === 0, !logged.has(name), name);
      const values = (logged.get(name) ?? []).flatMap((sample) => Object.entries(sample).filter(([key]) => key.startsWith('value')));
      if (name.includes('ingest')) continue; // What waits changes from moment to moment.
      const sorted = (numbers) => numbers.sort((one, other) => one - other);
      const expected = samples.map(([, value]) => value);
      assert.deepEqual(sorted(values.map(([, value]) => value)), sorted(expected), name);
    }
    const runs = logged.get('conclave_runs').find(({ tier }) => tier === 'trivial');
    assert.deepEqual(runs, { tier: 'trivial', verdict: 'approved', value: 1 });
  });
});
