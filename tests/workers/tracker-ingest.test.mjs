// review-tracker's ingest in a real workerd: who may send, what is taken, and that each event counts once.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { completed, dropped, event, finding, session, settled, started, uuid7 } from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

let worker;
let database;
before(async () => {
  worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'old-token,new-token', METRICS_TOKENS: 'm' } });
  database = await worker.mf.getD1Database('DB');
});
after(() => worker.dispose());

const post = (body, { token = 'new-token', headers = {}, url = worker.url } = {}) =>
  fetch(`${url}/v1/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const send = async (events, status) => {
  const response = await post({ events });
  assert.equal(response.status, status, await response.clone().text());
  await settled(worker.url);
  return response.json();
};
/** Sends spaces until there is an answer. `fetch` would go on sending after it. */
const sendWithoutEnd = () =>
  new Promise((resolve, reject) => {
    const chunk = Buffer.alloc(16 * 1024, ' ');
    let sent = 0;
    let answered = false;
    const headers = { authorization: 'Bearer new-token', 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const outgoing = request(`${worker.url}/v1/events`, { method: 'POST', headers });
    const more = () => {
      while (!answered) {
        sent += chunk.length;
        if (!outgoing.write(chunk)) {
          outgoing.once('drain', () => setImmediate(more));
          return;
        }
      }
    };
    outgoing.on('response', (response) => {
      answered = true;
      resolve({ status: response.statusCode, sent });
      outgoing.destroy();
    });
    // A server may close the connection on a client that goes on sending, and the answer can be lost in that.
    outgoing.on('error', (error) => (['ECONNRESET', 'EPIPE'].includes(error.code) ? resolve({ sent }) : reject(error)));
    more();
  });
const rows = async (sql, ...values) => (await database.prepare(sql).bind(...values).all()).results;
const count = async (table) => (await rows(`SELECT count(*) AS n FROM ${table}`))[0].n;

describe('who may send', () => {
  test('no token and a wrong one are refused, every listed one is good', async () => {
    await assertProblem(await post({ events: [] }, { token: null }), 401, 'unauthorized');
    await assertProblem(await post({ events: [] }, { token: 'm' }), 401, 'unauthorized');
    for (const token of ['old-token', 'new-token']) {
      assert.equal((await post({ events: [] }, { token })).status, 202);
    }
  });

  test('projects in the place of a token are no token, and the fault is named', async () => {
    const bare = await start('review-tracker', { vars: { INGEST_TOKENS: 'good:one,3f9c1d0a7be24c5f8a6d:platform/**' } });
    try {
      for (const token of ['platform/**', '3f9c1d0a7be24c5f8a6d']) {
        const problem = await assertProblem(await post({ events: [] }, { url: bare.url, token }), 503, 'not-configured');
        assert.match(problem.detail, /`INGEST_TOKENS` has projects in the place of a token, in entry 2/);
      }
      assert.equal((await post({ events: [] }, { url: bare.url, token: 'one' })).status, 202, 'other entries count');
      assert.match(bare.logs.join('\n'), /has projects in the place of a token/);
    } finally {
      await bare.dispose();
    }
  });

  test('without tokens everybody is refused and told what to configure', async () => {
    const bare = await start('review-tracker');
    try {
      const problem = await assertProblem(await post({ events: [] }, { url: bare.url }), 503, 'not-configured');
      assert.match(problem.detail, /INGEST_TOKENS/);
    } finally {
      await bare.dispose();
    }
  });

  test('only POST is possible', async () => {
    const response = await fetch(`${worker.url}/v1/events`);
    assert.equal(response.headers.get('allow'), 'POST');
    await assertProblem(response, 405, 'method-not-allowed');
  });
});

describe('what is taken', () => {
  test('a whole run becomes a run, its sessions, usage and findings', async () => {
    const run = uuid7();
    const at = Date.now();
    const make = (body, more) => event(body, { run, project: 'taken/whole', at, ...more });
    assert.deepEqual(
      await send(
        [make(started()), make(session()), make(finding()), make(finding({ fate: 'dropped', reason_code: 'x' })), make(completed(), { at: at + 60_000 })],
        202,
      ),
      { accepted: 5, rejected: [] },
    );
    const [row] = await rows('SELECT * FROM runs WHERE run_id = ?', run);
    assert.equal(row.project, 'taken/whole');
    assert.equal(row.at_ms, at);
    assert.equal(row.verdict, 'approved_with_comments');
    assert.equal(row.merge_request, 7);
    assert.deepEqual(JSON.parse(row.panel), ['security', 'performance']);
    assert.equal(row.cache_read, 900);
    assert.deepEqual(await rows('SELECT reviewer, outcome, attempts FROM sessions WHERE run_id = ?', run), [
      { reviewer: 'security', outcome: 'ok', attempts: 1 },
    ]);
    assert.deepEqual(await rows('SELECT model, calls, cache_read, cost_usd FROM usage WHERE run_id = ?', run), [
      { model: 'anthropic/claude-sonnet-5', calls: 3, cache_read: 900, cost_usd: 0.4 },
    ]);
    assert.deepEqual(await rows('SELECT fate, reason_code FROM findings WHERE run_id = ? ORDER BY fate', run), [
      { fate: 'dropped', reason_code: 'x' },
      { fate: 'kept', reason_code: null },
    ]);
  });

  test('the end may arrive before the start, and alone', async () => {
    const run = uuid7();
    const at = Date.now();
    await send([event(completed({ merge_request: undefined }), { run, at })], 202);
    assert.deepEqual(await rows('SELECT at_ms, verdict, forge FROM runs WHERE run_id = ?', run), [
      { at_ms: at - 60_000, verdict: 'approved_with_comments', forge: null },
    ]);
    await send([event(started(), { run, at: at - 61_000 })], 202);
    assert.deepEqual(await rows('SELECT at_ms, verdict, forge, merge_request FROM runs WHERE run_id = ?', run), [
      { at_ms: at - 61_000, verdict: 'approved_with_comments', forge: 'gitlab', merge_request: 7 },
    ]);
  });

  test('a finding of a run that is not known yet makes the run known', async () => {
    const run = uuid7();
    await send([event(finding(), { run, project: 'taken/orphan' })], 202);
    assert.deepEqual(await rows('SELECT project, verdict FROM runs WHERE run_id = ?', run), [
      { project: 'taken/orphan', verdict: null },
    ]);
  });

  test('a newer client: unknown fields are ignored, an unknown kind is named', async () => {
    const newer = event({ ...dropped(1), added: { later: true } });
    newer.schema = 9;
    newer.added = [];
    const unknown = event({ type: 'from_the_future', provider: 'x' });
    const answer = await send([newer, unknown], 207);
    assert.equal(answer.accepted, 1);
    assert.deepEqual(answer.rejected.map(({ index }) => index), [1]);
    assert.match(answer.rejected[0].detail, /from_the_future/);
  });

  test('of a mixed batch the good ones are taken and the bad ones are named', async () => {
    const before = await count('events');
    const answer = await send(
      [
        event(finding()),
        7,
        null,
        {},
        event(finding({ severity: 'fatal' })),
        event(finding({ path: 'x'.repeat(2000) })),
        event(finding(), { project: '*' }),
        event(finding(), { at: 5 }),
        event(completed({ cost_usd: -1 })),
        event(completed({ duration_ms: 1e18 })),
        { ...event(finding()), id: 'not-a-uuid' },
        event(session({ usage: [{ model: 'no-provider', tokens: {}, cost_usd: 0, calls: 0 }] })),
        event(dropped(2)),
      ],
      207,
    );
    assert.equal(answer.accepted, 2);
    assert.deepEqual(answer.rejected.map(({ index }) => index), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for (const { detail } of answer.rejected) {
      assert.ok(detail.length > 5 && detail.length <= 400, detail);
    }
    assert.equal(await count('events'), before + 2);
  });

  test('when none can be taken the answer says so', async () => {
    const answer = await send([{}, event({ type: 'x' })], 422);
    assert.equal(answer.accepted, 0);
    assert.equal(answer.rejected.length, 2);
  });

  test('SQL in any text is only text', async () => {
    const hostile = `'); DROP TABLE events; --"\\ ?1 :x $y`;
    const run = uuid7();
    await send([event(started({ forge: `' OR 1=1 --`, client_version: hostile, reviewers: [hostile] }), { run, project: hostile })], 202);
    await send([event(finding({ category: hostile, path: hostile, reviewer: hostile, fingerprint: hostile, reason_code: hostile }), { run, project: hostile })], 202);
    assert.equal((await rows('SELECT project FROM runs WHERE run_id = ?', run))[0].project, hostile.toLowerCase());
    assert.equal((await rows('SELECT path FROM findings WHERE run_id = ?', run))[0].path, hostile);
  });
});

