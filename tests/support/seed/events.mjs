// The demo data set: runs of a month with the distributions of yardstick.mjs, as the events that clients would send.
//
// The same seed, size and moment make the same events to the byte, ids included.

import { quantileFunction, random } from './random.mjs';
import {
  BROKEN_GLASSES,
  DURATION,
  FINDINGS,
  LIGHT,
  MERGE_REQUESTS,
  MODELS,
  REPOSITORIES,
  REVIEWERS,
  RUNS,
  SEVERITIES,
  TIERS,
} from './yardstick.mjs';

const DAY = 86_400_000;
const MILLION = 1e6;
const duration = quantileFunction(DURATION);
const cost = Object.fromEntries(Object.entries(TIERS).map(([tier, { cost: known }]) => [tier, quantileFunction(known)]));
const classified = Object.values(TIERS).reduce((sum, { runs }) => sum + runs, 0);
const share = (tier) => TIERS[tier].runs / classified;

const CATEGORIES = {
  code_quality: ['error-swallowed', 'duplicated-logic', 'off-by-one', 'dead-code', 'unclear-name'],
  documentation: ['stale-example', 'missing-parameter', 'wrong-link'],
  performance: ['n-plus-one', 'unbounded-loop', 'needless-copy'],
  security: ['sql-injection', 'missing-authorization', 'secret-in-code', 'path-traversal'],
  codex: ['rule-broken'],
  agents_md: ['outdated-instruction', 'missing-instruction'],
  release: ['unsafe-migration', 'missing-flag'],
};
const GROUPS = ['platform', 'payments', 'web', 'data', 'infra', 'mobile', 'identity', 'search'];
const FOLDERS = ['src/store', 'src/api', 'app/models', 'internal/worker', 'docs', 'lib/checkout', 'cmd/server', 'pkg/cache'];
const EXTENSIONS = ['rs', 'ts', 'py', 'go', 'rb', 'java', 'md'];

/** The mean of a tier's costs, by its quantile function. */
const mean = (tier) => {
  const steps = 2000;
  let sum = 0;
  for (let step = 0; step < steps; step += 1) sum += cost[tier]((step + 0.5) / steps);
  return sum / steps;
};
/** By reviewer: tokens a dollar of its runs, and findings a run. */
const rates = Object.fromEntries(
  Object.entries(REVIEWERS).map(([name, { findings, tokens, tiers }]) => {
    const runs = tiers.reduce((sum, tier) => sum + RUNS * share(tier), 0);
    const dollars = tiers.reduce((sum, tier) => sum + RUNS * share(tier) * mean(tier), 0);
    return [name, { findings: findings.map((count) => count / runs), tokens: tokens.map((millions) => (millions * MILLION) / dollars) }];
  }),
);
/** Findings that did not stand, a run. */
const kept = Object.values(REVIEWERS).reduce((sum, { findings }) => sum + findings.reduce((one, other) => one + other), 0);
const GONE = (FINDINGS - kept) / RUNS;

/** How many runs a data set of a size has. */
export const runsOf = (size) => Math.max(1, Math.round(RUNS * size));

/**
 * Events, one list a merge request.
 *
 * @param {object} options
 * @param {number} options.size 1 is the yardstick's month; fractions make fewer runs of as many days.
 * @param {number} [options.days]
 * @param {number} options.now The moment at which the month ends.
 * @param {number} [options.seed]
 */
export function* seedEvents({ size, days = 30, now, seed = 1 }) {
  const dice = random(seed);
  const projects = repositories(Math.max(1, Math.round(REPOSITORIES * Math.min(size, 1))), dice);
  const state = { dice, number: 100 };
  for (let left = runsOf(size); left > 0; ) {
    const events = [];
    const reviews = Math.min(left, reviewsOfOne(dice));
    mergeRequest({ ...projects.pick(), number: (state.number += 1), reviews, begin: moment(now, days, dice), now, dice }, events);
    left -= reviews;
    yield events;
  }
}

/** Repositories of which few have most of the merge requests. */
function repositories(count, dice) {
  const all = Array.from({ length: count }, (_, index) => ({
    project: `${GROUPS[index % GROUPS.length]}/service-${String(index + 1).padStart(4, '0')}`,
    files: Array.from({ length: 12 }, (_, file) => {
      const at = (index * 31 + file * 17) >>> 0;
      return `${FOLDERS[at % FOLDERS.length]}/part_${at % 97}.${EXTENSIONS[index % EXTENSIONS.length]}`;
    }),
  }));
  // A power law: the place of the pick is the count to the power of a share.
  return { pick: () => all[Math.min(count - 1, Math.floor(count ** dice.next()) - 1)] };
}

