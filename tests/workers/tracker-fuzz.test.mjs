// Bad input: whatever is posted, the answer is never a 500, and what is good in it is kept.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import {
  breakGlass,
  circuit,
  completed,
  dropped,
  event,
  failback,
  finding,
  metrics,
  outcome,
  send,
  session,
  settled,
  started,
  uuid7,
  verdict,
} from '../support/events.mjs';
import { random } from '../support/seed/random.mjs';
import { start } from '../support/workerd.mjs';

const ROUNDS = 150;
const DAY = 86_400_000;
const HOSTILE = [
  `'); DROP TABLE events; --`,
  `"; DELETE FROM runs WHERE 1=1; --`,
  `<script>alert(1)</script>`,
  `<img src=x onerror=alert(1)>`,
  `{{7*7}}\${7*7}`,
  `?1 :name @x $y %s`,
  `../../etc/passwd`,
  'ü'.repeat(20),
  '\u202Etxt.exe',
  '🦀'.repeat(10),
  `\\"'\``,
  '%',
  '_',
  `a' || (SELECT group_concat(body) FROM events) || '`,
];

let worker;
let database;
before(async () => {
  worker = await start('review-tracker', { vars: { INGEST_TOKENS: 't' } });
  database = await worker.mf.getD1Database('DB');
});
after(() => worker.dispose());

