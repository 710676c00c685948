// Migrations: on an empty database, on a filled one, and what a database without tables is answered with.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { completed, event, finding, send } from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { applyMigrations, migrations, root, start } from '../support/workerd.mjs';

const vars = { INGEST_TOKENS: 'i', METRICS_TOKENS: 'm', DASHBOARD_TOKENS: 'd' };
const persist = mkdtempSync(join(tmpdir(), 'conclave-migrations-'));
after(() => rmSync(persist, { recursive: true, force: true }));

const wrangler = (...words) =>
  promisify(execFile)(process.execPath, [join(root, 'node_modules/wrangler/bin/wrangler.js'), ...words], {
    cwd: root,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: '1' },
  });

test('without tables every answer says what to run', async () => {
  const worker = await start('review-tracker', { vars, migrate: false });
  try {
    const post = await fetch(`${worker.url}/v1/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer i', 'content-type': 'application/json' },
      body: JSON.stringify({ events: [event(finding())] }),
    });
    const problem = await assertProblem(post, 503, 'not-configured');
    assert.match(problem.detail, /wrangler d1 migrations apply/);
    const metrics = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
    await assertProblem(metrics, 503, 'not-configured');
    const login = await fetch(`${worker.url}/login`, { method: 'POST', body: new URLSearchParams({ token: 'd' }), redirect: 'manual' });
    const cookie = login.headers.get('set-cookie').split(';')[0];
    const page = await fetch(worker.url, { headers: { cookie } });
    assert.equal(page.status, 503);
    assert.match(page.headers.get('content-type'), /^text\/html/);
    assert.match(await page.text(), /wrangler d1 migrations apply/);
  } finally {
    await worker.dispose();
  }
});

test('what wrangler applies is what the Worker needs, and a filled database keeps its rows', async () => {
  await wrangler('d1', 'migrations', 'apply', 'review-tracker', '--local', '-e', 'review-tracker', '--persist-to', persist);
  const first = await start('review-tracker', { vars, persist, migrate: false });
  await send(first.url, 'i', [event(completed()), event(finding())]);
  await first.dispose();

  const { stdout } = await wrangler(
    'd1', 'migrations', 'apply', 'review-tracker', '--local', '-e', 'review-tracker', '--persist-to', persist,
  );
  assert.match(stdout, /No migrations to apply/);

  const second = await start('review-tracker', { vars, persist });
  try {
    const database = await second.mf.getD1Database('DB');
    assert.equal((await database.prepare('SELECT count(*) AS n FROM events').first()).n, 2);
    const { results } = await database.prepare('SELECT name FROM d1_migrations ORDER BY id').all();
    assert.deepEqual(results.map(({ name }) => name), migrations('review-tracker').map(({ name }) => name));
  } finally {
    await second.dispose();
  }
});

test('a later migration that fails leaves nothing behind', async () => {
  const worker = await start('review-tracker', { vars });
  try {
    const database = await worker.mf.getD1Database('DB');
    await send(worker.url, 'i', [event(completed())]);
    const broken = { name: '9999_broken.sql', sql: 'CREATE TABLE extra (x);\nINSERT INTO nowhere VALUES (1);' };
    await assert.rejects(applyMigrations(database, [broken]), /nowhere/);
    const { results } = await database.prepare(`SELECT name FROM sqlite_master WHERE name = 'extra'`).all();
    assert.deepEqual(results, []);
    assert.equal((await database.prepare('SELECT count(*) AS n FROM runs').first()).n, 1);
  } finally {
    await worker.dispose();
  }
});
