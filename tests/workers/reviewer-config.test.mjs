// reviewer-config in a real workerd: who may read, what is read, and that nothing in the store can take it down.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

const TOKENS = 'old-token, new-token';

let worker;
let kv;
before(async () => {
  // Without memory: each test writes to KV and reads at once. What is read from memory, another file tests.
  worker = await start('reviewer-config', { vars: { READER_TOKENS: TOKENS, MEMORY_MS: '0' } });
  kv = await worker.mf.getKVNamespace('CONFIG');
});
after(() => worker.dispose());
beforeEach(async () => {
  const { keys } = await kv.list();
  await Promise.all(keys.map(({ name }) => kv.delete(name)));
});

const get = (path = '/v1/config?project=group%2Fproject', { token = 'new-token', headers = {}, ...init } = {}) =>
  fetch(worker.url + path, {
    ...init,
    headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
  });
const read = async () => (await get()).json();

describe('who may read', () => {
  test('no token, a wrong one and the wrong scheme are refused', async () => {
    for (const [token, headers] of [
      [null, {}],
      ['wrong', {}],
      ['old-token, new-token', {}],
      [null, { authorization: 'Basic bmV3LXRva2Vu' }],
      [null, { authorization: 'Bearer ' }],
    ]) {
      const response = await get(undefined, { token, headers });
      assert.match(response.headers.get('www-authenticate'), /^Bearer /);
      await assertProblem(response, 401, 'unauthorized');
    }
  });

  test('each listed token is good while tokens are rotated', async () => {
    for (const token of ['old-token', 'new-token']) {
      assert.equal((await get(undefined, { token })).status, 200);
    }
  });

  test('without tokens everybody is refused and told what to configure', async () => {
    for (const vars of [{}, { READER_TOKENS: '' }, { READER_TOKENS: ' , ' }]) {
      const bare = await start('reviewer-config', { vars });
      try {
        const response = await fetch(`${bare.url}/v1/config`, { headers: { authorization: 'Bearer ' } });
        const problem = await assertProblem(response, 503, 'not-configured');
        assert.match(problem.detail, /READER_TOKENS/);
      } finally {
        await bare.dispose();
      }
    }
  });
});

describe('what is read', () => {
  test('an empty store answers with the defaults and no warning', async () => {
    const { config, warnings } = await read();
    assert.deepEqual(warnings, []);
    assert.equal(config.schema_version, 1);
    assert.deepEqual(config.providers, {});
    assert.equal(config.limits.reviewer_seconds, 300);
  });

  test('the document and a switch of its own key are merged, and the switch wins', async () => {
    await kv.put(
      'config/document',
      JSON.stringify({
        schema_version: 1,
        revision: 4,
        providers: { anthropic: { enabled: true }, openai: { enabled: false } },
        reviewers: { security: { models: ['openai/gpt-5.3-codex'] } },
        limits: { sessions: 3 },
        a_newer_field: true,
      }),
    );
    await kv.put('provider/anthropic', '{"enabled":false,"reason":"incident 7"}');
    const { config, warnings } = await read();
    assert.deepEqual(warnings, []);
    assert.equal(config.revision, 4);
    assert.deepEqual(config.providers, {
      anthropic: { enabled: false, reason: 'incident 7' },
      openai: { enabled: false },
    });
    assert.deepEqual(config.reviewers.security.models, ['openai/gpt-5.3-codex']);
    assert.equal(config.limits.sessions, 3);
    assert.equal(config.limits.reviewer_seconds, 300);
  });

  test('a switch that is deleted is on again', async () => {
    await kv.put('provider/anthropic', '{"enabled":false}');
    assert.equal((await read()).config.providers.anthropic.enabled, false);
    await kv.delete('provider/anthropic');
    assert.deepEqual((await read()).config.providers, {});
  });

  test('more switches than are read are pointed out', async () => {
    await Promise.all(
      Array.from({ length: 101 }, (_, index) => kv.put(`provider/p${String(index).padStart(3, '0')}`, '{"enabled":false}')),
    );
    const { config, warnings } = await read();
    assert.equal(Object.keys(config.providers).length, 100);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /more than 100/);
  });
});

