// Events as clients of schema 1 send them, and what the tracker makes of each: every row, every count and sum, every metric and
// every table of the dashboard. The events in tests/fixtures/telemetry are never changed: a later tracker reads them all the same.
//
//   CONCLAVE_UPDATE_TELEMETRY=1 node --test tests/workers/tracker-compatibility.test.mjs    renews what is expected

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import { send } from '../support/events.mjs';
import { root, start } from '../support/workerd.mjs';

const fixture = (name) => join(root, 'tests/fixtures/telemetry', name);
const { batches, days, runs } = JSON.parse(readFileSync(fixture('schema-1.json'), 'utf8'));
/** Left out, because it depends on when the events arrived, or on the size of the file. */
const LEFT_OUT = { events: ['received_ms'], bins: ["metric <> 'lag_ms'"] };
const TIMED = /^(# .* )?conclave_(ingest|database)_/;
const PAGES = {
  '/': ['reviews', 'quantiles', 'verdicts', 'tiers', 'repositories', 'inconclusive', 'failed', 'runs'],
  '/findings': ['days', 'reviewers', 'judged', 'outcomes', 'hot', 'categories', 'reasons', 'removed', 'placements'],
  '/models': ['days', 'models', 'agents', 'sessions', 'failbacks', 'switches', 'circuits'],
  '/runs': ['runs'],
  '/health': ['letters', 'events', 'kinds', 'applied', 'measures'],
};

let worker;
before(async () => {
  worker = await start('review-tracker', {
    vars: { INGEST_TOKENS: 'i', METRICS_TOKENS: 'm', DASHBOARD_TOKENS: 'd', RETENTION_DAYS: '3660', OUTBOX_SHARDS: '1' },
  });
  for (const batch of batches) await send(worker.url, 'i', batch);
});
after(() => worker.dispose());

/** Compares with what is expected, or writes it. */
function expected(name, found) {
  if (process.env.CONCLAVE_UPDATE_TELEMETRY) writeFileSync(fixture(name), `${JSON.stringify(found, null, 1)}\n`);
  const wanted = JSON.parse(readFileSync(fixture(name), 'utf8'));
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(found)])) assert.deepEqual(found[key], wanted[key], key);
}

test('every kind of event becomes the rows, counts and sums that it always became', async () => {
  const database = await worker.mf.getD1Database('DB');
  const all = async (sql) => (await database.prepare(sql).all()).results;
  const tables = await all(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*'
    AND name NOT IN ('d1_migrations', 'chores', 'memory_cleared') ORDER BY 1`);
  const contents = {};
  for (const { name } of tables) {
    const rows = await all(`SELECT * FROM ${name} ${name === 'bins' ? `WHERE ${LEFT_OUT.bins}` : ''}`);
    for (const row of rows) for (const column of LEFT_OUT[name] ?? []) delete row[column];
    contents[name] = rows.map((row) => JSON.stringify(row)).sort();
  }
  expected('schema-1.rows.json', contents);
});

test('and the metrics', async () => {
  const response = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
  const lines = (await response.text()).split('\n').filter((line) => !TIMED.test(line));
  expected('schema-1.metrics.json', { lines: lines.sort() });
});

test('and every table of the dashboard', async () => {
  const { get, logIn } = client(worker.url);
  const cookie = await logIn('d');
  const found = {};
  const table = async (path) => {
    const response = await get(path, { cookie });
    assert.equal(response.status, 200, path);
    found[path] = (await response.text()).split('\r\n');
  };
  const window = `from=${days.first}&to=${days.last}`;
  for (const more of ['', '&tier=full', '&project=platform%2Fgateway']) {
    for (const [page, tables] of Object.entries(PAGES)) for (const id of tables) await table(`${page}?csv=${id}&${window}${more}`);
  }
  for (const run of runs) for (const id of ['sessions', 'findings']) await table(`/runs/${run}?csv=${id}`);
  for (const id of ['incidents', 'settled']) await table(`/runs/${runs[0]}?csv=${id}`);
  expected('schema-1.dashboard.json', found);
});
