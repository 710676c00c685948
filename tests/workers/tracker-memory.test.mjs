// What repositories remember: from events to answers, by the real Worker in workerd.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { event, outcome, send, signed } from '../support/events.mjs';
import { applyMigrations, migrations, start } from '../support/workerd.mjs';

const INGEST = 'ingest-of-the-test';
const PEOPLE = 'people-of-the-test';
const OPERATOR = 'operator';
const SECRET = 'secret-of-the-installation';

let tracker;
let database;
before(async () => {
  tracker = await start('review-tracker', {
    vars: { INGEST_TOKENS: INGEST, DASHBOARD_TOKENS: PEOPLE, OPERATOR_TOKENS: `ada:${OPERATOR}`, METRICS_TOKENS: 'm', CONCLAVE_SECRET: SECRET },
  });
  database = await tracker.mf.getD1Database('DB');
});
after(() => tracker.dispose());

function ask(project, { token = INGEST, method = 'GET', more = '' } = {}) {
  const query = project === undefined ? '' : `?project=${encodeURIComponent(project)}${more}`;
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return fetch(`${tracker.url}/v1/memory${query}`, { method, headers });
}

async function remembered(project) {
  const response = await ask(project);
  assert.equal(response.status, 200);
  return response.json();
}

/** A settled finding of a project, in a merge request. */
const settled = (project, number, more = {}, at = Date.now()) =>
  signed(event(outcome({ merge_request: number, claim: 'c1', ...more }), { project, at }), SECRET);

/** Sends events and waits until the database has them. */
async function tell(events) {
  await send(tracker.url, INGEST, events);
  const ids = events.map((each) => each.id);
  await until('the events are written', async () => {
    const marks = ids.map(() => '?').join(',');
    const statement = database.prepare(`SELECT count(*) AS n FROM events WHERE id IN (${marks})`).bind(...ids);
    return (await statement.first('n')) === ids.length;
  });
}

async function until(what, happened) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (await happened()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(`${what}: never`);
}

test('rejections and fixes are remembered by merge request, each once', async () => {
  const project = 'group/remembers';
  const one = settled(project, 4, { outcome: 'rejected', fingerprint: 'f1' });
  await tell([
    one,
    settled(project, 4, { outcome: 'rejected', fingerprint: 'f1' }),
    settled(project, 9, { outcome: 'rejected', fingerprint: 'f1' }),
    settled(project, 9, { outcome: 'resolved', fingerprint: 'f2' }),
    settled(project, 9, { outcome: 'fixed', fingerprint: 'f3', path: 'src/hot.py', category: 'naming' }),
    settled(project, 10, { outcome: 'fixed', fingerprint: 'f3', path: 'src/hot.py', category: 'dead-code' }),
    signed(event(outcome({ outcome: 'rejected', fingerprint: 'f4', merge_request: undefined }), { project }), SECRET),
  ]);
  // The same event again is the same one.
  await tell([one]);
  const memory = await remembered(project);
  assert.equal(memory.schema, 1);
  assert.equal(memory.project, project);
  assert.equal(memory.rejected.length, 1);
  const [rejected] = memory.rejected;
  assert.deepEqual(rejected.merge_requests.toSorted(), [4, 9]);
  assert.equal(rejected.fingerprint, 'f1');
  assert.equal(rejected.claim, 'c1');
  assert.deepEqual(
    memory.hot_spots.map(({ path, fixed, categories }) => ({ path, fixed, categories })),
    [{ path: 'src/hot.py', fixed: 2, categories: ['dead-code', 'naming'] }],
  );
  assert.deepEqual((await remembered('group/another')).rejected, [], 'another project has a memory of its own');
});

test('jobs and people may read, one kind of token may clear', async () => {
  const project = 'group/rights';
  await tell([settled(project, 1, { outcome: 'rejected', fingerprint: 'f1' })]);
  for (const token of [INGEST, PEOPLE, OPERATOR]) {
    assert.equal((await ask(project, { token })).status, 200, token);
  }
  for (const token of ['m', 'wrong', null]) {
    const response = await ask(project, { token });
    assert.equal(response.status, 401, String(token));
    assert.match(response.headers.get('content-type'), /problem\+json/);
  }
  for (const token of [INGEST, PEOPLE, 'wrong', null]) {
    assert.equal((await ask(project, { token, method: 'DELETE' })).status, 401, String(token));
  }
  assert.equal((await remembered(project)).rejected.length, 1);
  const response = await ask(project, { token: OPERATOR, method: 'DELETE' });
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { findings: 1 });
  assert.deepEqual((await remembered(project)).rejected, []);
  const note = await database.prepare('SELECT who FROM memory_cleared WHERE project = ?').bind(project).first('who');
  assert.equal(note, 'ada');
});

