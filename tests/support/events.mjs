// Events for tests of the tracker: single ones to be changed at will, and whole runs in the shape of a real month.

import { createHmac, randomUUID } from 'node:crypto';

/** A new UUID of version 7. */
export function uuid7(at = Date.now()) {
  const time = at.toString(16).padStart(12, '0');
  const random = randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

/** An event around a body. */
export function event(body, { id, run = uuid7(), project = 'group/project', at = Date.now() } = {}) {
  return { id: id ?? uuid7(at), schema: 1, at_ms: at, run_id: run, project, event: body };
}

export const tokens = (input = 100, cacheRead = 900) => ({
  input,
  output: 50,
  reasoning: 25,
  cache_read: cacheRead,
  cache_write: 10,
});

export const started = (more = {}) => ({
  type: 'run_started',
  tier: 'full',
  forge: 'gitlab',
  merge_request: 7,
  client_version: '0.1.0',
  reviewers: ['security', 'performance'],
  ...more,
});

export const completed = (more = {}) => ({
  type: 'run_completed',
  tier: 'full',
  verdict: 'approved_with_comments',
  duration_ms: 60_000,
  cost_usd: 0.5,
  tokens: tokens(),
  files: 3,
  lines: 40,
  filtered_files: 1,
  critical: 0,
  warning: 1,
  suggestion: 2,
  degraded: false,
  merge_request: 7,
  ...more,
});

export const failed = (more = {}) => ({ type: 'run_failed', stage: 'runtime', kind: 'runtime_missing', merge_request: 7, ...more });

export const unneeded = (more = {}) => ({ type: 'run_skipped', reason: 'nothing_to_review', merge_request: 7, ...more });

export const session = (more = {}) => ({
  type: 'reviewer_completed',
  reviewer: 'security',
  outcome: 'ok',
  duration_ms: 40_000,
  attempts: 1,
  findings: 1,
  usage: [{ model: 'anthropic/claude-sonnet-5', tokens: tokens(), cost_usd: 0.4, calls: 3 }],
  ...more,
});

export const finding = (more = {}) => ({
  type: 'finding',
  reviewer: 'security',
  severity: 'warning',
  category: 'sql-injection',
  path: 'src/store.py',
  fingerprint: '0123456789abcdef',
  fate: 'kept',
  ...more,
});

export const circuit = (more = {}) => ({ type: 'circuit_changed', model: 'anthropic/claude-sonnet-5', state: 'open', ...more });

export const failback = (more = {}) => ({
  type: 'failback',
  reviewer: 'security',
  from: 'anthropic/claude-sonnet-5',
  to: 'anthropic/claude-sonnet-4-6',
  reason: 'circuit_open',
  ...more,
});

export const outcome = (more = {}) => ({
  type: 'finding_outcome',
  reviewer: 'security',
  severity: 'warning',
  category: 'sql-injection',
  path: 'src/store.py',
  fingerprint: '0123456789abcdef',
  outcome: 'fixed',
  merge_request: 7,
  ...more,
});

/** An outcome's event as a review signs it that has the installation's secret. */
export function signed(of, secret) {
  const mac = createHmac('sha256', secret).update('conclave finding outcome 1\0');
  const bytes = (uuid) => Buffer.from(uuid.replaceAll('-', ''), 'hex');
  const number = (value) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64BE(BigInt(value));
    return buffer;
  };
  const field = (value) => {
    mac.update(Buffer.from([value === undefined ? 0 : 1]));
    const buffer = value === undefined ? Buffer.alloc(0) : Buffer.from(value);
    mac.update(number(buffer.length)).update(buffer);
  };
  const body = of.event;
  field(bytes(of.id));
  field(bytes(of.run_id));
  field(number(of.at_ms));
  field(of.project);
  field(body.merge_request === undefined ? undefined : number(body.merge_request));
  for (const name of ['reviewer', 'severity', 'category', 'path', 'fingerprint', 'outcome', 'claim', 'settled_by']) field(body[name]);
  return { ...of, event: { ...body, proof: `1:${mac.digest('hex')}` } };
}

export const verdict = (more = {}) => ({
  type: 'verdict_applied',
  merge_request: 7,
  wanted: 'approved',
  shown: 'approved',
  mismatch: false,
  ...more,
});

export const breakGlass = (more = {}) => ({
  type: 'break_glass',
  merge_request: 7,
  user: '00112233445566778899aabbccddeeff',
  note: 3,
  head_sha: '0123456789012345678901234567890123456789',
  ...more,
});

export const metrics = (samples = { stage_diff_ms: 12.5 }) => ({
  type: 'metrics',
  samples: Object.entries(samples).map(([name, value]) => ({ name, value })),
});

export const dropped = (events) => ({ type: 'telemetry_dropped', events });

