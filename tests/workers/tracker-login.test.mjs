// Logging in to the dashboard over HTTP: tokens, cookies, and what ends a session.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { early } from '../support/clock.mjs';
import { client } from '../support/dashboard.mjs';
import { uuid7 } from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

const vars = { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: 'old-token, new-token' };

let worker;
let site;
before(async () => {
  worker = await start('review-tracker', { vars });
  site = client(worker.url);
});
after(() => worker.dispose());

const assertSentToLogin = (response) => {
  assert.equal(response.status, 303);
  assert.equal(response.headers.get('location'), '/login');
};

/** A session's cookie as the Worker makes it. */
const cookieOf = (token, expiry) => {
  const signature = createHmac('sha256', token).update(`conclave dashboard session 1\n${expiry}`).digest('hex');
  return `conclave_session=${expiry}.${signature}`;
};
const seconds = () => Math.floor(Date.now() / 1000);

describe('log-in', () => {
  test('whoever is not logged in is sent to the form', async () => {
    for (const path of ['/', '/?days=7', '/findings', '/models?csv=models', '/runs', '/health', `/runs/${uuid7()}`, '/runs/x']) {
      assertSentToLogin(await site.get(path));
    }
    assertSentToLogin(await site.post('/health/dead-letters/all/replay', {}));
    const form = await site.get('/login');
    assert.equal(form.status, 200);
    assert.match(await form.text(), /<form method="post" action="\/login"/);
  });

  test('each listed token opens a session, and the cookie is out of reach for scripts and other sites', async () => {
    for (const token of ['old-token', 'new-token', '  new-token ']) {
      const response = await site.post('/login', { token });
      assert.equal(response.status, 303);
      assert.equal(response.headers.get('location'), '/');
      const cookie = response.headers.get('set-cookie');
      assert.match(cookie, /^conclave_session=\d+\.[0-9a-f]{64}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/);
      assert.equal((await site.get('/', { cookie: cookie.split(';')[0] })).status, 200);
    }
  });

  test('a wrong token is told so, on the form', async () => {
    for (const form of [{ token: 'wrong' }, { token: '' }, {}, { token: vars.DASHBOARD_TOKENS }, { token: 'i' }]) {
      const response = await site.post('/login', form);
      assert.equal(response.status, 401);
      assert.equal(response.headers.get('set-cookie'), null);
      const page = await response.text();
      assert.match(page, /role="alert"/);
      assert.match(page, /name="token"/);
    }
    await assertProblem(await site.post('/login', { token: 'x'.repeat(10_000) }), 413, 'too-large');
  });

  test('a form of another site, or of none, logs nobody in or out, and replays nothing', async () => {
    const cookie = await site.logIn();
    for (const origin of ['https://evil.example', 'null', '']) {
      for (const path of ['/login', '/logout', '/health/dead-letters/all/replay']) {
        await assertProblem(await site.post(path, { token: 'new-token' }, { origin, cookie }), 403, 'other-origin');
      }
    }
  });

  test('logging out forgets the session', async () => {
    const response = await site.post('/logout', {}, { cookie: await site.logIn() });
    assertSentToLogin(response);
    assert.match(response.headers.get('set-cookie'), /^conclave_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/);
    await assertProblem(await site.get('/logout'), 405, 'method-not-allowed');
  });

  test('without tokens nobody gets in, not even with an empty one, and the page says what to configure', async () => {
    for (const bareVars of [{}, { DASHBOARD_TOKENS: ' , ' }]) {
      const bare = await start('review-tracker', { vars: bareVars });
      try {
        for (const response of [await client(bare.url).get('/login'), await client(bare.url).post('/login', { token: '' })]) {
          assert.equal(response.status, 503);
          assert.match(await response.text(), /wrangler secret put DASHBOARD_TOKENS/);
        }
        assertSentToLogin(await client(bare.url).get('/', { cookie: cookieOf('', seconds() + 60) }));
      } finally {
        await bare.dispose();
      }
    }
  });
});