/** Reviews of a merge request: 2.7 on average. */
function reviewsOfOne(dice) {
  const again = 1 - MERGE_REQUESTS / RUNS;
  let reviews = 1;
  while (reviews < 40 && dice.next() < again) reviews += 1;
  return reviews;
}

/** A moment of work: fewer at night and at weekends. */
function moment(now, days, dice) {
  for (;;) {
    const at = now - 3_600_000 - Math.floor(dice.next() * (days * DAY - 2 * 3_600_000));
    const date = new Date(at);
    const quiet = date.getUTCDay() % 6 === 0 || date.getUTCHours() < 7 || date.getUTCHours() > 19;
    if (!quiet || dice.next() < 0.12) return at;
  }
}

/** The reviews of one merge request. */
function mergeRequest({ project, files, number, reviews, begin, now, dice }, events) {
  const author = dice.hex(32);
  let open = [];
  let at = begin;
  for (let review = 0; review < reviews; review += 1) {
    const last = { project, number, author, files, dice, at: Math.min(at, now - 2_400_000) };
    open = oneRun(last, open, events);
    at += 600_000 + Math.floor(dice.next() * 8 * 3_600_000);
  }
  if (dice.next() < BROKEN_GLASSES / MERGE_REQUESTS) {
    const when = Math.min(at, now - 1_000);
    const run = dice.uuid7(when);
    const glass = { type: 'break_glass', merge_request: number, user: author, note: dice.below(1e6), head_sha: dice.hex(40) };
    // Such a review has no tier and no verdict; what it asks of the forge is approval.
    const applied = { type: 'verdict_applied', merge_request: number, wanted: 'approved', shown: 'approved', mismatch: false };
    for (const body of [glass, applied]) events.push(envelope(dice, project, run, when, body));
  }
}

/** One review; answers the findings that stand after it. */
function oneRun({ project, number, author, files, dice, at }, open, events) {
  const run = dice.uuid7(at);
  const place = dice.next();
  const takes = Math.round(duration(place));
  const tier = tierAt(place, dice);
  const dollars = cost[tier](dice.next());
  const add = (body, part) => events.push(envelope(dice, project, run, Math.round(at + takes * part), body));
  const members = Object.keys(REVIEWERS).filter((name) => REVIEWERS[name].tiers.includes(tier));
  const panel = members.filter((name) => name !== 'coordinator');
  add({ type: 'run_started', tier, forge: 'gitlab', merge_request: number, client_version: '0.1.0', reviewers: panel, author }, 0);

  const sessions = members.map((name) => ({ name, usage: usageOf(name, dollars, dice) }));
  const priced = sessions.flatMap(({ usage }) => usage).reduce((sum, { cost_usd: price }) => sum + price, 0);
  const total = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };
  for (const { name, usage } of sessions) {
    for (const used of usage) {
      used.cost_usd *= dollars / priced;
      for (const kind of Object.keys(total)) total[kind] += used.tokens[kind];
    }
    const [from, to] = name === 'coordinator' ? [0.75, 0.97] : [0.04, 0.3 + 0.4 * dice.next()];
    sessionEvents({ name, usage, from, to, takes, dice }, add);
  }

  const found = findingsOf(panel, files, dice);
  for (const finding of found) add(finding, 0.98);
  const standing = found.filter(({ fate }) => fate === 'kept');
  const left = open.filter((finding) => !settle(finding, number, dice, add));
  const counts = Object.fromEntries(SEVERITIES.map((severity) => [severity, standing.filter((one) => one.severity === severity).length]));
  const verdict = verdictOf(counts, dice);
  add(
    {
      type: 'run_completed',
      tier,
      verdict,
      duration_ms: takes,
      cost_usd: dollars,
      tokens: total,
      files: 1 + dice.below(tier === 'full' ? 30 : 6),
      lines: 1 + dice.below({ trivial: 10, lite: 100, full: 900 }[tier]),
      filtered_files: dice.below(4),
      ...counts,
      degraded: dice.next() < 0.004,
      merge_request: number,
      coverage: { not_read: dice.next() < 0.02 ? 1 : 0, cut: dice.next() < 0.005 ? 1 : 0, gaps: 0 },
    },
    1,
  );
  const wanted = verdict === 'significant_concerns' ? 'requested_changes' : verdict === 'inconclusive' ? 'none' : 'approved';
  const mismatch = dice.next() < 0.003;
  add({ type: 'verdict_applied', merge_request: number, wanted, shown: mismatch ? 'none' : wanted, mismatch }, 1);
  const figures = { stage_diff_ms: 40 + dice.below(400), stage_post_ms: 200 + dice.below(2000), gateway_retries: dice.poisson(0.05) };
  add({ type: 'metrics', samples: Object.entries(figures).map(([name, value]) => ({ name, value })) }, 1);
  if (dice.next() < 0.002) add({ type: 'telemetry_dropped', events: 1 + dice.below(20) }, 1);
  return [...left, ...standing];
}

