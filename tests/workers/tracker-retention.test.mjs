// Retention: what is deleted, what stays, and that the sums stay what they were.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  breakGlass,
  circuit,
  completed,
  event,
  failback,
  finding,
  outcome,
  send,
  session,
  started,
  uuid7,
} from '../support/events.mjs';
import { start } from '../support/workerd.mjs';

const DAY = 86_400_000;
const RAW = ['events', 'runs', 'sessions', 'usage', 'findings', 'circuits', 'failbacks', 'glasses', 'outcomes'];
const ROLLUPS = ['daily_runs', 'daily_counts', 'daily_usage', 'merge_requests', 'names'];

let worker;
let database;
const rows = async (sql) => (await database.prepare(sql).all()).results;
const count = async (table, where = '1') => (await rows(`SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0].n;
/** Runs the cron trigger as the runtime would. */
const cron = async (of = worker) => (await of.mf.getWorker()).scheduled({ cron: '*/5 * * * *' });

/** A run with something in every table, so many days ago. */
function wholeRun(days, project) {
  const run = uuid7();
  const at = Date.now() - days * DAY;
  const make = (body) => event(body, { run, project, at });
  return [started(), completed(), session(), finding(), circuit(), failback(), outcome()]
    .map(make)
    .concat(event(breakGlass(), { project, at }));
}

before(async () => {
  worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't', RETENTION_DAYS: '30' } });
  database = await worker.mf.getD1Database('DB');
});
after(() => worker.dispose());

describe('what is older than RETENTION_DAYS', () => {
  test('raw rows go, newer ones and all rollups stay', async () => {
    await send(worker.url, 't', [...wholeRun(29.9, 'keep/old'), ...wholeRun(1, 'keep/new')]);
    const before = Object.fromEntries(await Promise.all(RAW.map(async (table) => [table, await count(table)])));
    const rollups = await Promise.all(ROLLUPS.map((table) => rows(`SELECT * FROM ${table}`)));
    await cron();
    for (const table of RAW) assert.equal(await count(table), before[table], `${table} is not old enough`);

    // As if three days had gone by.
    const moved = 3 * DAY;
    for (const table of RAW.filter((name) => !['usage'].includes(name))) {
      await database.prepare(`UPDATE ${table} SET at_ms = at_ms - ${moved}`).run();
    }
    await cron();
    for (const table of RAW) assert.equal(await count(table), before[table] / 2, table);
    assert.equal(await count('runs', `project = 'keep/old'`), 0);
    assert.deepEqual(await Promise.all(ROLLUPS.map((table) => rows(`SELECT * FROM ${table}`))), rollups);
  });

  test('is not taken any more, because it could count a second time', async () => {
    const response = await fetch(`${worker.url}/v1/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: JSON.stringify({ events: [event(finding(), { at: Date.now() - 31 * DAY }), event(finding())] }),
    });
    const answer = await response.json();
    assert.deepEqual([response.status, answer.accepted, answer.rejected[0].index], [207, 1, 0]);
    assert.match(answer.rejected[0].detail, /at_ms.*older/);
  });

  test('is deleted in steps, and the next trigger goes on', async () => {
    const project = 'steps/project';
    const old = Date.now() - 60 * DAY;
    await database
      .prepare(
        `INSERT INTO runs (run_id, project, at_ms) SELECT 'old-' || value, '${project}', ${old}
         FROM generate_series(1, 5000)`,
      )
      .run()
      .catch(() =>
        database
          .prepare(
            `WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 5000)
             INSERT INTO runs (run_id, project, at_ms) SELECT 'old-' || value, '${project}', ${old} FROM n`,
          )
          .run(),
      );
    await cron();
    const left = await count('runs', `project = '${project}'`);
    assert.ok(left > 0 && left < 5000, `${left} are left`);
    for (let more = 0; more < 5; more += 1) await cron();
    assert.equal(await count('runs', `project = '${project}'`), 0);
  });
});

