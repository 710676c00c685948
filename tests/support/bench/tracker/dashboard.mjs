// The overview with its quantiles over 30 days, on wide data (500 bins and more, 3 tiers, 50 projects): with many runs stored it
// may take at most twice as long as with few.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fill } from '../../seed/bulk.mjs';
import { random } from '../../seed/random.mjs';
import { start } from '../../workerd.mjs';

const BINS = 570;
const PROJECTS = 50;
const DAYS = 30;
const DAY = 86_400_000;
const MOST = 2;
const GROWTH = 1.01 / 0.99;

/** Runs whose costs and durations lie in all of so many bins. */
function* runs(count, now) {
  const dice = random(5);
  const first = now - (DAYS - 1) * DAY;
  for (let index = 0; index < count; index += 1) {
    const at = first + Math.floor(((now - first) * index) / count);
    const wide = () => GROWTH ** (dice.next() * BINS);
    yield [
      {
        id: dice.uuid7(at),
        schema: 1,
        at_ms: at,
        run_id: dice.uuid7(at),
        project: `wide/project-${index % PROJECTS}`,
        event: {
          type: 'run_completed',
          tier: ['trivial', 'lite', 'full'][dice.below(3)],
          verdict: dice.pick([['approved', 5], ['approved_with_comments', 4], ['minor_issues', 2], ['significant_concerns', 1], ['inconclusive', 1]]),
          duration_ms: Math.round(2000 * wide()),
          cost_usd: 0.001 * wide(),
          tokens: { input: dice.below(1e5), output: dice.below(1e4), reasoning: 0, cache_read: dice.below(1e6), cache_write: dice.below(1e5) },
          files: 1 + dice.below(20),
          lines: dice.below(900),
          filtered_files: 0,
          critical: 0,
          warning: dice.below(3),
          suggestion: dice.below(3),
          degraded: false,
          merge_request: 1 + (index >> 1),
        },
      },
    ];
  }
}

async function filled(count, now, program) {
  const persist = mkdtempSync(join(tmpdir(), 'conclave-bench-'));
  const began = performance.now();
  let said = began;
  // The rows of ingest, without its time: a million runs are there in minutes.
  await fill(persist, runs(count, now), {
    program,
    progress: (events) => {
      if (performance.now() - said > 20_000) {
        said = performance.now();
        process.stderr.write(`${events} of ${count}\n`);
      }
    },
  });
  const started = await start('review-tracker', { vars: { DASHBOARD_TOKENS: 'bench' }, persist });
  const dispose = async () => {
    await started.dispose();
    rmSync(persist, { recursive: true, force: true });
  };
  const worker = { ...started, dispose };
  const database = await worker.mf.getD1Database('DB');
  const stored = await database
    .prepare(
      `SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(DISTINCT bin) FROM bins WHERE project = '*' AND metric = 'cost_usd') AS bins,
       (SELECT count(DISTINCT project) FROM runs) AS projects`,
    )
    .first();
  return { worker, stored: { ...stored, seconds: Math.round((performance.now() - began) / 1000) } };
}

/** The median time of a page in ms. */
async function page(worker, path, repeat) {
  const login = await fetch(`${worker.url}/login`, { method: 'POST', headers: { origin: worker.url }, body: new URLSearchParams({ token: 'bench' }), redirect: 'manual' });
  const cookie = login.headers.get('set-cookie').split(';')[0];
  const times = [];
  for (let round = 0; round < repeat + 5; round += 1) {
    const began = performance.now();
    const response = await fetch(`${worker.url}${path}`, { headers: { cookie } });
    const text = await response.text();
    if (response.status !== 200 || !text.includes('<h1>')) throw new Error(`${path} answered ${response.status}`);
    if (round >= 5) times.push(performance.now() - began);
  }
  times.sort((one, other) => one - other);
  return times[Math.floor(times.length / 2)];
}

/** `also` is done with both data sets before they go. */
export async function measure({ few, many, repeat, program, also = async () => {} }) {
  const now = Date.now() - 60_000;
  const sets = { few: await filled(few, now, program), many: await filled(many, now, program) };
  const pages = { all: '/', one_project: '/?project=wide%2Fproject-7', one_tier: '/?tier=full', findings: '/findings', models_of_a_tier: '/models?tier=full' };
  const times = {};
  try {
    for (const [name, path] of Object.entries(pages)) {
      times[name] = {};
      // In turns, so that what disturbs one disturbs both.
      for (const [size, { worker }] of Object.entries(sets)) times[name][size] = await page(worker, path, repeat);
      for (const [size, { worker }] of Object.entries(sets)) times[name][size] = Math.min(times[name][size], await page(worker, path, repeat));
      times[name].ratio = times[name].many / times[name].few;
    }
    await also(sets);
  } finally {
    await Promise.all(Object.values(sets).map(({ worker }) => worker.dispose()));
  }
  const stored = Object.fromEntries(Object.entries(sets).map(([size, set]) => [size, set.stored]));
  return {
    stored,
    median_ms: times,
    bars: {
      'at least 500 bins and 50 projects': stored.many.bins >= 500 && stored.many.projects >= PROJECTS,
      [`the overview at most ${MOST} x`]: times.all.ratio <= MOST,
      // One project is shown and has no bar: its 200 of 10,000 runs fill only some of the bins, so it is these that are compared.
      [`one tier at most ${MOST} x`]: times.one_tier.ratio <= MOST,
    },
  };
}
