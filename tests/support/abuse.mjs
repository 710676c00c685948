// Hostile requests to every route of both Workers, with and without credentials, on loopback.
//
// The dice are seeded: the same seed sends the same requests. What must hold afterwards is in the result: no answer of 500 or more but
// the documented 503 and 507, no series and no rows beyond the quotas, and memory that grows no more than that of a Worker which
// answers each request with a constant: workerd itself keeps some ten KB a request here, whatever it runs.

import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import * as events from './events.mjs';
import { random } from './seed/random.mjs';
import { start, startConstant, workerdPids } from './workerd.mjs';

/** Quotas of a token: low, so that they are reached. */
const QUOTA = { events: 3000, projects: 25 };
const TOKENS = { INGEST_TOKENS: 'i,bound:b:allowed/*', METRICS_TOKENS: 'm', DASHBOARD_TOKENS: 'd', OPERATOR_TOKENS: 'operator' };
const CONFIG_TOKENS = { READER_TOKENS: 'r', ADMIN_TOKENS: 'ada:a' };
const DOCUMENTED = [503, 507];
/** Requests at once. */
const CLIENTS = 8;
/** Growth of a Worker beyond that of the constant one over two thirds of the requests, in MB: V8's garbage, and the rows that it may keep. */
const MAX_GROWTH_MB = 96;

const TRACKER = [
  '/', '/findings', '/models', '/runs', '/health', '/login', '/logout', '/healthz', '/metrics', '/v1/events', '/v1/memory', '/v1/outbox',
  '/v1/dead-letters/replay', '/v1/dead-letters/0-1', '/v1/dead-letters/0-1/replay', '/health/dead-letters/0-1/discard',
  '/health/dead-letters/all/replay', '/assets/dashboard.css', '/assets/nothing', '/runs/01900000-0000-7000-8000-000000000001', '/nowhere',
];
const CONFIG = [
  '/', '/login', '/logout', '/healthz', '/v1/config', '/v1/config/document', '/v1/config/validate', '/v1/providers/anthropic', '/v1/failback',
  '/v1/history', '/v1/history/1', '/v1/rollback/1', '/v1/openapi.json', '/v1/schema.json', '/assets/nothing', '/nowhere',
];
const NASTY = [
  '', ' ', '*', '%', '_', '..', '../../etc/passwd', "'; DROP TABLE events; --", '" OR 1=1', '<script>alert(1)</script>', '\u202Etxt', '🦀',
  '-1', '1e308', '9223372036854775808', 'null', 'undefined', 'NaN', '0x10', '2026-13-45', '1970-01-01', '9999-12-31', 'x'.repeat(3000), '%00', '%ff',
];
const METHODS = [['GET', 30], ['POST', 8], ['PUT', 3], ['DELETE', 2], ['HEAD', 1], ['OPTIONS', 1], ['PATCH', 1]];
const BODIES = [
  'started', 'completed', 'failed', 'unneeded', 'session', 'finding', 'outcome', 'circuit', 'failback', 'verdict', 'breakGlass', 'metrics',
];
const PARAMETERS = ['project', 'tier', 'days', 'from', 'to', 'q', 'verdict', 'after', 'csv', 'token', 'since', 'made_up'];

const oneOf = (dice, list) => list[dice.below(list.length)];

/** An event, with made-up names or with one place replaced by something that does not belong there. */
function anEvent(dice) {
  const name = oneOf(dice, BODIES);
  const body = events[name]();
  const made = () => `made-up-${dice.below(1e9)}`;
  if ('reviewer' in body && dice.below(2)) body.reviewer = made();
  if ('category' in body && dice.below(2)) body.category = made();
  if ('model' in body && dice.below(2)) body.model = `p/${made()}`;
  if ('usage' in body && dice.below(2)) body.usage[0].model = `p/${made()}`;
  if ('samples' in body && dice.below(2)) body.samples[0].name = made().replaceAll('-', '_');
  if ('stage' in body && dice.below(2)) Object.assign(body, { stage: made(), kind: made() });
  if ('merge_request' in body) body.merge_request = dice.below(1000);
  if (dice.below(4) === 0) body[oneOf(dice, Object.keys(body))] = dice.pick([[oneOf(dice, NASTY), 4], [-1, 1], [1e308, 1], [null, 1], [{}, 1], [[[]], 1]]);
  const one = events.event(body, { project: dice.below(3) ? 'allowed/project' : `made/up-${dice.below(1e9)}`, id: dice.uuid7(Date.now()) });
  if (dice.below(8) === 0) one[oneOf(dice, Object.keys(one))] = oneOf(dice, NASTY);
  return one;
}

