// The dashboard's pages over HTTP: headers, figures, filters, and that nothing that was sent is ever markup.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import * as events from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

const { breakGlass, circuit, completed, event, failback, finding, metrics, month, outcome, send, session, started, uuid7, verdict } = events;

/** Every page that has filters. */
const PAGES = ['/', '/findings', '/models', '/runs', '/health'];

const vars = { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: 'old-token, new-token' };

let worker;
let site;
before(async () => {
  worker = await start('review-tracker', { vars });
  site = client(worker.url);
});
after(() => worker.dispose());

describe('headers', () => {
  test('every page is kept to itself', async () => {
    const cookie = await site.logIn();
    for (const path of [...PAGES, '/login', `/runs/${uuid7()}`]) {
      const { headers } = await site.get(path, { cookie });
      const policy = headers.get('content-security-policy');
      assert.match(policy, /default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|http/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), path === '/login' ? 'no-referrer' : 'same-origin', path);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-type'), /^text\/html; charset=utf-8$/);
    }
  });

  test('assets are asked for again and answered 304', async () => {
    for (const [name, type] of [
      ['dashboard.css', 'text/css; charset=utf-8'],
      ['login.js', 'text/javascript; charset=utf-8'],
      ['charts.js', 'text/javascript; charset=utf-8'],
      ['icon.svg', 'image/svg+xml'],
    ]) {
      const response = await site.get(`/assets/${name}`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), type);
      // uPlot names its own home in a comment.
      assert.doesNotMatch(await response.text(), /https?:\/\/(?!www\.w3\.org\/2000\/svg|github\.com\/leeoniya\/uPlot)/, 'nothing from elsewhere');
      const again = await site.get(`/assets/${name}`, { headers: { 'if-none-match': response.headers.get('etag') } });
      assert.equal(again.status, 304);
    }
    await assertProblem(await site.get('/assets/other.css'), 404, 'not-found');
  });

  test('unknown paths and methods are problems', async () => {
    await assertProblem(await site.get('/nothing'), 404, 'not-found');
    for (const path of [...PAGES, '/healthz', `/runs/${uuid7()}`, '/assets/icon.svg']) {
      await assertProblem(await site.get(path, { method: 'DELETE' }), 405, 'method-not-allowed');
    }
    assert.equal((await site.get('/healthz')).status, 200);
  });
});

