#!/usr/bin/env node
// What the tracker can take, in workerd through the Miniflare API.
//
//   node tests/support/bench/tracker.mjs ingest [--seconds N] [--rounds N] [--clients N]
//   node tests/support/bench/tracker.mjs dashboard --program FILE [--few N] [--many N] [--repeat N]
//   node tests/support/bench/tracker.mjs page --program FILE [--few N] [--many N] [--repeat N]
//   node tests/support/bench/tracker.mjs kill [--kills N] [--clients N]
//   node tests/support/bench/tracker.mjs abuse [--requests N] [--seed N]
//
// Prints JSON; exits with 1 if a bar is missed.

import { parseArgs } from 'node:util';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: 'string' },
    seconds: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '16' },
    few: { type: 'string', default: '10000' },
    many: { type: 'string', default: '1000000' },
    repeat: { type: 'string', default: '31' },
    kills: { type: 'string', default: '50' },
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '20261122' },
  },
});
const [part] = positionals;
if (!['ingest', 'dashboard', 'page', 'kill', 'abuse'].includes(part)) {
  process.stderr.write(`bench: unknown part '${part}': give ingest, dashboard, page, kill or abuse\n`);
  process.exit(2);
}
const numbers = Object.fromEntries(
  Object.entries(options).map(([name, value]) => [name, name === 'program' ? value : Number(value)]),
);
const { measure } = await import(`./tracker/${part}.mjs`);
const result = { bench: `tracker ${part}`, ...(await measure(numbers)) };
console.log(JSON.stringify(result, null, 2));
process.exitCode = Object.values(result.bars).every(Boolean) ? 0 : 1;
