// scripts/demo: what it builds quickly is never taken for the real thing, and its tools are installed beside the program.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
let work;

before(() => {
  work = mkdtempSync(join(tmpdir(), 'conclave-demo-test-'));
  mkdirSync(join(work, 'bin'));
  mkdirSync(join(work, 'workers/tracker'), { recursive: true });
  // Writes what a build makes, another one each time.
  const stub = 'echo "${WORKER_BUILD_OPTIONS:-as always}" >>calls; mkdir -p workers/tracker/build; cat calls >workers/tracker/build/index.js';
  writeFileSync(join(work, 'bin/wrangler'), `#!/bin/sh\n${stub}\n`);
  chmodSync(join(work, 'bin/wrangler'), 0o755);
});
after(() => rmSync(work, { recursive: true, force: true }));

/** Builds a Worker with these arguments, and returns all builds so far. */
function built(...how) {
  const script = 'set -euo pipefail; source "$1/scripts/lib/workers.sh"; worker_inputs() { echo same; }; shift; build_worker tracker "$@"';
  const env = { ...process.env, CONCLAVE_ROOT: work, PATH: `${join(work, 'bin')}:${process.env.PATH}`, WORKER_BUILD_OPTIONS: '--of-the-user' };
  const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', root, ...how], { env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return readFileSync(join(work, 'calls'), 'utf8').trim().split('\n');
}

test('a Worker that was built quickly is built again where it has to be the real one', () => {
  const quickly = '--profile worker-demo --no-opt';
  assert.deepEqual(built('quickly'), [quickly]);
  assert.deepEqual(built('quickly'), [quickly], 'it is there');
  assert.deepEqual(built(), [quickly, 'as always']);
  assert.deepEqual(built(), [quickly, 'as always'], 'it is there');
  assert.deepEqual(built('quickly'), [quickly, 'as always'], 'the real one is good enough for the demo');
  writeFileSync(join(work, 'workers/tracker/build/index.js'), 'something else');
  assert.equal(built('quickly').length, 3, 'what was changed since is built again');
});

test('the profiles and options that the demo names are there', () => {
  const read = (name) => readFileSync(join(root, name), 'utf8');
  for (const profile of ['demo', 'worker-demo']) {
    assert.match(read('Cargo.toml'), new RegExp(`^\\[profile\\.${profile}\\]$`, 'm'));
  }
  assert.equal(read('wrangler.toml').match(/worker-build \$\{WORKER_BUILD_OPTIONS:---profile worker\}/g).length, 2);
  const refused = spawnSync(join(root, 'scripts/setup'), ['--without', 'node'], { encoding: 'utf8' });
  assert.deepEqual([refused.status, refused.stderr], [2, "setup: --without takes tools, not 'node'\n"]);
});
