// The dashboard in a real Chromium: what people do with it, by mouse, by keyboard and on a phone.
//
// CHROMIUM names another browser than the one that is found; SCREENSHOTS names a directory that pictures are put into.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch } from '../support/browser.mjs';
import { findWeakText } from '../support/contrast.mjs';
import * as events from '../support/events.mjs';
import { painted } from '../support/painted.mjs';
import { root, start } from '../support/workerd.mjs';

const { breakGlass, circuit, completed, event, failback, failed, finding, metrics, month, outcome, send, session, settled, started, uuid7, verdict } = events;

const TOKEN = 'dashboard-token';
const RUNS = 120;
/** Every page that has filters, with its heading. */
const PAGES = { '/': 'Overview', '/findings': 'Findings', '/models': 'Models', '/runs': 'Reviews', '/health': 'Health' };
const AXE = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

let browser;
/** Workers of single tests. */
const allowed = new Set();
let filled;
let empty;
/** The address of a review that has everything. */
let full;
before(async () => {
  browser = await launch();
  const vars = { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: TOKEN };
  [filled, empty] = await Promise.all([start('review-tracker', { vars }), start('review-tracker', { vars })]);
  const now = Date.now();
  // A review that has everything, the newest but one.
  const run = uuid7(now);
  const more = { run, project: 'payments/ledger', at: now - 300_000 };
  await send(filled.url, 'i', [
    ...month({ count: RUNS }),
    ...endings(now),
    event(started({ merge_request: 4711 }), more),
    event(session({ attempts: 2, models_tried: ['openai/gpt-6-sol', 'anthropic/claude-sonnet-5'] }), { ...more, at: now - 260_000 }),
    event(circuit({ model: 'openai/gpt-6-sol' }), { ...more, at: now - 280_000 }),
    event(failback({ from: 'openai/gpt-6-sol', to: 'anthropic/claude-sonnet-5', reason: 'reprompted' }), { ...more, at: now - 279_000 }),
    event(session({ reviewer: 'coordinator' }), { ...more, at: now - 245_000 }),
    event(finding({ placement: 'line' }), { ...more, at: now - 242_000 }),
    event(finding({ fate: 'dropped', reason_code: 'not_in_diff', category: 'wording' }), { ...more, at: now - 242_000 }),
    event(outcome(), { ...more, at: now - 242_000 }),
    event(verdict({ shown: 'none', mismatch: true }), { ...more, at: now - 241_000 }),
    event(completed({ coverage: { not_read: 1, cut: 0, gaps: 0 }, merge_request: 4711 }), { ...more, at: now - 240_000 }),
  ]);
  full = `/runs/${run}`;
});
after(async () => {
  await browser?.close();
  await Promise.all([filled, empty].map((worker) => worker?.dispose()));
});

/** Reviews that failed, got lost, or were inconclusive for different causes; and findings that judges removed. */
function endings(now) {
  const at = now - 9 * 3_600_000;
  const one = (body) => event(body, { run: uuid7(at), project: 'platform/gateway', at });
  const kinds = [['runtime', 'runtime_missing'], ['forge', 'forge_unreachable'], ['forge', 'forge_unreachable'], ['configuration', 'unauthorized']];
  const causes = ['reviewer_timed_out', 'files_not_read', 'reviewer_timed_out', 'no_judgment'];
  return [
    ...kinds.map(([stage, kind]) => one(failed({ stage, kind }))),
    ...causes.map((cause) => one(completed({ verdict: 'inconclusive', inconclusive_cause: cause, merge_request: 12 }))),
    one(started({ tier: undefined, reviewers: undefined, limit_seconds: 900 })),
    one(finding({ fate: 'dropped', reason_code: 'refuted', severity: 'critical', removed_by_judge: true, refutation: 'this_change' })),
  ];
}

let visitors = 0;

/** A page of its own, which fails the test on an error in the console or a request to anywhere else. */
async function open(options = {}) {
  // Each from an address of its own: one address may not log in as often as all of these tests do.
  const extraHTTPHeaders = { 'cf-connecting-ip': `192.0.2.${(visitors += 1)}` };
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', extraHTTPHeaders, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    if (![filled.url, empty.url, ...allowed].includes(origin)) {
      faults.push(`a request to ${request.url()}`);
    }
  });
  page.on('response', (response) => response.status() >= 400 && faults.push(`${response.status()} of ${response.url()}`));
  const close = async (expected = []) => {
    await context.close();
    assert.deepEqual(
      faults.filter((fault) => !expected.some((pattern) => pattern.test(fault))),
      [],
    );
  };
  return { page, close };
}