/** Posts events, in batches that the tracker takes, and waits until they are counted. */
export async function send(url, token, events) {
  for (let from = 0; from < events.length; from += 200) {
    const response = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: events.slice(from, from + 200) }),
    });
    if (response.status !== 202) {
      throw new Error(`the tracker answered ${response.status}: ${await response.text()}`);
    }
  }
  await settled(url);
}

/** The tracker's own report of its outbox. */
export async function outbox(url, token = 'operator') {
  const response = await fetch(`${url}/v1/outbox`, { headers: { authorization: `Bearer ${token}` } });
  if (response.status !== 200) {
    throw new Error(`the outbox answered ${response.status}: ${await response.text()}`);
  }
  return response.json();
}

/** Waits until the outbox is as wanted: without a condition, until nothing waits in it. */
export async function settled(url, { until = ({ batches }) => batches === 0, token, within = 120_000 } = {}) {
  const deadline = Date.now() + within;
  for (;;) {
    const status = await outbox(url, token);
    if (until(status)) {
      return status;
    }
    if (Date.now() > deadline) {
      throw new Error(`the outbox did not settle: ${JSON.stringify(status)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Numbers that look random and are the same each time. */
function generator(seed) {
  let state = seed;
  const next = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const pick = (weighted) => {
    let rest = next() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
    return weighted.find(([, weight]) => (rest -= weight) < 0)[0];
  };
  /** Log-normal, as costs and durations are. */
  const spread = (median, sigma) => {
    const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    return median * Math.exp(sigma * normal);
  };
  return { next, pick, spread };
}

const projects = [
  ['platform/gateway', 9],
  ['platform/identity/session-service', 6],
  ['payments/ledger', 5],
  ['web/storefront', 7],
  ['data/pipelines/events-to-warehouse', 3],
  ['infra/terraform', 2],
];
const tiers = [['trivial', 19], ['lite', 21], ['full', 60]];
const panels = {
  trivial: ['generalist'],
  lite: ['code_quality', 'security', 'documentation'],
  full: ['code_quality', 'security', 'performance', 'documentation', 'correctness', 'agents_md', 'release'],
};
const medians = { trivial: [0.17, 70_000], lite: [0.61, 150_000], full: [1.47, 240_000] };
const verdicts = [
  ['approved', 44],
  ['approved_with_comments', 38],
  ['minor_issues', 10],
  ['significant_concerns', 6],
  ['inconclusive', 2],
];
const kinds = [
  ['security', 'sql-injection', 'src/store/query.rs'],
  ['security', 'missing-authorization', 'app/controllers/admin/users_controller.rb'],
  ['performance', 'n-plus-one', 'src/orders/list.ts'],
  ['code_quality', 'error-swallowed', 'internal/worker/consume.go'],
  ['code_quality', 'duplicated-logic', 'src/checkout/totals.ts'],
  ['documentation', 'stale-example', 'docs/getting-started.md'],
  ['correctness', 'off-by-one', 'src/pagination.rs'],
];

/** Events of `count` runs over the last `days` days, the newest one still going on. */
export function month({ count = 300, days = 30, now = Date.now(), seed = 7 } = {}) {
  const { next, pick, spread } = generator(seed);
  // Moments have a sequence of their own: how many numbers they take depends on the day of the week.
  const moments = generator(seed + 1);
  const events = [];
  for (let index = 0; index < count; index += 1) {
    const begin = index === 0 ? now - 90_000 : momentOfWork(now, days, moments.next);
    events.push(...oneRun({ begin, open: index === 0, next, pick, spread }));
  }
  return events;
}

/** In a run, `verdict` is what it ended with. */
const applied = verdict;

/** Fewer reviews at night and at weekends. */
function momentOfWork(now, days, next) {
  for (;;) {
    const at = now - 3_600_000 - Math.floor(next() * (days - 1) * 86_400_000);
    const date = new Date(at);
    const quiet = date.getUTCDay() % 6 === 0 || date.getUTCHours() < 7 || date.getUTCHours() > 19;
    if (!quiet || next() < 0.12) {
      return at;
    }
  }
}

function oneRun({ begin, open, next, pick, spread }) {
  const run = uuid7(begin);
  const project = pick(projects);
  const tier = pick(tiers);
  const verdict = pick(verdicts);
  const [costMedian, durationMedian] = medians[tier];
  const cost = spread(costMedian, 0.5);
  const duration = Math.round(spread(durationMedian, 0.35));
  const mergeRequest = next() < 0.92 ? 100 + Math.floor(next() * 4000) : undefined;
  const panel = panels[tier];
  const at = (share) => Math.round(begin + duration * share);
  const make = (body, share) => event(body, { run, project, at: at(share) });
  const events = [
    make(started({ tier, merge_request: mergeRequest, forge: mergeRequest ? 'gitlab' : 'local', reviewers: panel }), 0),
  ];
  const total = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };
  const members = [...panel, 'coordinator'].slice(0, open ? 2 : undefined);
  for (const [position, reviewer] of members.entries()) {
    const coordinator = reviewer === 'coordinator';
    const from = coordinator ? 0.74 : 0.02 + 0.01 * position;
    const to = coordinator ? 0.98 : 0.3 + 0.42 * next();
    const failed = next() < 0.03;
    const light = ['documentation', 'agents_md', 'release'].includes(reviewer);
    const model = coordinator
      ? 'anthropic/claude-opus-5-5'
      : light
        ? 'cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6'
        : 'anthropic/claude-sonnet-5';
    const used = {
      input: Math.round(spread(light ? 60_000 : 6_000, 0.4)),
      output: Math.round(spread(3_500, 0.4)),
      reasoning: Math.round(spread(1_500, 0.6)),
      cache_read: Math.round(spread(light ? 40_000 : 160_000, 0.5)),
      cache_write: Math.round(spread(24_000, 0.4)),
    };
    for (const kind of Object.keys(total)) {
      total[kind] += used[kind];
    }
    const usage = [{ model, tokens: used, cost_usd: cost * (coordinator ? 0.4 : 0.6 / panel.length), calls: 4 + Math.floor(next() * 20) }];
    if (failed) {
      const to = next() < 0.5 ? 'openai/gpt-5.3-codex' : 'anthropic/claude-sonnet-4-6';
      usage.push({ model: to, tokens: tokens(4000, 9000), cost_usd: cost * 0.02, calls: 3 });
      events.push(make(circuit({ model }), from + 0.1));
      events.push(make(failback({ reviewer, from: model, to, reason: to.startsWith('openai') ? 'reprompted' : 'circuit_open' }), from + 0.11));
    }
    events.push(
      make(
        session({
          reviewer,
          outcome: failed && next() < 0.5 ? 'timed_out' : 'ok',
          duration_ms: Math.round(duration * (to - from)),
          attempts: failed ? 2 : 1,
          models_tried: failed ? [model, usage[1].model] : [model],
          usage,
        }),
        to,
      ),
    );
  }
  if (open) {
    return events;
  }
  const counts = { critical: 0, warning: 0, suggestion: 0 };
  const amount = verdict === 'approved' ? 0 : 1 + Math.floor(next() * 4);
  for (let index = 0; index < amount; index += 1) {
    const [reviewer, category, path] = kinds[Math.floor(next() * kinds.length)];
    const severity =
      verdict === 'significant_concerns' && index === 0
        ? 'critical'
        : pick([['warning', verdict === 'approved_with_comments' ? 3 : 7], ['suggestion', 7]]);
    counts[severity] += 1;
    events.push(make(finding({ reviewer, category, path, severity, placement: pick([['line', 8], ['file', 1], ['summary', 1]]) }), 0.97));
  }
  if (mergeRequest && next() < 0.3) {
    const [reviewer, category, path] = kinds[Math.floor(next() * kinds.length)];
    const settled = pick([['fixed', 7], ['resolved', 2], ['rejected', 1]]);
    events.push(make(outcome({ reviewer, category, path, outcome: settled, merge_request: mergeRequest }), 0.97));
  }
  if (mergeRequest) {
    const wanted = verdict.startsWith('approved') ? 'approved' : 'none';
    const mismatch = wanted === 'approved' && next() < 0.02;
    events.push(make(applied({ merge_request: mergeRequest, wanted, shown: mismatch ? 'none' : wanted, mismatch }), 0.99));
    if (next() < 0.01) {
      // A review of its own: it has no tier and no verdict, and its merge request is approved.
      const skipped = { run: uuid7(at(1)), project, at: at(1) };
      events.push(event(breakGlass({ merge_request: mergeRequest }), skipped));
      events.push(event(applied({ merge_request: mergeRequest, wanted: 'approved', shown: 'approved', mismatch: false }), skipped));
    }
  }
  events.push(make(metrics({ stage_diff_ms: Math.round(spread(40, 0.5)), gateway_first_byte_ms: Math.round(spread(900, 0.5)) }), 0.99));
  for (const [fate, reason] of [['dropped', 'not_in_diff'], ['merged', 'same_problem']]) {
    if (next() < 0.4) {
      const [reviewer, category, path] = kinds[Math.floor(next() * kinds.length)];
      events.push(make(finding({ reviewer, category, path, severity: 'suggestion', fate, reason_code: reason }), 0.97));
    }
  }
  events.push(
    make(
      completed({
        tier,
        verdict,
        duration_ms: duration,
        cost_usd: cost,
        tokens: total,
        files: 1 + Math.floor(spread(tier === 'full' ? 12 : 3, 0.7)),
        lines: 4 + Math.floor(spread(tier === 'full' ? 260 : 30, 0.8)),
        filtered_files: Math.floor(next() * 4),
        merge_request: mergeRequest,
        degraded: next() < 0.01,
        ...counts,
      }),
      1,
    ),
  );
  return events;
}