describe('bad values in the store', () => {
  for (const [name, document, reason] of [
    ['no JSON', 'enabled: false', /cannot be read/],
    ['empty', '', /cannot be read/],
    ['another shape', '[]', /cannot be read/],
    ['a later schema', '{"schema_version":2}', /\/schema_version/],
    ['several values of the wrong kind', '{"schema_version":1,"limits":{"sessions":"x"},"panels":{"lite":[7]}}', /\/limits\/sessions.*\/panels\/lite\/0/],
    ['several faults', '{"schema_version":1,"limits":{"sessions":0},"failback":{"x":null}}', /\/failback\/x.*\/limits\/sessions/],
    ['a cycle', '{"schema_version":1,"failback":{"a/b":"c/d","c/d":"a/b"}}', /chain is circular: a\/b → c\/d → a\/b/],
    ['very deep', '{"a":'.repeat(2000), /cannot be read/],
  ]) {
    test(`document: ${name}`, async () => {
      await kv.put('config/document', document);
      await kv.put('provider/openai', '{"enabled":false}');
      const { config, warnings } = await read();
      assert.equal(warnings.length, 1);
      assert.match(warnings[0], /^config\/document: /);
      assert.match(warnings[0], reason);
      assert.equal(config.limits.sessions, 7);
      assert.deepEqual(config.providers, { openai: { enabled: false } });
    });
  }

  test('switches: each bad one is left out and named, the good one counts', async () => {
    await kv.put('provider/a', 'false');
    await kv.put('provider/b', '{"enabled":"no"}');
    await kv.put('provider/c/d', '{"enabled":false}');
    await kv.put('provider/e', new Uint8Array([0xff, 0xfe, 0x00]));
    await kv.put('provider/openai', '{"enabled":false}');
    const { config, warnings } = await read();
    assert.deepEqual(config.providers, { openai: { enabled: false } });
    assert.deepEqual(warnings.map((warning) => warning.split(':')[0]), ['provider/a', 'provider/b', 'provider/c/d', 'provider/e']);
  });
});

describe('entity tags', () => {
  test('the same configuration is answered 304 without a body, a changed one 200', async () => {
    const first = await get();
    const tag = first.headers.get('etag');
    assert.match(tag, /^"[0-9]+-[0-9a-f]{32}"$/);
    assert.equal(first.headers.get('cache-control'), 'private, no-cache');
    await first.arrayBuffer();

    for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await get(undefined, { headers: { 'if-none-match': header } });
      assert.equal(again.status, 304);
      assert.equal(again.headers.get('etag'), tag);
      assert.equal((await again.arrayBuffer()).byteLength, 0);
    }

    await kv.put('provider/anthropic', '{"enabled":false}');
    const changed = await get(undefined, { headers: { 'if-none-match': tag } });
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers.get('etag'), tag);
    assert.equal((await changed.json()).config.providers.anthropic.enabled, false);
  });

  test('a tag opens nothing without a token', async () => {
    const response = await get(undefined, { token: null, headers: { 'if-none-match': '*' } });
    await assertProblem(response, 401, 'unauthorized');
  });
});

describe('routes', () => {
  test('the health check needs no token', async () => {
    const response = await get('/healthz', { token: null });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: 'ok' });
  });

  test('unknown paths are 404', async () => {
    for (const path of ['/v1', '/v1/config/', '/v1/providers', '/v1/rollback', '/%00', '/..%2f', `/${'x'.repeat(4000)}`]) {
      await assertProblem(await get(path), 404, 'not-found');
    }
  });

  test('other methods are 405 and name the right ones', async () => {
    for (const path of ['/v1/config', '/healthz']) {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const response = await get(path, { method });
        assert.equal(response.headers.get('allow'), 'GET, HEAD');
        await assertProblem(response, 405, 'method-not-allowed');
      }
    }
  });

  test('HEAD has the headers and no body', async () => {
    const response = await get(undefined, { method: 'HEAD' });
    assert.equal(response.status, 200);
    assert.ok(response.headers.get('etag'));
    assert.equal(await response.text(), '');
  });

  test('a project that cannot be one is refused', async () => {
    await assertProblem(await get(`/v1/config?project=${'x'.repeat(513)}`), 400, 'bad-request');
    await assertProblem(await get('/v1/config?project=a%0Ab'), 400, 'bad-request');
    assert.equal((await get('/v1/config')).status, 200);
  });
});
