// Job tokens of GitLab in a real workerd, against an issuer over HTTP: signatures, forgeries, rotation, an issuer that fails.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeKey, startIssuer } from '../support/oidc-issuer.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

const AUDIENCE = 'https://config.example.com';

const settings = (issuer) => ({
  OIDC_ISSUER: issuer.url,
  OIDC_AUDIENCE: AUDIENCE,
  OIDC_PROJECTS: 'platform/**, tools/*',
});

/** A Worker of its own: keys are kept as long as it lives. */
async function withIssuer(use, vars = {}) {
  const issuer = await startIssuer();
  const worker = await start('reviewer-config', {
    vars: { READER_TOKENS: 'reader', ...settings(issuer), ...vars },
    reachable: [issuer.url],
  });
  const get = (token, project = 'platform%2Fbuild') =>
    fetch(`${worker.url}/v1/config${project === null ? '' : `?project=${project}`}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  try {
    await use({ issuer, worker, get });
    assert.deepEqual(issuer.violations, []);
  } finally {
    await worker.dispose();
    await issuer.stop();
  }
}

describe('who may read with a job token', () => {
  test('a job of an allowed project, for its own project, beside the readers with tokens', () =>
    withIssuer(async ({ issuer, worker, get }) => {
      const kv = await worker.mf.getKVNamespace('CONFIG');
      await kv.put(
        'config/document',
        JSON.stringify({ schema_version: 1, projects: [{ paths: ['platform/**'], limits: { sessions: 2 } }] }),
      );
      const token = issuer.token();
      for (const project of ['platform%2Fbuild', 'Platform%2FBuild', null]) {
        const response = await get(token, project);
        assert.equal(response.status, 200);
        assert.equal((await response.json()).config.limits.sessions, 2, 'its own configuration');
      }
      assert.equal((await get('reader')).status, 200);
      await assertProblem(await get('wrong'), 401, 'unauthorized');
      const other = await assertProblem(await get(token, 'platform%2Fother'), 403, 'other-project');
      assert.match(other.detail, /platform\/build/);
      assert.equal(issuer.asked, 1, 'the keys are kept');
    }));

  test('no job of another project', () =>
    withIssuer(async ({ issuer, get }) => {
      for (const project of ['website/shop', 'evil/platform/build', 'platform', 'tools/a/b/c'].slice(0, 3)) {
        const problem = await assertProblem(await get(issuer.token({ project_path: project }), null), 403, 'forbidden');
        assert.match(problem.detail, new RegExp(project));
        assert.match(problem.detail, /OIDC_PROJECTS/);
      }
      assert.equal((await get(issuer.token({ project_path: 'tools/lint' }), null)).status, 200);
    }));

  test('jobs alone, where no reader has a token', () =>
    withIssuer(
      async ({ issuer, get }) => {
        assert.equal((await get(issuer.token())).status, 200);
        await assertProblem(await get('reader'), 401, 'unauthorized');
        await assertProblem(await get(''), 401, 'unauthorized');
      },
      { READER_TOKENS: '' },
    ));

  test('an administrator no: a job can read and never write', () =>
    withIssuer(
      async ({ issuer, worker }) => {
        const response = await fetch(`${worker.url}/v1/providers/anthropic`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${issuer.token()}`, 'content-type': 'application/json' },
          body: '{"enabled":false}',
        });
        await assertProblem(response, 401, 'unauthorized');
      },
      { ADMIN_TOKENS: 'ada:admin' },
    ));
});

describe('what is forged or over', () => {
  const seconds = () => Math.floor(Date.now() / 1000);
  const refused = {
    expired: [(issuer) => issuer.token({ exp: seconds() - 120 }), /expired 1[12]\d s ago/],
    'not valid yet': [(issuer) => issuer.token({ nbf: seconds() + 600, iat: seconds() + 600 }), /clocks disagree/],
    'for another audience': [(issuer) => issuer.token({ aud: 'https://somebody.else' }), /another audience than https:\/\/config/],
    'of another issuer': [(issuer) => issuer.token({ iss: 'https://gitlab.evil.example' }), /another issuer/],
    'without an algorithm': [
      (issuer) => `${issuer.token({}, { header: { alg: 'none' } }).split('.').slice(0, 2).join('.')}.`,
      /signed with none; only RS256/,
    ],
    'signed with the public key as a secret': [(issuer) => issuer.confused(), /signed with HS256; only RS256/],
    'with the id of a known key and another signature': [
      (issuer) => issuer.token({}, { key: { ...makeKey(), id: issuer.keys[0].id } }),
      /signature that does not fit/,
    ],
    'signed by a key that nobody publishes': [(issuer) => issuer.token({}, { key: makeKey('own') }), /does not publish/],
    'with claims that were changed afterwards': [
      (issuer) => {
        const [header, , signature] = issuer.token().split('.');
        const claims = Buffer.from(JSON.stringify(issuer.claims({ project_path: 'platform/other' }))).toString('base64url');
        return `${header}.${claims}.${signature}`;
      },
      /signature that does not fit/,
    ],
    'no token at all': [() => 'eyJ.eyJ.x', /is not a JSON Web Token/],
  };
  let issuer;
  let worker;
  before(async () => {
    issuer = await startIssuer();
    worker = await start('reviewer-config', { vars: settings(issuer), reachable: [issuer.url] });
  });
  after(async () => {
    await worker.dispose();
    await issuer.stop();
  });
  for (const [name, [make, reason]] of Object.entries(refused)) {
    test(name, async () => {
      const response = await fetch(`${worker.url}/v1/config`, { headers: { authorization: `Bearer ${make(issuer)}` } });
      assert.match(response.headers.get('www-authenticate'), /^Bearer /);
      const problem = await assertProblem(response, 401, 'unauthorized');
      assert.match(problem.detail, reason);
      assert.doesNotMatch(JSON.stringify(problem), /eyJ/, 'nothing of the token is told');
    });
  }
  test('clocks may disagree by a minute', async () => {
    const late = issuer.token({ exp: seconds() - 30 });
    assert.equal((await fetch(`${worker.url}/v1/config`, { headers: { authorization: `Bearer ${late}` } })).status, 200);
  });
});

