// review-tracker's metrics in a real Prometheus: the scrape, the alert rules, and every query of the Grafana dashboard.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as events from '../support/events.mjs';
import { eventually, promtool, startPrometheus } from '../support/prometheus.mjs';
import { root, start } from '../support/workerd.mjs';

const { breakGlass, circuit, completed, dropped, event, failback, finding, outcome, send, session, started, verdict } = events;
const rules = join(root, 'deploy/prometheus');

/** One of everything that has a metric. */
const everything = () => {
  const run = events.uuid7();
  return [
    started(),
    session(),
    session({ reviewer: 'coordinator' }),
    finding(),
    finding({ fate: 'dropped', reason_code: 'not_in_diff' }),
    finding({ fate: 'dropped', reason_code: 'refuted', removed_by_judge: true }),
    outcome(),
    circuit(),
    failback(),
    verdict({ shown: 'none', mismatch: true }),
    breakGlass({ merge_request: Math.floor(Math.random() * 1e6) }),
    dropped(3),
    completed(),
    completed({ tier: 'lite', verdict: 'inconclusive', merge_request: Math.floor(Math.random() * 1e6) }),
  ].map((body) => event(body, { run: body.type === 'run_completed' ? events.uuid7() : run }));
};

describe('alert rules', () => {
  test('are rules, and each fires when it should and not otherwise', () => {
    for (const args of [['check', 'rules', 'alerts.yml'], ['test', 'rules', 'alerts_test.yml']]) {
      const { code, output } = promtool(args, { cwd: rules });
      assert.equal(code, 0, output);
    }
    const names = [...readFileSync(join(rules, 'alerts.yml'), 'utf8').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    const tested = readFileSync(join(rules, 'alerts_test.yml'), 'utf8');
    for (const name of names) {
      assert.match(tested, new RegExp(`alertname: ${name}\\n *exp_alerts`), `${name} is made to fire`);
      assert.match(tested, new RegExp(`alertname: ${name}}`), `${name} is made not to fire`);
    }
  });

  test('the example of a configuration is one', () => {
    // The file with the token is the operator's.
    const { code, output } = promtool(['check', 'config', '--syntax-only', 'prometheus.yml'], { cwd: rules });
    assert.equal(code, 0, output);
  });
});

describe('a scrape', () => {
  let worker;
  let prometheus;
  before(async () => {
    worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', METRICS_TOKENS: 'old,new' } });
    await send(worker.url, 'i', everything());
    await stored(2);
    prometheus = await startPrometheus(worker.url, 'new');
    await scraped(2);
    // What grows while it is scraped has a rate.
    for (let round = 2; round <= 4; round += 1) {
      await send(worker.url, 'i', everything());
      await stored(2 * round);
      await scraped(2 * round);
    }
  });
  after(async () => {
    await prometheus?.stop();
    await worker?.dispose();
  });

  const text = async (accept) => {
    const response = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer old', accept } });
    assert.equal(response.status, 200);
    return response.text();
  };
  const stored = (runs) =>
    eventually(`${runs} runs are stored`, async () => {
      const counts = [...(await text('*/*')).matchAll(/^conclave_runs_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
      return counts.reduce((sum, count) => sum + count, 0) === runs ? true : undefined;
    });
  const scraped = (runs) =>
    eventually(`${runs} runs are scraped`, async () => {
      const [sum] = await prometheus.query('sum(conclave_runs_total)');
      return Number(sum?.value[1]) === runs ? true : undefined;
    });

  test('is understood whole, with the types, help and units of all families', async () => {
    const [target] = (await prometheus.api('targets')).activeTargets;
    assert.deepEqual([target.health, target.lastError], ['up', '']);
    const families = [...(await text('*/*')).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    const known = await eventually('metadata of all families', async () => {
      const metadata = await prometheus.api('metadata');
      return Object.keys(metadata).filter((name) => name.startsWith('conclave_')).length >= families.length ? metadata : undefined;
    });
    for (const [, name, type] of families) {
      assert.equal(known[name]?.[0].type, type, name);
      assert.ok(known[name][0].help.length > 10, name);
    }
    const series = await prometheus.query('count({__name__=~"conclave_.*"})');
    assert.ok(Number(series[0].value[1]) > 60);
  });

  test('`promtool check metrics` has nothing to say', async () => {
    assert.deepEqual(promtool(['check', 'metrics'], { input: await text('text/plain; version=0.0.4') }), { code: 0, output: '' });
  });

  test('every query of the Grafana dashboard has a result', async () => {
    const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana/conclave.json'), 'utf8'));
    const targets = dashboard.panels.flatMap((panel) => panel.targets.map((target) => [panel.title, target.expr]));
    assert.ok(targets.length >= 20);
    const values = { tier: '.*', __rate_interval: '1m', __range: '10m' };
    for (const [title, expression] of targets) {
      const filled = expression.replaceAll(/\$(\w+)/g, (_, name) => {
        assert.ok(name in values, `${title}: the variable ${name}`);
        return values[name];
      });
      const result = await prometheus.query(filled);
      assert.ok(result.length > 0, `${title}: ${filled} has no result`);
      for (const { value } of result) {
        assert.ok(Number.isFinite(Number(value[1])), `${title}: ${filled} is ${value[1]}`);
      }
    }
    for (const { definition } of dashboard.templating.list.filter(({ type }) => type === 'query')) {
      const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition);
      assert.deepEqual(await prometheus.api(`label/${label}/values`, { 'match[]': metric }), ['full', 'lite']);
    }
  });
});