describe('a link', () => {
  test('opens no session by being opened, whatever it carries, and its page tells nobody', async () => {
    for (const init of [{}, { method: 'HEAD' }, { headers: { purpose: 'prefetch', 'sec-purpose': 'prefetch' } }, { headers: { 'sec-fetch-dest': 'image' } }]) {
      const page = await site.get('/login', init);
      assert.equal(page.status, 200);
      assert.equal(page.headers.get('set-cookie'), null);
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      assert.equal(page.headers.get('cache-control'), 'no-store');
      assert.match(page.headers.get('content-security-policy'), /frame-ancestors 'none'/);
    }
    for (const path of ['/login?token=new-token', '/login?token=new-token&next=/', '/login?x']) {
      const response = await site.get(path);
      assert.deepEqual([response.status, response.headers.get('location'), response.headers.get('set-cookie')], [303, '/login', null], path);
    }
    assert.equal((await site.get('/?token=new-token')).status, 303);
    const posted = await site.post('/login?token=new-token', {});
    assert.deepEqual([posted.status, posted.headers.get('set-cookie')], [401, null], 'a token in the address is no token');
  });

  test('its form is taken from our own page only, by what the browser says of it', async () => {
    for (const [headers, status] of [
      [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, 303],
      [{ 'sec-fetch-site': 'same-origin' }, 303],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
      [{ origin: 'null', 'sec-fetch-site': 'none' }, 403],
      [{ origin: 'null' }, 403],
    ]) {
      const response = await site.post('/login', { token: 'new-token' }, { ...headers, 'cf-connecting-ip': '192.0.2.9' });
      assert.deepEqual([response.status, response.headers.has('set-cookie')], [status, status === 303], JSON.stringify(headers));
    }
  });
});

describe('guesses', () => {
  const from = (address) => ({ 'cf-connecting-ip': address });

  test('an address has thirty attempts to log in a minute, and then not even the right token is looked at', async () => {
    await early(60_000, 10_000);
    const answers = [];
    for (let attempt = 0; attempt < 32; attempt += 1) answers.push(await site.post('/login', { token: `guess-${attempt}` }, from('192.0.2.1')));
    assert.deepEqual(answers.map(({ status }) => status), [...Array(30).fill(401), 429, 429]);
    assert.equal(answers[31].headers.get('retry-after'), '60');
    assert.match(await answers[31].text(), /name="token"[^]*role="alert">Too many attempts/);
    const right = await site.post('/login', { token: 'new-token' }, from('192.0.2.1'));
    assert.deepEqual([right.status, right.headers.get('set-cookie')], [429, null]);
    assert.equal((await site.post('/login', { token: 'new-token' }, from('192.0.2.2'))).status, 303, 'others are not held up');
  });

  test('guesses at the tokens of the interfaces are limited as well, and a good token never is', async () => {
    const ask = (token, address) => fetch(`${worker.url}/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...from(address) },
      body: '{"events":[]}',
    });
    await early(60_000, 10_000);
    const statuses = [];
    for (let attempt = 0; attempt < 32; attempt += 1) statuses.push((await ask(`guess-${attempt}`, '192.0.2.3')).status);
    assert.deepEqual(statuses, [...Array(30).fill(401), 429, 429]);
    assert.equal((await ask('i', '192.0.2.3')).status, 202);
  });
});

describe('sessions', () => {
  test('a cookie of the right key is good until it expires', async () => {
    assert.equal((await site.get('/', { cookie: cookieOf('old-token', seconds() + 60) })).status, 200);
    assertSentToLogin(await site.get('/', { cookie: cookieOf('old-token', seconds() - 1) }));
  });

  test('forged cookies open nothing', async () => {
    const expiry = seconds() + 60;
    const [, good] = (await site.logIn()).split('=');
    for (const value of [
      cookieOf('wrong', expiry).split('=')[1],
      cookieOf('new-token', expiry + 10 ** 9).split('=')[1],
      `${expiry}.${good.split('.')[1]}`,
      `${good.slice(0, -1)}`,
      `${good}00`,
      good.toUpperCase().replace(/[A-F]/, 'g'),
      '',
      '.',
      'null',
    ]) {
      assertSentToLogin(await site.get('/', { cookie: `conclave_session=${value}` }));
    }
  });

  test('a session ends when its token is taken off the list, and only then', async () => {
    const [older, newer] = [await site.logIn('old-token'), await site.logIn('new-token')];
    const rotated = await start('review-tracker', { vars: { DASHBOARD_TOKENS: 'new-token,newest-token' } });
    try {
      assertSentToLogin(await client(rotated.url).get('/', { cookie: older }));
      assert.equal((await client(rotated.url).get('/', { cookie: newer })).status, 200);
    } finally {
      await rotated.dispose();
    }
  });
});