describe('limits', () => {
  test('what is no batch is refused as a whole', async () => {
    for (const body of ['', 'x', '[]', '{}', '{"events":7}', '{"events":[]}x', '[['.repeat(5000)]) {
      await assertProblem(await post(body), 400, 'bad-request');
    }
    const many = JSON.stringify({ events: Array.from({ length: 501 }, () => 0) });
    await assertProblem(await post(many), 413, 'too-large');
  });

  test('another media type is refused', async () => {
    await assertProblem(await post('{"events":[]}', { headers: { 'content-type': 'text/plain' } }), 415, 'unsupported-media-type');
    assert.equal((await post('{"events":[]}', { headers: { 'content-type': 'application/json; charset=utf-8' } })).status, 202);
  });

  test('a body above 256 KiB is refused by its announced length', async () => {
    await assertProblem(await post(`{"events":[]}${' '.repeat(256 * 1024)}`), 413, 'too-large');
    assert.equal((await post(`{"events":[]}${' '.repeat(256 * 1024 - 13)}`)).status, 202);
  });

  test('an endless body without a length is refused while it is read', { timeout: 30_000 }, async () => {
    const { status, sent } = await sendWithoutEnd();
    assert.ok(status === 413 || status === undefined, `answered ${status}`);
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were taken`);
    assert.equal((await post({ events: [] })).status, 202, 'the Worker goes on');
  });

  test('a full batch is taken', async () => {
    const before = await count('events');
    assert.equal((await send(Array.from({ length: 500 }, () => event(dropped(0), { project: 'limits/full' })), 202)).accepted, 500);
    assert.equal(await count('events'), before + 500);
  });
});

describe('each event counts once', () => {
  const project = 'once/project';
  const sums = () =>
    rows(
      `SELECT (SELECT sum(runs) FROM daily_runs WHERE project = ?1) AS runs,
       (SELECT sum(n) FROM bins WHERE project = ?1 AND span = 1) AS bins,
       (SELECT sum(findings) FROM daily_findings WHERE project = ?1) AS findings,
       (SELECT sum(cache_read) FROM daily_usage WHERE project = ?1) AS cached,
       (SELECT sum(events) FROM daily_dropped WHERE project = ?1) AS dropped`,
      project,
    );

  test('sent twice, in one batch and in two', async () => {
    const run = uuid7();
    const batch = [completed(), session(), finding(), dropped(3)].map((body) => event(body, { run, project }));
    const once = [{ runs: 1, bins: 2, findings: 1, cached: 900, dropped: 3 }];
    assert.equal((await send([...batch, ...batch], 202)).accepted, 8);
    assert.deepEqual(await sums(), once);
    await send(batch, 202);
    await send([batch[1], event(finding(), { run, project })], 202);
    assert.deepEqual(await sums(), [{ ...once[0], findings: 2 }]);
    assert.equal((await rows('SELECT count(*) AS n FROM sessions WHERE run_id = ?', run))[0].n, 1);
  });

  test('sent by several clients at the same time', async () => {
    const same = Array.from({ length: 50 }, () => event(finding(), { project: 'once/together' }));
    await Promise.all(Array.from({ length: 8 }, () => send(same, 202)));
    const [{ n }] = await rows(`SELECT sum(findings) AS n FROM daily_findings WHERE project = 'once/together'`);
    assert.equal(n, 50);
  });
});
