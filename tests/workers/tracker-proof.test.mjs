// What may teach a repository's memory: outcomes that are proved to come from their project, and nothing else. Also what a token is
// good for, and how much of it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { crowd, early } from '../support/clock.mjs';
import { client } from '../support/dashboard.mjs';
import { completed, dropped, event, finding, outcome, outbox, settled, signed, started, uuid7 } from '../support/events.mjs';
import { startIssuer } from '../support/oidc-issuer.mjs';
import { assertProblem } from '../support/problem.mjs';
import { applyMigrations, migrations, start } from '../support/workerd.mjs';

const AUDIENCE = 'https://config.example.com';
const SECRET = 'secret-of-the-installation';
const PROJECT = 'group/shop';

let issuer;
let github;
let tracker;
let database;
before(async () => {
  issuer = await startIssuer();
  github = await startIssuer('github');
  tracker = await start('review-tracker', {
    vars: {
      INGEST_TOKENS: 'plain, ada:bound:group/*|tools/lint, nobody:nothing:',
      OPERATOR_TOKENS: 'operator',
      DASHBOARD_TOKENS: 'people',
      CONCLAVE_SECRET: `${SECRET}\n`,
      OIDC_ISSUER: `${issuer.url},${github.url}`,
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_PROJECTS: 'group/**,127.0.0.1:group',
    },
    reachable: [issuer.url, github.origin],
  });
  database = await tracker.mf.getD1Database('DB');
});
after(async () => {
  await tracker.dispose();
  await Promise.all([issuer.stop(), github.stop()]);
});

function post(events, { token, job, url = tracker.url } = {}) {
  const headers = { 'content-type': 'application/json' };
  if (token) headers.authorization = `Bearer ${token}`;
  if (job) headers['conclave-job-token'] = job;
  return fetch(`${url}/v1/events`, { method: 'POST', headers, body: JSON.stringify({ events }) });
}

async function accepted(events, how, expected = 202) {
  const response = await post(events, how);
  const answer = await response.json();
  assert.equal(response.status, expected, JSON.stringify(answer));
  await settled(tracker.url);
  return answer;
}

let fingerprints = 0;
const rejection = (more = {}, where = {}) => {
  fingerprints += 1;
  return event(outcome({ outcome: 'rejected', claim: 'c1', fingerprint: `f${fingerprints}`, ...more }), { project: PROJECT, ...where });
};
const ask = (project, { token, job, url = tracker.url }) =>
  fetch(`${url}/v1/memory?project=${encodeURIComponent(project)}`, {
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...(job && { 'conclave-job-token': job }) },
  });
async function remembered(fingerprint, project = PROJECT) {
  const memory = await (await ask(project, { token: 'operator' })).json();
  return memory.rejected.some((entry) => entry.fingerprint === fingerprint);
}
const stored = (each) => database.prepare('SELECT proven FROM outcomes WHERE event_id = ?').bind(each.id).first('proven');
const job = (project = PROJECT, more = {}) => issuer.token({ project_path: project, ...more });

describe('a run', () => {
  const row = (run) => database.prepare('SELECT project, verdict, cost_usd, merge_request FROM runs WHERE run_id = ?').bind(run).first();
  const figures = () => database.prepare(`SELECT sum(findings) AS findings FROM daily_findings`).first('findings');

  test('belongs to the project that it began in: what others say of it counts nowhere', async () => {
    const run = uuid7();
    const own = (body) => event(body, { run, project: PROJECT });
    const foreign = (body) => event(body, { run, project: 'tools/lint' });
    const before = await figures();
    await accepted([own(started())], { token: job() });
    const forged = [started({ merge_request: 99 }), finding({ severity: 'critical' }), completed({ verdict: 'approved', cost_usd: 9000 })];
    await accepted(forged.map(foreign), { token: 'bound' });
    assert.deepEqual(await row(run), { project: PROJECT, verdict: null, cost_usd: null, merge_request: 7 });
    await accepted([own(completed({ verdict: 'significant_concerns' }))], { token: job() });
    await accepted(forged.map(foreign), { token: 'bound' });
    assert.deepEqual(await row(run), { project: PROJECT, verdict: 'significant_concerns', cost_usd: 0.5, merge_request: 7 });
    assert.equal(await figures(), before);
  });
});