function aBody(dice, path) {
  const kind = dice.below(12);
  if (kind === 0) return Buffer.from(Array.from({ length: dice.below(400) }, () => dice.below(256)));
  if (kind === 1) return '{"events":'.repeat(dice.below(300));
  if (kind === 2) return 'x'.repeat(300 * 1024);
  if (kind === 3) return `token=${encodeURIComponent(oneOf(dice, [...NASTY, 'd', 'a']))}`;
  if (path === '/v1/events' || kind < 8) return JSON.stringify({ events: Array.from({ length: dice.below(6) }, () => anEvent(dice)) });
  return JSON.stringify(dice.pick([
    [{ schema_version: 1, providers: { anthropic: { enabled: false } } }, 3],
    [{ enabled: dice.below(2) === 0, reason: oneOf(dice, NASTY) }, 3],
    [{ [oneOf(dice, NASTY)]: oneOf(dice, NASTY) }, 2],
    [[], 1],
    [null, 1],
  ]));
}

/** A batch as a stolen token would send it: well-formed, with made-up names. */
const aBatch = (dice) => ({
  method: 'POST',
  path: '/v1/events',
  headers: {
    authorization: `Bearer ${dice.below(4) ? 'i' : 'b'}`,
    'content-type': 'application/json',
    'cf-connecting-ip': `10.${dice.below(256)}.${dice.below(256)}.${dice.below(256)}`,
  },
  body: JSON.stringify({ events: Array.from({ length: 1 + dice.below(12) }, () => anEvent(dice)) }),
});

/** A request of the dice. */
function aRequest(dice, worker) {
  const tracker = worker === 'tracker';
  if (tracker && dice.below(3) === 0) return aBatch(dice);
  const path = dice.below(6) ? oneOf(dice, tracker ? TRACKER : CONFIG) : `/${Array.from({ length: 1 + dice.below(3) }, () => encodeURIComponent(oneOf(dice, NASTY))).join('/')}`;
  const method = path === '/v1/events' && dice.below(3) ? 'POST' : dice.pick(METHODS);
  const query = Array.from({ length: dice.below(4) }, () => `${oneOf(dice, PARAMETERS)}=${dice.below(9) ? encodeURIComponent(oneOf(dice, NASTY)) : '%zz%'}`);
  const right = tracker ? (path === '/v1/events' ? ['i', 'b'] : ['operator', 'm', 'd', 'i']) : ['r', 'a'];
  const headers = {
    // Many addresses, as an abuser has them: a single one is soon refused.
    'cf-connecting-ip': `10.${dice.below(256)}.${dice.below(256)}.${dice.below(256)}`,
  };
  const access = dice.below(4);
  if (access > 1) headers.authorization = `Bearer ${oneOf(dice, right)}`;
  else if (access === 1) headers.authorization = dice.pick([['Bearer wrong', 3], ['Bearer', 1], ['Basic aTpp', 1], [`Bearer ${'x'.repeat(5000)}`, 1]]);
  if (dice.below(3) === 0) headers.cookie = dice.pick([['conclave_session=x', 2], [`conclave_session=${'9'.repeat(2000)}.${'a'.repeat(64)}`, 1], ['=;=;', 1]]);
  if (dice.below(3)) headers['content-type'] = dice.pick([['application/json', 8], ['application/x-www-form-urlencoded', 2], ['text/plain', 1]]);
  if (dice.below(5) === 0) headers.accept = dice.pick([['text/plain;q=x', 1], ['*/*', 1], ['text/html', 1]]);
  if (dice.below(5) === 0) headers['if-match'] = dice.pick([['"1"', 2], ['*', 1], ['W/"x', 1]]);
  const body = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? aBody(dice, path) : undefined;
  return { method, path: query.length ? `${path}?${query.join('&')}` : path, headers, body };
}

/** The status of an answer whose body was read to its end. */
function ask(url, agent, { method, path, headers, body }) {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent, timeout: 60_000 }, (response) => {
      response.on('data', () => {});
      response.on('end', () => resolve(response.statusCode));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within a minute')));
    // A refused body is not read to its end, and the connection may be closed under it.
    sent.on('error', (error) => (['ECONNRESET', 'EPIPE'].includes(error.code) ? resolve(0) : reject(error)));
    sent.end(body);
  });
}

