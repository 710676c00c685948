// Job tokens of GitLab and of GitHub in a real workerd, against issuers over HTTP: signatures, forgeries, rotation, an issuer that fails,
// and two forges with projects of one name.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { crowd } from '../support/clock.mjs';
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
async function withIssuer(use, vars = {}, other = undefined) {
  const issuer = await startIssuer();
  const two = other && { OIDC_ISSUER: `${issuer.url},${other.url}`, OIDC_PROJECTS: 'platform/**,127.0.0.1:octo' };
  const worker = await start('reviewer-config', {
    vars: { READER_TOKENS: 'reader', ...settings(issuer), ...two, ...vars },
    reachable: [issuer.url, ...(other ? [other.origin] : [])],
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

describe('two forges', () => {
  const GITHUB = 'https://token.actions.githubusercontent.com';
  const seconds = () => Math.floor(Date.now() / 1000);
  let gitlab;
  let github;
  let worker;
  before(async () => {
    gitlab = await startIssuer();
    github = await startIssuer('github');
    worker = await start('reviewer-config', {
      vars: {
        OIDC_ISSUER: `${gitlab.url}, ${GITHUB}`,
        OIDC_AUDIENCE: AUDIENCE,
        OIDC_PROJECTS: 'octo/**, github.com:octo/**, github.com:acme@65/*',
        OIDC_JWKS_URL: `, ${github.origin}/_services/token/.well-known/jwks`,
      },
      reachable: [gitlab.origin, github.origin],
    });
    const kv = await worker.mf.getKVNamespace('CONFIG');
    const projects = [
      { paths: ['octo/shop'], limits: { sessions: 2 } },
      { paths: ['github.com:octo/shop'], limits: { sessions: 3 } },
    ];
    await kv.put('config/document', JSON.stringify({ schema_version: 1, projects }));
  });
  after(async () => {
    await worker.dispose();
    for (const issuer of [gitlab, github]) {
      await issuer.stop();
      assert.deepEqual(issuer.violations, []);
    }
  });
  const ofGithub = (claims = {}, how) => github.token({ iss: GITHUB, ...claims }, how);
  const get = (token, project) =>
    fetch(`${worker.url}/v1/config${project ? `?project=${encodeURIComponent(project)}` : ''}`, { headers: { authorization: `Bearer ${token}` } });

  test('each job reads its own project, and the one of the same path on the other forge is another', async () => {
    const jobs = [
      [gitlab.token({ project_path: 'octo/shop' }), 'octo/shop', 2],
      [ofGithub(), 'github.com:octo/shop', 3],
    ];
    for (const [token, own, sessions] of jobs) {
      for (const project of [own, own.toUpperCase(), undefined]) {
        const response = await get(token, project);
        assert.equal(response.status, 200, project);
        assert.equal((await response.json()).config.limits.sessions, sessions);
      }
    }
    const crossed = await assertProblem(await get(jobs[0][0], 'github.com:octo/shop'), 403, 'other-project');
    assert.match(crossed.detail, /the project octo\/shop,/);
    const back = await assertProblem(await get(jobs[1][0], 'octo/shop'), 403, 'other-project');
    assert.match(back.detail, /github\.com:octo\/shop/);
    assert.deepEqual([gitlab.asked, github.asked], [1, 1], 'keys of both are kept');
  });

  const forged = {
    'a token of GitLab that names a repository of GitHub': () => gitlab.token({ project_path: 'github.com:octo/shop' }),
    'one with the claim of the other forge': () => gitlab.token({ project_path: 'mallory/x', repository: 'octo/shop' }),
    'a fork with its own jobs': () => ofGithub({ repository: 'mallory/shop', repository_owner: 'mallory', repository_owner_id: '66' }),
    'a repository of an owner whose name begins alike': () => ofGithub({ repository: 'octo-labs/shop' }),
    'an account that took over a name that was given up': () => ofGithub({ repository: 'acme/shop', repository_owner_id: '99' }),
    'a repository that was moved away': () => ofGithub({ repository: 'elsewhere/shop' }),
  };
  for (const [name, make] of Object.entries(forged)) {
    test(`not allowed: ${name}`, async () => {
      await assertProblem(await get(make()), 403, 'forbidden');
    });
  }
  test('the account with the number that is listed reads', async () => {
    assert.equal((await get(ofGithub({ repository: 'acme/shop' }), 'github.com:acme/shop')).status, 200);
  });

  const refused = {
    "GitLab's key under GitHub's name": [() => gitlab.token({ iss: GITHUB, repository: 'octo/shop' }), /does not publish|does not fit/],
    "GitLab's key with the id of GitHub's": [
      () => ofGithub({}, { key: { ...gitlab.keys[0], id: github.keys[0].id } }),
      /signature that does not fit/,
    ],
    "GitHub's key under GitLab's name": [
      () => github.token({ iss: gitlab.url, project_path: 'octo/shop' }, { key: { ...github.keys[0], id: gitlab.keys[0].id } }),
      /signature that does not fit/,
    ],
    'an Enterprise Server that is not listed': [() => github.token(), /another issuer than .* and https:\/\/token\.actions/],
    'a name that only begins like the issuer': [() => github.token({ iss: `${GITHUB}.evil.example` }), /another issuer/],
    'an enterprise below the address that is listed': [() => github.token({ iss: `${GITHUB}/evil` }), /another issuer/],
    'the audience that GitHub takes when none is asked for': [() => ofGithub({ aud: 'https://github.com/octo' }), /another audience/],
    'the audience of a cloud': [() => ofGithub({ aud: 'sts.amazonaws.com' }), /another audience.*CONCLAVE_OIDC_AUDIENCE/],
    'one that expired': [() => ofGithub({ exp: seconds() - 90 }), /expired/],
    'one without a repository': [() => ofGithub({ repository: undefined, project_path: 'octo/shop' }), /is not a JSON Web Token/],
    'a public key as a secret': [() => github.confused(), /signed with HS256/],
    'no signature': [() => `${ofGithub({}, { header: { alg: 'none' } }).split('.').slice(0, 2).join('.')}.`, /signed with none/],
  };
  for (const [name, [make, reason]] of Object.entries(refused)) {
    test(`refused: ${name}`, async () => {
      const problem = await assertProblem(await get(make()), 401, 'unauthorized');
      assert.match(problem.detail, reason);
    });
  }

  test('an issuer that is down refuses its own jobs and no others', () =>
    withIssuer(
      async ({ issuer, get }) => {
        issuer.broken = (response) => response.writeHead(500).end();
        await assertProblem(await get(issuer.token(), null), 503, 'no-keys');
        assert.equal((await get(github.token(), null)).status, 200);
      },
      {},
      github,
    ));
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
    assert.ok(took < 1900 * crowd(), `${took} ms are below what a review waits`);
    for (const token of [issuer.token(), 'reader']) {
      const [, again] = await timed(token);
      assert.ok(again < 700 * crowd(), `${again} ms`);
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
    ['a pattern of a forge that is not listed', { OIDC_PROJECTS: 'ok/**,github.com:octo' }, /a pattern for github\.com:/],
    ['everybody on github.com', { OIDC_ISSUER: 'https://token.actions.githubusercontent.com', OIDC_PROJECTS: 'github.com:**' }, /name the owner/],
    ['two instances of GitLab', { OIDC_ISSUER: 'https://a.example.com, https://b.example.com' }, /b\.example\.com` is the second/],
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