describe('the keys', () => {
  test('after a rotation the new key counts at once', () =>
    withIssuer(async ({ issuer, worker, get }) => {
      assert.equal((await get(issuer.token())).status, 200);
      const before = issuer.token();
      // Also where the Worker has just asked for another name that is not known.
      const stranger = makeKey('stranger');
      await assertProblem(await get(issuer.token({}, { key: stranger })), 401, 'unauthorized');
      issuer.keys = [makeKey(), ...issuer.keys];
      assert.equal((await get(issuer.token())).status, 200, 'the first token of the new key');
      assert.equal((await get(before)).status, 200, 'what the old key signed is good until it expires');
      assert.ok(worker);
    }));

  test('forged key ids do not make the Worker ask for every one', () =>
    withIssuer(async ({ issuer, get }) => {
      const began = Date.now();
      await get(issuer.token());
      const own = makeKey('own');
      for (let guess = 0; guess < 20; guess += 1) {
        await get(issuer.token({}, { key: { ...own, id: `guess-${guess}` } }));
      }
      // Once for the first token, for a few names that are not known, and not again for five seconds.
      const most = 5 + Math.ceil((Date.now() - began) / 5000);
      assert.ok(issuer.asked <= most && issuer.asked < 20, `asked ${issuer.asked} times`);
    }));

  for (const [name, broken] of [
    ['an error', (response) => response.writeHead(500).end()],
    ['no keys', (response) => response.writeHead(200).end('<html>')],
    ['too much', (response) => response.writeHead(200).end(`{"keys":[],"x":"${'x'.repeat(100_000)}"}`)],
    ['a broken connection', (response) => response.destroy()],
  ]) {
    test(`an issuer that answers with ${name} is told apart from a bad token, and known keys go on counting`, () =>
      withIssuer(async ({ issuer, get }) => {
        issuer.broken = broken;
        await assertProblem(await get(issuer.token()), 503, 'no-keys');
        issuer.broken = undefined;
        const until = Date.now() + 60_000;
        while ((await get(issuer.token())).status !== 200) {
          assert.ok(Date.now() < until, 'the keys are never read again');
          await new Promise((resolve) => setTimeout(resolve, 250));
        }
        issuer.broken = broken;
        assert.equal((await get(issuer.token())).status, 200);
      }));
  }
});

test('an issuer that hangs costs a second once, and readers with tokens nothing', () =>
  withIssuer(async ({ issuer, get }) => {
    issuer.broken = () => {};
    const timed = async (token) => {
      const began = Date.now();
      const { status } = await get(token);
      return [status, Date.now() - began];
    };
    const [status, took] = await timed(issuer.token());
    assert.equal(status, 503);
    assert.ok(took < 1900, `${took} ms are below what a review waits`);
    for (const token of [issuer.token(), 'reader']) {
      const [, again] = await timed(token);
      assert.ok(again < 700, `${again} ms`);
    }
    assert.equal(issuer.asked, 1);
  }));

test('a redirect of the keys is not followed', async () => {
  const [issuer, evil] = [await startIssuer(), await startIssuer()];
  const worker = await start('reviewer-config', { vars: settings(issuer), reachable: [issuer.url, evil.url] });
  try {
    issuer.broken = (response) => response.writeHead(302, { location: `${evil.url}/oauth/discovery/keys` }).end();
    const forged = evil.token({ iss: issuer.url });
    const response = await fetch(`${worker.url}/v1/config`, { headers: { authorization: `Bearer ${forged}` } });
    await assertProblem(response, 503, 'no-keys');
    assert.deepEqual([issuer.asked, evil.asked], [1, 0]);
  } finally {
    await worker.dispose();
    await Promise.all([issuer.stop(), evil.stop()]);
  }
});

describe('settings', () => {
  for (const [name, vars, reason] of [
    ['no audience', { OIDC_AUDIENCE: '' }, /OIDC_AUDIENCE/],
    ['no list of projects: nobody is allowed by mistake', { OIDC_PROJECTS: '' }, /OIDC_PROJECTS/],
    ['a pattern that is none', { OIDC_PROJECTS: 'ok/**,a[' }, /a\[/],
    ['keys over plain HTTP', { OIDC_JWKS_URL: 'http://gitlab.example.com/keys' }, /is not an https address/],
  ]) {
    test(`${name}: said to be that`, () =>
      withIssuer(async ({ issuer, get }) => {
        const problem = await assertProblem(await get(issuer.token()), 503, 'not-configured');
        assert.match(problem.detail, reason);
        assert.equal((await get('reader')).status, 200, 'readers with tokens go on');
      }, vars));
  }

  test('without an issuer a job token is a token like any other', async () => {
    const issuer = await startIssuer();
    const worker = await start('reviewer-config', { vars: { READER_TOKENS: 'reader' } });
    try {
      const response = await fetch(`${worker.url}/v1/config`, { headers: { authorization: `Bearer ${issuer.token()}` } });
      await assertProblem(response, 401, 'unauthorized');
      assert.equal(issuer.asked, 0);
    } finally {
      await worker.dispose();
      await issuer.stop();
    }
  });
});
