// The administrators' page of reviewer-config in a real Chromium: logging in, reading, flipping a switch; by mouse, by
// keyboard, on a phone, in the dark.
//
// CHROMIUM names another browser than the one that is found; SCREENSHOTS names a directory that pictures are put into.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch } from '../support/browser.mjs';
import { findWeakText } from '../support/contrast.mjs';
import { painted } from '../support/painted.mjs';
import { start } from '../support/workerd.mjs';

const TOKEN = 'ada-token';
const DOCUMENT = {
  schema_version: 1,
  reviewers: {
    coordinator: { models: ['anthropic/claude-opus-4-8', 'openai/gpt-6-sol'] },
    documentation: { enabled: false },
    security: { models: ['anthropic/claude-sonnet-5', 'openai/gpt-6-sol'], timeout_seconds: 420 },
  },
  prices: { 'anthropic/claude-sonnet-5': { as_of: '2026-11-01', input: 2.5, output: 12.5 } },
  projects: [{ paths: ['platform/**', '*/ledger'], limits: { sessions: 2 }, providers: { openai: { enabled: false } } }],
};

let browser;
let worker;
before(async () => {
  browser = await launch();
  worker = await start('reviewer-config', { vars: { READER_TOKENS: 'r', ADMIN_TOKENS: `ada:${TOKEN}, grace:grace-token` } });
  const response = await api('PUT', '/v1/config/document?reason=a%20calmer%20panel', DOCUMENT, { 'if-match': '"0"' });
  assert.equal(response.status, 200);
});
after(async () => {
  await browser?.close();
  await worker?.dispose();
});

const api = (method, path, body, headers = {}) =>
  fetch(worker.url + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: body && JSON.stringify(body),
  });

const switches = async () => (await (await api('GET', '/v1/config')).json()).config.providers;