test('what is cleared stays so, also when older events arrive afterwards', async () => {
  const project = 'group/clears';
  const before = Date.now() - 60_000;
  const rejection = (number, fingerprint, at) => settled(project, number, { outcome: 'rejected', fingerprint }, at);
  await tell([rejection(1, 'f1', before), rejection(2, 'f1', before), rejection(1, 'f2', before)]);
  // Of one finding.
  const one = await ask(project, { token: OPERATOR, method: 'DELETE', more: '&fingerprint=f1' });
  assert.deepEqual(await one.json(), { findings: 2 });
  assert.deepEqual((await remembered(project)).rejected.map((each) => each.fingerprint), ['f2']);
  await tell([rejection(3, 'f1', before + 1), rejection(4, 'f1', Date.now() + 1000)]);
  const after = (await remembered(project)).rejected.find((each) => each.fingerprint === 'f1');
  assert.deepEqual(after.merge_requests, [4], 'what was said later counts');
  // Of all.
  await ask(project, { token: OPERATOR, method: 'DELETE' });
  await tell([rejection(5, 'f3', before)]);
  assert.deepEqual((await remembered(project)).rejected, []);
});

test('bad questions are answered with what is wrong', async () => {
  for (const [query, problem] of [
    [undefined, /`\?project=`/],
    ['', /1 to 256 bytes/],
    ['x'.repeat(257), /1 to 256 bytes/],
    ['a\nb', /control characters/],
  ]) {
    const response = await ask(query);
    assert.equal(response.status, 400, JSON.stringify(query));
    assert.match((await response.json()).detail, problem);
  }
  const response = await ask('p', { method: 'POST' });
  assert.equal(response.status, 405);
  assert.equal(response.headers.get('allow'), 'GET, HEAD, DELETE');
  const sql = await remembered("'; DROP TABLE memory; --");
  assert.deepEqual(sql.rejected, []);
});

test('a project of many findings stays small, and its answer too', async () => {
  const project = 'group/many';
  const base = Date.now() - 10_000_000;
  const events = Array.from({ length: 2200 }, (_, number) =>
    settled(project, number, { outcome: 'rejected', fingerprint: `f${number}`, claim: `c${number}` }, base + number),
  );
  await tell([settled(project, 1, { outcome: 'fixed', fingerprint: 'x' }, base)]);
  for (let from = 0; from < events.length; from += 80) {
    await send(tracker.url, INGEST, events.slice(from, from + 80));
  }
  const count = () => database.prepare('SELECT count(*) AS n FROM memory WHERE project = ?').bind(project).first('n');
  const newest = () =>
    database.prepare('SELECT count(*) AS n FROM memory WHERE project = ? AND fingerprint = ?').bind(project, 'f2199').first('n');
  await until('the newest is written', async () => (await newest()) === 1);
  await until('it is trimmed', async () => (await count()) <= 2032);
  const response = await ask(project);
  const text = await response.text();
  assert.ok(text.length < 200_000, `${text.length} bytes`);
  const memory = JSON.parse(text);
  assert.equal(memory.rejected.length, 500);
  assert.equal(memory.rejected[0].fingerprint, 'f2199', 'the newest first');
});

test('a database of before remembers from then on', async () => {
  const other = await start('review-tracker', { vars: { INGEST_TOKENS: INGEST }, migrate: false });
  try {
    const old = await other.mf.getD1Database('DB');
    const list = migrations('review-tracker');
    const before = list.filter((migration) => migration.name < '0003');
    await applyMigrations(old, before);
    const headers = { authorization: `Bearer ${INGEST}` };
    const missing = await fetch(`${other.url}/v1/memory?project=p`, { headers });
    assert.equal(missing.status, 503);
    assert.match((await missing.json()).detail, /migrations apply/);
    await applyMigrations(old, list);
    const answer = await fetch(`${other.url}/v1/memory?project=p`, { headers });
    assert.deepEqual(await answer.json(), { schema: 1, project: 'p', rejected: [], hot_spots: [] });
  } finally {
    await other.dispose();
  }
});
