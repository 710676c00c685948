// Ingest beside a reference that does the same transaction before it answers: the same Worker with an outbox of no objects.
//
// Both get bodies of the same shape, of 50 events each, made before the clock runs, and take turns; of each the best round
// counts. The outbox answers before the database has the events, so the time until all of them are counted is measured as well.

import { Agent } from 'node:http';
import { settled } from '../../events.mjs';
import { seedEvents } from '../../seed/events.mjs';
import { postBody } from '../../seed/send.mjs';
import { start } from '../../workerd.mjs';

const BATCH = 50;
const EVENTS_A_SECOND_AT_MOST = 20_000;
const LEAST_SPEED = 1.2;
const MOST_P50 = 0.5;
/** Clients give up after 2 s. */
const MOST_P99_MS = 500;

/** So many bodies of 50 events, each of one project, as reviews send them. */
function bodies(count, seed) {
  const made = [];
  const now = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  let left = [];
  // Of one day, as events are that come when they happen.
  for (const events of seedEvents({ size: 50, days: 1, now, seed })) {
    left.push(...events);
    // Of one project each, because a review has one.
    if (left.length >= BATCH) {
      const { project } = left[0];
      made.push(JSON.stringify({ events: left.slice(0, BATCH).map((event) => ({ ...event, project })) }));
      left = [];
    }
    if (made.length === count) return made;
  }
  return made;
}

async function load(worker, supply, { seconds, clients }) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const times = [];
  const began = performance.now();
  const client = async () => {
    while (performance.now() - began < seconds * 1000) {
      const body = supply.pop();
      if (body === undefined) throw new Error('there are no bodies left: raise EVENTS_A_SECOND_AT_MOST');
      const { status, text, ms } = await postBody(worker.url, 'bench', body, { agent });
      if (status !== 202) throw new Error(`the tracker answered ${status}: ${text}`);
      times.push(ms);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const answered = (performance.now() - began) / 1000;
  agent.destroy();
  await settled(worker.url, { within: 300_000 });
  const counted = (performance.now() - began) / 1000;
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  const events = times.length * BATCH;
  return { events, events_per_second: events / answered, counted_per_second: events / counted, p50_ms: at(0.5), p99_ms: at(0.99) };
}

export async function measure({ seconds, rounds, clients }) {
  // As it is when nothing else is said.
  const vars = { INGEST_TOKENS: 'bench', OUTBOX_FLUSH_MS: '2000' };
  const subjects = {
    outbox: await start('review-tracker', { vars }),
    reference: await start('review-tracker', { vars: { ...vars, OUTBOX_SHARDS: '0' } }),
  };
  const best = {};
  const all = {};
  try {
    let seed = 100;
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, worker] of Object.entries(subjects)) {
        const supply = bodies(Math.ceil((seconds * EVENTS_A_SECOND_AT_MOST) / BATCH), (seed += 1));
        const measured = await load(worker, supply, { seconds, clients });
        (all[name] ??= []).push(measured);
        if (!best[name] || measured.events_per_second > best[name].events_per_second) best[name] = measured;
      }
    }
    for (const [name, worker] of Object.entries(subjects)) {
      const database = await worker.mf.getD1Database('DB');
      const { n } = await database.prepare('SELECT count(*) AS n FROM events').first();
      const accepted = all[name].reduce((sum, { events }) => sum + events, 0);
      if (n !== accepted) throw new Error(`${name}: ${accepted} were accepted, ${n} are there`);
    }
  } finally {
    await Promise.all(Object.values(subjects).map((worker) => worker.dispose()));
  }
  const speed = best.outbox.events_per_second / best.reference.events_per_second;
  const p50 = best.outbox.p50_ms / best.reference.p50_ms;
  return {
    seconds,
    rounds,
    clients,
    batch: BATCH,
    best,
    ratio: {
      events_per_second: speed,
      p50,
      until_counted: best.outbox.counted_per_second / best.reference.counted_per_second,
    },
    bars: {
      [`events/s at least ${LEAST_SPEED} x`]: speed >= LEAST_SPEED,
      [`P50 at most ${MOST_P50} x`]: p50 <= MOST_P50,
      [`P99 at most ${MOST_P99_MS} ms`]: best.outbox.p99_ms <= MOST_P99_MS,
    },
  };
}
