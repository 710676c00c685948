// The bulk path of scripts/seed-demo-data: what it writes is what ingest writes, table by table.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { settled } from '../support/events.mjs';
import { fill } from '../support/seed/bulk.mjs';
import { seedEvents } from '../support/seed/events.mjs';
import { sendAll } from '../support/seed/send.mjs';
import { root, start } from '../support/workerd.mjs';

const program = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug/examples/event_rows');
const directories = [];
const directory = () => {
  directories.push(mkdtempSync(join(tmpdir(), 'conclave-seed-')));
  return directories.at(-1);
};
before(() => promisify(execFile)('cargo', ['build', '--quiet', '--locked', '--package', 'review-tracker', '--example', 'event_rows'], { cwd: root }));
after(() => directories.forEach((one) => rmSync(one, { recursive: true, force: true })));

/** Columns that depend only on when or in which order a row was written. */
const LEFT_OUT = {
  events: ['received_ms'],
  // In the order in which they were first seen, which is another one with other batches.
  names: ['position', 'rank', 'project'],
  memory: ['position'],
};

const groups = () => [...seedEvents({ size: 0.0015, now: Math.floor(Date.now() / 86_400_000) * 86_400_000, seed: 4 })];

/** All rows of all tables, in an order of their own; sums of fractions as far as their order does not show. */
async function contents(worker) {
  const database = await worker.mf.getD1Database('DB');
  const all = async (sql) => (await database.prepare(sql).all()).results;
  const tables = await all(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*' AND name <> 'd1_migrations' ORDER BY 1`);
  const contents = {};
  for (const { name } of tables) {
    const rows = await all(`SELECT * FROM ${name} ${name === 'bins' ? "WHERE metric <> 'lag_ms'" : ''}`);
    contents[name] = rows
      .map((row) => {
        for (const column of LEFT_OUT[name] ?? []) delete row[column];
        return JSON.stringify(row, (_, value) => (typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(9)) : value));
      })
      .sort();
  }
  return contents;
}

test('the bulk path writes the rows that ingest writes, in all tables, and a second time nothing', { timeout: 240_000 }, async () => {
  const persist = directory();
  const events = groups().flat().length;
  assert.equal(await fill(persist, groups(), { program }), events);
  assert.equal(await fill(persist, groups(), { program }), 0, 'the same once more');
  const [bulk, ingest] = await Promise.all([
    start('review-tracker', { persist }),
    start('review-tracker', { vars: { INGEST_TOKENS: 't', OUTBOX_FLUSH_MS: '200' } }),
  ]);
  try {
    // One after another, as the events of one project come: then a run's tier is known before the rest of it.
    await sendAll(ingest.url, 't', groups(), { clients: 1 });
    await settled(ingest.url, { within: 120_000 });
    const [one, other] = await Promise.all([contents(bulk), contents(ingest)]);
    assert.deepEqual(Object.keys(one), Object.keys(other));
    for (const [table, rows] of Object.entries(other)) assert.deepEqual(one[table], rows, table);
    for (const table of ['events', 'runs', 'sessions', 'usage', 'findings', 'outcomes', 'daily_runs', 'daily_counts', 'daily_usage', 'daily_metrics', 'bins', 'hot_files', 'merge_requests', 'names']) {
      assert.ok(one[table].length > 10, `${table} is filled`);
    }
    assert.deepEqual(one.memory, [], 'nothing proves made-up outcomes, so they teach nothing; what does is in tracker-proof.test.mjs');
    const database = await bulk.mf.getD1Database('DB');
    const skipped = await database.prepare('SELECT count(*) AS n, count(verdict) AS verdicts, count(tier) AS tiers FROM runs WHERE skipped = 1').first();
    assert.deepEqual([skipped.verdicts, skipped.tiers], [0, 0], 'a review that was skipped has neither verdict nor tier');
    assert.equal(skipped.n, (await database.prepare('SELECT count(*) AS n FROM glasses').first()).n);
  } finally {
    await Promise.all([bulk.dispose(), ingest.dispose()]);
  }
});

test('a directory that has some of the events is refused, and stays as it was', async () => {
  const persist = directory();
  const all = groups();
  const half = all.slice(Math.floor(all.length / 2));
  assert.equal(await fill(persist, half, { program }), half.flat().length);
  await assert.rejects(fill(persist, all, { program }), /has some of these events already/);
  const worker = await start('review-tracker', { persist });
  try {
    const database = await worker.mf.getD1Database('DB');
    assert.equal((await database.prepare('SELECT count(*) AS n FROM events').first()).n, half.flat().length);
  } finally {
    await worker.dispose();
  }
});
