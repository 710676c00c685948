// Accepted means durable: workerd is killed under load, and every event that was answered 202 is counted once.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { completed, event, finding, settled } from '../support/events.mjs';
import { start, workerdPids } from '../support/workerd.mjs';

const KILLS = 5;
const BATCH = 20;
const BATCHES_BETWEEN_KILLS = 30;
const ANSWER_MS = 10_000;
const GIVE_UP_MS = 180_000;

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
      // No process listens while workerd is dead: the same batch goes out again.
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
      const batch = Array.from({ length: BATCH }, (_, index) => event(index % 2 ? finding() : completed(), { project: 'kill/load' }));
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
    // Without any request to the objects but this one, which only asks.
    await settled(again.url, { within: GIVE_UP_MS });
    const database = await again.mf.getD1Database('DB');
    const { results } = await database
      .prepare(
        `SELECT (SELECT count(*) FROM events) AS events,
         (SELECT count(*) FROM findings) + (SELECT count(*) FROM runs WHERE verdict IS NOT NULL) AS rows,
         (SELECT sum(findings) FROM daily_findings WHERE project = 'kill/load')
           + (SELECT sum(runs) FROM daily_runs WHERE project = 'kill/load') AS counted,
         (SELECT sum(n) FROM daily_counts WHERE project = '*' AND kind = 'event' AND day = 0) AS all_time,
         (SELECT sum(n) FROM bins WHERE project = 'kill/load' AND metric = 'cost_usd' AND span = 7) AS weeks,
         (SELECT sum(n) FROM bins WHERE project = '*' AND metric = 'duration_ms' AND span = 0) AS bins`,
      )
      .all();
    assert.deepEqual(results, [
      { events: delivered, rows: delivered, counted: delivered, all_time: delivered, weeks: delivered / 2, bins: delivered / 2 },
    ]);
  } finally {
    await again.dispose();
  }
});

/** Counts the events in the database. Asks the database only; fails while workerd is down. */
const eventsOf = async (worker) => (await worker.mf.getD1Database('DB')).prepare('SELECT count(*) AS n FROM events').first('n');

test('what was accepted right before a kill is counted after it, without a request', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'conclave-tracker-'));
  // So late that the kill comes first.
  const vars = { INGEST_TOKENS: 't', OUTBOX_FLUSH_MS: '3000' };
  try {
    const worker = await start('review-tracker', { vars, persist: directory });
    try {
      // Asked once before, so that nothing of it has to be made while the three seconds go by.
      const database = await worker.mf.getD1Database('DB');
      assert.equal((await database.prepare('SELECT count(*) AS n FROM events').first()).n, 0);
      await deliver(worker.url, [event(finding()), event(completed())], Date.now() + GIVE_UP_MS);
      assert.equal((await database.prepare('SELECT count(*) AS n FROM events').first()).n, 0, 'it is only in the outbox');
      workerdPids().forEach((pid) => process.kill(pid, 'SIGKILL'));
      const deadline = Date.now() + GIVE_UP_MS;
      let counted = 0;
      while (counted < 2) {
        assert.ok(Date.now() < deadline, 'the alarm was not heard of again');
        counted = await eventsOf(worker).catch(() => sleep(20, 0));
      }
    } finally {
      await worker.dispose();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
