// The dashboard in a real Chromium: what people do with it, by mouse, by keyboard and on a phone.
//
// CHROMIUM names another browser than /usr/bin/chromium; SCREENSHOTS names a directory that pictures are put into.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { findWeakText } from '../support/contrast.mjs';
import { month, send } from '../support/events.mjs';
import { start } from '../support/workerd.mjs';

const TOKEN = 'dashboard-token';
const RUNS = 120;

let browser;
let filled;
let empty;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  const vars = { INGEST_TOKENS: 'i', DASHBOARD_TOKENS: TOKEN };
  [filled, empty] = await Promise.all([start('review-tracker', { vars }), start('review-tracker', { vars })]);
  await send(filled.url, 'i', month({ count: RUNS }));
});
after(async () => {
  await browser?.close();
  await Promise.all([filled, empty].map((worker) => worker?.dispose()));
});

/** A page of its own, which fails the test on an error in the console or a request to anywhere else. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    if (![filled.url, empty.url].includes(origin)) {
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
  await page.waitForURL(`${worker.url}/`);
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) {
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
  }
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
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await picture(page, 'login-refused');
    await page.getByLabel('Access token').fill(TOKEN);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${filled.url}/`);
    await page.getByRole('heading', { name: 'Latest reviews' }).waitFor();
    await close([/401/]);
  });

  test('by a link, which leaves no token in the address or the history', async () => {
    const { page, close } = await open();
    await page.goto(`${filled.url}/login#token=${TOKEN}`);
    await page.waitForURL(`${filled.url}/`);
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [
      ['conclave_session', true, 'Strict'],
    ]);
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.goBack();
    assert.ok(!page.url().includes(TOKEN), page.url());
    await close();
  });

  test('by a link that is opened while the form is shown', async () => {
    const { page, close } = await open();
    await page.goto(`${filled.url}/login`);
    await page.evaluate((token) => (location.hash = `token=${token}`), TOKEN);
    await page.waitForURL(`${filled.url}/`);
    await close();
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
    await picture(page, 'overview-light');
    const rows = page.locator('table.runs tbody tr');
    assert.equal(await rows.count(), 50);
    const row = page.locator('table.runs tbody tr.ended').first();
    const name = await row.locator('.path').innerText();
    const { x, y, width, height } = await row.locator('.money').boundingBox();
    await page.mouse.click(x + width / 2, y + height / 2);
    await page.waitForURL(/\/runs\//);
    assert.ok((await page.getByRole('heading', { level: 1 }).innerText()).startsWith(name));
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await page.getByRole('heading', { name: 'Findings' }).waitFor();
    assert.ok((await page.locator('table.sessions tbody tr').count()) >= 2);
    await picture(page, 'review-light');
    await close();
  });

  test('can be reached and opened with the keyboard alone, and the focus is seen', async () => {
    const { page, close } = await open();
    await logIn(page);
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

  test('can be filtered by project, tier and period, and paged', async () => {
    const { page, close } = await open();
    await logIn(page);
    await page.getByLabel('Project').selectOption('payments/ledger');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/project=payments%2Fledger/);
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'payments/ledger');
    await page.getByRole('link', { name: 'Lite', exact: true }).click();
    await page.waitForURL(/tier=lite/);
    assert.match(page.url(), /project=payments%2Fledger/, 'filters add up');
    const rows = page.locator('table.runs tbody tr');
    assert.deepEqual(new Set(await rows.locator('.path').allInnerTexts()), new Set(['payments/ledger']));
    assert.deepEqual(new Set(await rows.locator('.chip').allInnerTexts()), new Set(['lite']));

    await page.goto(filled.url);
    await page.getByRole('link', { name: 'Older reviews' }).click();
    await page.waitForURL(/after=/);
    await page.getByRole('link', { name: 'Newest reviews' }).click();
    await page.waitForURL(`${filled.url}/`);
    await page.goto(`${filled.url}/?project=nobody`);
    await page.getByText('No review fits these filters').waitFor();
    await picture(page, 'nothing-fits');
    await close();
  });

  test('an empty tracker teaches', async () => {
    const { page, close } = await open();
    await logIn(page, empty);
    await page.getByRole('heading', { name: 'No review has reported here yet' }).waitFor();
    await picture(page, 'empty');
    await close();
  });
});

describe('looks', () => {
  test('dark mode is dark', async () => {
    const { page, close } = await open({ colorScheme: 'dark' });
    await logIn(page);
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [red, green, blue] = ground.match(/\d+/g).map(Number);
    assert.ok(red + green + blue < 150, ground);
    await picture(page, 'overview-dark');
    await page.locator('table.runs tbody a').nth(3).click();
    await picture(page, 'review-dark');
    await close();
  });

  test('text has enough contrast in both modes', async () => {
    for (const colorScheme of ['light', 'dark']) {
      const { page, close } = await open({ colorScheme });
      await logIn(page);
      const weak = await page.evaluate(findWeakText);
      assert.deepEqual(weak, [], colorScheme);
      await page.locator('table.runs tbody tr.ended a').first().click();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      assert.deepEqual(await page.evaluate(findWeakText), [], colorScheme);
      await close();
    }
  });

  for (const width of [320, 390, 768]) {
    test(`a window of ${width} pixels needs no horizontal scrolling`, async () => {
      const { page, close } = await open({ viewport: { width, height: 800 }, isMobile: width < 500, hasTouch: width < 500 });
      await page.goto(`${filled.url}/login`);
      await noHorizontalScroll(page);
      await logIn(page);
      await noHorizontalScroll(page);
      await picture(page, `overview-${width}`);
      await page.locator('table.runs tbody tr.ended a').first().click();
      await page.waitForURL(/\/runs\//);
      await noHorizontalScroll(page);
      await picture(page, `review-${width}`);
      await logIn(page, empty);
      await noHorizontalScroll(page);
      await close();
    });
  }

  test('the first view is small and needs at most three files', async () => {
    const { page, close } = await open();
    await logIn(page);
    let bytes = 0;
    const urls = new Set();
    page.on('response', async (response) => {
      urls.add(new URL(response.url()).pathname);
      bytes += (await response.body().catch(() => '')).length;
    });
    await page.reload({ waitUntil: 'networkidle' });
    assert.ok(urls.size <= 3, [...urls].join(' '));
    assert.ok(bytes < 200 * 1024, `${bytes} bytes`);
    await close();
  });
});