async function logIn(page, worker = filled) {
  await page.goto(`${worker.url}/login#token=${TOKEN}`);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${worker.url}/`);
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) {
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
  }
}

/** The faults that axe-core finds in a page. Its script is not part of the page, so the policy does not apply to it. */
async function faultsOf(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map(({ id, nodes }) => `${page.url()} ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`);
}

const noHorizontalScroll = async (page) => {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${page.url()} is ${content} wide in a window of ${window}`);
};

describe('logging in', () => {
  test('by the form: a wrong token is told so, the right one opens the reviews', async () => {
    const { page, close } = await open();
    await page.goto(filled.url);
    assert.equal(page.url(), `${filled.url}/login`);
    await picture(page, 'login');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'token', 'one can type at once');
    await painted(page);
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await picture(page, 'login-refused');
    await page.getByLabel('Access token').fill(TOKEN);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${filled.url}/`);
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await close([/401/]);
  });

  /** Asserts that opening a link does nothing before a person acts: no session, and no token anywhere. */
  async function assertNotLoggedIn(page) {
    await page.getByText('The link that you have opened brings an access token').waitFor();
    assert.equal(page.url(), `${filled.url}/login`, 'the token is out of the address');
    assert.deepEqual(await page.context().cookies(), []);
    assert.equal(await page.getByLabel('Access token').inputValue(), TOKEN);
  }

  test('by a link, after a step of the person, which leaves no token in the address or the history', async () => {
    const { page, close } = await open();
    const posts = [];
    page.on('request', (request) => request.method() === 'POST' && posts.push(request));
    await page.goto(`${filled.url}/login#token=${TOKEN}`);
    await assertNotLoggedIn(page);
    await picture(page, 'login-by-link');
    assert.deepEqual(posts, [], 'nothing is sent by itself');
    await page.reload();
    assert.equal(await page.getByLabel('Access token').inputValue(), '', 'the link is used up');
    await page.goto(`${filled.url}/findings`);
    assert.equal(page.url(), `${filled.url}/login`, 'opening it has opened no session');

    await page.goto('about:blank');
    await page.goto(`${filled.url}/login#token=${TOKEN}`);
    await assertNotLoggedIn(page);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${filled.url}/`);
    assert.equal(posts.length, 1);
    const headers = await posts[0].allHeaders();
    assert.deepEqual([headers.referer, headers['sec-fetch-site']], [undefined, 'same-origin']);
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [
      ['conclave_session', true, 'Strict'],
    ]);
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.goBack();
    assert.ok(!page.url().includes(TOKEN), page.url());
    await close();
  });

  test('by a link with the keyboard alone, also one that is opened while the form is shown', async () => {
    const { page, close } = await open();
    await page.goto(`${filled.url}/login`);
    await page.evaluate((token) => (location.hash = `token=${token}`), TOKEN);
    await assertNotLoggedIn(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${filled.url}/`);
    await close();
  });

  test('never as an image, a frame, a prefetch, or a form of another site', async () => {
    const { page, close } = await open();
    const link = `${filled.url}/login#token=${TOKEN}`;
    allowed.add('http://other.test');
    await page.route('http://other.test/**', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<link rel="prefetch" href="${link}"><img src="${link}"><iframe src="${link}"></iframe>
          <form method="post" action="${filled.url}/login"><input name="token" value="${TOKEN}"></form>`,
      }),
    );
    await page.goto('http://other.test/');
    await page.waitForLoadState('networkidle');
    assert.deepEqual(await page.context().cookies(filled.url), []);
    const answer = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.evaluate(() => document.forms[0].submit());
    assert.equal((await answer).status(), 403);
    assert.deepEqual(await page.context().cookies(filled.url), []);
    allowed.delete('http://other.test');
    await close([/403/, /frame/i, /image|ERR_/i, /prefetch/i, /Content Security Policy|X-Frame/i]);
  });

  test('and out again', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${filled.url}/login`);
    await page.goto(filled.url);
    assert.equal(page.url(), `${filled.url}/login`);
    await close();
  });
});

