// Migrations: on an empty database, on a filled one, and what a database without tables is answered with.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
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
  tokens,
  uuid7,
  verdict,
} from '../support/events.mjs';
import { client } from '../support/dashboard.mjs';
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

test('without tables every page says what to run, and events wait until there are some', async () => {
  const worker = await start('review-tracker', { vars: { ...vars, OUTBOX_RETRY_MS: '20' }, migrate: false });
  try {
    const post = await fetch(`${worker.url}/v1/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer i', 'content-type': 'application/json' },
      body: JSON.stringify({ events: [event(finding())] }),
    });
    assert.equal(post.status, 202);
    const metrics = await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
    await assertProblem(metrics, 503, 'not-configured');
    const login = await fetch(`${worker.url}/login`, {
      method: 'POST',
      body: new URLSearchParams({ token: 'd' }),
      headers: { origin: worker.url },
      redirect: 'manual',
    });
    const cookie = login.headers.get('set-cookie').split(';')[0];
    const page = await fetch(worker.url, { headers: { cookie } });
    assert.equal(page.status, 503);
    assert.match(page.headers.get('content-type'), /^text\/html/);
    assert.match(await page.text(), /wrangler d1 migrations apply/);

    const waiting = await settled(worker.url, { until: ({ fault }) => fault !== null });
    assert.match(waiting.fault, /no such table/);
    assert.equal(waiting.dead, 0, 'it is not the fault of the batch');
    const database = await worker.mf.getD1Database('DB');
    await applyMigrations(database, migrations('review-tracker'));
    assert.equal((await settled(worker.url)).fault, null);
    assert.equal((await database.prepare('SELECT count(*) AS n FROM findings').first()).n, 1);
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

test('a database that the first version filled keeps everything, and its rollups are what they would be today', async () => {
  const [first, ...later] = migrations('review-tracker');
  const events = filledByTheFirstVersion();
  const upgraded = await start('review-tracker', { vars, migrate: false });
  const fresh = await start('review-tracker', { vars });
  try {
    const database = await upgraded.mf.getD1Database('DB');
    await applyMigrations(database, [first]);
    await fill(database, events);
    await applyMigrations(database, [first, ...later]);
    await send(fresh.url, 'i', events);
    const today = await fresh.mf.getD1Database('DB');
    for (const [what, sql] of Object.entries(COMPARED)) {
      const [old, expected] = await Promise.all([database, today].map(async (one) => (await one.prepare(sql).all()).results));
      assert.ok(expected.length > 0, what);
      assert.deepEqual(old, expected, what);
    }
    for (const [what, sql] of Object.entries(WITH_TIERS)) {
      const [old, expected] = await Promise.all([database, today].map(async (one) => (await one.prepare(sql).all()).results));
      assert.ok(expected.some(({ tier }) => tier === 'full'), what);
      assert.deepEqual(old, expected, `${what} by tier`);
    }
    const kept = await database.prepare(`SELECT count(*) AS n FROM events WHERE body LIKE '%alice%'`).first();
    assert.equal(kept.n, 0, 'names of people are gone');
    // What is sent again is still known.
    await send(upgraded.url, 'i', events);
    assert.deepEqual((await database.prepare(COMPARED.daily_counts).all()).results, (await today.prepare(COMPARED.daily_counts).all()).results);
  } finally {
    await upgraded.dispose();
    await fresh.dispose();
  }
});

test('a project that was stored in several spellings is one afterwards, with the sums of all', async () => {
  const all = migrations('review-tracker');
  const worker = await start('review-tracker', { vars, migrate: false });
  const twin = await start('review-tracker', { vars });
  try {
    const database = await worker.mf.getD1Database('DB');
    const today = await twin.mf.getD1Database('DB');
    // And 0010, without which this version cannot write; it has nothing to do with spellings.
    await applyMigrations(database, all.filter(({ name }) => name < '0008' || name.startsWith('0010')));
    // The same events, each sent under a name of its own here and under one name there.
    const names = ['x/plain', 'group/shop', 'group/other-spelling', 'group/third-spelling'];
    const spellings = { 'group/other-spelling': 'GROUP/shop', 'group/third-spelling': 'Group/Shop' };
    const events = names.flatMap((project, index) =>
      [started(), completed({ cost_usd: index + 1 }), finding(), session(), failback(), circuit(), breakGlass(), metrics(), outcome({ outcome: 'rejected', fingerprint: 'same' })].map((body) =>
        event(body, { project, at: Date.now() - 3_600_000 }),
      ),
    );
    await send(worker.url, 'i', events);
    await send(twin.url, 'i', events.map((each) => ({ ...each, project: spellings[each.project] ?? each.project })));
    const tables = (await database.prepare(`SELECT m.name, c.name AS column FROM sqlite_master AS m, pragma_table_info(m.name) AS c
      WHERE m.type = 'table' AND c.name IN ('project', 'grain') AND m.name NOT GLOB '_cf*'`).all()).results;
    assert.ok(tables.length >= 15, JSON.stringify(tables));
    await database.batch(
      Object.entries(spellings).flatMap(([from, to]) =>
        [...tables, { name: 'names', column: 'name' }].map(({ name, column }) => database.prepare(`UPDATE ${name} SET ${column} = ? WHERE ${column} = ?`).bind(to, from)),
      ),
    );
    const memory = (project, outcome, fingerprint, at_ms, proven) =>
      database
        .prepare(`INSERT INTO memory (project, outcome, merge_request, fingerprint, category, path, at_ms, proven) VALUES (?, ?, 7, ?, 'c', 'p', ?, ?)`)
        .bind(project, outcome, fingerprint, at_ms, proven);
    const cleared = (project, fingerprint, at_ms) => database.prepare(`INSERT INTO memory_cleared VALUES (?, ?, ?, 'ada')`).bind(project, fingerprint, at_ms);
    await database.batch([
      memory('group/shop', 'rejected', 'twice', 5, 0),
      memory('GROUP/shop', 'rejected', 'twice', 6, 1),
      memory('Group/Shop', 'fixed', 'gone', 6, 1),
      memory('group/shop', 'rejected', 'gone', 6, 1),
      memory('x/plain', 'rejected', 'gone', 6, 1),
      cleared('Group/Shop', 'gone', 6),
      cleared('GROUP/shop', 'gone', 5),
      cleared('Never/Heard', '', 9),
    ]);
    await applyMigrations(database, all);

    const rows = async (one, sql) => (await one.prepare(sql).all()).results;
    for (const [what, sql] of Object.entries({
      ...COMPARED,
      // The number of new merge requests stays what it was: each spelling had a first one.
      daily_counts: COMPARED.daily_counts.replace("('reason', 'placement')", "('merge_request', 'mr_review')"),
      daily_metrics: 'SELECT project, day, tier, name, n, total, largest FROM daily_metrics ORDER BY 1, 2, 3, 4',
      daily_projects: 'SELECT * FROM daily_projects ORDER BY day, project, tier',
      outcomes: 'SELECT project, event_id FROM outcomes ORDER BY 2',
      events: 'SELECT project, id FROM events ORDER BY 2',
      names: `SELECT name FROM names WHERE kind = 'project' ORDER BY 1`,
    })) {
      const [there, expected] = await Promise.all([rows(database, sql), rows(today, sql)]);
      assert.ok(expected.length > 0, what);
      assert.deepEqual(there, expected, what);
    }
    assert.deepEqual(await rows(database, `SELECT project, outcome, fingerprint, proven FROM memory WHERE merge_request = 7 AND path = 'p' ORDER BY 1, 2, 3`), [
      { project: 'group/shop', outcome: 'fixed', fingerprint: 'gone', proven: 1 },
      { project: 'group/shop', outcome: 'rejected', fingerprint: 'twice', proven: 1 },
      { project: 'x/plain', outcome: 'rejected', fingerprint: 'gone', proven: 1 },
    ]);
    assert.deepEqual(await rows(database, 'SELECT project, fingerprint, at_ms FROM memory_cleared ORDER BY 1, 2'), [
      { project: 'group/shop', fingerprint: 'gone', at_ms: 6 },
      { project: 'never/heard', fingerprint: '', at_ms: 9 },
    ]);
  } finally {
    await worker.dispose();
    await twin.dispose();
  }
});

test('what was counted before tiers were kept stays in every sum, and a filter by tier says what it leaves out', async () => {
  const all = migrations('review-tracker');
  const before = all.filter(({ name }) => name < '0004');
  const worker = await start('review-tracker', { vars, migrate: false });
  try {
    const database = await worker.mf.getD1Database('DB');
    await applyMigrations(database, before);
    const day = Math.floor(Date.now() / 86_400_000) - 1;
    const monday = day - ((day + 3) % 7);
    // As the version before wrote it: grains, and no tier.
    const grains = [['old/one', day], ['*', day], ['*', 0]];
    const add = (sql, ...values) => database.prepare(sql).bind(...values);
    await database.batch(
      grains
        .flatMap(([project, at]) => [
          add(`INSERT INTO daily_counts VALUES (?, 'event', ?, 'finding', '', '', 40)`, project, at),
          add(`INSERT INTO daily_counts VALUES (?, 'event', ?, 'break_glass', '', '', 2)`, project, at),
          add(`INSERT INTO daily_counts VALUES (?, 'finding', ?, 'security', 'warning', 'kept', 40)`, project, at),
          add(`INSERT INTO daily_usage VALUES (?, ?, 'openai/gpt-6-sol', 'security', 9, 100, 50, 5, 900, 10, 1.25)`, project, at),
          add(`INSERT INTO daily_metrics VALUES (?, ?, 'stage_diff_ms', 4, 100, 70)`, project, at),
        ])
        .concat([
          add(`INSERT INTO names (kind, name, rank) VALUES ('project', 'old/one', 1)`),
          ...['*', 'old/one'].map((grain) => add(`INSERT INTO hot_files VALUES (?, ?, 'old/one', 'src/old.rs', 40, 0, 40, 0)`, grain, monday)),
        ]),
    );
    await applyMigrations(database, all);
    const run = uuid7();
    const make = (body) => event(body, { run, project: 'old/one', at: Date.now() - 86_400_000 });
    await send(worker.url, 'i', [make(started({ tier: 'lite' })), make(finding({ path: 'src/new.rs' })), make(finding({ path: 'src/old.rs' })), make(session())]);

    const site = client(worker.url);
    const cookie = await site.logIn('d');
    const figure = (html, name) => new RegExp(`<dt>${name}</dt><dd><strong>([^<]+)</strong>`).exec(html)[1];
    const [everything, lite, full] = await Promise.all(['', '?tier=lite', '?tier=full'].map((query) => site.text(`/findings${query}`, cookie)));
    assert.deepEqual([everything, lite, full].map((html) => figure(html, 'Reported')), ['42', '2', '0']);
    assert.doesNotMatch(everything, /Left out/);
    for (const html of [lite, full]) assert.match(html, /Left out: 40 events of reviews whose tier is not known/, 'and skipped reviews are missing nowhere');
    const hot = (html) => [...html.matchAll(/<span class="file">([^<]*(?:<wbr>[^<]*)*)<\/span>/g)].map(([, path]) => path.replaceAll('<wbr>', ''));
    assert.deepEqual(hot(everything), ['src/old.rs', 'src/new.rs']);
    assert.deepEqual(hot(lite), ['src/new.rs', 'src/old.rs']);
    assert.deepEqual(hot(full), []);
    const models = await Promise.all(['/models', '/models?tier=lite', '/models?tier=full'].map((path) => site.text(path, cookie)));
    assert.deepEqual(models.map((html) => figure(html, 'Cost')), ['$1.65', '$0.40', '$0.00']);
    assert.match(await site.text('/health', cookie), /stage_diff_ms/);
    const rows = await database.prepare(`SELECT tier, n FROM daily_counts WHERE project = '*' AND day = 0 AND kind = 'finding'`).all();
    assert.deepEqual(rows.results, [{ tier: '', n: 42 }], 'of all time no tier is kept');
  } finally {
    await worker.dispose();
  }
});

const COMPARED = {
  daily_runs: 'SELECT * FROM daily_runs ORDER BY project, day, tier, verdict',
  // Nor tiers: only what is added up over all of them can be the same.
  daily_usage: `SELECT project, day, model, reviewer, sum(calls) AS calls, sum(input) AS input, sum(output) AS output,
    sum(reasoning) AS reasoning, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(cost_usd) AS cost_usd
    FROM daily_usage GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
  // The first version did not keep why and where; how long events waited is not known.
  daily_counts: `SELECT project, kind, day, a, b, c, sum(n) AS n FROM daily_counts WHERE kind NOT IN ('reason', 'placement')
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`,
  bins: `SELECT * FROM bins WHERE metric <> 'lag_ms' ORDER BY project, metric, span, start, tier, bin`,
  hot_files: `SELECT * FROM hot_files WHERE tier = '*' ORDER BY grain, week, project, path`,
  merge_requests: 'SELECT * FROM merge_requests ORDER BY project, merge_request',
  runs: 'SELECT * FROM runs ORDER BY run_id',
  sessions: 'SELECT event_id, run_id, started_ms, at_ms, duration_ms FROM sessions ORDER BY event_id',
  circuits: 'SELECT * FROM circuits ORDER BY event_id',
  failbacks: 'SELECT * FROM failbacks ORDER BY event_id',
  glasses: 'SELECT * FROM glasses ORDER BY event_id',
};

/** Tiers that are filled in from the raw rows, which do not have what clients dropped and when a merge request was first seen. */
const WITH_TIERS = {
  daily_counts: `SELECT * FROM daily_counts WHERE kind NOT IN ('reason', 'placement', 'dropped', 'merge_request') ORDER BY project, kind, day, tier, a, b, c`,
  daily_usage: 'SELECT * FROM daily_usage ORDER BY project, day, tier, model, reviewer',
  daily_projects: 'SELECT * FROM daily_projects ORDER BY day, project, tier',
  hot_files: 'SELECT * FROM hot_files ORDER BY grain, tier, week, project, path',
};

/** Events that the first version took, over two weeks and two projects. */
function filledByTheFirstVersion() {
  const now = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  return ['old/one', 'old/two'].flatMap((project, place) =>
    [1, 2, 9].flatMap((days) => {
      const run = uuid7();
      const at = now - days * 86_400_000;
      const make = (body, more = 0) => event(body, { run, project, at: at + more });
      return [
        make(started({ merge_request: days })),
        make(completed({ merge_request: days, duration_ms: 60_000 * days, cost_usd: 0.25 * (place + 1) }), 60_000 * days),
        make(session({ usage: [{ model: 'anthropic/claude-sonnet-5', tokens: tokens(), cost_usd: 0.5, calls: 3 }] }), 50_000),
        make(finding({ path: `src/${days}.py` })),
        make(finding({ fate: 'dropped' })),
        make(circuit()),
        make(failback()),
        make(verdict({ merge_request: days })),
        make(dropped(days)),
        event(breakGlass({ user: 'alice', merge_request: 100 + days }), { project, at }),
      ];
    }),
  );
}

/** Writes events as the first version did: rows of its tables, and the sums of the rollups that it had. */
async function fill(database, events) {
  const statements = [];
  const add = (sql, ...values) => statements.push(database.prepare(sql).bind(...values));
  const bin = (value) => Math.ceil(Math.log(value) / Math.log(1.01 / 0.99));
  for (const { id, run_id, project, at_ms, event: body } of events) {
    add('INSERT INTO events VALUES (?, ?, ?, ?, 1, ?, ?, ?)', id, run_id, project, body.type, at_ms, at_ms, JSON.stringify(body));
    add('INSERT OR IGNORE INTO runs (run_id, project, at_ms) VALUES (?, ?, ?)', run_id, project, at_ms);
    add(`INSERT OR IGNORE INTO names (kind, name) VALUES ('project', ?)`, project);
    const grains = [[project, Math.floor(at_ms / 86_400_000)], ['*', Math.floor(at_ms / 86_400_000)], ['*', 0]];
    if (body.type === 'run_started') {
      add(
        'UPDATE runs SET tier = ?, forge = ?, merge_request = ?, client_version = ?, panel = ? WHERE run_id = ?',
        body.tier, body.forge, body.merge_request, body.client_version, JSON.stringify(body.reviewers), run_id,
      );
    } else if (body.type === 'run_completed') {
      const { tokens: used } = body;
      add(
        `UPDATE runs SET verdict = ?, completed_ms = ?, duration_ms = ?, cost_usd = ?, input = ?, output = ?, reasoning = ?,
         cache_read = ?, cache_write = ?, files = ?, lines = ?, filtered_files = ?, critical = ?, warning = ?, suggestion = ?,
         degraded = 0 WHERE run_id = ?`,
        body.verdict, at_ms, body.duration_ms, body.cost_usd, used.input, used.output, used.reasoning, used.cache_read,
        used.cache_write, body.files, body.lines, body.filtered_files, body.critical, body.warning, body.suggestion, run_id,
      );
      for (const [grain, day] of grains) {
        add(
          `INSERT INTO daily_runs VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET runs = runs + 1,
           duration_ms = duration_ms + excluded.duration_ms, cost_usd = cost_usd + excluded.cost_usd, input = input + excluded.input,
           cache_read = cache_read + excluded.cache_read, critical = critical + excluded.critical,
           warning = warning + excluded.warning, suggestion = suggestion + excluded.suggestion`,
          grain, day, body.tier, body.verdict, body.duration_ms, body.cost_usd, used.input, used.cache_read, body.critical,
          body.warning, body.suggestion,
        );
        for (const [metric, value] of [['duration_ms', body.duration_ms], ['cost_usd', body.cost_usd]]) {
          add('INSERT INTO daily_bins VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET runs = runs + 1', grain, metric, day, body.tier, bin(value));
        }
      }
    } else if (body.type === 'reviewer_completed') {
      add('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)', id, run_id, at_ms, body.reviewer, body.outcome, body.duration_ms, body.attempts, body.findings);
      for (const [position, { model, tokens: used, cost_usd: cost, calls }] of body.usage.entries()) {
        const figures = [calls, used.input, used.output, used.reasoning, used.cache_read, used.cache_write, cost];
        add('INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', id, position, run_id, body.reviewer, model, ...figures);
        for (const [grain, day] of grains) {
          add(
            `INSERT INTO daily_usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
             input = input + excluded.input, output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
             cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
             cost_usd = cost_usd + excluded.cost_usd`,
            grain, day, model, body.reviewer, ...figures,
          );
        }
      }
    } else if (body.type === 'finding') {
      add(
        'INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        id, run_id, at_ms, body.reviewer, body.severity, body.category, body.path, body.fingerprint, body.fate, null,
      );
      for (const [grain, day] of grains) {
        add('INSERT INTO daily_findings VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET findings = findings + 1', grain, day, body.reviewer, body.severity, body.fate);
      }
    } else if (body.type === 'telemetry_dropped') {
      for (const [grain, day] of grains) {
        add('INSERT INTO daily_dropped VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET events = events + excluded.events', grain, day, body.events);
      }
    }
  }
  await database.batch(statements);
}
