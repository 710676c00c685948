// workerd is killed at random moments under load; afterwards every event that was answered as accepted has to be counted exactly
// once: as a row, in the rollups, and in the distributions.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { completed, event, finding, settled } from '../../events.mjs';
import { random } from '../../seed/random.mjs';
import { postBody } from '../../seed/send.mjs';
import { start, workerdPids } from '../../workerd.mjs';

const BATCH = 50;
const ANSWER_MS = 3000;
const LONGEST_MS = 900;
const STUCK_MS = 60_000;

const SUMS = `SELECT (SELECT count(*) FROM events) AS events,
  (SELECT count(*) FROM findings) AS findings, (SELECT count(*) FROM runs WHERE verdict IS NOT NULL) AS runs,
  (SELECT sum(n) FROM daily_counts WHERE kind = 'event' AND project = '*' AND day = 0) AS counted,
  (SELECT sum(n) FROM daily_counts WHERE kind = 'event' AND project <> '*') AS by_project,
  (SELECT sum(findings) FROM daily_findings WHERE project = '*' AND day = 0) AS counted_findings,
  (SELECT sum(findings) FROM hot_files WHERE grain = '*' AND tier = '*') AS hot_files,
  (SELECT sum(runs) FROM daily_runs WHERE project = '*' AND day = 0) AS counted_runs,
  (SELECT sum(n) FROM bins WHERE project = '*' AND metric = 'cost_usd' AND span = 0) AS bins,
  (SELECT sum(n) FROM bins WHERE project = '*' AND metric = 'cost_usd' AND span = 1) AS bins_by_day,
  (SELECT sum(n) FROM bins WHERE project <> '*' AND metric = 'duration_ms' AND span = 7) AS bins_by_week`;

/** Kills workerd, and waits until another one answers: Miniflare gives up on one that dies before it is up. */
async function killed(url) {
  const old = workerdPids();
  old.forEach((pid) => process.kill(pid, 'SIGKILL'));
  const deadline = Date.now() + STUCK_MS;
  for (;;) {
    const others = running().filter((pid) => !old.includes(pid));
    const answer = others.length > 0 && (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined));
    if (answer && answer.status === 200) return;
    if (Date.now() > deadline) throw new Error('workerd did not come back');
    await sleep(20);
  }
}

/** Like `workerdPids`, and none while there is none. */
function running() {
  try {
    return workerdPids();
  } catch {
    return [];
  }
}

export async function measure({ kills, clients }) {
  const persist = mkdtempSync(join(tmpdir(), 'conclave-bench-'));
  const vars = { INGEST_TOKENS: 'bench' };
  const dice = random(Date.now() % 2 ** 32);
  const accepted = { findings: 0, runs: 0 };
  let repeated = 0;
  let load = true;
  let worker = await start('review-tracker', { vars, persist });
  try {
    const deliver = async (body) => {
      for (;;) {
        const answer = await postBody(worker.url, 'bench', body, { timeout: ANSWER_MS }).catch(() => undefined);
        if (answer?.status === 202) return;
        repeated += 1;
        await sleep(20);
      }
    };
    const client = async (number) => {
      while (load) {
        // Half of each; some projects, so that all objects have work.
        const events = Array.from({ length: BATCH }, (_, index) => event(index % 2 ? finding() : completed(), { project: `kill/${(number + index) % 20}` }));
        await deliver(JSON.stringify({ events }));
        accepted.findings += BATCH / 2;
        accepted.runs += BATCH / 2;
      }
    };
    const working = Array.from({ length: clients }, (_, number) => client(number));
    const progress = async (events) => {
      const until = accepted.runs + events;
      const deadline = Date.now() + STUCK_MS;
      while (accepted.runs < until) {
        if (Date.now() > deadline) throw new Error('the Worker did not come back');
        await sleep(5);
      }
    };
    for (let kill = 0; kill < kills; kill += 1) {
      // At any moment of its work: while it takes events, while it writes them, in between.
      await progress(1);
      await sleep(dice.next() * LONGEST_MS);
      await killed(worker.url);
    }
    await progress(BATCH);
    load = false;
    await Promise.all(working);
    await worker.dispose();
    worker = await start('review-tracker', { vars, persist });
    const status = await settled(worker.url, { within: 300_000 });
    const sums = await (await worker.mf.getD1Database('DB')).prepare(SUMS).first();
    const all = accepted.findings + accepted.runs;
    return {
      kills,
      clients,
      accepted: all,
      repeated_requests: repeated,
      dead_letters: status.dead,
      sums,
      bars: {
        'no event is lost': sums.events >= all,
        'no event counts twice': sums.events <= all,
        'rows and rollups agree': sums.counted === all && sums.by_project === all && sums.findings === accepted.findings && sums.runs === accepted.runs,
        'findings agree': sums.counted_findings === accepted.findings && sums.hot_files === accepted.findings,
        'distributions agree': [sums.counted_runs, sums.bins, sums.bins_by_day, sums.bins_by_week].every((count) => count === accepted.runs),
        'no dead letter': status.dead === 0,
      },
    };
  } finally {
    load = false;
    await worker.dispose();
    rmSync(persist, { recursive: true, force: true });
  }
}