describe('reviews', () => {
  test('are listed, and a click anywhere on one opens it', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.getByRole('link', { name: 'Reviews', exact: true }).click();
    await page.waitForURL(`${filled.url}/runs`);
    const rows = page.locator('table.runs tbody tr');
    assert.equal(await rows.count(), 50);
    await picture(page, 'reviews-light');
    const row = page.locator('table.runs tbody tr.ended').first();
    const name = await row.locator('.path').innerText();
    const { x, y, width, height } = await row.locator('td[data-name="Cost"]').boundingBox();
    await page.mouse.click(x + width / 2, y + height / 2);
    await page.waitForURL(/\/runs\/.+/);
    assert.ok((await page.getByRole('heading', { level: 1 }).innerText()).startsWith(name));
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await page.getByRole('heading', { name: 'Findings', exact: true }).waitFor();
    assert.ok((await page.locator('table.sessions tbody tr').count()) >= 2);
    await close();
  });

  test('show their sessions as bars, with what was tried, retried and found', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.goto(filled.url + full);
    const [first, second] = await page.locator('table.sessions tbody tr').all();
    const bar = async (row) => row.locator('svg rect:not(.track)').boundingBox();
    const [one, other] = [await bar(first), await bar(second)];
    assert.ok(one.x < other.x + other.width && one.width > 0, 'the coordinator ends last');
    assert.match(await first.locator('svg').getAttribute('aria-label'), /^starts after .+, takes 40s$/);
    assert.match(await first.innerText(), /2 attempts[^]*openai\/gpt-6-sol no answer[^]*anthropic\/claude-sonnet-5 3 calls/);
    const incidents = page.getByRole('region', { name: 'Retries and fallback models' });
    assert.match(await incidents.innerText(), /openai\/gpt-6-sol: circuit open[^]*anthropic\/claude-sonnet-5 took over from openai\/gpt-6-sol/);
    await page.getByText('1 part not reviewed').waitFor();
    await page.getByText('not applied').waitFor();
    await picture(page, 'review-light');
    await close();
  });

  test('can be reached and opened with the keyboard alone, and the focus is seen', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.goto(`${filled.url}/runs`);
    await painted(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.keyboard.press('Enter');
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      const style = await page.evaluate(() => {
        const { activeElement } = document;
        const row = activeElement.closest('tr');
        return { inTable: Boolean(row), outline: getComputedStyle(row ?? activeElement).outlineStyle };
      });
      assert.equal(style.outline, 'solid', 'the focus is seen');
      if (style.inTable) {
        break;
      }
    }
    const href = await page.evaluate(() => document.activeElement.href);
    await page.keyboard.press('Enter');
    await page.waitForURL(href);
    await close();
  });

  test('can be filtered by project, tier, period and text, and paged', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.locator('input[name=project]').fill('payments/ledger');
    await page.locator('select[name=tier]').selectOption('lite');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/project=payments%2Fledger&tier=lite/);
    await page.getByRole('link', { name: 'Reviews', exact: true }).click();
    await page.waitForURL(`${filled.url}/runs?project=payments%2Fledger&tier=lite`);
    await page.getByRole('link', { name: '90 days' }).click();
    await page.waitForURL(/tier=lite&days=90/);
    const rows = page.locator('table.runs tbody tr');
    assert.deepEqual(new Set(await rows.locator('.path').allInnerTexts()), new Set(['payments/ledger']));
    assert.deepEqual(new Set(await rows.locator('.chip').allInnerTexts()), new Set(['lite']));
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await page.waitForURL(`${filled.url}/runs`);
    await page.locator('input[name=q]').fill('!4711');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=%214711/);
    assert.equal(await rows.count(), 1);

    await page.goto(`${filled.url}/runs`);
    await page.getByRole('link', { name: 'Older reviews' }).click();
    await page.waitForURL(/after=/);
    await page.getByRole('link', { name: 'Newest reviews' }).click();
    await page.waitForURL(`${filled.url}/runs`);
    await page.goto(`${filled.url}/?project=nobody`);
    await page.getByText('No review fits these filters').first().waitFor();
    await picture(page, 'nothing-fits');
    await close();
  });

  test('an empty tracker teaches, and its other pages say that there is nothing', async () => {
    const { page, close } = await open();
    await logIn(page, empty);
    await page.getByRole('heading', { name: 'No review has reported here yet' }).waitFor();
    await picture(page, 'empty');
    for (const path of Object.keys(PAGES).slice(1)) {
      await page.goto(empty.url + path);
      assert.equal(await page.locator('table').count(), 0, path);
      assert.deepEqual(await faultsOf(page), []);
      await picture(page, `empty${path.replace('/', '-')}`);
    }
    await close();
  });
});

