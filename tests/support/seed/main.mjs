#!/usr/bin/env node
// What scripts/seed-demo-data runs: sends the demo data set to a tracker, or into a directory of `wrangler dev --persist-to`.

import { parseArgs } from 'node:util';
import { runsOf, seedEvents } from './events.mjs';
import { sendAll } from './send.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: process.env.CONCLAVE_TRACKER_URL },
    token: { type: 'string', default: process.env.CONCLAVE_TRACKER_TOKEN },
    persist: { type: 'string' },
    seed: { type: 'string', default: '1' },
    days: { type: 'string', default: '30' },
    now: { type: 'string' },
    clients: { type: 'string', default: '8' },
    program: { type: 'string' },
  },
});
const fail = (text) => {
  process.stderr.write(`seed-demo-data: ${text}\n`);
  process.exit(2);
};
const [size, seed, days, clients] = [positionals[0], options.seed, options.days, options.clients].map(Number);
if (positionals.length !== 1 || !(size > 0 && size <= 100)) fail('give a size above 0 and up to 100: 1 is a month of 131,246 runs');
if (!Number.isInteger(seed)) fail('--seed needs a whole number');
if (!(days >= 1 && days <= 89)) fail('--days needs 1 to 89: the tracker takes nothing older than what it keeps');
if (!(Number.isInteger(clients) && clients >= 1 && clients <= 64)) fail('--clients needs 1 to 64');
// The same day makes the same events, whenever the command runs.
const now = options.now ? Date.parse(options.now) : Math.floor(Date.now() / 86_400_000) * 86_400_000;
if (!(now <= Date.now())) fail(`--now needs a moment that is over, such as 2026-11-01T00:00:00Z, not '${options.now}'`);
if (options.persist && !options.program) fail('--persist needs --program, which scripts/seed-demo-data builds: workers/review-tracker/examples/event_rows.rs');
if (!options.persist && !(options.url && options.token)) fail('give --url and --token of a tracker, or --persist with a directory');

const began = performance.now();
let said = began;
const progress = (events) => {
  if (performance.now() - said > 5000) {
    said = performance.now();
    process.stderr.write(`${events} events\n`);
  }
};
const groups = seedEvents({ size, days, now, seed });
let accepted;
try {
  if (options.persist) {
    const { fill } = await import('./bulk.mjs');
    accepted = await fill(options.persist, groups, { program: options.program, progress });
  } else {
    accepted = await sendAll(options.url.replace(/\/+$/, ''), options.token, groups, { clients, progress });
  }
} catch (error) {
  process.stderr.write(`seed-demo-data: ${error.message}\n`);
  process.exit(1);
}
const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ size, seed, runs: runsOf(size), events: accepted, days, until: new Date(now).toISOString(), seconds: Math.round(seconds) }));
