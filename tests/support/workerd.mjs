// Starts one of the two Workers in a real workerd, from what `worker-build` made, with the bindings of wrangler.toml.
//
// The Miniflare API rather than `wrangler dev`: it is ready in a fraction of a second, keeps every instance's storage
// apart, and blocks outbound requests. Nothing is built here; a missing build is an error, never a skipped test.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Log, LogLevel, Miniflare, Response, convertV4MiniflareOptions, fetch } from 'miniflare';
import { unstable_getMiniflareWorkerOptions, unstable_splitSqlQuery } from 'wrangler';

/** The repository. */
export const root = resolve(import.meta.dirname, '../..');

/** The names of the Workers, which are also their environments in wrangler.toml. */
export const workers = ['reviewer-config', 'review-tracker'];

/**
 * What the tracker has in tests unless they say otherwise: an operator to ask, no waiting for other events, and no quota, because
 * benchmarks and floods of tests send more in a second than reviews in an hour.
 */
const TRACKER_VARS = {
  OPERATOR_TOKENS: 'operator',
  OUTBOX_FLUSH_MS: '5',
  RETENTION_DAYS: '90',
  INGEST_EVENTS_PER_MINUTE: '1000000000',
  INGEST_NEW_PROJECTS_PER_DAY: '1000000000',
};

process.env.WRANGLER_SEND_METRICS = 'false';

/**
 * Starts a Worker.
 *
 * @param {string} name One of `workers`.
 * @param {object} [options]
 * @param {Record<string, string>} [options.vars] Secrets and variables. Nothing is taken from `.dev.vars`.
 * @param {string} [options.persist] A directory as in `wrangler dev --persist-to`; without, storage ends with the instance.
 * @param {string[]} [options.without] Kinds of bindings that are left out, as if their service were down.
 * @param {string[]} [options.reachable] Origins that the Worker may ask; all others are refused.
 * @param {boolean} [options.migrate] `false` leaves the database as it is.
 * @param {string} [options.build] Where another build of it is.
 * @param {string} [options.host]
 * @param {number} [options.port] 0 takes a free one.
 * @returns {Promise<{url: string, mf: Miniflare, logs: string[], dispose: () => Promise<void>}>}
 */
export async function start(name, { vars = {}, persist, without = [], reachable = [], migrate = true, build = buildOf(name), host = '127.0.0.1', port = 0 } = {}) {
  const logs = [];
  const { workerOptions } = unstable_getMiniflareWorkerOptions(join(root, 'wrangler.toml'), name);
  delete workerOptions.modulesRules;
  for (const kind of without) delete workerOptions[kind];
  const options = convertV4MiniflareOptions({
    ...workerOptions,
    name,
    modules: [
      { type: 'ESModule', path: 'index.js', contents: readFileSync(join(build, 'index.js'), 'utf8') },
      { type: 'CompiledWasm', path: 'index_bg.wasm', contents: readFileSync(join(build, 'index_bg.wasm')) },
    ],
    bindings: name === 'review-tracker' ? { ...TRACKER_VARS, ...vars } : vars,
    outboundService: (request) =>
      reachable.includes(new URL(request.url).origin)
        ? fetch(request, { redirect: 'manual' })
        : new Response(`tests may not call ${request.url}`, { status: 599 }),
    host,
    port,
    cf: false,
    log: new Log(LogLevel.ERROR),
    // What the Worker writes into its log; a test may read it. Errors are shown as well.
    handleStructuredLogs: ({ level, message }) => {
      logs.push(message);
      if (level === 'error') console.error(message);
    },
  });
  if (persist) {
    // Where `wrangler dev --persist-to DIR` keeps its data, so that `wrangler kv` and `wrangler d1` see the same.
    options.resourcePersistencePath = join(persist, 'v3');
  }
  const mf = new Miniflare(options);
  const url = (await mf.ready).origin;
  if (migrate && workerOptions.d1Databases?.DB) {
    await applyMigrations(await mf.getD1Database('DB'), migrations(name));
  }
  return { url, mf, logs, dispose: () => mf.dispose() };
}

/** Starts a Worker that answers everything with `ok`: what workerd costs, whatever it runs. */
export async function startConstant() {
  const mf = new Miniflare(
    convertV4MiniflareOptions({
      name: 'constant',
      compatibilityDate: '2026-11-01',
      modules: [{ type: 'ESModule', path: 'index.js', contents: `export default { fetch: () => new Response('ok') };` }],
      port: 0,
      cf: false,
      log: new Log(LogLevel.ERROR),
    }),
  );
  return { url: (await mf.ready).origin, mf, dispose: () => mf.dispose() };
}

/** The migrations of a Worker, in order. */
export function migrations(name) {
  const directory = join(root, 'workers', name, 'migrations');
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({ name: file, sql: readFileSync(join(directory, file), 'utf8') }));
}

/** Applies the migrations that a database does not have yet, and notes them where wrangler looks for them. */
export async function applyMigrations(database, list) {
  await database
    .prepare(
      'CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, ' +
        'applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)',
    )
    .run();
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all();
  const applied = new Set(results.map((row) => row.name));
  for (const migration of list.filter((migration) => !applied.has(migration.name))) {
    const statements = unstable_splitSqlQuery(migration.sql).map((statement) => database.prepare(statement));
    const note = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(migration.name);
    await database.batch([...statements, note]);
  }
}

/** The process ids of the workerds that this process started, and of no other. */
export function workerdPids() {
  return execFileSync('pgrep', ['-P', String(process.pid), 'workerd'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);
}

function buildOf(name) {
  const build = join(root, 'workers', name, 'build');
  if (!existsSync(join(build, 'index_bg.wasm'))) {
    throw new Error(`${build} is missing: build it with \`worker-build --profile worker\` in workers/${name}`);
  }
  return build;
}
