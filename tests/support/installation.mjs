#!/usr/bin/env node
// Puts an installation together as docs/operating.md says: its commands, in their order, taken out of it.
//
//   node tests/support/installation.mjs DIRECTORY [--local]
//
// There is no Cloudflare account: `scripts/deploy` talks to a stand-in for its API, and what it deployed is then served by the
// document's own `wrangler dev`. DIRECTORY gets a clone of the repository, whose files are links but for wrangler.toml. With
// --local nothing is deployed, and the secrets are made up: that takes half a minute less.
//
// Standard output is one JSON object a line. The first is {"secrets":…, "commands":…}, what the deployment made and the shell blocks
// of the documents by their headings. Afterwards each line of standard input is a command, as JSON:
//
//   {"do":"serve","listed":true,"jobs":true}  → {"config_url","tracker_url"}: both Workers anew, with READER_TOKENS and INGEST_TOKENS
//                                               if `listed`, with the document's OIDC variables if `jobs`
//   {"do":"job-token","project":…,"aud":…}    → {"token"}: what GitLab gives to a job; with "forged":true, signed with another key
//
// It ends with its input, and takes wrangler with it, even when it is killed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, TOKEN, startCloudflare } from './cloudflare-api.mjs';
import { makeKey, startIssuer } from './oidc-issuer.mjs';
import { root } from './workerd.mjs';

const READY_MS = 180_000;

const clone = join(process.argv[2], 'clone');
mkdirSync(clone);
for (const name of readdirSync(root)) {
  // Documents have wrangler.toml changed, and the deployment writes beside it.
  if (name === 'wrangler.toml') copyFileSync(join(root, name), join(clone, name));
  else if (!['.git', '.wrangler', 'deploy-secrets.env'].includes(name)) symlinkSync(join(root, name), join(clone, name));
}

/** The part of a document below a heading. */
function section(document, heading) {
  const text = readFileSync(join(root, document), 'utf8');
  const [, part] = text.split(new RegExp(`^## ${heading}$`, 'm'));
  assert.ok(part, `${document} has no heading "${heading}"`);
  return part.split(/^## /m)[0];
}

/** The blocks of a language in it. */
const blocks = (text, language) => [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block]) => block);

const commands = {
  incident: blocks(section('docs/operating.md', '8 in the morning: a provider is down'), 'sh')[0],
  deploy: blocks(section('docs/operating.md', 'First deploy'), 'sh')[0],
  change: blocks(section('docs/operating.md', 'Changing the configuration'), 'sh')[0],
  locally: blocks(section('docs/operating.md', 'Locally'), 'sh')[0],
  jobs: blocks(section('docs/operating.md', 'Without a secret in CI'), 'toml')[0],
};

const environment = {
  PATH: process.env.PATH,
  HOME: process.argv[2],
  // Where the pinned tools are, whichever home this is.
  CONCLAVE_TOOLS: process.env.CONCLAVE_TOOLS ?? join(process.env.HOME, '.cache/conclave/tools'),
  CI: '1',
  SKIP_WORKER_BUILD: '1',
  WRANGLER_SEND_METRICS: 'false',
};