/** A page of its own, which fails the test on an error in the console or a request to anywhere else. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => new URL(request.url()).origin === worker.url || faults.push(`a request to ${request.url()}`));
  page.on('response', (response) => response.status() >= 400 && faults.push(`${response.status()} of ${response.url()}`));
  const close = async (expected = []) => {
    await context.close();
    assert.deepEqual(faults.filter((fault) => !expected.some((pattern) => pattern.test(fault))), []);
  };
  return { page, context, close };
}

async function logIn(page, token = TOKEN) {
  await page.goto(`${worker.url}/`);
  await page.getByLabel("Administrator's token").fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Reviewer configuration' }).waitFor();
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
  test('by the form: a wrong token is told so, the right one opens the page, and out again', async () => {
    const { page, context, close } = await open();
    await page.goto(worker.url);
    assert.equal(page.url(), `${worker.url}/login`);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'token', 'one can type at once');
    await picture(page, 'config-login');
    await painted(page);
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel("Administrator's token").fill(TOKEN);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${worker.url}/`);
    await page.getByText('logged in as ada').waitFor();
    const cookies = await context.cookies();
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [['conclave_admin', true, 'Strict']]);
    assert.ok(cookies[0].expires - Date.now() / 1000 <= 12 * 3600 + 1, 'a working day at most');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${worker.url}/login`);
    await page.goto(worker.url);
    assert.equal(page.url(), `${worker.url}/login`);
    await close([/401/]);
  });

  test('a reader’s token opens nothing', async () => {
    const { page, close } = await open();
    await page.goto(worker.url);
    await page.getByLabel("Administrator's token").fill('r');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await close([/401/]);
  });
});

describe('the page', () => {
  test('shows what is in force and who changed it', async () => {
    const { page, close } = await open();
    await logIn(page);
    for (const name of ['anthropic', 'openai', 'cloudflare-workers-ai']) {
      const row = page.locator('.switch', { hasText: name });
      assert.equal(await row.locator('.state').innerText(), 'On', name);
    }
    const security = page.getByRole('row', { name: /^security/ });
    assert.match(await security.innerText(), /420 s for one attempt[^]*anthropic\/claude-sonnet-5[^]*openai\/gpt-6-sol[^]*document/);
    assert.match(await page.getByRole('row', { name: /^documentation/ }).innerText(), /taken off every panel/);
    assert.match(await page.getByRole('row', { name: /platform/ }).innerText(), /\*\/ledger[^]*providers, limits/);
    assert.match(await page.getByRole('row', { name: /^anthropic\/claude-sonnet-5 / }).innerText(), /\$2\.50[^]*\$12\.50[^]*2026-11-01/);
    assert.match(await page.locator('.history tbody tr').last().innerText(), /1\s[^]*ada[^]*wrote the document[^]*a calmer panel/);
    await picture(page, 'config-light');
    await close();
  });

  test('a switch is flipped with a reason, counts at once, and is flipped back', async () => {
    const { page, close } = await open();
    await logIn(page);
    const row = () => page.locator('.switch', { hasText: 'anthropic' });
    await row().locator('summary').click();
    const button = row().getByRole('button', { name: 'Switch off' });
    await button.click();
    assert.equal(await row().locator('.state').innerText(), 'On', 'without a reason the form is not sent');
    await row().getByLabel('Why').fill('incident 7: <b>529</b> "overloaded"');
    await button.click();
    await row().locator('.state.off').waitFor();
    assert.deepEqual((await switches()).anthropic, { enabled: false, reason: 'incident 7: <b>529</b> "overloaded"' });
    assert.match(await row().locator('.reason').innerText(), /<b>529<\/b>/, 'as it was typed');
    assert.equal(await page.locator('.reason b').count(), 0);
    assert.match(await page.getByRole('row', { name: /^security/ }).innerText(), /anthropic is switched off: incident 7/);
    assert.match(await page.locator('.history tbody tr').first().innerText(), /ada[^]*switched anthropic off[^]*incident 7/);
    await picture(page, 'config-off');
    await row().getByRole('button', { name: 'Switch anthropic on' }).click();
    await row().locator('.state.on').waitFor();
    assert.equal((await switches()).anthropic.enabled, true);
    await close();
  });

  test('by keyboard alone', async () => {
    const { page, close } = await open();
    await logIn(page);
    const summary = page.locator('.switch', { hasText: 'openai' }).locator('summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'why-openai');
    await page.keyboard.type('maintenance');
    await page.keyboard.press('Enter');
    await page.locator('.switch', { hasText: 'openai' }).locator('.state.off').waitFor();
    assert.equal((await switches()).openai.reason, 'maintenance');
    await api('PUT', '/v1/providers/openai', { enabled: true });
    await close();
  });

  test('a form of another site, or of none, changes nothing', async () => {
    const { page, context, close } = await open();
    await logIn(page);
    const [{ name, value }] = await context.cookies();
    await close();
    const before = await switches();
    for (const origin of ['https://evil.example', 'null', undefined, worker.url.replace('http:', 'https:')]) {
      const response = await fetch(`${worker.url}/providers/anthropic`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: `${name}=${value}`, ...(origin ? { origin } : {}) },
        body: new URLSearchParams({ enabled: 'false', reason: 'forged' }),
      });
      assert.equal(response.status, 403, String(origin));
      await response.arrayBuffer();
    }
    // And without the cookie, which another site's form does not have.
    const bare = await fetch(`${worker.url}/providers/anthropic`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: worker.url },
      body: new URLSearchParams({ enabled: 'false', reason: 'forged' }),
    });
    assert.equal(bare.status, 303);
    assert.equal(bare.headers.get('location'), '/login');
    assert.deepEqual(await switches(), before);
  });

  test('has headers that keep it safe, and no script at all', async () => {
    const { page, close } = await open();
    const response = await page.goto(`${worker.url}/login`);
    const headers = response.headers();
    assert.match(headers['content-security-policy'], /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/);
    assert.doesNotMatch(headers['content-security-policy'], /unsafe|\*|https?:/);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    await logIn(page);
    assert.equal(await page.locator('script, [style], [onclick], iframe').count(), 0);
    await close();
  });

  test('names what is stored and cannot be used', async () => {
    const kv = await worker.mf.getKVNamespace('CONFIG');
    await kv.put('provider/broken', 'off');
    const { page, close } = await open();
    await logIn(page);
    assert.match(await page.getByRole('region', { name: 'Left out of what is stored' }).innerText(), /provider\/broken: cannot be read/);
    await kv.delete('provider/broken');
    await close();
  });
});

describe('every width and light', () => {
  for (const [name, options] of [
    ['config-dark', { colorScheme: 'dark' }],
    ['config-phone', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
    ['config-phone-dark', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, colorScheme: 'dark' }],
    ['config-tablet', { viewport: { width: 768, height: 1024 } }],
  ]) {
    test(`${name}: nothing is cut off, and every text can be read`, async () => {
      await api('PUT', '/v1/providers/openai', { enabled: false, reason: 'incident 7: errors at the provider since 07:52' });
      const { page, close } = await open(options);
      await logIn(page);
      await page.locator('.switch', { hasText: 'anthropic' }).locator('summary').click();
      await noHorizontalScroll(page);
      assert.deepEqual(await page.evaluate(findWeakText), []);
      await picture(page, name);
      await api('PUT', '/v1/providers/openai', { enabled: true });
      await close();
    });
  }
});