/** Long runs are more often those of the full tier; over all runs each tier has its share. */
function tierAt(place, dice) {
  const trivial = share('trivial') * (1.6 - 1.2 * place);
  const lite = share('lite') * (1.3 - 0.6 * place);
  const drawn = dice.next();
  return drawn < trivial ? 'trivial' : drawn < trivial + lite ? 'lite' : 'full';
}

function usageOf(name, dollars, dice) {
  const [input, output, read, write] = rates[name].tokens.map((rate) => Math.round(rate * dollars));
  const used = (model, [...amounts]) => ({
    model: model.id,
    tokens: { input: amounts[0], output: amounts[1], reasoning: 0, cache_read: amounts[2], cache_write: amounts[3] },
    cost_usd: amounts.reduce((sum, amount, kind) => sum + (amount * model.price[kind]) / MILLION, 0),
    calls: 3 + dice.below(18),
  });
  if (LIGHT.has(name)) {
    const most = Math.round(output * 0.78);
    return [used(MODELS.light, [input, most, 0, 0]), used(MODELS.standard, [0, output - most, read, write])];
  }
  const top = name === 'coordinator' || (name === 'codex' && dice.next() < 0.28);
  return [used(top ? MODELS.top : MODELS.standard, [input, output, read, write])];
}

function sessionEvents({ name, usage, from, to, takes, dice }, add) {
  const failed = dice.next() < 0.012;
  const first = usage[0].model;
  const next = first === MODELS.top.id ? MODELS.standard.id : MODELS.top.id;
  if (failed) {
    const reason = dice.pick([['failed', 5], ['circuit_open', 3], ['reprompted', 2]]);
    if (reason === 'circuit_open') add({ type: 'circuit_changed', model: first, state: dice.pick([['open', 2], ['half_open', 1], ['closed', 1]]) }, from);
    add({ type: 'failback', reviewer: name, from: first, to: next, reason }, (from + to) / 2);
  }
  add(
    {
      type: 'reviewer_completed',
      reviewer: name,
      outcome: failed ? dice.pick([['ok', 6], ['timed_out', 3], ['failed', 1]]) : 'ok',
      duration_ms: Math.round(takes * (to - from)),
      attempts: failed ? 2 : 1,
      findings: dice.poisson(0.3),
      usage,
      models_tried: failed ? [first, next] : [first],
    },
    to,
  );
}

function findingsOf(panel, files, dice) {
  const found = [];
  const one = (reviewer, severity, fate) => ({
    type: 'finding',
    reviewer,
    severity,
    category: CATEGORIES[reviewer][dice.below(CATEGORIES[reviewer].length)],
    path: files[Math.floor(files.length * dice.next() ** 2)],
    fingerprint: dice.hex(16),
    fate,
  });
  for (const name of panel) {
    rates[name].findings.forEach((rate, severity) => {
      for (let more = dice.poisson(rate); more > 0; more -= 1) {
        const placement = dice.pick([['line', 18], ['file', 1], ['summary', 3]]);
        found.push({ ...one(name, SEVERITIES[severity], 'kept'), placement });
      }
    });
  }
  for (let more = dice.poisson(GONE); more > 0; more -= 1) {
    const [fate, reason] = dice.pick([[['dropped', 'not_in_diff'], 3], [['dropped', 'no_evidence'], 2], [['merged', 'same_problem'], 4]]);
    found.push({ ...one(panel[dice.below(panel.length)], 'suggestion', fate), reason_code: reason });
  }
  return found;
}

/** What became of an earlier finding: settled and told, or still open. */
function settle({ reviewer, severity, category, path, fingerprint }, number, dice, add) {
  const outcome = dice.pick([['fixed', 55], ['resolved', 14], ['rejected', 6], [undefined, 25]]);
  if (outcome) add({ type: 'finding_outcome', reviewer, severity, category, path, fingerprint, outcome, merge_request: number }, 0.98);
  return outcome !== undefined;
}

function verdictOf({ critical, warning, suggestion }, dice) {
  if (dice.next() < 0.012) return 'inconclusive';
  if (critical > 0) return 'significant_concerns';
  if (warning > 2) return 'minor_issues';
  return warning + suggestion > 0 ? 'approved_with_comments' : 'approved';
}

const envelope = (dice, project, run, at, body) => ({ id: dice.uuid7(at), schema: 1, at_ms: at, run_id: run, project, event: body });
