// Accepted means durable: workerd is killed under load, and every event that was answered 202 is counted once.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { event, finding } from '../support/events.mjs';
import { start, workerdPids } from '../support/workerd.mjs';

const KILLS = 4;
const BATCH = 20;
const BATCHES_BETWEEN_KILLS = 30;
const ANSWER_MS = 3000;
const GIVE_UP_MS = 60_000;

const persist = mkdtempSync(join(tmpdir(), 'conclave-tracker-'));
after(() => rmSync(persist, { recursive: true, force: true }));

async function deliver(url, batch, deadline) {
  for (;;) {
    try {
      const response = await fetch(`${url}/v1/events`, {
        method: 'POST',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: JSON.stringify({ events: batch }),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      if (response.status === 202) {
        return;
      }
    } catch {
      // Nobody listens while workerd is dead: the same batch goes out again.
    }
    assert.ok(Date.now() < deadline, 'the batch could not be delivered');
    await sleep(50);
  }
}

test('nothing that was accepted is lost, and nothing counts twice', async () => {
  const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't' }, persist });
  const deadline = Date.now() + GIVE_UP_MS;
  let delivered = 0;
  let load = true;
  const client = async () => {
    while (load) {
      const batch = Array.from({ length: BATCH }, () => event(finding(), { project: 'kill/load' }));
      await deliver(worker.url, batch, deadline);
      delivered += batch.length;
    }
  };
  const clients = [client(), client(), client()];
  const deliverMore = async () => {
    const enough = delivered + BATCH * BATCHES_BETWEEN_KILLS;
    while (delivered < enough) {
      assert.ok(Date.now() < deadline, 'the Worker did not come back');
      await sleep(10);
    }
  };
  try {
    // Killed only while it works: Miniflare gives up on a workerd that dies before it is up again.
    for (let kill = 0; kill < KILLS; kill += 1) {
      await deliverMore();
      workerdPids().forEach((pid) => process.kill(pid, 'SIGKILL'));
    }
    await deliverMore();
  } finally {
    load = false;
    await Promise.allSettled(clients);
    await worker.dispose();
  }
  await Promise.all(clients);

  const again = await start('review-tracker', { vars: { INGEST_TOKENS: 't' }, persist });
  try {
    const database = await again.mf.getD1Database('DB');
    const { results } = await database
      .prepare(
        `SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM findings) AS findings,
         (SELECT sum(findings) FROM daily_findings WHERE project = 'kill/load') AS counted,
         (SELECT sum(findings) FROM daily_findings WHERE project = '*' AND day = 0) AS all_time`,
      )
      .all();
    assert.deepEqual(results, [{ events: delivered, findings: delivered, counted: delivered, all_time: delivered }]);
  } finally {
    await again.dispose();
  }
});
