// The command line that other languages' tests drive.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { event, finding, send } from '../support/events.mjs';
import { root } from '../support/workerd.mjs';

const PATIENCE_MS = 90_000;
const GONE_MS = 30_000;

// What a failed test leaves behind would keep this file from its end.
const children = [];
after(() => children.forEach((child) => child.kill()));

function run(...words) {
  const child = spawn(process.execPath, [join(root, 'tests/support/workers-server.mjs'), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => JSON.parse((await lines.next()).value);
  const ask = (line) => {
    child.stdin.write(`${line}\n`);
    return read();
  };
  return { child, read, ask };
}

describe('workers-server', { timeout: PATIENCE_MS }, () => {
  test('starts both Workers, takes commands and ends with its input', async () => {
    const server = run('--reader-tokens', 'r', '--ingest-tokens', 'i', '--kv', 'provider/openai={"enabled":false}');
    const { config_url: configUrl, tracker_url: trackerUrl } = await server.read();
    // The Worker may answer from memory for a second.
    const config = async (accept = () => true) => {
      const deadline = Date.now() + GONE_MS;
      for (;;) {
        const response = await fetch(`${configUrl}/v1/config`, { headers: { authorization: 'Bearer r' } });
        const { providers } = (await response.json()).config;
        if (accept(providers)) return providers;
        assert.ok(Date.now() < deadline, JSON.stringify(providers));
      }
    };
    assert.deepEqual(await config(), { openai: { enabled: false } });
    assert.deepEqual(await server.ask('kv put provider/anthropic {"enabled":false,"reason":"two words"}'), { ok: true });
    assert.equal((await config(({ anthropic }) => anthropic)).anthropic.reason, 'two words');
    assert.deepEqual(await server.ask('kv get provider/openai'), { ok: true, value: '{"enabled":false}' });
    assert.deepEqual(await server.ask('kv delete provider/openai'), { ok: true });
    assert.deepEqual(Object.keys(await config(({ openai }) => !openai)), ['anthropic']);

    await send(trackerUrl, 'i', [event(finding(), { project: 'a/b' })]);
    assert.deepEqual(await server.ask('sql SELECT project, kind FROM events'), {
      ok: true,
      rows: [{ project: 'a/b', kind: 'finding' }],
    });
    for (const wrong of ['sql SELECT nothing', 'kv', 'kv drop x', 'x']) {
      assert.equal((await server.ask(wrong)).ok, false, wrong);
    }
    const metrics = await fetch(`${trackerUrl}/metrics`, { headers: { authorization: 'Bearer i' } });
    assert.equal(metrics.status, 503, 'a token list that was not given is not configured');

    server.child.stdin.end();
    assert.deepEqual(await once(server.child, 'exit'), [0, null]);
    await assert.rejects(fetch(configUrl));
  });

  for (const signal of ['SIGTERM', 'SIGKILL']) {
    test(`ends on ${signal} and takes workerd with it`, async () => {
      const server = run();
      const { config_url: configUrl, tracker_url: trackerUrl } = await server.read();
      server.child.kill(signal);
      await once(server.child, 'exit');
      await gone(configUrl);
      await gone(trackerUrl);
    });
  }
});

/** Waits until no process listens any more. */
async function gone(url) {
  const deadline = Date.now() + GONE_MS;
  while (await fetch(`${url}/healthz`).then(() => true, () => false)) {
    assert.ok(Date.now() < deadline, `${url} still answers`);
    await sleep(20);
  }
}