const post = (body) =>
  fetch(`${worker.url}/v1/events`, {
    method: 'POST',
    headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const first = async (sql, ...values) => database.prepare(sql).bind(...values).first();

/** A value that a client should not send, or might. */
function strange(dice) {
  return dice.pick([
    [null, 2],
    [true, 1],
    [-1, 2],
    [0.5, 1],
    [1e308, 1],
    [2 ** 53, 2],
    [2 ** 63, 1],
    ['', 2],
    ['x'.repeat(300 + dice.below(2000)), 2],
    ['\u0000\u0007', 2],
    ['*', 1],
    [[], 1],
    [{}, 1],
    [[[[[[]]]]], 1],
    [{ type: 'run_completed' }, 1],
    [HOSTILE[dice.below(HOSTILE.length)], 6],
  ]);
}

/** Changes one place of a value: another value, nothing, or something more. */
function mutate(value, dice) {
  const places = [];
  const walk = (at) => {
    for (const key of Object.keys(at)) {
      places.push([at, key]);
      if (at[key] !== null && typeof at[key] === 'object') walk(at[key]);
    }
  };
  walk(value);
  const [at, key] = places[dice.below(places.length)];
  dice.pick([
    [() => (at[key] = strange(dice)), 6],
    [() => delete at[key], 2],
    [() => (at[`extra_${dice.below(9)}`] = strange(dice)), 2],
  ])();
}

const BODIES = [started, completed, session, finding, outcome, circuit, failback, verdict, breakGlass, metrics, () => dropped(1)];

test('mutated batches: no 500, good events are kept, each bad one is named', { timeout: 120_000 }, async () => {
  const seed = Number(process.env.CONCLAVE_FUZZ_SEED ?? Date.now() % 2 ** 31);
  const dice = random(seed);
  let good = 0;
  let taken = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const events = Array.from({ length: 1 + dice.below(20) }, () => {
      const one = event(BODIES[dice.below(BODIES.length)](), { project: 'fuzz/project' });
      for (let changes = dice.below(4); changes > 0; changes -= 1) mutate(one, dice);
      return one;
    });
    const sure = event(finding(), { project: 'fuzz/good' });
    good += 1;
    events.splice(dice.below(events.length + 1), 0, sure);
    const response = await post({ events });
    const text = await response.text();
    const what = `seed ${seed}, round ${round}: ${JSON.stringify(events).slice(0, 2000)} → ${response.status} ${text}`;
    assert.ok([202, 207].includes(response.status), what);
    const answer = JSON.parse(text);
    assert.equal(answer.accepted + answer.rejected.length, events.length, what);
    assert.ok(answer.rejected.every(({ index }) => events[index] !== sure), what);
    assert.ok(answer.rejected.every(({ detail }) => detail.length > 5 && detail.length <= 301), what);
    taken += answer.accepted;
  }
  const status = await settled(worker.url);
  assert.equal(status.dead, 0, `seed ${seed}: what was accepted can be written: ${JSON.stringify(status.dead_letters)}`);
  assert.equal((await first('SELECT count(*) AS n FROM events')).n, taken, `seed ${seed}`);
  assert.equal((await first(`SELECT sum(findings) AS n FROM daily_findings WHERE project = 'fuzz/good'`)).n, good, `seed ${seed}`);
});

test('broken JSON and bytes that are no text are refused as a whole', async () => {
  const dice = random(3);
  const whole = JSON.stringify({ events: [event(finding())] });
  for (let round = 0; round < 60; round += 1) {
    const bytes = Buffer.from(whole);
    const cut = dice.pick([
      [() => bytes.subarray(0, dice.below(bytes.length)), 1],
      [() => (bytes[dice.below(12)] = dice.below(256)) && bytes, 1],
      [() => Buffer.from(Array.from({ length: dice.below(300) }, () => dice.below(256))), 1],
    ])();
    const response = await post(cut.toString('latin1'));
    assert.ok([202, 207, 400, 422].includes(response.status), `${response.status} for ${cut.toString('latin1')}`);
  }
});

describe('clocks', () => {
  const send = async (at) => {
    const sent = event(finding(), { at, project: 'clock/project' });
    const answer = await (await post({ events: [sent, event(dropped(0))] })).json();
    await settled(worker.url);
    return { id: sent.id, answer };
  };

  test('hours ahead: the event counts at the time of its arrival, and that is counted', async () => {
    const before = Date.now();
    const { id, answer } = await send(before + 5 * 3_600_000);
    assert.deepEqual(answer, { accepted: 2, rejected: [] });
    const { at_ms: at, received_ms: received } = await first('SELECT at_ms, received_ms FROM events WHERE id = ?', id);
    assert.equal(at, received);
    assert.ok(at >= before && at <= Date.now());
    assert.equal((await first(`SELECT events FROM daily_skewed WHERE project = 'clock/project'`)).events, 1);
  });

  test('days behind: the event counts on its day', async () => {
    const at = Date.now() - 3 * DAY;
    const { id } = await send(at);
    assert.equal((await first('SELECT at_ms FROM events WHERE id = ?', id)).at_ms, at);
  });

  test('days ahead, or older than what is kept: refused with the reason, the others are kept', async () => {
    for (const at of [Date.now() + 3 * DAY, Date.now() - 91 * DAY, 0, 5]) {
      const { answer } = await send(at);
      assert.deepEqual([answer.accepted, answer.rejected.map(({ index }) => index)], [1, [0]]);
      assert.match(answer.rejected[0].detail, /at_ms.*clock/);
    }
  });
});

test('versions of the future: what is known is read, what is not is ignored or named', async () => {
  const newer = [completed, session, finding].map((body) => {
    const one = event({ ...body(), invented: { deep: [1, 2] } }, { project: 'future/project' });
    return { ...one, schema: 4_000_000_000, invented: 'x' };
  });
  const unknown = event({ type: 'invented_later', value: 1 });
  const answer = await (await post({ events: [...newer, unknown] })).json();
  assert.equal(answer.accepted, 3);
  assert.deepEqual(answer.rejected.map(({ index }) => index), [3]);
  assert.match(answer.rejected[0].detail, /invented_later/);
  await settled(worker.url);
  assert.equal((await first(`SELECT sum(runs) AS n FROM daily_runs WHERE project = 'future/project'`)).n, 1);
});

test('SQL and HTML in every text are stored as text', async () => {
  // A path of a project has no `..`: such a batch is refused, and that is another test's.
  const projectOf = (text) => `hostile ${text.replaceAll('..', '.').replaceAll('\u202E', '')}`.replaceAll('/./', '/x/');
  for (const text of HOSTILE) {
    // A run of its own: what a project says of another one's run counts nowhere.
    const run = uuid7();
    const make = (body) => event(body, { run, project: projectOf(text) });
    const events = [
      make(started({ forge: 'gitlab', client_version: text, reviewers: [text] })),
      make(session({ reviewer: text })),
      make(finding({ reviewer: text, category: text, path: text, fingerprint: text, reason_code: text, fate: 'dropped' })),
      make(finding({ reviewer: text, category: text, path: text, fingerprint: text })),
      make(outcome({ reviewer: text, category: text, path: text, fingerprint: text })),
      make(failback({ reviewer: text })),
      make(verdict({ wanted: text.slice(0, 10), shown: text.slice(0, 10) })),
    ];
    const response = await post({ events });
    assert.equal(response.status, 202, `${text}: ${await response.clone().text()}`);
  }
  assert.equal((await settled(worker.url)).dead, 0);
  for (const text of HOSTILE) {
    // The one name of a project, however it is spelled.
    const project = projectOf(text).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const counted = await first(`SELECT sum(findings) AS n FROM daily_findings WHERE project = ? AND reviewer = ?`, project, text);
    assert.equal(counted.n, 2, text);
    const hot = await first('SELECT findings AS n FROM hot_files WHERE grain = ? AND path = ?', project, text);
    assert.equal(hot.n, 1, text);
  }
  assert.equal((await first(`SELECT count(*) AS n FROM sqlite_master WHERE name = 'events'`)).n, 1);
});

test('made-up names of one project turn no name of another project, and none of the product, into `other`', { timeout: 120_000 }, async () => {
  const tokens = 't,bound:b:platform/**';
  const other = await start('review-tracker', { vars: { INGEST_TOKENS: tokens, METRICS_TOKENS: 'm' } });
  try {
    const post = async (token, events) => {
      const response = await fetch(`${other.url}/v1/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ events }),
      });
      assert.equal(response.status, 202, await response.clone().text());
      await settled(other.url);
    };
    const used = (model) => [{ ...session().usage[0], model }];
    const stolen = Array.from({ length: 300 }, (_, index) =>
      event(session({ reviewer: `r${index}`, usage: used(`evil/m${index}`) }), { project: 'platform/a' }),
    );
    await post('b', stolen);
    const project = 'shop/web';
    await post('t', [
      event(session({ reviewer: 'security', usage: used('anthropic/claude-sonnet-5') }), { project }),
      event(session({ reviewer: 'accessibility', usage: used('vllm/qwen') }), { project }),
      event(finding({ reviewer: 'accessibility', category: 'wrong-value' }), { project }),
    ]);
    const tables = await other.mf.getD1Database('DB');
    const usage = async (of) =>
      (await tables.prepare('SELECT reviewer, model FROM daily_usage WHERE project = ? ORDER BY 1, 2').bind(of).all()).results;
    assert.deepEqual(await usage(project), [
      { reviewer: 'accessibility', model: 'vllm/qwen' },
      { reviewer: 'security', model: 'anthropic/claude-sonnet-5' },
    ]);
    const own = (await usage('platform/a')).filter(({ reviewer }) => reviewer !== 'other');
    assert.equal(own.length, 15, 'so many names of its own a project may bring');
    const text = await (await fetch(`${other.url}/metrics`, { headers: { authorization: 'Bearer m' } })).text();
    for (const labels of ['model="vllm/qwen",agent="accessibility"', 'model="anthropic/claude-sonnet-5",agent="security"']) {
      assert.ok(text.includes(`conclave_cost_usd_total{${labels}}`), labels);
    }
    const series = new Set([...text.matchAll(/agent="(r[0-9]+)"/g)].map(([, name]) => name));
    assert.ok(series.size <= 5, `${series.size} made-up agents`);
    // What the product names itself has a place, also where free names took all of them before.
    await tables.prepare(`UPDATE names SET rank = 400 WHERE name = 'security'`).run();
    await post('t', [event(session({ reviewer: 'security', usage: used('openai/gpt-6-sol') }), { project })]);
    assert.ok((await usage(project)).some(({ reviewer, model }) => reviewer === 'security' && model === 'openai/gpt-6-sol'));
  } finally {
    await other.dispose();
  }
});

test('made-up names: rollups tell the first ones apart and call the rest `other`; projects stay themselves', { timeout: 120_000 }, async () => {
  const other = await start('review-tracker', { vars: { INGEST_TOKENS: 't' } });
  try {
    const events = Array.from({ length: 1000 }, (_, index) =>
      event(finding({ reviewer: `made-up-${index}`, category: `category-${index}` }), { project: `group/project-${index}` }),
    );
    for (let from = 0; from < events.length; from += 500) {
      const response = await fetch(`${other.url}/v1/events`, {
        method: 'POST',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: JSON.stringify({ events: events.slice(from, from + 500) }),
      });
      assert.equal(response.status, 202);
    }
    await settled(other.url);
    const tables = await other.mf.getD1Database('DB');
    const { results } = await tables
      .prepare(`SELECT reviewer, findings FROM daily_findings WHERE project = '*' AND day = 0 ORDER BY findings DESC, reviewer`)
      .all();
    assert.equal(results.length, 301);
    assert.deepEqual(results[0], { reviewer: 'other', findings: 700 });
    assert.equal(results.reduce((sum, { findings }) => sum + findings, 0), 1000, 'no finding is lost in it');
    const projects = await tables.prepare(`SELECT count(*) AS n, max(rank) AS last FROM names WHERE kind = 'project'`).first();
    assert.deepEqual(projects, { n: 1000, last: 1000 });
  } finally {
    await other.dispose();
  }
});

test('figures that no number holds exactly, of one project, leave every page and the metrics of all others readable', { timeout: 120_000 }, async () => {
  const tokens = 't,bound:b:platform/**';
  const other = await start('review-tracker', { vars: { INGEST_TOKENS: tokens, METRICS_TOKENS: 'm', DASHBOARD_TOKENS: 'd' } });
  try {
    const used = { ...session().usage[0], cost_usd: 0 };
    await send(other.url, 't', [
      event(session({ reviewer: 'tests', usage: [{ ...used, tokens: { ...used.tokens, input: 7 } }] }), { project: 'shop/web' }),
      event(completed(), { project: 'shop/web' }),
    ]);
    // Each number is within its limit.
    const usage = Array.from({ length: 50 }, () => ({ ...used, tokens: { ...used.tokens, input: 1e12 } }));
    for (let batch = 0; batch < 10; batch += 1) {
      const events = Array.from({ length: 20 }, () => event(session({ usage }), { project: 'platform/a' }));
      await send(other.url, 'b', events);
    }
    const tables = await other.mf.getD1Database('DB');
    await tables.prepare('UPDATE daily_runs SET input = 10000000000000000').run();
    const response = await fetch(`${other.url}/metrics`, { headers: { authorization: 'Bearer m' } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const sample = (agent) => `conclave_tokens_total{model="anthropic/claude-sonnet-5",agent="${agent}",kind="input"}`;
    assert.ok(text.includes(`${sample('tests')} 7\n`));
    assert.ok(text.includes(`${sample('security')} ${Number.MAX_SAFE_INTEGER}\n`));
    const site = client(other.url);
    const cookie = await site.logIn('d');
    for (const path of ['/', '/findings', '/models', '/runs', '/health']) await site.text(path, cookie);
  } finally {
    await other.dispose();
  }
});
