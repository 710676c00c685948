// People who come through Cloudflare Access: its token instead of one of the dashboard's, and every way to forge one.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import { makeKey, startIssuer } from '../support/oidc-issuer.mjs';
import { start } from '../support/workerd.mjs';

const AUDIENCE = '4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2';

/** The stand-in of an issuer as a team of Access: the same keys over HTTP, other claims. */
async function withAccess(use, vars = {}) {
  const team = await startIssuer();
  const worker = await start('review-tracker', {
    vars: { ACCESS_TEAM_DOMAIN: team.url, ACCESS_AUD: AUDIENCE, ACCESS_JWKS_URL: `${team.url}/oauth/discovery/keys`, ...vars },
    reachable: [team.url],
  });
  const token = (changes = {}, options) =>
    team.token({ aud: [AUDIENCE], email: 'ada@example.com', type: 'app', project_path: undefined, ...changes }, options);
  const get = (assertion, path = '/', more = {}) =>
    client(worker.url).get(path, { ...more, headers: { ...(assertion ? { 'cf-access-jwt-assertion': assertion } : {}), ...more.headers } });
  try {
    await use({ team, worker, token, get });
    assert.deepEqual(team.violations, []);
  } finally {
    await worker.dispose();
    await team.stop();
  }
}

describe('with Cloudflare Access', () => {
  test('a person whom it let in sees every page, without a token of the dashboard', () =>
    withAccess(async ({ team, token, get, worker }) => {
      for (const path of ['/', '/findings', '/models', '/runs', '/health']) {
        const response = await get(token(), path);
        assert.equal(response.status, 200, path);
        assert.equal(response.headers.get('set-cookie'), null);
      }
      assert.equal(team.asked, 1, 'the keys are kept');
      // A service token has a name and no address.
      assert.equal((await get(token({ email: undefined, common_name: 'prober' }))).status, 200);
      const out = await client(worker.url).post('/logout', {}, { 'cf-access-jwt-assertion': token() });
      assert.equal(out.headers.get('location'), '/cdn-cgi/access/logout');
    }));

  test('nobody gets in with a token that is forged, old, or for something else', () =>
    withAccess(async ({ team, token, get }) => {
      const now = Math.floor(Date.now() / 1000);
      const stranger = makeKey();
      for (const [name, forged] of Object.entries({
        'another application': token({ aud: ['0'.repeat(64)] }),
        'another team': token({ iss: 'https://other.cloudflareaccess.com' }),
        expired: token({ exp: now - 120 }),
        'of the future': token({ nbf: now + 600 }),
        'an unknown key': token({}, { key: stranger }),
        'a known id with another key': token({}, { key: { ...stranger, id: team.keys[0].id } }),
        unsigned: `${token().split('.').slice(0, 2).join('.')}.`,
        'no algorithm': token({}, { header: { alg: 'none' } }),
        'the public key as a secret': team.confused(),
        'no token at all': 'x',
        'an email with markup': token({ iss: '<b>', email: '<script>' }),
      })) {
        const response = await get(forged);
        assert.equal(response.status, 403, name);
        const page = await response.text();
        assert.match(page, /Cloudflare Access let you in, this Worker does not/, name);
        assert.doesNotMatch(page, /<b>|<script/, name);
      }
      const [header, , signature] = token().split('.');
      const claims = Buffer.from(JSON.stringify({ ...team.claims(), aud: [AUDIENCE], email: 'eve@example.com' })).toString('base64url');
      assert.equal((await get(`${header}.${claims}.${signature}`)).status, 403);
    }));

  test('tokens of the dashboard work beside it, and without any of them the log-in page says how to come in', async () => {
    await withAccess(
      async ({ worker, get }) => {
        assert.equal((await get(undefined)).headers.get('location'), '/login');
        const cookie = await client(worker.url).logIn('dash');
        assert.equal((await get(undefined, '/', { cookie })).status, 200);
        assert.equal((await get('x', '/', { cookie })).status, 200, 'who is logged in needs no other token');
      },
      { DASHBOARD_TOKENS: 'dash' },
    );
    await withAccess(async ({ get }) => {
      const response = await get(undefined, '/login');
      assert.equal(response.status, 403);
      assert.match(await response.text(), /Come through Cloudflare Access/);
    });
  });

  test('what is set up by half lets nobody in and says what is missing', async () => {
    await withAccess(
      async ({ token, get }) => {
        const response = await get(token());
        assert.equal(response.status, 503);
        assert.match(await response.text(), /ACCESS_AUD is not set/);
      },
      { ACCESS_AUD: '' },
    );
    await withAccess(
      async ({ token, get }) => assert.equal((await get(token())).status, 503),
      { ACCESS_JWKS_URL: 'http://keys.example.com/certs' },
    );
  });

  test('keys that cannot be had let nobody in; the header alone means nothing where Access is off', async () => {
    await withAccess(async ({ team, token, get }) => {
      team.broken = (response) => response.writeHead(500).end();
      const response = await get(token());
      assert.equal(response.status, 503);
      assert.match(await response.text(), /keys of Cloudflare Access cannot be read/);
      team.broken = undefined;
    });
    await withAccess(async ({ token, get }) => assert.equal((await get(token())).status, 303), { ACCESS_TEAM_DOMAIN: '' });
  });
});
