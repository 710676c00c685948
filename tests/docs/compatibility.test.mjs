// What version 0.1.0 wrote, or people wrote for it, is read by every later one: records of runs, and settings. These files
// are never changed; a new format gets new ones. Recordings, events, markers and configuration documents have such tests in
// the crates that read them.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const fixtures = join(root, 'tests/fixtures');
const conclave = join(root, 'target/debug/conclave');
let directory;

/** Runs conclave without any key or setting of this machine. */
async function call(cwd, ...args) {
  const environment = { PATH: process.env.PATH, HOME: directory, ANTHROPIC_API_KEY: 'x' };
  return run(conclave, args, { cwd, env: environment, timeout: 60_000, maxBuffer: 1 << 26 });
}

/** The fields of `old` that `now` has lost or changed, as paths. */
function lost(old, now, path = '') {
  if (old === null || typeof old !== 'object') return Object.is(old, now) ? [] : [path];
  if (now === null || typeof now !== 'object') return [path];
  return Object.keys(old).flatMap((key) => lost(old[key], now[key], `${path}/${key}`));
}

describe('what an earlier version left', () => {
  before(() => {
    assert.ok(existsSync(conclave), 'build first: cargo build -p conclave');
    directory = mkdtempSync(join(tmpdir(), 'conclave-compatibility-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('a finished run is shown again, with each field of its review', async () => {
    const records = join(fixtures, 'runs/version-1');
    const review = JSON.parse(readFileSync(join(records, 'review.json'), 'utf8'));
    const { stdout: json } = await call(directory, 'replay', records, '--format', 'json');
    assert.deepEqual(lost(review, JSON.parse(json)), []);
    const { stdout: text } = await call(directory, 'replay', records);
    assert.equal(review.findings.length, 7);
    for (const { finding } of review.findings) assert.ok(text.includes(finding.file), finding.file);
    // With the lines of code that were kept beside it.
    assert.match(text, /41.*sql = f"SELECT/);
    for (const format of ['markdown', 'sarif', 'prompt']) assert.ok((await call(directory, 'replay', records, '--format', format)).stdout.length > 500, format);
  });

  test('a killed run shows what was known', async () => {
    const { stdout } = await call(directory, 'replay', join(fixtures, 'runs/version-1-killed'));
    // The reviewer that had ended, and its two findings; others were at work.
    assert.match(stdout, /security/);
    assert.match(stdout, /src\/orders\/repository\.py/);
    assert.match(stdout, /correctness/);
  });

  test('settings are understood, each of them', async () => {
    const repository = join(directory, 'shop');
    await run(join(root, 'scripts/demo-repository'), [repository]);
    const git = (...args) => run('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);
    await git('checkout', '--quiet', 'main');
    cpSync(join(fixtures, 'settings/version-1.toml'), join(repository, '.conclave.toml'));
    const rule = '[[rule]]\nid = "NET-012"\nwhen = "x"\nuse = "y"\nlink = "https://rfc.example.com/net-012"\npaths = ["src/**"]\n';
    for (const [file, text] of [['review/screen-readers.md', 'Look at each label.\n'], ['engineering/rules/net.toml', rule]]) {
      mkdirSync(dirname(join(repository, file)), { recursive: true });
      writeFileSync(join(repository, file), text);
    }
    await git('add', '--all');
    await git('commit', '--quiet', '--message', 'settings');
    await git('checkout', '--quiet', 'feature/order-export');
    await git('rebase', '--quiet', 'main');
    const plan = JSON.parse((await call(repository, 'plan', 'main..feature/order-export', '--format', 'json')).stdout);
    assert.deepEqual(plan.warnings, []);
    assert.deepEqual(plan.preset, { name: 'yardstick', chosen_by: 'repo' });
    const seat = (name) => plan.reviewers.find((reviewer) => reviewer.name === name);
    assert.equal(seat('documentation').presence, 'disabled');
    assert.equal(seat('codex').presence, 'on_panel');
    assert.deepEqual([seat('screen_readers').presence, seat('screen_readers').required, seat('screen_readers').own], ['on_panel', true, true]);
  });
});