test('many rows on old runs and all possible names keep the trigger short', { timeout: 240_000 }, async () => {
  const other = await start('review-tracker', { vars: { METRICS_TOKENS: 'm' } });
  try {
    const tables = await other.mf.getD1Database('DB');
    const make = (sql) => tables.prepare(`WITH RECURSIVE n(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v < 299),
      k(p) AS (SELECT 0 UNION ALL SELECT p + 1 FROM k WHERE p < 299) ${sql}`).run();
    const old = Date.now() - 200 * DAY;
    await make(`INSERT INTO runs (run_id, project, at_ms) SELECT 'old-' || v, 'p', ${old} FROM n`);
    for (const part of [1, 2, 3]) {
      await make(`INSERT INTO usage SELECT 'e${part}-' || v, p, 'old-' || v, 'security', 'anthropic/a', 1, 1, 1, 1, 1, 1, 1 FROM n CROSS JOIN k`);
    }
    await make(`INSERT INTO names (kind, name, rank) SELECT 'model', 'provider/model-' || v, v + 1 FROM n`);
    await make(`INSERT INTO names (kind, name, rank) SELECT 'reviewer', 'agent-' || v, v + 1 FROM n`);
    await make(`INSERT INTO daily_usage SELECT '*', 0, '', 'provider/model-' || v, 'agent-' || p, 1, 2, 1, 1, 1, 1, 0.5 FROM n CROSS JOIN k`);
    const usage = async () => (await tables.prepare('SELECT count(*) AS n FROM usage').first()).n;
    const before = await usage();
    await cron(other);
    const gone = before - (await usage());
    assert.ok(gone > 0 && gone <= 60_000, `${gone} of ${before} rows went in one go`);
    let turns = 1;
    for (; (await tables.prepare('SELECT count(*) AS n FROM runs').first()).n > 0; turns += 1) {
      assert.ok(turns < 60, `${await usage()} rows are left after ${turns} turns`);
      await cron(other);
    }
    assert.equal(await usage(), 0);
    // Names with a series are distinguished, and together they have the sum of everything.
    const text = await (await fetch(`${other.url}/metrics`, { headers: { authorization: 'Bearer m' } })).text();
    const inputs = [...text.matchAll(/^conclave_tokens_total\{model="([^"]+)",agent="([^"]+)",kind="input"\} (\d+)$/gm)];
    assert.equal(inputs.reduce((sum, [, , , value]) => sum + Number(value), 0), 300 * 300 * 2);
    assert.ok(inputs.length <= 31 * 31, `${inputs.length} series`);
    assert.ok(inputs.some(([, model]) => model === 'other') && inputs.some(([, model]) => model === 'provider/model-0'));
  } finally {
    await other.dispose();
  }
});

describe('what is over', () => {
  test('distributions of old days stay as weeks, and sums over a window of weeks stay the same', async () => {
    await send(worker.url, 't', wholeRun(2, 'weeks/project'));
    // As if it had been ten weeks ago.
    await database.prepare(`UPDATE bins SET start = start - 70 WHERE span > 0 AND project IN ('*', 'weeks/project')`).run();
    const weeks = await rows(`SELECT * FROM bins WHERE span = 7 ORDER BY project, metric, start, tier, bin`);
    assert.ok((await count('bins', `project = 'weeks/project' AND span = 1`)) > 0);
    for (let more = 0; more < 3; more += 1) await cron();
    assert.equal(await count('bins', `project IN ('*', 'weeks/project') AND span = 1`), 0);
    assert.deepEqual(await rows(`SELECT * FROM bins WHERE span = 7 ORDER BY project, metric, start, tier, bin`), weeks);
  });

  test('of a week that is over the hottest files stay', async () => {
    const day = Math.floor(Date.now() / DAY) - 7;
    const week = day - ((day + 3) % 7);
    await database
      .prepare(
        `WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 300)
         INSERT INTO hot_files SELECT grain, tier, ${week}, 'hot/project', 'src/' || value || '.rs', value, 0, 0, value
         FROM n CROSS JOIN (SELECT column1 AS grain FROM (VALUES ('*'), ('hot/project')))
         CROSS JOIN (SELECT column1 AS tier FROM (VALUES ('*'), ('lite')))`,
      )
      .run();
    await send(worker.url, 't', [event(finding(), { project: 'hot/project' })]);
    for (let more = 0; more < 3; more += 1) await cron();
    for (const grain of ['*', 'hot/project']) {
      for (const tier of ['*', 'lite']) {
        const [{ n, least }] = await rows(
          `SELECT count(*) AS n, min(findings) AS least FROM hot_files WHERE grain = '${grain}' AND tier = '${tier}' AND week = ${week} AND project = 'hot/project'`,
        );
        assert.deepEqual([n, least], [200, 101], `${grain} ${tier}`);
      }
    }
    assert.equal(await count('hot_files', `grain = 'hot/project' AND week > ${week}`), 1, 'this week is not over');
  });
});

test('a retention that makes no sense deletes nothing', async () => {
  const other = await start('review-tracker', { vars: { INGEST_TOKENS: 't', RETENTION_DAYS: '3 weeks' } });
  try {
    await send(other.url, 't', [event(finding(), { at: Date.now() - 200 * DAY })]);
    await cron(other);
    const other_database = await other.mf.getD1Database('DB');
    assert.equal((await other_database.prepare('SELECT count(*) AS n FROM events').first()).n, 1);
  } finally {
    await other.dispose();
  }
});
