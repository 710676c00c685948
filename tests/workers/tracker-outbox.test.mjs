// The outbox: what the database refuses does not block the rest, is kept, shown, replayed or thrown away.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { event, finding, outbox, settled } from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

// All projects in one object, so that they would be in each other's way.
const vars = { INGEST_TOKENS: 't', OPERATOR_TOKENS: 'old,operator', OUTBOX_SHARDS: '1', OUTBOX_RETRY_MS: '5' };
const POISON = 'poison/project';

let worker;
let database;
before(async () => {
  worker = await start('review-tracker', { vars });
  database = await worker.mf.getD1Database('DB');
});
after(() => worker.dispose());

const call = (path, { method = 'GET', token = 'operator', url = worker.url } = {}) =>
  fetch(`${url}${path}`, { method, headers: token === null ? {} : { authorization: `Bearer ${token}` } });
const post = async (...events) => {
  const response = await fetch(`${worker.url}/v1/events`, {
    method: 'POST',
    headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  assert.equal(response.status, 202, await response.text());
};
const counted = async (project) =>
  (await database.prepare('SELECT coalesce(sum(findings), 0) AS n FROM daily_findings WHERE project = ?').bind(project).first()).n;

/** From now on the database refuses events of a project, as it would one that breaks a constraint. */
const poison = () =>
  database
    .prepare(`CREATE TRIGGER IF NOT EXISTS poison BEFORE INSERT ON events WHEN NEW.project = '${POISON}' BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`)
    .run();
const heal = () => database.prepare('DROP TRIGGER IF EXISTS poison').run();

describe('who may look', () => {
  test('operators only, with any of their tokens', async () => {
    for (const token of ['old', 'operator']) {
      assert.equal((await call('/v1/outbox', { token })).status, 200);
    }
    for (const token of [null, 't', 'old,operator']) {
      await assertProblem(await call('/v1/outbox', { token }), 401, 'unauthorized');
      await assertProblem(await call('/v1/dead-letters/replay', { method: 'POST', token }), 401, 'unauthorized');
      await assertProblem(await call('/v1/dead-letters/0-1', { method: 'DELETE', token }), 401, 'unauthorized');
      await assertProblem(await call('/v1/dead-letters/0-1/replay', { method: 'POST', token }), 401, 'unauthorized');
    }
  });

  test('nobody where no token is set', async () => {
    const bare = await start('review-tracker', { vars: { OPERATOR_TOKENS: '' } });
    try {
      const problem = await assertProblem(await call('/v1/outbox', { url: bare.url }), 503, 'not-configured');
      assert.match(problem.detail, /OPERATOR_TOKENS/);
    } finally {
      await bare.dispose();
    }
  });

  test('what is not there is not found, and the methods are what they are', async () => {
    for (const id of ['0-999', 'x', '0', '999-1', '0-1-2']) {
      await assertProblem(await call(`/v1/dead-letters/${id}`), 404, 'not-found');
      await assertProblem(await call(`/v1/dead-letters/${id}/replay`, { method: 'POST' }), 404, 'not-found');
    }
    await assertProblem(await call('/v1/outbox', { method: 'POST' }), 405, 'method-not-allowed');
    await assertProblem(await call('/v1/dead-letters/replay'), 405, 'method-not-allowed');
  });
});

describe('a batch that the database refuses', () => {
  beforeEach(async () => {
    await poison();
  });

  test('does not block the ones behind it, becomes a dead letter, and is counted once when it is replayed', async () => {
    const before = Date.now();
    const refused = [event(finding(), { project: POISON }), event(finding(), { project: POISON })];
    await Promise.all([post(...refused), ...[1, 2, 3].map(() => post(event(finding(), { project: 'good/project' })))]);
    const status = await settled(worker.url, { until: ({ batches, dead }) => batches === 0 && dead === 1 });
    assert.equal(await counted('good/project'), 3, 'the others were counted');
    assert.equal(await counted(POISON), 0);

    const [letter] = status.dead_letters;
    assert.equal(letter.events, 2);
    assert.equal(letter.attempts, 5);
    assert.match(letter.fault, /refused by a test/);
    assert.ok(letter.received_ms >= before && letter.died_ms >= letter.received_ms);
    const content = await (await call(`/v1/dead-letters/${letter.id}`)).json();
    assert.deepEqual(content.events.map(({ id }) => id), refused.map(({ id }) => id), 'nothing of it is lost');

    await heal();
    const replayed = await call(`/v1/dead-letters/${letter.id}/replay`, { method: 'POST' });
    assert.deepEqual([replayed.status, await replayed.json()], [202, { replayed: 1 }]);
    assert.equal((await settled(worker.url)).dead, 0);
    assert.equal(await counted(POISON), 2);
    await assertProblem(await call(`/v1/dead-letters/${letter.id}/replay`, { method: 'POST' }), 404, 'not-found');
  });

  test('all are replayed with one call; what is still refused is a dead letter again', async () => {
    await post(event(finding(), { project: POISON }));
    await settled(worker.url, { until: ({ batches, dead }) => batches === 0 && dead === 1 });
    await post(event(finding(), { project: POISON }));
    const both = await settled(worker.url, { until: ({ batches, dead }) => batches === 0 && dead === 2 });
    const again = await call('/v1/dead-letters/replay', { method: 'POST' });
    assert.deepEqual(await again.json(), { replayed: 2 });
    const dead = await settled(worker.url, { until: ({ batches, dead }) => batches === 0 && dead === 2 });
    assert.notDeepEqual(dead.dead_letters.map(({ id }) => id), both.dead_letters.map(({ id }) => id));
    await heal();
    const earlier = await counted(POISON);
    assert.deepEqual(await (await call('/v1/dead-letters/replay', { method: 'POST' })).json(), { replayed: 2 });
    await settled(worker.url);
    assert.equal(await counted(POISON), earlier + 2);
  });

  test('can be thrown away', async () => {
    await post(event(finding(), { project: POISON }));
    const { dead_letters: letters } = await settled(worker.url, { until: ({ batches, dead }) => batches === 0 && dead === 1 });
    const gone = await call(`/v1/dead-letters/${letters[0].id}`, { method: 'DELETE' });
    assert.deepEqual([gone.status, await gone.json()], [200, { discarded: 1 }]);
    assert.equal((await outbox(worker.url)).dead, 0);
    await assertProblem(await call(`/v1/dead-letters/${letters[0].id}`), 404, 'not-found');
    await heal();
  });
});

test('while the database takes no writes everything waits, and nothing is given up', async () => {
  await database.prepare(`CREATE TRIGGER closed BEFORE INSERT ON names BEGIN SELECT RAISE(ABORT, 'closed by a test'); END`).run();
  await database.prepare(`CREATE TRIGGER closed_too BEFORE INSERT ON chores BEGIN SELECT RAISE(ABORT, 'closed by a test'); END`).run();
  await database.prepare(`CREATE TRIGGER closed_again BEFORE UPDATE ON chores BEGIN SELECT RAISE(ABORT, 'closed by a test'); END`).run();
  await post(event(finding(), { project: 'waiting/project' }));
  const waiting = await settled(worker.url, { until: ({ fault }) => fault !== null });
  assert.match(waiting.fault, /closed by a test/);
  assert.equal(waiting.events, 1);
  assert.ok(waiting.oldest_ms <= Date.now());
  // More tries than a batch has before it is given up: each renews the alarm by itself.
  await post(event(finding(), { project: 'waiting/project' }));
  for (const trigger of ['closed', 'closed_too', 'closed_again']) await database.prepare(`DROP TRIGGER ${trigger}`).run();
  const status = await settled(worker.url);
  assert.deepEqual([status.dead, status.fault], [0, null]);
  assert.equal(await counted('waiting/project'), 2);
});

test('without objects, a batch is in the database before it is answered', async () => {
  const direct = await start('review-tracker', { vars: { INGEST_TOKENS: 't', OUTBOX_SHARDS: '0' } });
  try {
    const send = () =>
      fetch(`${direct.url}/v1/events`, {
        method: 'POST',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: JSON.stringify({ events: [sent] }),
      });
    const sent = event(finding());
    for (const answer of [await send(), await send()]) assert.equal(answer.status, 202);
    const rows = await direct.mf.getD1Database('DB');
    assert.equal((await rows.prepare('SELECT count(*) AS n FROM findings').first()).n, 1, 'and counts once');
    assert.deepEqual(await outbox(direct.url), { batches: 0, events: 0, oldest_ms: null, fault: null, dead: 0, dead_letters: [] });
  } finally {
    await direct.dispose();
  }
});
