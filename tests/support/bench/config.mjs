#!/usr/bin/env node
// What the control plane's read costs, in workerd through the Miniflare API: `GET /v1/config` (200 and 304) beside a Worker
// that only returns a constant and one that only reads one KV key, in the same run; cold start; size.
//
//   node tests/support/bench/config.mjs [--seconds N] [--rounds N] [--connections N]
//
// The Workers take turns, so that what disturbs one disturbs all; of each the best round counts. Prints JSON; exits with 1 if
// a bar is missed.

import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Log, LogLevel, Miniflare, convertV4MiniflareOptions } from 'miniflare';
import { root, start } from '../workerd.mjs';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
  },
});
const [seconds, rounds, connections] = [options.seconds, options.rounds, options.connections].map(Number);

const LEAST_SHARE = 0.6;
const MOST_BYTES = 1024 * 1024;

/** A Worker of a few lines, with a KV namespace. */
async function bare(source) {
  const mf = new Miniflare({
    ...convertV4MiniflareOptions({
      name: 'bare',
      modules: [{ type: 'ESModule', path: 'index.js', contents: source }],
      compatibilityDate: '2026-11-01',
      kvNamespaces: { CONFIG: 'bench' },
      host: '127.0.0.1',
      port: 0,
      cf: false,
      log: new Log(LogLevel.ERROR),
    }),
  });
  return { url: (await mf.ready).origin, mf, dispose: () => mf.dispose() };
}

/** One request; answers its time in ms. */
function once(url, agent, headers, status) {
  const began = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers }, (response) => {
      response.on('data', () => {});
      response.on('end', () =>
        response.statusCode === status
          ? resolve(Number(process.hrtime.bigint() - began) / 1e6)
          : reject(new Error(`${url} answered ${response.statusCode}, not ${status}`)),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Asks with all connections for the time of a round. */
async function load({ url, headers = {}, status = 200 }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  await once(url, agent, headers, status);
  const times = [];
  const began = performance.now();
  const client = async () => {
    while (performance.now() - began < seconds * 1000) times.push(await once(url, agent, headers, status));
  };
  await Promise.all(Array.from({ length: connections }, client));
  const elapsed = (performance.now() - began) / 1000;
  agent.destroy();
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { per_second: times.length / elapsed, p50_ms: at(0.5), p99_ms: at(0.99) };
}

const document = readFileSync(join(root, 'tests/fixtures/config/v1-3-projects-prices.json'), 'utf8');
const vars = { READER_TOKENS: 'r', ADMIN_TOKENS: 'ada:a' };
const config = await start('reviewer-config', { vars });
const constant = await bare("const body = JSON.stringify({ x: 'y'.repeat(1500) }); export default { fetch: () => new Response(body) };");
const kv = await bare("export default { fetch: async (request, env) => new Response(await env.CONFIG.get('config/document')) };");
await (await config.mf.getKVNamespace('CONFIG')).put('config/document', document);
await (await kv.mf.getKVNamespace('CONFIG')).put('config/document', document);

const url = `${config.url}/v1/config?project=platform%2Fpayments`;
const headers = { authorization: 'Bearer r' };
const tag = (await fetch(url, { headers })).headers.get('etag');
const subjects = {
  constant: { url: constant.url },
  kv: { url: kv.url },
  config_200: { url, headers },
  config_304: { url, headers: { ...headers, 'if-none-match': tag }, status: 304 },
};
const best = {};
for (let round = 0; round < rounds; round += 1) {
  for (const [name, subject] of Object.entries(subjects)) {
    const measured = await load(subject);
    if (!best[name] || measured.per_second > best[name].per_second) best[name] = measured;
  }
}
await Promise.all([config, constant, kv].map((worker) => worker.dispose()));

// A cold start is the first request of an isolate: a new workerd has none yet.
const cold = [];
for (let round = 0; round < 5; round += 1) {
  const fresh = await start('reviewer-config', { vars });
  cold.push(await once(`${fresh.url}/healthz`, undefined, {}, 200));
  await fresh.dispose();
}
cold.sort((one, other) => one - other);

const wasm = readFileSync(join(root, 'workers/reviewer-config/build/index_bg.wasm'));
const share = (name) => best[name].per_second / best.constant.per_second;
const result = {
  bench: 'config',
  seconds,
  rounds,
  connections,
  requests: best,
  share_of_constant: { config_200: share('config_200'), config_304: share('config_304'), kv: share('kv') },
  cold_start_ms: { median: cold[Math.floor(cold.length / 2)], worst: cold.at(-1) },
  wasm: { bytes: wasm.length, gzip_bytes: gzipSync(wasm, { level: 9 }).length },
};
result.bars = {
  'a share of the constant Worker of 0.6': share('config_200') >= LEAST_SHARE && share('config_304') >= LEAST_SHARE,
  'more than the KV reader': share('config_200') > share('kv') && share('config_304') > share('kv'),
  'wasm of at most 1 MB compressed': result.wasm.gzip_bytes <= MOST_BYTES,
};
console.log(JSON.stringify(result, null, 2));
process.exitCode = Object.values(result.bars).every(Boolean) ? 0 : 1;
