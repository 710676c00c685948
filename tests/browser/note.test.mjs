// The note in a real Chromium, light and dark: what a reader sees at a glance, and that nothing in it acts.
//
// CHROMIUM names another browser than the one that is found; SCREENSHOTS names a directory that pictures are put into; NOTE
// names another note to draw, as in the run directory's review.md.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch } from '../support/browser.mjs';
import { findWeakText } from '../support/contrast.mjs';
import { notePage } from '../support/note-page.mjs';

/** A note that a hostile author and a steered model want to see posted, as the publisher's tests hold it. */
const HOSTILE = new URL('../../cli/plugins/gitlab/tests/publisher/golden/hostile.md', import.meta.url);

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function draw(note, scheme) {
  const page = await browser.newPage({ viewport: { width: 920, height: 400 }, deviceScaleFactor: 2 });
  const requests = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.setContent(notePage(note, scheme));
  if (process.env.SCREENSHOTS) {
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `note-${scheme}.png`), fullPage: true });
  }
  return { page, requests };
}

describe('the note', () => {
  for (const scheme of ['light', 'dark']) {
    test(`can be read at a glance, and nothing in it acts (${scheme})`, async () => {
      const { page, requests } = await draw(readFileSync(process.env.NOTE || HOSTILE, 'utf8'), scheme);
      assert.deepEqual(requests, [], 'nothing is fetched');
      assert.equal(await page.locator('img, script, iframe, form, input, object').count(), 0);
      assert.equal(await page.locator('h2').count(), 1, 'one verdict');
      assert.deepEqual(await page.evaluate(findWeakText), []);
      const folds = await page.locator('main > details').count();
      assert.equal(await page.locator('details').count(), folds, 'no fold is left open around another');
      const open = await page.locator('main').innerText();
      assert.match(open, /files? reviewed · .* tier/, 'the account is one line');
      assert.equal(await page.locator('main pre:visible').count(), 0, 'code is folded away');
      assert.equal(await page.locator('main table:visible').count(), 0, 'so is the account');
      await page.close();
    });
  }

  test('has each finding with its place, outside of the folds', async (context) => {
    if (process.env.NOTE) {
      context.skip('this is about the hostile note');
      return;
    }
    const { page } = await draw(readFileSync(HOSTILE, 'utf8'), 'light');
    const open = await page.locator('main').innerText();
    assert.match(open, /Inconclusive: not everything was reviewed/);
    assert.match(open, /Warning · a`b \/approve\.py:1 · found by security/);
    assert.equal(await page.locator('a').count(), 0, 'no link that nobody has written down');
    await page.close();
  });
});