describe('charts', () => {
  const pixels = (page) =>
    page.locator('figure.chart canvas').first().evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Map();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255) {
          const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
          colours.set(colour, (colours.get(colour) ?? 0) + 1);
        }
      }
      return [...colours].filter(([, count]) => count > 200).map(([colour]) => colour);
    });

  test('draw what the table beside them says, and tell the day that is pointed at', async () => {
    const { page, close } = await open();
    await logIn(page);
    const chart = page.locator('figure.chart').first();
    assert.ok((await pixels(page)).length >= 3, 'bars in the colours of several verdicts');
    await page.getByText('Figures as a table').first().click();
    const rows = page.locator('table.reviews tbody tr');
    assert.equal(await rows.count(), 30);
    const approved = (await rows.locator('td[data-name="Approved"]').allInnerTexts()).reduce((sum, text) => sum + Number(text), 0);
    assert.match(await chart.locator('.legend').innerText(), new RegExp(`In all[^]*Approved\\s*${approved}`));
    const plot = await chart.locator('.u-over').boundingBox();
    await page.mouse.move(plot.x + plot.width / 60, plot.y + 20);
    const oldest = rows.last();
    const shown = await oldest.locator('td').allInnerTexts();
    const legend = await chart.locator('output').allInnerTexts();
    assert.deepEqual(legend, shown.slice(1, 6), 'the first bar is the oldest day');
    await close();
  });

  test('follow the colours of the light and of the dark, and the width of the window', async () => {
    const { page, close } = await open();
    await logIn(page);
    const light = await pixels(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction((before) => {
      const canvas = document.querySelector('figure.chart canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255 && data[at] + data[at + 1] + data[at + 2] > 0 && !before.includes(`${data[at]},${data[at + 1]},${data[at + 2]}`)) return true;
      }
      return false;
    }, light);
    await page.setViewportSize({ width: 700, height: 900 });
    await page.waitForFunction(() => document.querySelector('figure.chart .uplot').clientWidth < 700);
    await close([/willReadFrequently/]);
  });

  test('are not needed: without scripts the tables are there', async () => {
    const { page, close } = await open({ javaScriptEnabled: false });
    await page.goto(`${filled.url}/login`);
    await page.getByLabel('Access token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${filled.url}/`);
    assert.equal(await page.locator('figure.chart').isVisible(), false);
    await page.getByText('Figures as a table').first().click();
    await page.locator('table.reviews').waitFor();
    await close();
  });
});

describe('hostile names', () => {
  test('are text on every page, and nothing of them runs', async () => {
    const hostile = `<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>`;
    const name = hostile.slice(0, 60);
    const model = 'a/<img/src=x/onerror=globalThis.pwned=1>';
    const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: TOKEN } });
    const { page, close } = await open();
    allowed.add(worker.url);
    try {
      const run = uuid7();
      const more = { run, project: hostile };
      await send(worker.url, 'i', [
        event(started({ client_version: name, reviewers: [name] }), more),
        event(session({ reviewer: name, models_tried: [model], usage: [{ model, tokens: events.tokens(), cost_usd: 1, calls: 1 }] }), more),
        event(finding({ reviewer: name, category: hostile, path: hostile, reason_code: hostile }), more),
        event(finding({ reviewer: name, category: hostile, path: hostile, fate: 'dropped', reason_code: hostile }), more),
        event(outcome({ reviewer: name, category: hostile, path: hostile }), more),
        event(circuit({ model }), more),
        event(failback({ reviewer: name, from: model, to: 'b/<script>pwned=1</script>' }), more),
        event(breakGlass(), more),
        event(metrics(), more),
        event(completed(), more),
      ]);
      await logIn(page, worker);
      for (const path of [...Object.keys(PAGES), `/runs/${run}`, `/?project=${encodeURIComponent(hostile)}`, `/runs?q=${encodeURIComponent(hostile)}`]) {
        await page.goto(worker.url + path, { waitUntil: 'networkidle' });
        assert.match(await page.content(), /&lt;img|value="<img/, `${path}: it is there`);
        assert.equal(await page.locator('img, script:not([src])').count(), 0, path);
        assert.equal(await page.evaluate(() => globalThis.pwned), undefined, path);
        await noHorizontalScroll(page);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      for (const path of [...Object.keys(PAGES), `/runs/${run}`]) {
        await page.goto(worker.url + path);
        await noHorizontalScroll(page);
      }
      await picture(page, 'hostile');
    } finally {
      await close();
      await worker.dispose();
    }
  });
});