/** Runs a block of a document in the clone, with the pinned tools as it says. */
async function bash(script, more = {}) {
  const child = spawn('bash', ['-euc', `source scripts/lib/env.sh\n${script}`], { cwd: clone, env: { ...environment, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 0, `${script}\n${output}`);
}

// The commands without their comments.
const bare = (block) => block.replace(/\s+#.*$/gm, '').trim();
const script = bare(commands.deploy)
  .replace('CLOUDFLARE_API_TOKEN=...', `CLOUDFLARE_API_TOKEN=${TOKEN}`)
  .replace('CLOUDFLARE_ACCOUNT_ID=...', `CLOUDFLARE_ACCOUNT_ID=${ACCOUNT}`);
assert.ok(script.includes(TOKEN) && /^\.\/scripts\/deploy$/m.test(script), script);
const NAMES = ['READER_TOKENS', 'ADMIN_TOKENS', 'INGEST_TOKENS', 'METRICS_TOKENS', 'DASHBOARD_TOKENS', 'OPERATOR_TOKENS'];

/** Deploys; returns the secrets that it made, from where the document says that they are. */
async function deploy() {
  const account = await startCloudflare();
  await bash(script, { CLOUDFLARE_API_BASE_URL: account.url });
  assert.deepEqual(account.violations, []);
  assert.equal(account.workers.size, 2);
  await account.stop();
  const lines = readFileSync(join(clone, 'deploy-secrets.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

const isLocal = process.argv.includes('--local');
const secrets = isLocal ? Object.fromEntries(NAMES.map((name) => [name, `operator:${randomBytes(32).toString('hex')}`])) : await deploy();
assert.deepEqual(Object.keys(secrets).toSorted(), NAMES.toSorted());

const issuer = await startIssuer();
const plain = readFileSync(join(clone, 'wrangler.toml'), 'utf8');

/** wrangler.toml with the lines of the document, for this issuer and all projects. */
function withJobs() {
  let toml = plain;
  for (const [, name, lines] of commands.jobs.matchAll(/^\[env\.([\w-]+)\.vars\]\n((?:\w+ = .*\n)+)/gm)) {
    const own = lines.replace('https://gitlab.example.com', issuer.url).replace(/^OIDC_PROJECTS = "[^"]*"/m, 'OIDC_PROJECTS = "**"');
    assert.ok(own.includes(issuer.url), lines);
    const table = `[env.${name}.vars]\n`;
    const added = own.replace(/^RETENTION_DAYS.*\n/m, '');
    toml = toml.includes(table) ? toml.replace(table, table + added) : `${toml}\n${table}${own}`;
  }
  return toml;
}

let running = [];
// The database outlasts a server.
let isMigrated = false;
/** Starts a command that goes on; it ends with this process. Returns the address that it says. */
async function serve(command) {
  const line = command.replace(/\s+#.*$/, '').replace(/--port \d+/, '--port 0');
  const script = `source scripts/lib/env.sh\n(${line} --ip 127.0.0.1 --inspector-port 0) &\ncat >/dev/null\nkill -9 0`;
  const child = spawn('bash', ['-uc', script], { cwd: clone, env: environment, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const process_ = { child, output: '' };
  running.push(process_);
  child.stdout.on('data', (data) => (process_.output += data));
  child.stderr.on('data', (data) => (process_.output += data));
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const [, address] = process_.output.match(/Ready on (http:\/\/127\.0\.0\.1:\d+)/) ?? [];
    if (address && (await fetch(`${address}/healthz`).then((answer) => answer.ok, () => false))) return address;
    assert.equal(child.exitCode, null, `${line} ended:\n${process_.output}`);
    assert.ok(Date.now() < deadline, `${line} is not ready:\n${process_.output}`);
    await sleep(50);
  }
}

async function stop() {
  const ended = running.map(({ child }) => child.exitCode === null && child.signalCode === null && new Promise((resolve) => child.once('close', resolve)));
  for (const { child } of running) child.stdin.end();
  await Promise.all(ended);
  running = [];
}

async function both({ listed, jobs }) {
  await stop();
  writeFileSync(join(clone, 'wrangler.toml'), jobs ? withJobs() : plain);
  const own = (...names) => names.map((name) => `${name}=${secrets[name]}\n`).join('');
  writeFileSync(join(clone, 'config.env'), own(...(listed ? ['READER_TOKENS'] : []), 'ADMIN_TOKENS'));
  writeFileSync(join(clone, 'tracker.env'), own(...(listed ? ['INGEST_TOKENS'] : []), 'METRICS_TOKENS', 'DASHBOARD_TOKENS', 'OPERATOR_TOKENS'));
  const [config, migrate, tracker, ...rest] = commands.locally.trim().split('\n');
  assert.deepEqual(rest, []);
  const configUrl = await serve(config);
  if (!isMigrated) await bash(migrate);
  isMigrated = true;
  return { config_url: configUrl, tracker_url: await serve(tracker) };
}

async function run(command) {
  if (command.do === 'serve') return both(command);
  if (command.do === 'job-token') {
    const claims = { project_path: command.project, aud: command.aud };
    return { token: issuer.token(claims, command.forged ? { key: makeKey(issuer.keys[0].id) } : {}) };
  }
  throw new Error(`there is no command ${command.do}`);
}

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
answer({ secrets, commands });
for await (const line of createInterface({ input: process.stdin })) {
  answer(await run(JSON.parse(line)).then((result) => ({ ok: true, ...result }), (error) => ({ ok: false, error: error.message })));
}
await stop();
await issuer.stop();
assert.deepEqual(issuer.violations, []);
