// The dashboard's pages over HTTP: headers, figures, filters, and that nothing that was sent is ever markup.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { client } from '../support/dashboard.mjs';
import { completed, event, finding, month, send, session, started, uuid7 } from '../support/events.mjs';
import { assertProblem } from '../support/problem.mjs';
import { start } from '../support/workerd.mjs';

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
    for (const path of ['/', '/login', `/runs/${uuid7()}`]) {
      const { headers } = await site.get(path, { cookie });
      const policy = headers.get('content-security-policy');
      assert.match(policy, /default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|http/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'same-origin');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-type'), /^text\/html; charset=utf-8$/);
    }
  });

  test('assets are asked for again and answered 304', async () => {
    for (const [name, type] of [
      ['dashboard.css', 'text/css; charset=utf-8'],
      ['login.js', 'text/javascript; charset=utf-8'],
      ['icon.svg', 'image/svg+xml'],
    ]) {
      const response = await site.get(`/assets/${name}`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), type);
      assert.doesNotMatch(await response.text(), /https?:\/\/(?!www\.w3\.org\/2000\/svg)/, 'nothing from elsewhere');
      const again = await site.get(`/assets/${name}`, { headers: { 'if-none-match': response.headers.get('etag') } });
      assert.equal(again.status, 304);
    }
    await assertProblem(await site.get('/assets/other.css'), 404, 'not-found');
  });

  test('unknown paths and methods are problems', async () => {
    await assertProblem(await site.get('/nothing'), 404, 'not-found');
    for (const path of ['/', '/healthz', `/runs/${uuid7()}`, '/assets/icon.svg']) {
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
    const hostile = `<script>alert("x")</script><img src=x onerror='alert(1)'>&amp;`;
    const run = uuid7();
    const more = { run, project: hostile };
    await send(worker.url, 'i', [
      event(started({ forge: '<b>', client_version: hostile, reviewers: [hostile] }), more),
      event(session({ reviewer: '<i>"&\'', usage: [{ model: 'a/<script>alert(2)</script>', tokens: completed().tokens, cost_usd: 0.1, calls: 1 }] }), more),
      event(finding({ reviewer: '<u>', category: hostile, path: hostile, fate: 'dropped', reason_code: hostile }), more),
      event(completed(), more),
    ]);
    const cookie = await site.logIn();
    const query = new URLSearchParams({ project: hostile });
    for (const path of ['/', `/?${query}`, `/runs/${run}`]) {
      const page = await site.text(path, cookie);
      assert.match(page, /&lt;script&gt;alert\(&quot;x&quot;\)&lt;\//, 'it is there');
      const tags = new Set([...page.matchAll(/<([a-z0-9]+)/gi)].map(([, tag]) => tag.toLowerCase()));
      for (const tag of ['script', 'img', 'b', 'i', 'u']) {
        assert.ok(!tags.has(tag), `${path} has a <${tag}>`);
      }
      // Inside quotes anything may stand: quotes of its own are escaped.
      const bare = page.replaceAll(/"[^"]*"/g, '""');
      assert.doesNotMatch(bare, /<[^>]+\son[a-z]+=/i);
      assert.doesNotMatch(bare, /<[^>]+\sstyle=/i, 'the policy would block it');
    }
    assert.doesNotMatch(await site.text(`/?project=${encodeURIComponent('"><svg onload=alert(1)>')}`, cookie), /<svg onload/);
  });

  test('a run shows its sessions and findings, an unknown one is 404', async () => {
    const run = uuid7();
    const more = { run, project: 'pages/run' };
    await send(worker.url, 'i', [
      event(started(), more),
      event(session({ attempts: 2, outcome: 'timed_out' }), more),
      event(finding(), more),
      event(completed({ degraded: true }), more),
    ]);
    const cookie = await site.logIn();
    const page = await site.text(`/runs/${run}`, cookie);
    for (const expected of [/pages\/run/, /!7/, /Approved with comments/, /anthropic\/<wbr>claude-sonnet-5/, /Timed out/, /2 attempts/, /90\.0% from the cache/, /sql-injection/, /without the coordinator/]) {
      assert.match(page, expected);
    }
    for (const id of [uuid7(), 'x', '..%2f', '%27']) {
      const unknown = await site.get(`/runs/${id}`, { cookie });
      assert.equal(unknown.status, 404, id);
      assert.match(await unknown.text(), /No such review/);
    }
  });

  test('a run without an end is in progress, and later has no end', async () => {
    const [young, old] = [uuid7(), uuid7()];
    await send(worker.url, 'i', [
      event(started(), { run: young, project: 'pages/open' }),
      event(started(), { run: old, project: 'pages/open', at: Date.now() - 5 * 3_600_000 }),
    ]);
    const cookie = await site.logIn();
    assert.match(await site.text(`/runs/${young}`, cookie), /In progress/);
    assert.match(await site.text(`/runs/${old}`, cookie), /No end seen/);
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
  const runsOn = (html) => [...html.matchAll(/href="\/runs\/([0-9a-f-]{36})"/g)].map(([, id]) => id);
  const figure = (html, name) => new RegExp(`<dt>${name}</dt><dd><strong>([^<]+)</strong>`).exec(html)[1];

  test('the figures are those of the rows', async () => {
    const html = await page('/?days=90');
    const row = await database
      .prepare('SELECT count(verdict) AS runs, sum(cost_usd) AS cost, sum(critical + warning + suggestion) AS findings FROM runs')
      .first();
    assert.equal(figure(html, 'Reviews'), String(row.runs));
    assert.equal(figure(html, 'Cost'), `$${row.cost.toFixed(2)}`);
    assert.equal(figure(html, 'Findings per review'), (row.findings / row.runs).toFixed(1));
    const { results } = await database.prepare('SELECT duration_ms AS d FROM runs WHERE verdict IS NOT NULL ORDER BY 1').all();
    const median = results[Math.ceil(results.length / 2) - 1].d;
    const [, minutes, rest] = /^(\d+)m (\d\d)s$/.exec(figure(html, 'Median duration'));
    const shown = (Number(minutes) * 60 + Number(rest)) * 1000;
    assert.ok(Math.abs(shown - median) <= median * 0.01 + 1000, `${shown} instead of ${median}`);
  });

  test('pages go through all runs, newest first, each once', async () => {
    const seen = [];
    let path = '/?days=90';
    for (let number = 0; path && number < 10; number += 1) {
      const html = await page(path);
      seen.push(...runsOn(html));
      path = /<a href="([^"]+)" rel="next"/.exec(html)?.[1].replaceAll('&amp;', '&');
    }
    const { results } = await database.prepare('SELECT run_id FROM runs ORDER BY at_ms DESC, run_id DESC').all();
    assert.deepEqual(seen, results.map(({ run_id: id }) => id));
  });

  test('filters narrow the figures and the table alike', async () => {
    for (const [query, condition] of [
      ['tier=lite', `tier = 'lite'`],
      ['project=payments%2Fledger', `project = 'payments/ledger'`],
      ['project=web%2Fstorefront&tier=full', `project = 'web/storefront' AND tier = 'full'`],
    ]) {
      const html = await page(`/?days=90&${query}`);
      const row = await database.prepare(`SELECT count(verdict) AS ended, count(*) AS all_runs FROM runs WHERE ${condition}`).first();
      assert.equal(figure(html, 'Reviews'), String(row.ended), query);
      assert.equal(runsOn(html).length, Math.min(row.all_runs, 50), query);
      assert.match(html, /aria-current="true"/);
    }
    assert.match(await page('/?project=nobody%2Fknows'), /No review fits these filters/);
  });

  test('nonsense in the address is taken as not said', async () => {
    for (const query of ['days=-1', 'days=1e9', 'tier=%27', 'after=x_y', 'after=99999999999999999999_1', `project=${'x'.repeat(3000)}`]) {
      assert.match(await page(`/?${query}`), /<h1>/, query);
    }
  });
});
