// reviewer-config's administration in a real workerd: revisions, lost updates, history, rollback, switches by API and by
// hand, limits, and the API's own description.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { early } from '../support/clock.mjs';
import { assertProblem } from '../support/problem.mjs';
import { root, start } from '../support/workerd.mjs';

const VARS = { READER_TOKENS: 'reader', ADMIN_TOKENS: 'ada:ada-token, anonymous-token' };
/** Limit of a wait, on a machine that is busy with other work. */
const PATIENCE_MS = 60_000;
const OPUS = ['anthropic/claude-opus-4-7', 'anthropic/claude-opus-4-6'];

/** Calls a Worker as an administrator. */
function client(worker, token = 'ada-token') {
  return async (method, path, body, headers = {}) =>
    fetch(worker.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
}

async function withWorker(use, options = {}) {
  const worker = await start('reviewer-config', { vars: VARS, ...options });
  try {
    return await use(worker, client(worker));
  } finally {
    await worker.dispose();
  }
}

/** The configuration that a review reads, once it no longer comes from memory. */
async function effective(worker, accept = () => true) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await client(worker, 'reader')('GET', '/v1/config');
    assert.equal(response.status, 200);
    const answer = await response.json();
    if (accept(answer)) return answer;
    assert.ok(Date.now() < until, `still ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function written(response) {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text).revision;
}

/** Waits until KV shows a revision: KV follows the Durable Object a moment later. */
async function followed(kv, revision) {
  const until = Date.now() + PATIENCE_MS;
  while ((await kv.get(`config/revision/${revision}`)) === null) {
    assert.ok(Date.now() < until, 'KV never follows');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('who may write', () => {
  let worker;
  before(async () => {
    worker = await start('reviewer-config', { vars: VARS });
  });
  after(() => worker.dispose());
  const doors = [
    ['GET', '/v1/config/document'],
    ['PUT', '/v1/config/document', {}],
    ['POST', '/v1/config/validate', {}],
    ['PUT', '/v1/providers/anthropic', { enabled: false }],
    ['PUT', '/v1/failback', {}],
    ['GET', '/v1/history'],
    ['GET', '/v1/history/1'],
    ['POST', '/v1/rollback/1'],
  ];
  for (const [method, path, body] of doors) {
    test(`${method} ${path} refuses a reader, and says what its token is for`, async () => {
      const { detail } = await assertProblem(await client(worker, 'reader')(method, path, body), 401, 'readers-token');
      assert.match(detail, /one of READER_TOKENS, which may only read.*ADMIN_TOKENS/);
      const wrong = await assertProblem(await client(worker, 'nobody')(method, path, body), 401, 'unauthorized');
      assert.match(wrong.detail, /not one of the accepted ones/);
    });
  }

  test('an administrator may read what a reader may', async () => {
    assert.equal((await client(worker)('GET', '/v1/config')).status, 200);
    await assertProblem(await client(worker, 'nobody')('GET', '/v1/config'), 401, 'unauthorized');
  });

  test('after too many guesses an address has to wait, and a reader with a token does not', async () => {
    await withWorker(async (fresh) => {
      await early(60_000, 10_000);
      const statuses = [];
      for (let guess = 0; guess < 35; guess += 1) {
        statuses.push((await client(fresh, `guess-${guess}`)('GET', '/v1/config')).status);
      }
      assert.deepEqual([...new Set(statuses)], [401, 429]);
      assert.equal(statuses.indexOf(429), 30);
      const response = await client(fresh, 'guess')('GET', '/v1/history');
      assert.equal(response.headers.get('retry-after'), '60');
      const { detail } = await assertProblem(response, 429, 'too-many-requests');
      assert.match(detail, /Wait a minute, and correct the cause: The bearer token is not one of the accepted ones/);
      assert.equal((await client(fresh, 'reader')('GET', '/v1/config')).status, 200);
    });
  });
});

describe('the document', () => {
  test('is written against what was read, and read at once', () =>
    withWorker(async (worker, call) => {
      const first = await call('GET', '/v1/config/document');
      assert.equal(first.headers.get('etag'), '"0"');
      assert.deepEqual(await first.json(), { schema_version: 1 });

      await assertProblem(await call('PUT', '/v1/config/document', { schema_version: 1 }), 428, 'if-match-needed');
      await assertProblem(await call('PUT', '/v1/config/document', { schema_version: 1 }, { 'if-match': '*' }), 412, 'stale');

      const document = { schema_version: 1, limits: { sessions: 3 }, from_the_future: { kept: true } };
      const response = await call('PUT', '/v1/config/document?reason=fewer%20sessions', document, { 'if-match': '"0"' });
      assert.equal(response.headers.get('etag'), '"1"');
      assert.equal(await written(response), 1);

      const again = await call('GET', '/v1/config/document');
      assert.equal(again.headers.get('etag'), '"1"');
      assert.deepEqual(await again.json(), { ...document, revision: 1 });
      const read = await effective(worker);
      assert.equal(read.config.limits.sessions, 3, 'a read after the write is not stale');
      assert.equal(read.config.revision, 1);

      const stale = await call('PUT', '/v1/config/document', { schema_version: 1 }, { 'if-match': '"0"' });
      const problem = await assertProblem(stale, 412, 'stale');
      assert.match(problem.detail, /"1" now/);
    }));

  test('with faults changes nothing, and every fault is named', () =>
    withWorker(async (worker, call) => {
      const faulty = { schema_version: 1, limits: { sessions: 0 }, reviewers: { '../x': { timeout_seconds: 0 } } };
      for (const response of [
        await call('PUT', '/v1/config/document', faulty, { 'if-match': '"0"' }),
        await call('POST', '/v1/config/validate', faulty),
      ]) {
        const problem = await assertProblem(response, 422, 'invalid-document');
        assert.deepEqual(problem.errors.map(({ pointer }) => pointer), ['/reviewers/..~1x', '/reviewers/..~1x/timeout_seconds', '/limits/sessions']);
      }
      assert.deepEqual(await (await call('GET', '/v1/history')).json(), { revisions: [] });
      assert.deepEqual(await (await call('POST', '/v1/config/validate', { schema_version: 1 })).json(), { valid: true, unknown: [] });
      const typo = { schema_version: 1, reviwers: {}, limits: { sesions: 3 } };
      assert.deepEqual(await (await call('POST', '/v1/config/validate', typo)).json(), { valid: true, unknown: ['/reviwers', '/limits/sesions'] });
    }));

  test('with values of the wrong kind names every one of them, beside what is not allowed', () =>
    withWorker(async (worker, call) => {
      const wrong = {
        schema_version: 1,
        limits: { sessions: 'many', panel_seconds: 0 },
        providers: { anthropic: {} },
        projects: [{ paths: [7, 'a['] }, { limits: { sessions: 1 } }, { paths: ['b'], limits: { sessions: 0 } }],
        prices: { 'a/b': { as_of: 'soon', input: -1, output: 1 } },
      };
      const problem = await assertProblem(await call('POST', '/v1/config/validate', wrong), 422, 'invalid-document');
      assert.deepEqual(problem.errors.map(({ pointer }) => pointer).toSorted(), [
        '/limits/panel_seconds',
        '/limits/sessions',
        '/prices/a~1b/as_of',
        '/prices/a~1b/input',
        '/projects/0/paths/0',
        '/projects/0/paths/1',
        '/projects/1',
        '/projects/2/limits/sessions',
        '/providers/anthropic',
      ]);
    }));

  test('bodies are capped, and have to be JSON', () =>
    withWorker(async (worker, call) => {
      const match = { 'if-match': '"0"' };
      await assertProblem(await call('PUT', '/v1/config/document', ' '.repeat(10_000_000), match), 413, 'too-large');
      await assertProblem(await call('PUT', '/v1/config/document', '{', match), 400, 'bad-body');
      await assertProblem(await call('PUT', '/v1/config/document', '{}', { ...match, 'content-type': 'text/plain' }), 415, 'not-json');
      await assertProblem(await call('PUT', `/v1/config/document?reason=${'x'.repeat(501)}`, { schema_version: 1 }, match), 400, 'bad-reason');
    }));

  test('of 100 writers at once exactly one wins with an If-Match, and without one none is lost', () =>
    withWorker(async (worker, call) => {
      const responses = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          call('PUT', '/v1/config/document', { schema_version: 1, limits: { sessions: n + 1 } }, { 'if-match': '"0"' }),
        ),
      );
      const statuses = responses.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      assert.equal(statuses.filter((status) => status === 412).length, 99);

      const switches = await Promise.all(
        Array.from({ length: 100 }, (_, n) => call('PUT', `/v1/providers/p${n % 10}`, { enabled: n % 2 === 0, reason: `writer ${n}` })),
      );
      const revisions = await Promise.all(switches.map(written));
      assert.deepEqual(revisions.toSorted((a, b) => a - b), Array.from({ length: 100 }, (_, n) => n + 2));
      const { revisions: history } = await (await call('GET', '/v1/history?limit=200')).json();
      assert.equal(history.length, 101);
      const reasons = new Set(history.map(({ why }) => why));
      for (let n = 0; n < 100; n += 1) assert.ok(reasons.has(`writer ${n}`), `writer ${n}`);
    }));
});

describe('projects', () => {
  const document = {
    schema_version: 1,
    limits: { sessions: 5 },
    prices: { 'anthropic/claude-opus-4-7': { as_of: '2026-11-01', input: 4, output: 20 } },
    projects: [
      { paths: ['platform/**'], limits: { sessions: 3 }, reviewers: { security: { timeout_seconds: 500 } } },
      { paths: ['platform/payments'], limits: { sessions: 1 }, providers: { openai: { enabled: false, reason: 'residency' } } },
    ],
  };
  const of = async (worker, project, headers = {}) =>
    client(worker, 'reader')('GET', `/v1/config?project=${encodeURIComponent(project)}`, undefined, headers);

  test('get what is otherwise in them, the last word last, and a tag of their own', () =>
    withWorker(async (worker, call) => {
      await written(await call('PUT', '/v1/config/document', document, { 'if-match': '"0"' }));
      const tags = new Map();
      for (const [project, sessions, openai, timeout] of [
        ['website/shop', 5, undefined, undefined],
        ['platform/build', 3, undefined, 500],
        ['platform/payments', 1, false, 500],
        ['platform/payments/ledger', 1, false, 500],
      ]) {
        const response = await of(worker, project);
        tags.set(project, response.headers.get('etag'));
        const { config, warnings } = await response.json();
        assert.deepEqual(warnings, []);
        assert.equal(config.limits.sessions, sessions, project);
        assert.equal(config.providers.openai?.enabled, openai, project);
        assert.equal(config.reviewers.security?.timeout_seconds, timeout, project);
        assert.equal(config.projects, undefined, 'an old client need not know of them');
        assert.equal(config.prices['anthropic/claude-opus-4-7'].as_of, '2026-11-01');
      }
      assert.equal(new Set(tags.values()).size, 3);
      const again = await of(worker, 'platform/build', { 'if-none-match': tags.get('platform/build') });
      assert.equal(again.status, 304);
      const other = await of(worker, 'platform/build', { 'if-none-match': tags.get('website/shop') });
      assert.equal(other.status, 200, 'the tag of another project is another one');
      await other.arrayBuffer();
    }));

  test('a switch reaches all of them at once, and none is switched on by one', () =>
    withWorker(async (worker, call) => {
      await written(await call('PUT', '/v1/config/document', document, { 'if-match': '"0"' }));
      await written(await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: 'incident 7' }));
      await written(await call('PUT', '/v1/providers/openai', { enabled: true }));
      const { config } = await (await of(worker, 'platform/payments')).json();
      assert.equal(config.providers.anthropic.enabled, false);
      assert.deepEqual(config.providers.openai, { enabled: false, reason: 'residency' });
      const elsewhere = (await (await of(worker, 'website/shop')).json()).config;
      assert.equal(elsewhere.providers.openai.enabled, true);
    }));

  test('in a document that was written by hand count as well, and its faults are named', () =>
    withWorker(async (worker) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      await kv.put('config/document', JSON.stringify(document));
      const good = await effective(worker, ({ config }) => config.limits.sessions === 5);
      assert.deepEqual(good.warnings, []);
      assert.equal((await (await of(worker, 'platform/build')).json()).config.limits.sessions, 3);
      await kv.put('config/document', JSON.stringify({ ...document, projects: [{ paths: ['a['] }] }));
      const bad = await effective(worker, ({ warnings }) => warnings.length > 0);
      assert.match(bad.warnings[0], /\/projects\/0\/paths\/0/);
    }));
});

describe('switches', () => {
  test('one call takes a provider out, for the next read, and one puts it back', () =>
    withWorker(async (worker, call) => {
      assert.deepEqual((await effective(worker)).config.providers, {});
      await written(await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: 'incident 7' }));
      assert.deepEqual((await effective(worker)).config.providers, { anthropic: { enabled: false, reason: 'incident 7' } });
      await written(await call('PUT', '/v1/providers/anthropic', { enabled: true }));
      assert.deepEqual((await effective(worker)).config.providers, { anthropic: { enabled: true } });
    }));

  test('KV follows, with the key that an operator would type, and a copy of each revision', () =>
    withWorker(async (worker, call) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      await written(await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: 'incident 7' }));
      await followed(kv, 1);
      assert.equal(await kv.get('provider/anthropic'), '{"enabled":false,"reason":"incident 7"}');
      assert.equal(JSON.parse(await kv.get('config/revision/1')).who, 'ada');
    }));

  test('a switch that is written to KV by hand wins, also after one through the API, and can be deleted', () =>
    withWorker(async (worker, call) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      await kv.put('provider/openai', '{"enabled":false,"reason":"by hand"}');
      assert.equal((await effective(worker, ({ config }) => config.providers.openai)).config.providers.openai.reason, 'by hand');

      const revision = await written(await call('PUT', '/v1/providers/openai', { enabled: true }));
      assert.equal((await effective(worker)).config.providers.openai.enabled, true, 'what KV shows was replaced');
      // KV knows no comparing write: what is written by hand in the very moment in which KV follows may be replaced.
      await followed(kv, revision);

      await kv.put('provider/openai', '{"enabled":false,"reason":"by hand again"}');
      const again = await effective(worker, ({ config }) => config.providers.openai.reason === 'by hand again');
      assert.equal(again.config.providers.openai.enabled, false);
    }));

  test('a bad name or body is refused', () =>
    withWorker(async (worker, call) => {
      await assertProblem(await call('PUT', '/v1/providers/a%20b', { enabled: false }), 422, 'invalid-provider');
      await assertProblem(await call('PUT', '/v1/providers/anthropic', { enabled: 'no' }), 400, 'bad-body');
      await assertProblem(await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: 'a\nb' }), 400, 'bad-reason');
      for (const hidden of ['\u202e', '\u2066', '\u200b', '\ufeff', '\u0085', '\u2028', '\u{e0041}']) {
        const refused = await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: `in${hidden}cident` });
        const { detail } = await assertProblem(refused, 400, 'bad-reason');
        assert.match(detail, new RegExp(`U\\+${hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}, at character 3`));
        const document = { schema_version: 1, providers: { [`vllm${hidden}`]: { enabled: false, reason: hidden } } };
        const { errors } = await assertProblem(await call('POST', '/v1/config/validate', document), 422, 'invalid-document');
        assert.ok(errors.some(({ pointer }) => /^\/providers\/vllm<U\+[0-9A-F]+>$/.test(pointer)), JSON.stringify(errors));
        assert.ok(errors.some(({ pointer }) => /^\/providers\/vllm<U\+[0-9A-F]+>\/reason$/.test(pointer)));
      }
      await assertProblem(await call('PUT', '/v1/providers/anthropic', { enabled: false }, { 'if-match': '"7"' }), 412, 'stale');
    }));
});

describe('failback', () => {
  test('is written into the document in force, also into one that was written by hand', () =>
    withWorker(async (worker, call) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      await kv.put('config/document', '{"schema_version":1,"limits":{"sessions":2}}');
      const tag = (await call('GET', '/v1/config/document')).headers.get('etag');
      await written(await call('PUT', '/v1/failback?reason=end%20early', { [OPUS[0]]: null }, { 'if-match': tag }));
      const { config } = await effective(worker, (read) => read.config.revision === 1);
      assert.deepEqual(config.failback, { [OPUS[0]]: null });
      assert.equal(config.limits.sessions, 2);
    }));

  test('is written against the document that was read: all chains are replaced, and no colleague\'s is lost', () =>
    withWorker(async (worker, call) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      const put = (model, tag) => call('PUT', '/v1/failback', { [model]: null }, tag === undefined ? {} : { 'if-match': tag });
      await assertProblem(await put(OPUS[0]), 428, 'if-match-needed');
      const first = await put(OPUS[0], '"0"');
      assert.equal(first.headers.get('etag'), '"1"');
      await first.arrayBuffer();
      await assertProblem(await put(OPUS[1], '"0"'), 412, 'stale');
      await followed(kv, 1);

      // What is written by hand has a tag of its own, and the revision's number does not stand for it.
      const tags = new Set();
      for (const text of ['{"schema_version":1,"limits":{"sessions":2}}', '{"schema_version":1,"limits":{"sessions":3}}']) {
        await kv.put('config/document', text);
        await assertProblem(await put(OPUS[1], '"1"'), 412, 'stale');
        for (const tag of tags) await assertProblem(await put(OPUS[1], tag), 412, 'stale');
        tags.add((await call('GET', '/v1/config/document')).headers.get('etag'));
      }
      assert.equal(tags.size, 2);
      const { config } = await effective(worker, (read) => read.config.limits.sessions === 3);
      assert.deepEqual(config.failback, {}, 'what was by hand is in force as it was written');
    }));

  test('is not written into what is not a document, and the worker goes on', () =>
    withWorker(async (worker, call) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      for (const stored of ['reviewers: {}', '[1]', '"text"', '']) {
        await kv.put('config/document', stored);
        const { detail } = await assertProblem(await call('PUT', '/v1/failback', { [OPUS[0]]: null }), 409, 'unusable-document');
        assert.match(detail, /conclave config apply/);
        const shown = await call('GET', '/v1/config/document');
        assert.equal(shown.status, 200);
        assert.equal(await shown.text(), stored, 'as it is stored');
        const { document_fault: fault, warnings } = await effective(worker, ({ document_fault }) => document_fault !== undefined);
        assert.deepEqual(warnings, [fault]);
        const tag = shown.headers.get('etag');
        const revision = await written(await call('PUT', '/v1/config/document', { schema_version: 1 }, { 'if-match': tag }));
        // What is written by hand before KV follows may be replaced.
        await followed(kv, revision);
        assert.equal((await effective(worker, ({ document_fault }) => document_fault === undefined)).warnings.length, 0);
      }
    }));

  test('cycles, unknown models and long chains are refused', () =>
    withWorker(async (worker, call) => {
      const families = ['claude-opus-4-7', 'claude-opus-4-6', 'claude-opus-4-8', 'claude-opus-5-5', 'claude-sonnet-5', 'claude-sonnet-4-6', 'claude-sonnet-4-5'];
      const chain = Object.fromEntries(families.slice(1).map((model, n) => [`anthropic/${families[n]}`, `anthropic/${model}`]));
      for (const [failback, reason] of [
        [{ [OPUS[0]]: OPUS[1], [OPUS[1]]: OPUS[0] }, /chain is circular: .*4-6 → .*4-7 → .*4-6/],
        // 4-7 falls back to 4-6 without anyone's doing.
        [{ [OPUS[1]]: OPUS[0] }, /chain is circular: .*4-6 → .*4-7 → .*4-6; anthropic\/claude-opus-4-7 falls back to .*4-6 by default/],
        [{ [OPUS[0]]: 'anthropic/claude-opos-4-6' }, /claude-opos-4-6.*spelling/],
        [chain, /longer than 5/],
      ]) {
        const problem = await assertProblem(await call('PUT', '/v1/failback', failback, { 'if-match': '"0"' }), 422, 'invalid-document');
        assert.match(problem.errors[0].detail, reason);
      }
    }));
});

describe('history', () => {
  test('says who, when and why, in pages, and goes back in one call', () =>
    withWorker(async (worker, call) => {
      const began = Date.now();
      await written(await call('PUT', '/v1/config/document?reason=start', { schema_version: 1, limits: { sessions: 5 } }, { 'if-match': '"0"' }));
      await written(await call('PUT', '/v1/providers/anthropic', { enabled: false, reason: 'incident 7' }));
      await written(await client(worker, 'anonymous-token')('PUT', '/v1/config/document', { schema_version: 1, limits: { sessions: 1 } }, { 'if-match': '"2"' }));

      const { revisions } = await (await call('GET', '/v1/history')).json();
      assert.deepEqual(
        revisions.map(({ revision, who, why, action }) => [revision, who, why, action]),
        [
          [3, '', null, 'wrote the document'],
          [2, 'ada', 'incident 7', 'switched anthropic off'],
          [1, 'ada', 'start', 'wrote the document'],
        ],
      );
      for (const { at_ms: at } of revisions) assert.ok(at >= began - 1000 && at <= Date.now() + 1000, `${at}`);
      const page = await (await call('GET', '/v1/history?before=3&limit=1')).json();
      assert.deepEqual(page.revisions.map(({ revision }) => revision), [2]);
      const one = await (await call('GET', '/v1/history/2')).json();
      assert.equal(one.document.limits.sessions, 5);
      assert.deepEqual(one.switches, { anthropic: { enabled: false, reason: 'incident 7' } });

      assert.equal(await written(await call('POST', '/v1/rollback/1?reason=too%20slow')), 4);
      const { config } = await effective(worker);
      assert.equal(config.limits.sessions, 5);
      assert.deepEqual(config.providers, {}, 'the switch was not there in revision 1');
      assert.equal(config.revision, 4);

      await assertProblem(await call('POST', '/v1/rollback/99'), 404, 'no-such-revision');
      await assertProblem(await call('POST', '/v1/rollback/x'), 400, 'bad-request');
      await assertProblem(await call('GET', '/v1/history/99'), 404, 'no-such-revision');
      await assertProblem(await call('GET', '/v1/history?before=x'), 400, 'bad-request');
    }));
});

describe('a store that is down', () => {
  test('without KV the last revision is answered, and said to be that', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'conclave-config-'));
    try {
      await withWorker(async (worker, call) => {
        await written(await call('PUT', '/v1/config/document', { schema_version: 1, limits: { sessions: 4 } }, { 'if-match': '"0"' }));
      }, { persist: directory });
      await withWorker(async (worker) => {
        const { config, warnings } = await effective(worker);
        assert.equal(config.limits.sessions, 4);
        assert.equal(warnings.length, 1);
        assert.match(warnings[0], /KV cannot be read; this is revision 1/);
      }, { persist: directory, without: ['kvNamespaces'] });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe('the description', () => {
  const openapi = JSON.parse(readFileSync(join(root, 'workers/reviewer-config/openapi.json'), 'utf8'));
  const operations = Object.entries(openapi.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), path]));

  test('is served as it stands in the repository', () =>
    withWorker(async (worker) => {
      assert.deepEqual(await (await fetch(`${worker.url}/v1/openapi.json`)).json(), openapi);
    }));

  test('the schema of the document is served as it is published, and the description leads to it', () =>
    withWorker(async (worker) => {
      const published = JSON.parse(readFileSync(join(root, 'docs/schema/config-document.schema.json'), 'utf8'));
      const response = await fetch(worker.url + openapi.components.schemas.ConfigDocument.$ref);
      assert.equal(response.headers.get('content-type'), 'application/schema+json');
      assert.deepEqual(await response.json(), published);
    }));

  test('has every route of the Worker, with its methods, and no other', () =>
    withWorker(async (worker) => {
      const source = readFileSync(join(root, 'workers/reviewer-config/src/lib.rs'), 'utf8');
      const constants = Object.fromEntries(
        [...readFileSync(join(root, 'shared/src/routes.rs'), 'utf8').matchAll(/const (\w+): &str = "([^"]+)"/g)].map(([, name, path]) => [name, path]),
      );
      const routed = [...source.matchAll(/(?:path\(\) == |\.on(?:_async)?\(\s*)(?:routes::(\w+)|&format!\("\{\}\/:(\w+)", routes::(\w+)\))/g)].map(
        ([, plain, parameter, prefix]) => (plain ? constants[plain] : `${constants[prefix]}/{${parameter}}`),
      );
      assert.deepEqual([...new Set(operations.map(([, path]) => path))].toSorted(), routed.toSorted());

      for (const [path, methods] of Object.entries(openapi.paths)) {
        const real = path.replace('{revision}', '1').replace('{id}', 'anthropic');
        const response = await fetch(worker.url + real, { method: 'PATCH' });
        await response.arrayBuffer();
        assert.equal(response.status, 405, path);
        const allowed = response.headers.get('allow').split(', ').filter((method) => method !== 'HEAD');
        assert.deepEqual(allowed.toSorted(), Object.keys(methods).map((method) => method.toUpperCase()).toSorted(), path);
      }
    }));
});