describe('pages', () => {
  test('an empty tracker teaches what to do', async () => {
    const empty = await start('review-tracker', { vars });
    try {
      const page = await client(empty.url).text('/', await client(empty.url).logIn());
      assert.match(page, /No review has reported here yet/);
      assert.match(page, /INGEST_TOKENS/);
      assert.doesNotMatch(page, /<table/);
    } finally {
      await empty.dispose();
    }
  });

  test('whatever is sent is shown as text', async () => {
    const hostile = `<script>alert("x")</script><img src=x onerror='alert(1)'>&amp;'; DROP TABLE runs; --`;
    const model = 'a/<script>alert(2)</script>';
    const run = uuid7();
    const more = { run, project: hostile };
    await send(worker.url, 'i', [
      event(started({ forge: '<b>', client_version: hostile.slice(0, 60), reviewers: [hostile.slice(0, 60)] }), more),
      event(session({ reviewer: '<i>"&\'', models_tried: [model, 'b/<u>'], usage: [{ model, tokens: completed().tokens, cost_usd: 0.1, calls: 1 }] }), more),
      event(finding({ reviewer: '<u>', category: hostile, path: hostile, fate: 'dropped', reason_code: hostile }), more),
      event(finding({ reviewer: '<u>', category: hostile, path: hostile }), more),
      event(outcome({ reviewer: '<u>', category: hostile, path: hostile }), more),
      event(circuit({ model }), more),
      event(failback({ reviewer: '<u>', from: model, to: 'b/<u>' }), more),
      event(verdict({ wanted: '<b>', shown: '<i>' }), more),
      event(breakGlass({ user: hostile.slice(0, 60), merge_request: 9 }), more),
      event(metrics(), more),
      event(completed(), more),
    ]);
    const cookie = await site.logIn();
    const query = new URLSearchParams({ project: hostile });
    for (const path of [...PAGES, ...PAGES.map((page) => `${page}?${query}`), `/runs/${run}`, `/runs?q=${encodeURIComponent(hostile)}`]) {
      const page = await site.text(path, cookie);
      assert.match(page, /&lt;script&gt;alert\(&quot;x&quot;\)&lt;\//, `${path}: it is there`);
      const tags = new Set([...page.matchAll(/<([a-z0-9]+)/gi)].map(([, tag]) => tag.toLowerCase()));
      for (const tag of ['img', 'b', 'i', 'u']) {
        assert.ok(!tags.has(tag), `${path} has a <${tag}>`);
      }
      for (const [script] of page.matchAll(/<script[^>]*>/g)) {
        assert.equal(script, '<script src="/assets/charts.js" defer>', path);
      }
      // Inside quotes anything may stand: quotes of its own are escaped.
      const bare = page.replaceAll(/"[^"]*"/g, '""');
      assert.doesNotMatch(bare, /<[^>]+\son[a-z]+=/i);
      assert.doesNotMatch(bare, /<[^>]+\sstyle=/i, 'the policy would block it');
    }
    for (const field of ['project', 'q', 'tier', 'from', 'verdict']) {
      const page = await site.text(`/runs?${field}=${encodeURIComponent('"><svg onload=alert(1)>')}`, cookie);
      assert.doesNotMatch(page, /<svg onload/, field);
    }
  });

  test('a run shows its sessions and findings, an unknown one is 404', async () => {
    const run = uuid7();
    const more = { run, project: 'pages/run' };
    await send(worker.url, 'i', [
      event(started(), more),
      event(session({ attempts: 2, outcome: 'timed_out', models_tried: ['anthropic/claude-haiku-4-5', 'anthropic/claude-sonnet-5'] }), more),
      event(finding({ placement: 'line' }), more),
      event(failback(), more),
      event(circuit(), more),
      event(outcome(), more),
      event(verdict({ shown: 'none', mismatch: true }), more),
      event(completed({ degraded: true, coverage: { not_read: 1, cut: 1, gaps: 1 } }), more),
    ]);
    const cookie = await site.logIn();
    const page = await site.text(`/runs/${run}`, cookie);
    for (const expected of [
      /pages\/<wbr>run/,
      /!7/,
      /Approved with comments/,
      /anthropic\/<wbr>claude-sonnet-5/,
      /anthropic\/<wbr>claude-haiku-4-5<wbr> <span class="note">no answer/,
      /Timed out/,
      /2 attempts/,
      /90\.0% from the cache/,
      /sql-injection/,
      /without the coordinator/,
      /3 parts not reviewed/,
      /Asked of the forge: Approved; it shows: None/,
      /took over from/,
      /circuit open/,
      /Settled findings of earlier reviews/,
      /On the line/,
    ]) {
      assert.match(page, expected);
    }
    for (const id of [uuid7(), 'x', '..%2f', '%27']) {
      const unknown = await site.get(`/runs/${id}`, { cookie });
      assert.equal(unknown.status, 404, id);
      assert.match(await unknown.text(), /No such review/);
    }
  });

  test('a run without an end is in progress, and later lost', async () => {
    const [young, old] = [uuid7(), uuid7()];
    await send(worker.url, 'i', [
      event(started(), { run: young, project: 'pages/open' }),
      event(started(), { run: old, project: 'pages/open', at: Date.now() - 5 * 3_600_000 }),
    ]);
    const cookie = await site.logIn();
    assert.match(await site.text(`/runs/${young}`, cookie), /In progress/);
    assert.match(await site.text(`/runs/${old}`, cookie), />Lost</);
  });

  test('a run that a person skipped says so, and is not one without an end', async () => {
    const run = uuid7();
    await send(worker.url, 'i', [event(breakGlass(), { run, project: 'pages/skipped', at: Date.now() - 5 * 3_600_000 })]);
    const cookie = await site.logIn();
    const found = await site.text(`/runs?q=${run}`, cookie);
    assert.match(found, />Skipped<\/span>/);
    assert.doesNotMatch(found, /The end of this review was never reported/);
    assert.doesNotMatch(await site.text(`/runs?q=${run}&verdict=open`, cookie), new RegExp(`/runs/${run}`));
  });
});

describe('a month of reviews', () => {
  let full;
  let cookie;
  let database;
  before(async () => {
    full = await start('review-tracker', { vars });
    await send(full.url, 'i', month({ count: 130 }));
    cookie = await client(full.url).logIn();
    database = await full.mf.getD1Database('DB');
  });
  after(() => full.dispose());
  const page = (path) => client(full.url).text(path, cookie);
  const runsOn = (html) => [...html.matchAll(/<th role="rowheader" scope="row"><a href="\/runs\/([0-9a-f-]{36})"/g)].map(([, id]) => id);
  const figure = (html, name) => new RegExp(`<dt>${name}</dt><dd><strong>([^<]+)</strong>`).exec(html)[1];
  const number = (text) => Number(text.replaceAll(/[,$]/g, ''));
  const first = (sql) => database.prepare(sql).first();
  const all = async (sql) => (await database.prepare(sql).all()).results;
  /** A table of a page as objects by the names of its columns. */
  const csv = async (path, table) => {
    const response = await client(full.url).get(`${path}${path.includes('?') ? '&' : '?'}csv=${table}`, { cookie });
    assert.equal(response.status, 200, `${path} ${table}`);
    assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.match(response.headers.get('content-disposition'), /^attachment; filename="conclave-[a-z]+\.csv"$/);
    const [header, ...lines] = (await response.text()).trimEnd().split('\r\n').map((line) => line.split(','));
    return lines.map((line) => Object.fromEntries(header.map((name, index) => [name, line[index]])));
  };

  test('the figures are those of the rows', async () => {
    const html = await page('/?days=90');
    const row = await first('SELECT count(verdict) AS runs, sum(cost_usd) AS cost, sum(critical + warning + suggestion) AS findings FROM runs');
    assert.equal(figure(html, 'Reviews'), String(row.runs));
    assert.equal(figure(html, 'Cost'), `$${row.cost.toFixed(2)}`);
    assert.equal(figure(html, 'Findings per review'), (row.findings / row.runs).toFixed(1));
    assert.equal(figure(html, 'Cost per finding'), `$${(row.cost / row.findings).toFixed(2)}`);
    const { glasses, requests } = await first('SELECT (SELECT count(*) FROM glasses) AS glasses, (SELECT count(*) FROM merge_requests) AS requests');
    assert.equal(figure(html, 'Break glass'), `${((glasses / requests) * 100).toFixed(1)}%`);
  });

  test('quantiles are right to within one percent, averages exact, in all and by tier', async () => {
    const near = (shown, exact, what) => assert.ok(Math.abs(shown - exact) <= exact * 0.0101 + 1e-9, `${what}: ${shown} instead of ${exact}`);
    const rank = (values, share) => values[Math.max(1, Math.ceil(values.length * share)) - 1];
    const runs = await all('SELECT tier, duration_ms / 1000.0 AS duration, cost_usd AS cost FROM runs WHERE verdict IS NOT NULL');
    const sorted = (of, rows = runs) => rows.map(of).sort((one, other) => one - other);
    const [cost, duration] = await csv('/?days=90', 'quantiles');
    for (const [row, values] of [[cost, sorted((run) => run.cost)], [duration, sorted((run) => run.duration)]]) {
      for (const [name, share] of [['median', 0.5], ['p90', 0.9], ['p95', 0.95], ['p99', 0.99]]) {
        near(Number(row[name]), rank(values, share), `${row.of} ${name}`);
      }
      assert.ok(Math.abs(Number(row.average) - values.reduce((sum, value) => sum + value, 0) / values.length) < 0.001);
    }
    const tiers = await csv('/?days=90', 'tiers');
    assert.deepEqual(tiers.map(({ tier }) => tier), ['trivial', 'lite', 'full', 'unclassified']);
    for (const row of tiers.slice(0, 3)) {
      const costs = sorted((run) => run.cost, runs.filter(({ tier }) => tier === row.tier));
      assert.equal(Number(row.reviews), costs.length);
      near(Number(row.cost_usd_p95), rank(costs, 0.95), row.tier);
    }
    assert.equal(Number(tiers[3].reviews), 1, 'the one without an end');
  });

  test('the table by reviewer and severity is the yardstick’s, with what nobody claims', async () => {
    const rows = await csv('/findings?days=90', 'reviewers');
    const exact = await all(`SELECT reviewer, sum(severity = 'critical') AS critical, sum(severity = 'warning') AS warning,
      sum(severity = 'suggestion') AS suggestion, count(*) AS total FROM findings WHERE fate = 'kept' GROUP BY 1`);
    for (const { reviewer, ...counts } of exact) {
      const row = rows.find((row) => row.reviewer === reviewer);
      for (const [name, count] of Object.entries(counts)) {
        assert.equal(Number(row[name]), count, `${reviewer} ${name}`);
      }
    }
    const usage = await all('SELECT reviewer, sum(input) AS input, sum(output + reasoning) AS output, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write FROM usage GROUP BY 1');
    for (const { reviewer, ...tokens } of usage) {
      const row = rows.find((row) => row.reviewer === reviewer);
      for (const [kind, count] of Object.entries(tokens)) {
        assert.equal(Number(row[`${kind}_tokens`]), count, `${reviewer} ${kind}`);
      }
    }
    assert.ok(rows.some(({ reviewer }) => reviewer === 'coordinator'));
    // A run that counts more findings than reviewers tell of.
    await send(full.url, 'i', [event(completed({ warning: 4, suggestion: 0 }), { project: 'odd/one' })]);
    const odd = await csv('/findings?project=odd%2Fone', 'reviewers');
    assert.deepEqual(odd.map(({ reviewer, warning, total }) => [reviewer, warning, total]), [['unclassified', '4', '4']]);
    await database.prepare(`DELETE FROM runs WHERE project = 'odd/one'`).run();
  });

  test('what the judge did, what became of findings, and hot files are those of the rows', async () => {
    const judged = await csv('/findings?days=90', 'judged');
    for (const { reviewer, kept, merged, dropped } of await all(`SELECT reviewer, sum(fate = 'kept') AS kept, sum(fate = 'merged') AS merged,
      sum(fate = 'dropped') AS dropped FROM findings GROUP BY 1`)) {
      const row = judged.find((row) => row.reviewer === reviewer);
      assert.deepEqual([row.kept, row.merged, row.dropped].map(Number), [kept, merged, dropped], reviewer);
      assert.ok(Math.abs(Number(row.kept_share) - kept / (kept + merged + dropped)) < 1e-6);
    }
    const outcomes = await csv('/findings?days=90', 'outcomes');
    for (const { reviewer, fixed, rejected, n } of await all(`SELECT reviewer, sum(outcome = 'fixed') AS fixed, sum(outcome = 'rejected') AS rejected,
      count(*) AS n FROM outcomes GROUP BY 1`)) {
      const row = outcomes.find((row) => row.reviewer === reviewer);
      assert.deepEqual([row.fixed, row.rejected].map(Number), [fixed, rejected], reviewer);
      assert.ok(Math.abs(Number(row.fixed_share) - fixed / n) < 1e-6);
    }
    const [hottest] = await csv('/findings?days=90', 'hot');
    const [worst] = await all(`SELECT count(*) AS n FROM findings f JOIN runs r USING (run_id) WHERE fate = 'kept' GROUP BY r.project, f.path ORDER BY n DESC`);
    assert.equal(Number(hottest.total), worst.n);
  });

  test('models: tokens, cost, failbacks, circuits and switches are those of the rows', async () => {
    const rows = await csv('/models?days=90', 'models');
    for (const { model, cost, read } of await all('SELECT model, sum(cost_usd) AS cost, sum(cache_read) AS read FROM usage GROUP BY 1')) {
      const row = rows.find((row) => row.model === model);
      assert.ok(Math.abs(Number(row.cost_usd) - cost) < 1e-6, model);
      assert.equal(Number(row.cache_read_tokens), read);
    }
    assert.ok(Math.abs(rows.reduce((sum, { cost_share: share }) => sum + Number(share), 0) - 1) < 1e-6);
    const failbacks = await csv('/models?days=90', 'failbacks');
    const { n } = await first('SELECT count(*) AS n FROM failbacks');
    assert.equal(failbacks.reduce((sum, { times }) => sum + Number(times), 0), n);
    const switched = await first(`SELECT count(*) AS n FROM failbacks WHERE substr(from_model, 1, instr(from_model, '/')) <> substr(to_model, 1, instr(to_model, '/'))`);
    assert.equal(number(figure(await page('/models?days=90'), 'Provider switches')), switched.n);
    assert.equal((await csv('/models?days=90', 'switches')).length, Math.min(50, switched.n));
    assert.ok((await csv('/models?days=90', 'circuits')).every(({ state }) => state === 'open'));
  });

  test('health: events, lag, verdicts on the forge, and figures of the runs', async () => {
    const { n } = await first('SELECT count(*) AS n FROM events');
    const html = await page('/health?days=90');
    assert.equal(number(figure(html, 'Events')), n);
    assert.equal(figure(html, 'Waiting events'), '0');
    assert.notEqual(figure(html, 'Ingest lag'), '–');
    const mismatches = await first('SELECT sum(mismatch) AS n FROM runs');
    assert.equal(number(figure(html, 'Verdicts not shown')), mismatches.n ?? 0);
    const names = (await csv('/health?days=90', 'measures')).map(({ name }) => name);
    assert.deepEqual(names, ['gateway_first_byte_ms', 'stage_diff_ms']);
  });

  test('pages go through all runs, newest first, each once', async () => {
    const seen = [];
    let path = '/runs?days=90';
    for (let number = 0; path && number < 10; number += 1) {
      const html = await page(path);
      seen.push(...runsOn(html));
      path = /<a href="([^"]+)" rel="next"/.exec(html)?.[1].replaceAll('&amp;', '&');
    }
    const expected = (await all('SELECT run_id FROM runs ORDER BY at_ms DESC, run_id DESC')).map(({ run_id: id }) => id);
    assert.deepEqual(seen, expected);
    assert.deepEqual((await csv('/runs?days=90', 'runs')).map(({ run_id: id }) => id), expected, 'a file has them all');
  });

  test('filters narrow the figures and the runs alike, and go along from page to page', async () => {
    for (const [query, condition] of [
      ['tier=lite', `tier = 'lite'`],
      ['project=payments%2Fledger', `project = 'payments/ledger'`],
      ['project=web%2Fstorefront&tier=full', `project = 'web/storefront' AND tier = 'full'`],
    ]) {
      const html = await page(`/?${query}&days=90`);
      const row = await first(`SELECT count(verdict) AS ended, count(*) AS all_runs FROM runs WHERE ${condition}`);
      assert.equal(figure(html, 'Reviews'), String(row.ended), query);
      assert.equal(runsOn(await page(`/runs?days=90&${query}`)).length, Math.min(row.all_runs, 50), query);
      for (const path of PAGES) {
        assert.ok(html.includes(`href="${path}?${query.replaceAll('&', '&amp;')}&amp;days=90"`), `${path} ${query}`);
        assert.match(await page(`${path}?${query}&days=90`), /aria-current="true"/);
      }
    }
    assert.match(await page('/?project=nobody%2Fknows'), /No review fits these filters/);
  });

  test('a filter by tier narrows all five pages to the rows of that tier', async () => {
    const of = (table, tier) => `FROM ${table} t JOIN runs r USING (run_id) WHERE r.tier = '${tier}'`;
    const sum = (rows, name) => rows.reduce((total, row) => total + Number(row[name]), 0);
    for (const tier of ['trivial', 'lite', 'full']) {
      const query = `?days=90&tier=${tier}`;
      const { findings, kept } = await first(`SELECT count(*) AS findings, sum(fate = 'kept') AS kept ${of('findings', tier)}`);
      const judged = await csv(`/findings${query}`, 'judged');
      assert.equal(sum(judged, 'reported'), findings, tier);
      assert.equal(sum(judged, 'kept'), kept);
      assert.equal(sum(await csv(`/findings${query}`, 'categories'), 'total'), kept);
      assert.equal(sum(await csv(`/findings${query}`, 'placements'), 'findings'), (await first(`SELECT count(placement) AS n ${of('findings', tier)} AND fate = 'kept'`)).n);
      assert.equal(sum(await csv(`/findings${query}`, 'outcomes'), 'fixed'), (await first(`SELECT count(*) AS n ${of('outcomes', tier)} AND outcome = 'fixed'`)).n);
      const hot = await csv(`/findings${query}`, 'hot');
      const [worst] = await all(`SELECT count(*) AS n ${of('findings', tier)} AND fate = 'kept' GROUP BY r.project, t.path ORDER BY n DESC`);
      assert.equal(Number(hot[0]?.total ?? 0), worst?.n ?? 0, `hot files of ${tier}`);

      const used = await first(`SELECT sum(t.cost_usd) AS cost, sum(t.calls) AS calls ${of('usage', tier)}`);
      for (const table of ['models', 'agents']) {
        const rows = await csv(`/models${query}`, table);
        assert.equal(sum(rows, 'calls'), used.calls, `${table} ${tier}`);
        assert.ok(Math.abs(sum(rows, 'cost_usd') - used.cost) < 1e-6);
      }
      assert.equal(sum(await csv(`/models${query}`, 'sessions'), 'ok'), (await first(`SELECT count(*) AS n ${of('sessions', tier)} AND outcome = 'ok'`)).n);
      assert.equal(sum(await csv(`/models${query}`, 'failbacks'), 'times'), (await first(`SELECT count(*) AS n ${of('failbacks', tier)}`)).n);
      const runs = new Set((await all(`SELECT run_id FROM runs WHERE tier = '${tier}'`)).map(({ run_id: id }) => id));
      for (const table of ['switches', 'circuits']) {
        for (const row of await csv(`/models${query}`, table)) assert.ok(runs.has(row.run_id), `${table} ${tier}`);
      }

      const { n: events } = await first(`SELECT count(*) AS n FROM events WHERE run_id IN (SELECT run_id FROM events WHERE body->>'tier' = '${tier}')`);
      assert.equal(sum(await csv(`/health${query}`, 'kinds'), 'events'), events);
      assert.equal(sum(await csv(`/health${query}`, 'applied'), 'reviews'), (await first(`SELECT count(*) AS n FROM runs WHERE tier = '${tier}' AND wanted IS NOT NULL`)).n);
      const started = await first(`SELECT max(0, sum(kind = 'run_started') - sum(kind = 'run_completed')) AS n FROM events WHERE body->>'tier' = '${tier}'`);
      const unended = (await csv(`/${query}`, 'tiers')).find((row) => row.tier === 'unclassified');
      assert.equal(Number(unended?.reviews ?? 0), started.n, 'reviews of this tier without an end');
      for (const path of PAGES) assert.doesNotMatch(await page(`${path}${query}`), /Left out/, path);
    }
  });

  test('a period of any days is looked at, and files have its figures', async () => {
    const day = (ago) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const [from, to] = [day(20), day(10)];
    const { n } = await first(`SELECT count(*) AS n FROM runs WHERE verdict IS NOT NULL AND date(completed_ms / 1000, 'unixepoch') BETWEEN '${from}' AND '${to}'`);
    const html = await page(`/?from=${from}&to=${to}`);
    assert.equal(figure(html, 'Reviews'), String(n));
    const days = await csv(`/?from=${from}&to=${to}`, 'reviews');
    assert.deepEqual(days.map((row) => row.day), Array.from({ length: 11 }, (_, index) => day(10 + index)));
    assert.equal(days.reduce((sum, row) => sum + Number(row.reviews), 0), n);
    assert.equal((await csv('/?from=2020-01-01&to=2021-12-30', 'tiers')).length, 0);
  });

  test('runs are found by project, merge request, id and verdict', async () => {
    const [{ run_id: id, merge_request: request }] = await all(`SELECT run_id, merge_request FROM runs WHERE merge_request IS NOT NULL LIMIT 1`);
    assert.deepEqual(runsOn(await page(`/runs?days=90&q=${id}`)), [id]);
    assert.ok(runsOn(await page(`/runs?days=90&q=%21${request}`)).includes(id));
    const count = async (condition) => (await first(`SELECT count(*) AS n FROM runs WHERE ${condition}`)).n;
    for (const [query, condition] of [
      ['q=LEDG', `project LIKE '%ledg%'`],
      ['verdict=inconclusive', `verdict = 'inconclusive'`],
      ['verdict=open', 'verdict IS NULL AND skipped = 0'],
      ['q=gateway&verdict=approved', `project LIKE '%gateway%' AND verdict = 'approved'`],
      ['q=%25', '0'],
      [`q=${encodeURIComponent(`' OR 1=1 --`)}`, '0'],
    ]) {
      assert.equal((await csv(`/runs?days=90&${query}`, 'runs')).length, await count(condition), query);
    }
  });

  test('every table of every page is a file, and nothing else is', async () => {
    const run = runsOn(await page('/runs?days=90'))[3];
    for (const path of [...PAGES, `/runs/${run}`]) {
      const html = await page(`${path}?days=90`);
      const links = [...html.matchAll(/<a class="csv" href="([^"]+)"/g)].map(([, href]) => href.replaceAll('&amp;', '&'));
      const tables = [...html.matchAll(/<table class="([a-z]+)"/g)].map(([, id]) => id);
      assert.deepEqual(links.map((href) => /csv=([a-z]+)$/.exec(href)[1]), tables, path);
      for (const href of links) {
        const response = await client(full.url).get(href, { cookie });
        assert.equal(response.status, 200, href);
        assert.ok((await response.text()).split('\r\n').length > 2, href);
      }
      await assertProblem(await client(full.url).get(`${path}?csv=nothing`, { cookie }), 404, 'not-found');
    }
  });

  test('nonsense in the address is taken as not said', async () => {
    for (const query of ['days=-1', 'days=1e9', 'tier=%27', 'after=x_y', 'after=99999999999999999999_1', `project=${'x'.repeat(3000)}`, 'from=x&to=2026-99-99', 'q=%00', 'verdict=%27']) {
      for (const path of PAGES) {
        assert.match(await page(`${path}?${query}`), /<h1>/, `${path} ${query}`);
      }
    }
  });
});
