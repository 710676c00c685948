// Absurd documents, through the real Worker: never a 500, never a changed state, every problem with a place.
//
// The dice are seeded, so a failure can be repeated: SEED names another one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from '../support/workerd.mjs';

const SEED = Number(process.env.SEED ?? 20261122);
const ROUNDS = 400;

/** A small generator (mulberry32): numbers from 0 to 1. */
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

const NAMES = [
  'reviewers', 'providers', 'failback', 'models', 'limits', 'risk', 'panels', 'prices', 'projects', 'paths', 'security', 'enabled',
  'reason', 'timeout_seconds', 'top', 'sessions', 'breaker', 'budget', 'run_usd', 'trivial_lines', 'security_paths', 'lite',
  'as_of', 'input', 'output', 'anthropic/claude-opus-4-7', 'schema_version', 'revision', '__proto__', 'a/b~c', '', '\u0000', 'ü',
];
const LEAVES = [
  null, true, false, 0, 1, -1, 7, 1e308, -1e308, 2 ** 53, 18446744073709551615, 0.1, '', 'x', 'a/b', 'anthropic/claude-opus-4-7',
  'a[', '**', '!x', '2026-11-01', '\u0000', '\ud800', '💥', 'x'.repeat(5000),
];

function value(roll, depth) {
  const kind = roll();
  if (depth === 0 || kind < 0.4) return LEAVES[Math.floor(roll() * LEAVES.length)];
  const size = Math.floor(roll() * 5);
  if (kind < 0.6) return Array.from({ length: size }, () => value(roll, depth - 1));
  return Object.fromEntries(Array.from({ length: size }, () => [NAMES[Math.floor(roll() * NAMES.length)], value(roll, depth - 1)]));
}

/** Texts that are not documents at all. */
const TEXTS = ['', '{', '[]', 'null', '"x"', '\u0000', '{"schema_version":1}}', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`, '[[[[[[[[', '{"schema_version":1e400}'];

let worker;
before(async () => {
  // 400 documents, two requests each: more than an administrator may send in a minute.
  worker = await start('reviewer-config', { vars: { READER_TOKENS: 'r', ADMIN_TOKENS: 'ada:a', MEMORY_MS: '0' }, without: ['ratelimits'] });
});
after(() => worker.dispose());

const call = (method, path, body, headers = {}) =>
  fetch(worker.url + path, {
    method,
    headers: { authorization: 'Bearer a', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body,
  });

/** A text as the Worker reads it: half of a pair of surrogates is not a character. */
const readable = (text) => Buffer.from(text, 'utf8').toString('utf8');

/** A name with the characters that its place shows by their code points. */
const writtenOut = (token) => token.replace(/<U\+([0-9A-F]{4,6})>/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));

test(`${ROUNDS} documents and what they leave behind (seed ${SEED})`, async () => {
  const roll = dice(SEED);
  let revision = 0;
  let taken = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    let text;
    if (round < TEXTS.length) {
      text = TEXTS[round];
    } else {
      const made = value(roll, 5);
      const document = typeof made === 'object' && made !== null && !Array.isArray(made) && roll() < 0.9 ? { ...made, schema_version: 1 } : made;
      // One in four has a part of its own only, so that some are good.
      text = JSON.stringify(roll() < 0.25 ? { schema_version: 1, limits: { sessions: 1 + Math.floor(roll() * 9) }, later: document } : document);
    }
    const where = `round ${round}: ${text.slice(0, 400)}`;
    const checked = await call('POST', '/v1/config/validate', text);
    const verdict = await checked.json();
    assert.ok([200, 400, 422].includes(checked.status), `${checked.status} ${where}`);
    if (checked.status === 422) {
      assert.ok(verdict.errors.length > 0, where);
      const document = JSON.parse(readable(text));
      for (const { pointer, detail } of verdict.errors) {
        assert.ok(detail, where);
        const known = pointer.split('/').slice(1, -1).map((token) => writtenOut(token).replaceAll('~1', '/').replaceAll('~0', '~'));
        // What a fault is about, or what it is in, is there.
        const parent = known.reduce((at, token) => (at === null || typeof at !== 'object' ? undefined : Object.getOwnPropertyDescriptor(at, token)?.value), document);
        assert.ok(parent !== undefined, `${pointer} ${where}`);
      }
    }
    const written = await call('PUT', '/v1/config/document', text, { 'if-match': `"${revision}"` });
    const answer = await written.json();
    assert.equal(written.status, checked.status, `the same check ${where}`);
    if (written.status === 200) {
      taken += 1;
      revision += 1;
      assert.equal(answer.revision, revision, where);
    }
    const stored = await call('GET', '/v1/config/document');
    assert.equal(stored.headers.get('etag'), `"${revision}"`, `what is refused changes nothing ${where}`);
    await stored.arrayBuffer();
    const read = await call('GET', '/v1/config?project=platform%2Fbuild');
    assert.equal(read.status, 200, where);
    const { config, warnings } = await read.json();
    assert.deepEqual(warnings, [], where);
    assert.equal(config.revision, revision, where);
  }
  assert.ok(taken > 20 && taken < ROUNDS, `${taken} were good`);
});

test('the same by hand in KV: the service goes on, and says what it left out', async () => {
  const kv = await worker.mf.getKVNamespace('CONFIG');
  const roll = dice(SEED + 1);
  for (let round = 0; round < 60; round += 1) {
    const text = round < TEXTS.length ? TEXTS[round] : JSON.stringify(value(roll, 5));
    await kv.put('config/document', text);
    await kv.put('provider/anthropic', JSON.stringify(value(roll, 2)));
    const response = await call('GET', '/v1/config?project=a%2Fb');
    assert.equal(response.status, 200, text.slice(0, 400));
    const { config, warnings } = await response.json();
    assert.ok(Array.isArray(warnings) && config.schema_version === 1, text.slice(0, 400));
  }
});
