// scripts/deploy with the real wrangler. There is no Cloudflare account here: its API is a stand-in over HTTP, strict and
// stateful (tests/support/cloudflare-api.mjs), so what these tests hold is the script and what wrangler sends, not Cloudflare.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { ACCOUNT, TOKEN, startCloudflare } from '../support/cloudflare-api.mjs';
import { root } from '../support/workerd.mjs';

const configFile = join(root, 'wrangler.deploy.toml');
// The developer's own file, restored afterwards.
const kept = existsSync(configFile) ? readFileSync(configFile) : undefined;

let account;
let directory;
after(() => kept && writeFileSync(configFile, kept));
beforeEach(async () => {
  account = await startCloudflare();
  directory = mkdtempSync(join(tmpdir(), 'conclave-deploy-'));
});
afterEach(async () => {
  rmSync(configFile, { force: true });
  await account.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs the script; built Workers are taken as they are. */
async function deploy(args = [], env = {}) {
  const ended = await run(join(root, 'scripts/deploy'), ['--secrets-file', join(directory, 'secrets.env'), ...args], tmpdir(), env);
  assert.ok(ended.code === 0 || !existsSync(configFile), 'nothing is left behind by what failed');
  return ended;
}

async function run(program, args, cwd, env = {}) {
  const child = spawn(program, args, {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      XDG_CONFIG_HOME: join(directory, 'config'),
      CI: '1',
      SKIP_WORKER_BUILD: '1',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      CLOUDFLARE_API_BASE_URL: account.url,
      CLOUDFLARE_API_TOKEN: TOKEN,
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, output };
}

const secrets = () =>
  Object.fromEntries(
    readFileSync(join(directory, 'secrets.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );

const placeholders = () => readFileSync(join(root, 'wrangler.toml'), 'utf8');

// Each run starts wrangler up to a dozen times.
describe('scripts/deploy', { timeout: 600_000 }, () => {
  test('makes everything in an empty account, and changes nothing when it is run again', async () => {
    const toml = placeholders();
    const first = await deploy();
    assert.equal(first.code, 0, first.output);
    assert.deepEqual([...account.namespaces.values()], ['conclave-reviewer-config']);
    assert.deepEqual([...account.databases.values()].map(({ name }) => name), ['review-tracker']);
    const [[, database]] = account.databases;
    const tables = database.sql.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all().map(({ name }) => name);
    assert.ok(tables.includes('runs') && tables.includes('d1_migrations'), tables.join());

    const config = account.workers.get('reviewer-config');
    const bindings = Object.fromEntries(config.metadata.bindings.map((binding) => [binding.name, binding]));
    assert.equal(bindings.CONFIG.namespace_id, [...account.namespaces.keys()][0], 'the id that the account gave');
    assert.equal(bindings.LEDGER.class_name, 'Ledger');
    assert.equal(config.tag, 'v1', 'the migration of the Durable Object');
    const tracker = account.workers.get('review-tracker');
    assert.equal(tracker.metadata.bindings.find(({ name }) => name === 'DB').id, [...account.databases.keys()][0]);

    assert.equal(tracker.metadata.bindings.find(({ name }) => name === 'OUTBOX').class_name, 'Outbox');
    assert.equal(tracker.metadata.bindings.find(({ name }) => name === 'QUOTA').class_name, 'Quota');
    assert.equal(tracker.tag, 'v2', 'the migrations of both Durable Objects');
    assert.deepEqual(tracker.schedules.map(({ cron }) => cron), ['*/5 * * * *'], 'what deletes old rows');

    const made = secrets();
    assert.deepEqual(Object.keys(made).toSorted(), ['ADMIN_TOKENS', 'DASHBOARD_TOKENS', 'INGEST_TOKENS', 'METRICS_TOKENS', 'OPERATOR_TOKENS', 'READER_TOKENS']);
    assert.equal(statSync(join(directory, 'secrets.env')).mode & 0o777, 0o600);
    assert.match(made.ADMIN_TOKENS, /^operator:[0-9a-f]{64}$/);
    assert.match(made.READER_TOKENS, /^[0-9a-f]{64}$/);
    assert.equal(new Set(Object.values(made)).size, 6);
    for (const [name, value] of Object.entries(made)) {
      const holder = config.secrets.has(name) ? config : tracker;
      assert.equal(holder.secrets.get(name), value, `${name} is what is kept`);
      assert.ok(!first.output.includes(value), `${name} is not printed`);
    }
    assert.equal(placeholders(), toml);

    account.requests.length = 0;
    const again = await deploy();
    assert.equal(again.code, 0, again.output);
    assert.deepEqual(secrets(), made);
    assert.equal(config.uploads, 2, 'published again');
    assert.deepEqual(account.requests.filter((request) => /^(POST|PUT) .*(namespaces|d1\/database|secrets)$/.test(request)), []);
    assert.deepEqual(account.violations, []);
  });

  test('the commands of the documentation reach what was deployed', async () => {
    const deployed = await deploy(['review-tracker']);
    assert.equal(deployed.code, 0, deployed.output);
    rmSync(configFile);
    const text = readFileSync(join(root, 'docs/operating.md'), 'utf8').replaceAll('\\\n', ' ');
    const commands = text.match(/^wrangler (?:kv key put|d1 execute) .*--remote.*$/gm);
    assert.equal(commands.length, 2, commands.join('\n'));
    account.namespaces.set('0f2ac74b498b48028cb68387c421e279', 'conclave-reviewer-config');
    const written = await deploy(['--config-only']);
    assert.equal(written.code, 0, written.output);
    const [[, database]] = account.databases;
    database.sql.exec("INSERT INTO memory (outcome, project, merge_request, fingerprint, category, path, at_ms, proven) VALUES ('fixed', 'group/project', 1, 'f', 'c', 'p', 1, 0)");
    for (const command of commands) {
      const ended = await run('bash', ['-c', command], root);
      assert.equal(ended.code, 0, `${command}\n${ended.output}`);
    }
    assert.deepEqual(database.sql.prepare('SELECT proven FROM memory').all().map(({ proven }) => proven), [1]);
    assert.deepEqual([...account.values], [['0f2ac74b498b48028cb68387c421e279/provider/anthropic', '{"enabled":false,"reason":"incident 7"}']]);

    // Another account: placeholders would send a command nowhere.
    const [namespaces, databases] = [[...account.namespaces], [...account.databases]];
    account.namespaces.clear();
    account.databases.clear();
    const empty = await deploy(['--config-only']);
    assert.equal(empty.code, 1, empty.output);
    assert.match(empty.output, /neither the KV namespace conclave-reviewer-config nor the database review-tracker: deploy first/);
    assert.ok(!existsSync(join(root, 'wrangler.deploy.toml')));
    namespaces.forEach(([id, title]) => account.namespaces.set(id, title));
    databases.forEach(([id, made]) => account.databases.set(id, made));
    assert.deepEqual(account.violations, []);
  });

  test('after a failure it goes on where it was', async () => {
    account.failOnce = /^PUT .*scripts\/reviewer-config$/;
    const failed = await deploy(['reviewer-config']);
    assert.notEqual(failed.code, 0);
    assert.equal(account.workers.size, 0);
    assert.equal(account.namespaces.size, 1);
    const again = await deploy(['reviewer-config']);
    assert.equal(again.code, 0, again.output);
    assert.equal(account.namespaces.size, 1, 'no second namespace');
    assert.deepEqual([...account.workers.keys()], ['reviewer-config'], 'only what was named');
    assert.equal(account.databases.size, 0);
    assert.deepEqual(account.violations, []);
  });

  test('a secret of the environment is written as it is, over an older one: that is a rotation', async () => {
    const first = await deploy(['reviewer-config']);
    assert.equal(first.code, 0, first.output);
    const before = secrets();
    const both = `${before.READER_TOKENS},new-reader-token`;
    const rotated = await deploy(['reviewer-config'], { READER_TOKENS: both });
    assert.equal(rotated.code, 0, rotated.output);
    const { secrets: stored } = account.workers.get('reviewer-config');
    assert.equal(stored.get('READER_TOKENS'), both);
    assert.equal(stored.get('ADMIN_TOKENS'), before.ADMIN_TOKENS);
    assert.deepEqual(secrets(), before, 'what was given is not kept in a file');
    assert.ok(!rotated.output.includes('new-reader-token'));
  });

  test('a wrong token of Cloudflare stops it before anything', async () => {
    const refused = await deploy([], { CLOUDFLARE_API_TOKEN: 'wrong' });
    assert.notEqual(refused.code, 0);
    assert.match(refused.output, /Authentication error/);
    assert.equal(account.namespaces.size + account.workers.size + account.databases.size, 0);
    assert.ok(!existsSync(join(directory, 'secrets.env')));
  });

  test('without an account both Workers are checked', async () => {
    const dry = await deploy(['--dry-run'], { CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_ACCOUNT_ID: '' });
    assert.equal(dry.code, 0, dry.output);
    assert.equal(dry.output.match(/--dry-run: exiting now/g)?.length, 2, dry.output);
    assert.deepEqual(account.requests, []);
  });

  test('bad usage is said to be that', async () => {
    for (const args of [['--nonsense'], ['nobody'], ['--secrets-file']]) {
      const { code, output } = await deploy(args);
      assert.equal(code, 2, args.join());
      assert.match(output, /Usage: scripts\/deploy/);
    }
  });
});
