// 100,000 projects, and names made up by a token's holder: reads stay bounded, and events are still counted.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { client } from '../support/dashboard.mjs';
import { event, finding, send } from '../support/events.mjs';
import { databaseFile } from '../support/seed/bulk.mjs';
import { start } from '../support/workerd.mjs';

const PROJECTS = 100_000;
const NAMES = 300;
const CROSSED = 60;
const DAY = 86_400_000;
const today = Math.floor(Date.now() / DAY);
const monday = today - ((today + 3) % 7);

let worker;
let database;
let site;
let cookie;
const persist = mkdtempSync(join(tmpdir(), 'conclave-projects-'));
before(async () => {
  // By SQLite itself, before there is a Worker: some 500,000 rows.
  const file = new DatabaseSync(await databaseFile(persist));
  file.exec('PRAGMA synchronous = OFF; BEGIN');
  const fill = (count, sql) => file.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) ${sql}`);
  const project = `printf('group-%03d/project-%06d', i % 500, i)`;
  // One review of each, as ingest would have written it.
  fill(PROJECTS, `INSERT INTO names (kind, name, rank) SELECT 'project', ${project}, i FROM n`);
  fill(
    PROJECTS,
    `INSERT INTO runs (run_id, project, at_ms, tier, verdict, completed_ms, duration_ms, cost_usd, files, critical, warning, suggestion)
     SELECT printf('01900000-0000-7000-8000-%012x', i), ${project}, ${today * DAY} - i * 1000, 'full', 'approved', ${today * DAY} - i * 1000, 60000, 1, 1, 0, 0, 0 FROM n`,
  );
  const sums = (where, count) => `INSERT INTO daily_runs (project, day, tier, verdict, runs, duration_ms, cost_usd, input, cache_read, critical, warning, suggestion, degraded)
    SELECT ${where}, 'full', 'approved', ${count}, 60000.0 * ${count}, ${count}, 10, 90, 0, 0, 0, 0`;
  fill(PROJECTS, `${sums(`${project}, ${today - 1}`, 1)} FROM n`);
  file.exec(sums(`'*', ${today - 1}`, PROJECTS));
  file.exec(sums(`'*', 0`, PROJECTS));
  fill(PROJECTS, `INSERT INTO hot_files SELECT ${project}, '*', ${monday - 7}, ${project}, 'src/main.rs', 1, 0, 1, 0 FROM n`);
  // The worst that a token can do to what all projects share: every name that is distinguished, in many combinations.
  const crossed = (select) =>
    fill(NAMES, `${select} FROM n CROSS JOIN (SELECT i AS k FROM n WHERE i <= ${CROSSED}) CROSS JOIN (SELECT column1 AS day FROM (VALUES (0), (${today - 1})))`);
  fill(NAMES, `INSERT INTO names (kind, name, rank) SELECT 'reviewer', 'made-up-' || i, i FROM n`);
  fill(NAMES, `INSERT INTO names (kind, name, rank) SELECT 'model', 'p/made-up-' || i, i FROM n`);
  crossed(`INSERT INTO daily_usage SELECT '*', day, '', 'p/made-up-' || i, 'made-up-' || k, 1, 1, 1, 1, 1, 1, 0.5`);
  crossed(`INSERT INTO daily_counts SELECT '*', 'failback', day, '', 'p/made-up-' || i, 'p/made-up-' || k, 'failed', 1`);
  crossed(`INSERT INTO daily_counts SELECT '*', 'category', day, '', 'made-up-' || i, 'category-' || k, 'warning', 1`);
  fill(NAMES, `INSERT INTO daily_counts SELECT '*', 'finding', 0, '', 'made-up-' || i, 'warning', 'kept', 1 FROM n`);
  file.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  file.close();
  worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't', DASHBOARD_TOKENS: 'd', METRICS_TOKENS: 'm' }, persist });
  database = await worker.mf.getD1Database('DB');
  site = client(worker.url);
  cookie = await site.logIn('d');
}, { timeout: 180_000 });
after(async () => {
  await worker?.dispose();
  rmSync(persist, { recursive: true, force: true });
});

const scrape = async () => {
  const response = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
  assert.equal(response.status, 200);
  return response.text();
};

test('every page is there, of a bounded size, and one project among them is found', { timeout: 120_000 }, async () => {
  for (const path of ['/', '/findings', '/models', '/runs', '/health']) {
    const html = await site.text(path, cookie);
    assert.ok(html.length < 600_000, `${path} has ${html.length} characters`);
    assert.equal(html.match(/<option value="group-/g).length, 200, 'so many are offered, others can be typed');
  }
  const figure = (html, name) => new RegExp(`<dt>${name}</dt><dd><strong>([^<]+)</strong>`).exec(html)[1];
  assert.equal(figure(await site.text('/', cookie), 'Reviews'), '100,000');
  const one = 'group-499/project-099999';
  assert.equal(figure(await site.text(`/?project=${encodeURIComponent(one)}`, cookie), 'Reviews'), '1');
  assert.match(await site.text('/runs?q=project-099999', cookie), /project-099999/);
});

test('Prometheus is given as many series as with two projects, whatever the names', { timeout: 120_000 }, async () => {
  const text = await scrape();
  assert.doesNotMatch(text, /group-/, 'projects are no label');
  assert.ok(text.split('\n').length < 4_000, `${text.split('\n').length} lines`);
  const other = (family) => Number(new RegExp(`^${family}\\{[^}]*other[^}]*\\} ([0-9.]+)$`, 'm').exec(text)[1]);
  assert.ok(other('conclave_tokens_total') > 0 && other('conclave_failbacks_total') > 0, 'what has no series of its own is in `other`');
});

test('an event of the next project is counted as its own', async () => {
  const project = 'the/next-one';
  await send(worker.url, 't', [event(finding(), { project })]);
  const { rank } = await database.prepare(`SELECT rank FROM names WHERE kind = 'project' AND name = ?`).bind(project).first();
  assert.equal(rank, PROJECTS + 1);
  const { findings } = await database.prepare('SELECT findings FROM daily_findings WHERE project = ?').bind(project).first();
  assert.equal(findings, 1);
});

test('the cron takes more projects in a step when there are more, so that each has its turn while its files are looked at', { timeout: 120_000 }, async () => {
  const cron = async () => (await worker.mf.getWorker()).scheduled({ cron: '*/5 * * * *' });
  const at = async () => (await database.prepare(`SELECT position FROM chores WHERE name = 'compact'`).first())?.position ?? 0;
  // The cron also logs the metrics; a log of thousands of series is more than Miniflare takes from a Worker at once.
  await database.prepare('DELETE FROM daily_usage').run();
  await cron();
  const first = await at();
  await cron();
  const second = await at();
  assert.ok(first >= PROJECTS / 1000 && second === 2 * first, `${first}, then ${second}`);
});