/** Resident memory of a process, in MB. */
const memory = (pid) => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);

/** Sends so many requests, half of them to each Worker and as many to a constant one, and reports the outcome. */
export async function abuse({ requests, seed }) {
  const began = Date.now();
  const tracker = await start('review-tracker', {
    vars: { ...TOKENS, INGEST_EVENTS_PER_MINUTE: String(QUOTA.events), INGEST_NEW_PROJECTS_PER_DAY: String(QUOTA.projects), OUTBOX_FLUSH_MS: '200' },
  });
  const config = await start('reviewer-config', { vars: CONFIG_TOKENS });
  const constant = await startConstant();
  const workers = [tracker, config, constant];
  // Started one after the other, so their processes are in this order, too.
  const pids = workerdPids().sort((a, b) => a - b);
  // A connection each: what follows a body that was refused before its end is read as a request by workerd's own HTTP server.
  // Without a limit of sockets, as Node uses connections again where there is one.
  const agent = new Agent({ keepAlive: false });
  const dice = random(seed);
  const statuses = {};
  const faults = [];
  const samples = [];
  let sent = 0;
  const client = async () => {
    while (sent < requests) {
      const number = (sent += 1);
      const which = dice.below(2) ? 'tracker' : 'config';
      const one = aRequest(dice, which);
      const status = await ask((which === 'tracker' ? tracker : config).url, agent, one).catch((error) => String(error));
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (typeof status !== 'number' || (status >= 500 && !DOCUMENTED.includes(status))) {
        faults.push({ number, which, status, method: one.method, path: one.path.slice(0, 200), body: String(one.body).slice(0, 300) });
      }
      if (number % 2 === 0) await ask(constant.url, agent, { method: 'GET', path: '/', headers: {} });
      if (number % Math.ceil(requests / 30) === 0) samples.push(pids.map(memory));
    }
  };
  try {
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const outbox = await events.settled(tracker.url);
    await (await tracker.mf.getWorker()).scheduled({ cron: '*/5 * * * *' });
    const scrape = await fetch(`${tracker.url}/metrics`, { headers: { authorization: 'Bearer m' } });
    const text = await scrape.text();
    const database = await tracker.mf.getD1Database('DB');
    const count = async (sql) => (await database.prepare(sql).first()).n;
    const minutes = Math.ceil((Date.now() - began) / 60_000) + 1;
    const earlier = samples[Math.floor(samples.length / 3)] ?? pids.map(memory);
    const later = pids.map(memory);
    const growth = later.map((mb, index) => mb - earlier[index]);
    const values = (label) => new Set([...text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'))].map(([, value]) => value)).size;
    return {
      requests: sent,
      seed,
      seconds: (Date.now() - began) / 1000,
      statuses,
      faults: faults.slice(0, 20),
      dead_letters: outbox.dead,
      rows: { events: await count('SELECT count(*) AS n FROM events'), most_events: 2 * QUOTA.events * minutes },
      projects: { found: await count(`SELECT count(*) AS n FROM names WHERE kind = 'project'`), most: 2 * QUOTA.projects },
      rollup_names: await count(`SELECT max(n) AS n FROM (SELECT count(DISTINCT a) AS n FROM daily_counts WHERE project = '*' AND day = 0 GROUP BY kind)`),
      labels: { models: values('model'), agents: values('agent'), reviewers: values('reviewer'), stages: values('stage'), kinds: values('kind') },
      memory_mb: Object.fromEntries(['tracker', 'config', 'constant'].map((name, index) => [name, { after_a_third: earlier[index], last: later[index] }])),
      bars: {
        'no 5xx but 503 and 507': faults.length === 0,
        'nothing that was accepted cannot be stored': outbox.dead === 0,
        'events within the quota': (await count('SELECT count(*) AS n FROM events')) <= 2 * QUOTA.events * minutes,
        'projects within the quota': (await count(`SELECT count(*) AS n FROM names WHERE kind = 'project'`)) <= 2 * QUOTA.projects,
        'labels are bounded': values('model') <= 31 && values('agent') <= 26 && values('reviewer') <= 26 && values('stage') <= 10,
        'memory grows as that of a constant Worker': growth.slice(0, 2).every((mb) => mb <= growth[2] + MAX_GROWTH_MB),
      },
    };
  } finally {
    agent.destroy();
    await Promise.all(workers.map((worker) => worker.dispose()));
  }
}
