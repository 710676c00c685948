#!/usr/bin/env node
// Runs both Workers for tests that are not written in JavaScript.
//
//   node tests/support/workers-server.mjs [--persist DIR] [--reader-tokens T] [--ingest-tokens T] [--metrics-tokens T]
//        [--admin-tokens T] [--dashboard-tokens T] [--operator-tokens T] [--config-port N] [--tracker-port N] [--kv KEY=VALUE]...
//        [--job-projects PATTERNS] [--secret S] [--tracker-var NAME=VALUE]...
//        [--only reviewer-config|review-tracker]
//
// Tokens may also come from READER_TOKENS, ADMIN_TOKENS, INGEST_TOKENS, METRICS_TOKENS, DASHBOARD_TOKENS and OPERATOR_TOKENS,
// the directory from PERSIST_TO. Without a directory the storage ends with the process. Each list is comma-separated.
//
// Standard output is one JSON object a line. The first is {"config_url","tracker_url"}. Afterwards each line of standard
// input is a command that is answered by one line, {"ok":true,…} or {"ok":false,"error":…}:
//
//   kv put KEY VALUE      (VALUE is the rest of the line)
//   kv get KEY            → {"ok":true,"value":…}
//   kv delete KEY
//   sql STATEMENT         → {"ok":true,"rows":[…]}, when every accepted event is in the database
//   job-token PROJECT     → {"ok":true,"token":…}: what GitLab gives to a job, with --job-projects; both Workers take it
//   actions-job REPOSITORY [SECONDS] → {"ok":true,"url":…,"token":…}: what a job of GitHub asks for its tokens with, which are good for so long
//   actions-given         → {"ok":true,"given":…}: how many it was given
//
// It ends on end of input, SIGTERM or SIGINT, and takes workerd with it, even when it is killed.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { settled } from './events.mjs';
import { startIssuer } from './oidc-issuer.mjs';
import { start, workerdPids } from './workerd.mjs';

const { values: options } = parseArgs({
  options: {
    persist: { type: 'string', default: process.env.PERSIST_TO },
    'reader-tokens': { type: 'string', default: process.env.READER_TOKENS },
    'ingest-tokens': { type: 'string', default: process.env.INGEST_TOKENS },
    'metrics-tokens': { type: 'string', default: process.env.METRICS_TOKENS },
    'dashboard-tokens': { type: 'string', default: process.env.DASHBOARD_TOKENS },
    'operator-tokens': { type: 'string', default: process.env.OPERATOR_TOKENS },
    'admin-tokens': { type: 'string', default: process.env.ADMIN_TOKENS },
    'job-projects': { type: 'string' },
    secret: { type: 'string' },
    'tracker-var': { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    'config-port': { type: 'string', default: '0' },
    'tracker-port': { type: 'string', default: '0' },
    kv: { type: 'string', multiple: true, default: [] },
  },
});

/** Only what is set: a Worker without a token list refuses everybody, which a test may want to see. */
function secrets(...names) {
  return Object.fromEntries(
    names
      .map((name) => [name, options[name.toLowerCase().replace('_', '-')]])
      .filter(([, value]) => value !== undefined),
  );
}

/** For this program itself: `sql` sees what was accepted before. */
const operator = 'operator';

const issuer = options['job-projects'] === undefined ? undefined : await startIssuer();
const github = issuer && (await startIssuer('github'));
const jobs = issuer && {
  OIDC_ISSUER: `${issuer.url}, ${github.url}`,
  OIDC_AUDIENCE: issuer.claims().aud,
  OIDC_PROJECTS: options['job-projects'],
};
/** Each Worker costs a second of processor time. */
const startIfWanted = (name, settings) => (options.only ?? name) === name ? start(name, settings) : undefined;

const reachable = issuer ? [issuer.origin, github.origin] : [];
const config = await startIfWanted('reviewer-config', {
  vars: { ...secrets('READER_TOKENS', 'ADMIN_TOKENS'), ...jobs },
  reachable,
  persist: options.persist,
  port: Number(options['config-port']),
});
const tracker = await startIfWanted('review-tracker', {
  vars: {
    ...secrets('INGEST_TOKENS', 'METRICS_TOKENS', 'DASHBOARD_TOKENS'),
    OPERATOR_TOKENS: [options['operator-tokens'], operator].filter(Boolean).join(','),
    ...Object.fromEntries(options['tracker-var'].map((pair) => pair.split(/=(.*)/s).slice(0, 2))),
    ...(options.secret !== undefined && { CONCLAVE_SECRET: options.secret }),
    ...jobs,
  },
  reachable,
  persist: options.persist,
  port: Number(options['tracker-port']),
});

// A killed Node leaves its workerds behind. This shell hears of it, because its input ends with the process.
const guard = spawn('/bin/sh', ['-c', 'cat >/dev/null; kill -9 "$@" 2>/dev/null', 'guard', ...workerdPids().map(String)], {
  stdio: ['pipe', 'ignore', 'ignore'],
  detached: true,
});

const kv = await config?.mf.getKVNamespace('CONFIG');
const database = await tracker?.mf.getD1Database('DB');

for (const pair of options.kv) {
  const separator = pair.indexOf('=');
  if (separator < 1) {
    throw new Error(`--kv takes KEY=VALUE, not ${pair}`);
  }
  await kv.put(pair.slice(0, separator), pair.slice(separator + 1));
}

async function run(line) {
  const [, verb, rest] = /^(\S+)\s*(.*)$/s.exec(line.trim()) ?? [];
  if (verb === 'sql') {
    await settled(tracker.url, { token: operator });
    return { rows: (await database.prepare(rest).all()).results };
  }
  if (verb === 'job-token' && issuer) {
    return { token: issuer.token({ project_path: rest }) };
  }
  if (verb === 'actions-job' && github) {
    const [repository, seconds] = rest.split(' ');
    const { url, token } = github.startJob(repository, Number(seconds ?? 0));
    return { url, token };
  }
  if (verb === 'actions-given' && github) {
    return { given: github.given, violations: github.violations };
  }
  const [, action, key, value] = /^(\S+)\s+(\S+)\s*(.*)$/s.exec(rest ?? '') ?? [];
  if (verb === 'kv' && action === 'put') {
    await kv.put(key, value);
    return {};
  }
  if (verb === 'kv' && action === 'get') {
    return { value: await kv.get(key) };
  }
  if (verb === 'kv' && action === 'delete') {
    await kv.delete(key);
    return {};
  }
  throw new Error('the commands are: kv put KEY VALUE, kv get KEY, kv delete KEY, sql STATEMENT, job-token PROJECT, actions-job REPOSITORY [SECONDS], actions-given');
}

let stopping;
function stop() {
  stopping ??= Promise.all([config?.dispose(), tracker?.dispose()]).then(() => {
    guard.kill('SIGKILL');
    process.exit(0);
  });
  return stopping;
}
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
answer({ config_url: config?.url, tracker_url: tracker?.url });
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() !== '') {
    answer(await run(line).then((result) => ({ ok: true, ...result }), (error) => ({ ok: false, error: error.message })));
  }
}
await stop();