describe('dead letters', () => {
  test('are shown with their fault, and replayed or discarded by a button', async () => {
    // Refused batches are given up within milliseconds, where they have half a minute otherwise.
    const worker = await start('review-tracker', { vars: { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: TOKEN, OUTBOX_RETRY_MS: '5' } });
    const { page, close } = await open();
    allowed.add(worker.url);
    try {
      const database = await worker.mf.getD1Database('DB');
      await database
        .prepare("CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.project = 'bad/project' BEGIN SELECT RAISE(ABORT, 'refused <b>by</b> a test'); END")
        .run();
      const post = (project) =>
        fetch(`${worker.url}/v1/events`, {
          method: 'POST',
          headers: { authorization: 'Bearer i', 'content-type': 'application/json' },
          body: JSON.stringify({ events: [event(completed(), { project })] }),
        });
      for (const dead of [1, 2]) {
        assert.equal((await post('bad/project')).status, 202);
        await settled(worker.url, { until: (status) => status.dead === dead && status.batches === 0 });
      }
      await logIn(page, worker);
      await page.goto(`${worker.url}/health`);
      const rows = page.locator('table.letters tbody tr');
      assert.equal(await rows.count(), 2);
      assert.match(await rows.first().innerText(), /refused <b>by<\/b> a test/);
      assert.deepEqual(await faultsOf(page), []);
      await picture(page, 'dead-letters');
      await rows.first().getByRole('button', { name: 'Discard' }).click();
      await page.waitForFunction(() => document.querySelectorAll('table.letters tbody tr').length === 1);
      await database.prepare('DROP TRIGGER poison').run();
      await page.getByRole('button', { name: 'Replay' }).click();
      await settled(worker.url, { until: ({ dead, batches }) => dead === 0 && batches === 0 });
      const { n } = await database.prepare("SELECT count(*) AS n FROM events WHERE project = 'bad/project'").first();
      assert.equal(n, 1, 'one was replayed, the other is gone');
    } finally {
      await close();
      await worker.dispose();
    }
  });
});

describe('looks', () => {
  for (const colorScheme of ['light', 'dark']) {
    test(`${colorScheme}: axe-core finds nothing, and every text can be read`, async () => {
      const { page, close } = await open({ colorScheme });
      await page.goto(`${filled.url}/login`);
      assert.deepEqual(await faultsOf(page), []);
      await logIn(page);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const sum = ground.match(/\d+/g).map(Number).reduce((one, other) => one + other);
      assert.ok(colorScheme === 'dark' ? sum < 150 : sum > 600, ground);
      for (const [path, title] of [...Object.entries(PAGES), [full, 'payments/ledger !4711']]) {
        await page.goto(filled.url + path, { waitUntil: 'networkidle' });
        assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), title);
        assert.deepEqual(await faultsOf(page), []);
        assert.deepEqual(await page.evaluate(findWeakText), [], path);
        await picture(page, `${title.split('/')[0].toLowerCase()}-${colorScheme}`);
        // Opened up as well.
        await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
        assert.deepEqual(await faultsOf(page), []);
      }
      await close();
    });
  }

  for (const width of [320, 390, 768]) {
    test(`a window of ${width} pixels needs no horizontal scrolling`, async () => {
      const { page, close } = await open({ viewport: { width, height: 800 }, isMobile: width < 500, hasTouch: width < 500 });
      await page.goto(`${filled.url}/login`);
      await noHorizontalScroll(page);
      await logIn(page);
      for (const path of [...Object.keys(PAGES), full]) {
        await page.goto(filled.url + path, { waitUntil: 'networkidle' });
        await noHorizontalScroll(page);
        await picture(page, `${path === full ? 'review' : PAGES[path].toLowerCase()}-${width}`);
        if (width === 390) {
          assert.deepEqual(await faultsOf(page), []);
        }
      }
      await logIn(page, empty);
      await noHorizontalScroll(page);
      await close();
    });
  }

  test('the first view is small and needs at most four files', async (context) => {
    const { page, close } = await open();
    await logIn(page);
    const cookies = await page.context().cookies();
    for (const path of Object.keys(PAGES)) {
      // A first visit has nothing cached.
      const fresh = await open();
      await fresh.page.context().addCookies(cookies);
      const bodies = [];
      const urls = new Set();
      fresh.page.on('response', (response) => {
        urls.add(new URL(response.url()).pathname);
        bodies.push(response.body());
      });
      await fresh.page.goto(filled.url + path, { waitUntil: 'networkidle' });
      const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
      assert.ok(urls.size <= 4, [...urls].join(' '));
      assert.ok(bytes > 50_000 && bytes < 200 * 1024, `${path}: ${bytes} bytes`);
      const ready = await fresh.page.evaluate(() => Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd));
      // Reported, not judged: the machine may be busy.
      context.diagnostic(`${path}: ${bytes} bytes, drawn after ${ready} ms`);
      await fresh.close();
    }
    await close();
  });
});
