// The commands of the README with the real wrangler: what `wrangler kv key put --local` writes, a running `wrangler dev`
// answers with at once.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { root } from '../support/workerd.mjs';

const READY_MS = 120_000;
const ANSWER_MS = 30_000;

const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js');
const persist = mkdtempSync(join(tmpdir(), 'conclave-wrangler-'));
const env = { ...process.env, SKIP_WORKER_BUILD: '1', WRANGLER_SEND_METRICS: 'false', CI: '1' };
const named = ['-e', 'reviewer-config', '--persist-to', persist];

let dev;
after(async () => {
  if (dev && dev.exitCode === null) {
    // The whole group: wrangler's two workerds outlive wrangler alone.
    process.kill(-dev.pid, 'SIGKILL');
  }
  rmSync(persist, { recursive: true, force: true });
});

test('a provider is switched off with one command', { timeout: READY_MS * 2 }, async () => {
  dev = spawn(
    process.execPath,
    [wrangler, 'dev', ...named, '--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0', '--var', 'READER_TOKENS:t'],
    { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  dev.stdout.on('data', (data) => (output += data));
  dev.stderr.on('data', (data) => (output += data));

  const read = async () => {
    const [, address] = output.match(/Ready on (http:\/\/127\.0\.0\.1:\d+)/) ?? [];
    assert.ok(address, `it does not say where it listens:\n${output}`);
    const response = await fetch(`${address}/v1/config?project=a%2Fb`, {
      headers: { authorization: 'Bearer t' },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    assert.equal(response.status, 200);
    return (await response.json()).config.providers;
  };
  const deadline = Date.now() + READY_MS;
  let providers;
  while (providers === undefined) {
    assert.equal(dev.exitCode, null, `wrangler dev ended:\n${output}`);
    assert.ok(Date.now() < deadline, `wrangler dev is not ready:\n${output}`);
    providers = await read().catch(() => sleep(100));
  }
  assert.deepEqual(providers, {});

  const put = ['kv', 'key', 'put', '--local', '--binding', 'CONFIG', ...named, 'provider/anthropic', '{"enabled":false,"reason":"incident"}'];
  await promisify(execFile)(process.execPath, [wrangler, ...put], { cwd: root, env });
  // The Worker may answer from its memory of the last second.
  const seen = Date.now() + READY_MS;
  do {
    providers = await read();
  } while (providers.anthropic === undefined && Date.now() < seen);
  assert.deepEqual(providers, { anthropic: { enabled: false, reason: 'incident' } });
});