describe('what teaches the memory', () => {
  test('an ingest token alone: the figures count it, the memory does not', async () => {
    for (const token of ['plain', 'bound']) {
      const each = rejection();
      const answer = await accepted([each], { token });
      assert.deepEqual(answer, { accepted: 1, rejected: [], unproven: 1 });
      assert.equal(await stored(each), 0);
      assert.equal(await remembered(each.event.fingerprint), false, token);
    }
  });

  test('the job of the project, with its token alone or beside an ingest token', async () => {
    for (const how of [{ token: job() }, { token: 'plain', job: job() }, { token: 'gone', job: job() }]) {
      const each = rejection();
      const { accepted: count, rejected } = await accepted([each], how);
      assert.deepEqual({ count, rejected }, { count: 1, rejected: [] });
      assert.equal(await stored(each), 1);
      assert.equal(await remembered(each.event.fingerprint), true);
    }
  });

  test('a stored token that is refused beside the token of the job is named', async () => {
    const both = await accepted([rejection()], { token: 'stale', job: job() });
    assert.match(both.token_refused, /not one of the Worker's INGEST_TOKENS/);
    assert.equal(both.job_refused, undefined);
    for (const how of [{ job: job() }, { token: job() }, { token: 'plain', job: job() }]) {
      assert.equal((await accepted([rejection()], how)).token_refused, undefined);
    }
  });

  test('no job of another project, and no job at all', async () => {
    const other = rejection();
    const answer = await accepted([other, event(started(), { project: 'group/other' })], { token: job('group/other') }, 207);
    assert.equal(answer.accepted, 1);
    assert.match(answer.rejected[0].detail, /not good for the project `group\/shop`/);
    const beside = rejection();
    assert.equal((await accepted([beside], { token: 'plain', job: job('group/other') })).unproven, 1);
    for (const forged of [
      issuer.confused(),
      job(PROJECT, { aud: 'another' }),
      job(PROJECT, { exp: Math.floor(Date.now() / 1000) - 3600 }),
      job(PROJECT, { iss: 'https://gitlab.example.com' }),
      `${job().slice(0, -6)}AAAAAA`,
    ]) {
      assert.equal((await post([rejection()], { token: forged })).status, 401);
      const each = rejection();
      assert.equal((await accepted([each], { token: 'plain', job: forged })).unproven, 1, 'an ingest token beside it is what it was');
      assert.equal(await remembered(each.event.fingerprint), false);
    }
    await assertProblem(await post([rejection()], { token: job('elsewhere/shop') }), 403, 'forbidden');
    for (const each of [other, beside]) assert.equal(await remembered(each.event.fingerprint), false);
  });

  test('a job of GitHub for its own repository, and never for the project of that name on GitLab', async () => {
    const token = () => github.token({ repository: PROJECT });
    const own = `127.0.0.1:${PROJECT}`;
    const each = rejection({}, { project: own });
    assert.deepEqual(await accepted([each], { token: token() }), { accepted: 1, rejected: [] });
    assert.equal(await stored(each), 1);
    assert.equal(await remembered(each.event.fingerprint, own), true);
    assert.equal(await remembered(each.event.fingerprint), false);

    const crossed = [rejection(), rejection({}, { project: `127.0.0.2:${PROJECT}` })];
    assert.equal((await post(crossed, { token: token() })).status, 422);
    assert.equal((await post([rejection({}, { project: own })], { token: job() })).status, 422, 'nor the other way round');
    const beside = rejection();
    assert.equal((await accepted([beside], { token: 'plain', job: token() })).unproven, 1);
    assert.equal(await remembered(beside.event.fingerprint), false);
    for (const [project, how, status] of [
      [own, { token: token() }, 200],
      [PROJECT, { token: token() }, 403],
      [own, { token: job() }, 403],
    ]) {
      assert.equal((await ask(project, how)).status, status, project);
    }
    const fork = github.token({ repository: 'mallory/shop' });
    await assertProblem(await post([rejection()], { token: fork }), 403, 'forbidden');
  });

  test('a project has one name, whether a job, a bound token or a person spells it', async () => {
    const spellings = [PROJECT, PROJECT.toUpperCase(), 'Group/Shop', 'gROUP/sHOP'];
    for (const sent of spellings) {
      const cases = [
        [{ token: job(PROJECT) }, (each) => each, { accepted: 1, rejected: [] }],
        [{ token: job('Group/Shop') }, (each) => each, { accepted: 1, rejected: [] }],
        [{ token: 'bound', job: job('Group/Shop') }, (each) => each, { accepted: 1, rejected: [] }],
        // A signature is over the spelling that was sent.
        [{ token: 'bound' }, (each) => signed(each, SECRET), { accepted: 1, rejected: [] }],
        [{ token: 'bound' }, (each) => each, { accepted: 1, rejected: [], unproven: 1 }],
      ];
      for (const [how, change, expected] of cases) {
        const each = change(rejection({}, { project: sent }));
        assert.deepEqual(await accepted([each], how), expected, sent);
        for (const asked of spellings) {
          assert.equal(await remembered(each.event.fingerprint, asked), !expected.unproven, `${sent} as ${asked}`);
        }
      }
    }
    for (const asked of spellings) {
      for (const how of [{ token: job('Group/Shop') }, { token: 'bound' }]) {
        assert.equal((await (await ask(asked, how)).json()).project, PROJECT);
      }
    }
    const repository = rejection({}, { project: '127.0.0.1:Group/Shop' });
    assert.deepEqual(await accepted([repository], { token: github.token({ repository: 'GROUP/shop' }) }), { accepted: 1, rejected: [] });
    assert.equal(await remembered(repository.event.fingerprint, `127.0.0.1:${PROJECT}`), true);
    for (const table of ['names', 'events', 'runs', 'outcomes', 'memory', 'daily_counts', 'daily_projects', 'bins', 'hot_files']) {
      const column = table === 'names' ? 'name' : 'project';
      const { n } = await database.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${column} <> lower(${column}) AND ${column} LIKE '%/%'`).first();
      assert.equal(n, 0, table);
    }
    const site = client(tracker.url);
    const cookie = await site.logIn('people');
    const [plain, typed] = await Promise.all(spellings.slice(0, 2).map((project) => site.text(`/?project=${encodeURIComponent(project)}`, cookie)));
    const figures = (html) => [...html.matchAll(/<dd><strong>([^<]+)/g)].map(([, figure]) => figure);
    assert.ok(figures(plain).length > 0);
    assert.deepEqual(figures(typed), figures(plain), 'a person may type it in any case');
    const gone = await fetch(`${tracker.url}/v1/memory?project=GROUP%2Fshop`, { method: 'DELETE', headers: { authorization: 'Bearer operator' } });
    assert.ok((await gone.json()).findings > 0);
    assert.deepEqual((await (await ask(PROJECT, { token: 'operator' })).json()).rejected, []);
  });

  test('a signature of the installation, over the whole event and nothing else', async () => {
    const good = signed(rejection({ settled_by: 'member' }), SECRET);
    assert.deepEqual(await accepted([good], { token: 'plain' }), { accepted: 1, rejected: [] });
    assert.equal(await remembered(good.event.fingerprint), true);
    const body = await database.prepare('SELECT body FROM events WHERE id = ?').bind(good.id).first('body');
    assert.ok(!body.includes('proof'), 'the signature is stored nowhere');

    const fresh = () => signed(rejection(), SECRET);
    const changed = (change) => {
      const each = fresh();
      change(each);
      return each;
    };
    for (const each of [
      signed(rejection(), 'another secret'),
      changed((each) => (each.project = 'group/other')),
      changed((each) => (each.id = uuid7())),
      changed((each) => (each.run_id = uuid7())),
      changed((each) => (each.at_ms -= 1)),
      changed((each) => (each.event.merge_request = 9)),
      changed((each) => (each.event.fingerprint = 'changed')),
      changed((each) => (each.event.claim = 'c2')),
      changed((each) => (each.event.outcome = 'fixed')),
      changed((each) => (each.event.settled_by = 'member')),
      changed((each) => (each.event.proof = '')),
    ]) {
      assert.equal((await accepted([each], { token: 'plain' })).unproven, 1, JSON.stringify(each));
      assert.equal(await stored(each), 0);
    }
  });

  test('a copy with the id of a signed one is not signed', async () => {
    for (const order of [0, 1]) {
      const good = signed(rejection(), SECRET);
      const copy = { ...good, event: { ...good.event, fingerprint: `copy-${order}` } };
      await accepted(order ? [copy, good] : [good, copy], { token: 'plain' });
      assert.equal(await remembered(`copy-${order}`), false);
      assert.equal(await remembered(good.event.fingerprint), false, 'which of the two would it be?');
    }
    // The signed one is refused for its project, the copy is not.
    const good = signed(rejection({}, { project: 'elsewhere/shop' }), SECRET);
    const copy = { ...good, project: PROJECT, event: { ...good.event, fingerprint: 'copy-2' } };
    await accepted([good, copy], { token: 'bound' }, 207);
    assert.equal(await remembered('copy-2'), false);
    // Sent again, it counts once.
    const again = signed(rejection(), SECRET);
    for (let time = 0; time < 2; time += 1) await accepted([again], { token: 'plain' });
    const rows = await database.prepare('SELECT count(*) AS n FROM memory WHERE fingerprint = ?').bind(again.event.fingerprint).first('n');
    assert.equal(rows, 1);
  });

  test('nothing that the author of the merge request settled', async () => {
    for (const [by, teaches] of [['author', false], ['member', true], ['code', true], ['of_tomorrow', true]]) {
      const each = rejection({ settled_by: by });
      await accepted([each], { token: job() });
      assert.equal(await stored(each), 1);
      assert.equal(await remembered(each.event.fingerprint), teaches, by);
    }
  });

  test('without the secret of the installation no signature counts, an empty one least of all', async () => {
    const bare = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', CONCLAVE_SECRET: ' ' } });
    try {
      for (const secret of ['', ' ', SECRET]) {
        const answer = await (await post([signed(rejection(), secret)], { token: 'i', url: bare.url })).json();
        assert.equal(answer.unproven, 1);
      }
      // And a job's token does not count where no issuer is set.
      await assertProblem(await post([], { token: job(), url: bare.url }), 401, 'unauthorized');
    } finally {
      await bare.dispose();
    }
  });

  test('what was stored before there was a proof stays for the figures, and is proved anew', async () => {
    const old = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', CONCLAVE_SECRET: SECRET }, migrate: false });
    try {
      const db = await old.mf.getD1Database('DB');
      const list = migrations('review-tracker');
      await applyMigrations(db, list.filter((migration) => migration.name < '0006'));
      const insert = `INSERT INTO memory (project, outcome, merge_request, fingerprint, claim, category, path, at_ms)
        VALUES ('${PROJECT}', 'rejected', 7, 'old', 'c0', 'spoilt', 'a.py', ${Date.now() - 1000})`;
      await db.prepare(insert).run();
      await applyMigrations(db, list);
      const memory = async () => (await (await ask(PROJECT, { token: 'i', url: old.url })).json()).rejected;
      assert.deepEqual(await memory(), []);
      const proof = signed(rejection({ fingerprint: 'old', merge_request: 7 }), SECRET);
      assert.equal((await post([proof], { token: 'i', url: old.url })).status, 202);
      await settled(old.url);
      const [entry] = await memory();
      assert.equal(entry.fingerprint, 'old');
      assert.equal(entry.category, proof.event.category, 'nothing of the unproved one is left');
    } finally {
      await old.dispose();
    }
  });
});

describe('what a token is good for', () => {
  test('a bound token sends figures of its projects only, and each other event is named', async () => {
    const of = (project) => event(dropped(1), { project });
    const answer = await accepted([of('group/a'), of('elsewhere/a'), of('tools/lint'), of('group')], { token: 'bound' }, 207);
    assert.equal(answer.accepted, 2);
    assert.deepEqual(answer.rejected.map(({ index }) => index), [1, 3]);
    assert.match(answer.rejected[0].detail, /`elsewhere\/a`.*bound to/);
    assert.equal((await post([of('group/a')], { token: 'nothing' })).status, 422, 'an empty list is no project');
    assert.equal((await post([of('elsewhere/a')], { token: 'plain' })).status, 202, 'a plain one is as before');
    const names = await database.prepare("SELECT name FROM names WHERE kind = 'project' AND name = 'group'").all();
    assert.deepEqual(names.results, []);
  });

  test('a review reads the memory of the projects that it may speak for, people of all', async () => {
    for (const [project, how, status] of [
      [PROJECT, { token: job() }, 200],
      ['group/other', { token: job() }, 403],
      [PROJECT, { token: 'bound' }, 200],
      ['elsewhere/a', { token: 'bound' }, 403],
      ['elsewhere/a', { token: 'nothing' }, 403],
      ['elsewhere/a', { token: 'plain' }, 200],
      ['elsewhere/a', { token: 'people' }, 200],
      ['elsewhere/a', { token: 'operator' }, 200],
      [PROJECT, { job: job() }, 200],
      [PROJECT, {}, 401],
      [PROJECT, { token: 'wrong' }, 401],
    ]) {
      assert.equal((await ask(project, how)).status, status, `${project} ${JSON.stringify(how)}`);
    }
    await assertProblem(await ask('group/other', { token: job() }), 403, 'other-project');
    const response = await fetch(`${tracker.url}/v1/memory?project=${PROJECT}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${job()}` },
    });
    assert.equal(response.status, 401, 'no job forgets');
  });
});

describe('how much a token may send', () => {
  const limited = (vars, use) => async () => {
    const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'one,two', ...vars } });
    try {
      await use(worker, (events, token = 'one') => post(events, { token, url: worker.url }));
    } finally {
      await worker.dispose();
    }
  };
  const many = (count, project = 'p') => Array.from({ length: count }, () => event(dropped(1), { project }));

  test('events a minute: then 429 and when to come again, and others are not held up', limited({ INGEST_EVENTS_PER_MINUTE: '10' }, async (worker, send) => {
    await early(60_000, 10_000);
    assert.equal((await send(many(8))).status, 202);
    const response = await send(many(3));
    assert.ok(Number(response.headers.get('retry-after')) <= 60 && Number(response.headers.get('retry-after')) >= 1);
    const problem = await assertProblem(response, 429, 'too-many-events');
    assert.match(problem.detail, /10 events a minute.*INGEST_EVENTS_PER_MINUTE/);
    assert.equal((await send(many(2))).status, 202, 'what fits is taken');
    assert.equal((await send(many(1).map((each) => ({ ...each, project: '*' })))).status, 429, 'bad events count, too');
    assert.equal((await send([])).status, 202, 'the doctor may ask');
    assert.equal((await send(many(10), 'two')).status, 202);
    await settled(worker.url);
    const db = await worker.mf.getD1Database('DB');
    assert.equal(await db.prepare('SELECT count(*) AS n FROM events').first('n'), 20);
  }));

  test('new projects a day: known ones go on, and hostile names leave no trace', limited({ INGEST_NEW_PROJECTS_PER_DAY: '3' }, async (worker, send) => {
    await early(86_400_000, 30_000);
    assert.equal((await send([...many(1, 'a'), ...many(1, 'b')])).status, 202);
    await settled(worker.url);
    const mixed = await send([...many(1, 'a'), ...many(1, 'c'), ...many(1, 'd'), ...many(1, 'c')]);
    assert.equal(mixed.status, 207);
    const { rejected } = await mixed.json();
    assert.deepEqual(rejected.map(({ index }) => index), [2]);
    assert.match(rejected[0].detail, /3 new projects today/);
    const response = await send(many(2, 'e'));
    assert.ok(Number(response.headers.get('retry-after')) <= 86_400);
    await assertProblem(response, 429, 'too-many-projects');
    for (let hostile = 0; hostile < 50; hostile += 1) assert.equal((await send(many(1, `x/${hostile}`))).status, 429);
    assert.equal((await send(many(1, 'c'))).status, 202, 'of today');
    assert.equal((await send(many(1, 'y'), 'two')).status, 202, 'each token has its own count');
    await settled(worker.url);
    const db = await worker.mf.getD1Database('DB');
    const { results } = await db.prepare("SELECT name FROM names WHERE kind = 'project' ORDER BY name").all();
    assert.deepEqual(results.map(({ name }) => name), ['a', 'b', 'c', 'y']);
  }));

  test('jobs have one count of new projects together', async () => {
    const worker = await start('review-tracker', {
      vars: { INGEST_NEW_PROJECTS_PER_DAY: '2', OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE, OIDC_PROJECTS: '**' },
      reachable: [issuer.url],
    });
    try {
      await early(86_400_000, 30_000);
      const of = (project) => post(many(1, project), { token: job(project), url: worker.url });
      assert.deepEqual([(await of('a/a')).status, (await of('b/b')).status, (await of('c/c')).status], [202, 202, 429]);
      assert.equal((await of('a/a')).status, 202);
      assert.equal((await outbox(worker.url)).dead, 0);
    } finally {
      await worker.dispose();
    }
  });

  test('a job uses up no names but its own, however it spells that', async () => {
    const worker = await start('review-tracker', {
      vars: { INGEST_NEW_PROJECTS_PER_DAY: '2', OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE, OIDC_PROJECTS: '**' },
      reachable: [issuer.url],
    });
    try {
      await early(86_400_000, 30_000);
      const own = { token: job('a/app'), url: worker.url };
      for (const project of ['a/app ', 'a/app/', 'a//app', 'a/app2', 'á/app']) {
        assert.equal((await post(many(1, project), own)).status, 422, project);
      }
      for (const project of ['a/app', 'A/app', 'a/App', 'A/APP']) {
        assert.equal((await post(many(1, project), own)).status, 202, project);
      }
      assert.equal((await post(many(1, 'b/b'), { token: job('b/b'), url: worker.url })).status, 202, 'there is room for others');
    } finally {
      await worker.dispose();
    }
  });
});

describe('how full the tracker is', () => {
  const full = async (vars) => {
    const worker = await start('review-tracker', {
      vars: { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: 'new-token', METRICS_TOKENS: 'm', ...vars },
    });
    const db = await worker.mf.getD1Database('DB');
    await db.prepare('CREATE TABLE filler AS SELECT zeroblob(700000) AS bytes').run();
    const answer = await (await post([], { token: 'i', url: worker.url })).json();
    const metrics = await (await fetch(`${worker.url}/metrics`, { headers: { authorization: 'Bearer m' } })).text();
    const site = client(worker.url);
    const cookie = await site.logIn();
    const pages = await Promise.all(['/', '/runs', '/models', '/health', '/findings'].map((path) => site.text(path, cookie)));
    await worker.dispose();
    return { answer, metrics, pages };
  };

  test('from four fifths of its size on, every page, the metrics and the doctor say so', async () => {
    const { answer, metrics, pages } = await full({ DATABASE_MAX_MB: '1' });
    const { used_bytes: used, max_bytes: max } = answer.database;
    assert.equal(max, 1_000_000);
    assert.match(metrics, new RegExp(`^conclave_database_bytes ${used}$`, 'm'));
    assert.match(metrics, /^conclave_database_max_bytes 1000000$/m);
    const share = Math.floor((used * 100) / max);
    assert.ok(share >= 80, `${share} %`);
    for (const page of pages) assert.match(page, new RegExp(`role="alert">The database is ${share} % full .*RETENTION_DAYS`));
  });

  test('a tracker with room says nothing', async () => {
    const { answer, pages } = await full({});
    assert.equal(answer.database.max_bytes, 10_000_000_000);
    for (const page of pages) assert.doesNotMatch(page, /class="banner"/);
    assert.match(pages[3], /Database[^]*0 %[^]*of 10,000 MB/);
  });
});

describe('an issuer that hangs', () => {
  let hanging;
  let worker;
  before(async () => {
    hanging = await startIssuer();
    hanging.broken = () => {};
    worker = await start('review-tracker', {
      vars: { INGEST_TOKENS: 'plain, bound:bound:group/*', OIDC_ISSUER: hanging.url, OIDC_AUDIENCE: AUDIENCE, OIDC_PROJECTS: 'group/**' },
      reachable: [hanging.url],
    });
  });
  after(async () => {
    await worker.dispose();
    await hanging.stop();
  });
  const job = (changes = {}) => hanging.token({ project_path: PROJECT, ...changes });
  const timed = async (events, how) => {
    const began = Date.now();
    const response = await post(events, { ...how, url: worker.url });
    return { status: response.status, answer: await response.json(), took: Date.now() - began };
  };

  test('does not hold up what an ingest token is enough for', async () => {
    for (const token of ['plain', 'bound']) {
      const { status } = await timed([event(started(), { project: PROJECT })], { token, job: job() });
      assert.equal(status, 202);
    }
    assert.equal(hanging.asked, 0, 'nobody had to wait for it');
  });

  test('an outcome waits for it once, within what a review waits, and counts as unproven', async () => {
    const first = await timed([rejection()], { token: 'plain', job: job() });
    assert.deepEqual([first.status, first.answer.unproven], [202, 1]);
    assert.ok(first.took < 1900 * crowd(), `${first.took} ms`);
    assert.match(first.answer.job_refused, /keys of the tokens' issuer cannot be read/);
    const again = await timed([rejection()], { token: 'plain', job: job() });
    assert.ok(again.took < 700 * crowd(), `${again.took} ms`);
    assert.equal(hanging.asked, 1);
  });

  test('a token that is bound stays bound whatever the job beside it claims', async () => {
    const { status } = await timed([event(started(), { project: 'other/project' })], { token: 'bound', job: job({ project_path: 'other/project' }) });
    assert.equal(status, 422);
  });

  test('a job token that cannot be good is named beside a good ingest token', async () => {
    const { status, answer } = await timed([event(started(), { project: PROJECT })], { token: 'plain', job: job({ aud: 'https://elsewhere' }) });
    assert.equal(status, 202);
    assert.match(answer.job_refused, /made for another audience than https:\/\/config/);
  });
});

test('a full database stores nothing new, and says what to do', async () => {
  const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', DATABASE_MAX_MB: '1' } });
  try {
    const db = await worker.mf.getD1Database('DB');
    await db.prepare('CREATE TABLE filler AS SELECT zeroblob(1200000) AS bytes').run();
    const problem = await assertProblem(await post([event(started(), { project: PROJECT })], { token: 'i', url: worker.url }), 507, 'database-full');
    assert.match(problem.detail, /RETENTION_DAYS.*DATABASE_MAX_MB/);
    assert.equal((await db.prepare('SELECT count(*) AS n FROM events').first()).n, 0);
    const probe = await (await post([], { token: 'i', url: worker.url })).json();
    assert.ok(probe.database.used_bytes >= probe.database.max_bytes, 'the doctor hears it');
  } finally {
    await worker.dispose();
  }
});

test('variables that are no numbers are named in the log, and the defaults count', async () => {
  const vars = { INGEST_TOKENS: 'i', INGEST_EVENTS_PER_MINUTE: 'x', INGEST_NEW_PROJECTS_PER_DAY: '-1', OUTBOX_FLUSH_MS: 'abc', OUTBOX_SHARDS: '1.5' };
  const worker = await start('review-tracker', { vars });
  try {
    const answer = await post([event(started(), { project: PROJECT })], { token: 'i', url: worker.url });
    assert.equal(answer.status, 202);
    await settled(worker.url);
    for (const [name, value] of Object.entries(vars).slice(1)) {
      assert.ok(worker.logs.some((line) => line.includes(`${name} is \`${value}\`: set a whole number`)), `${name}: ${worker.logs.join('\n')}`);
    }
  } finally {
    await worker.dispose();
  }
});

test('of a batch that crosses the quota of new projects, what is known is stored and each other event is named', async () => {
  const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', INGEST_NEW_PROJECTS_PER_DAY: '1' } });
  try {
    const of = (project) => event(started(), { project });
    const first = await post([of('group/one'), of('group/two')], { token: 'i', url: worker.url });
    assert.equal(first.status, 207);
    const { accepted, rejected } = await first.json();
    assert.deepEqual([accepted, rejected.map(({ index }) => index)], [1, [1]]);
    assert.match(rejected[0].detail, /INGEST_NEW_PROJECTS_PER_DAY/);
    await assertProblem(await post([of('group/three')], { token: 'i', url: worker.url }), 429, 'too-many-projects');
  } finally {
    await worker.dispose();
  }
});
