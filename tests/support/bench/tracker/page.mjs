// The first view of the dashboard in Chromium: how much is sent, and how long until it is drawn, charts included, with few and
// with many runs stored; and the overview with its quantiles as `dashboard` measures it.
//
// CHROMIUM names another browser than /usr/bin/chromium.

import { chromium } from 'playwright-core';
import { measure as measureDashboard } from './dashboard.mjs';

const MOST_BYTES = 200 * 1024;
const MOST_MS = 1000;
const PAGES = ['/', '/findings', '/models', '/runs', '/health'];

let visitors = 0;

/** One view by a browser that has never been there: a context has a cache of its own. */
async function view(browser, worker, path) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const login = await context.request.post(`${worker.url}/login`, { form: { token: 'bench' }, headers: { origin: worker.url, 'cf-connecting-ip': `192.0.2.${(visitors += 1)}` }, maxRedirects: 0 });
    if (login.status() !== 303) throw new Error(`the log-in answered ${login.status()}`);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    const began = performance.now();
    await page.goto(worker.url + path, { waitUntil: 'load' });
    // Every chart has its canvas, and one frame has been drawn with it.
    await page.waitForFunction(() => [...document.querySelectorAll('figure.chart')].every((figure) => figure.querySelector('canvas')));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return { bytes, ms: performance.now() - began };
  } finally {
    await context.close();
  }
}

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

export async function measure({ few, many, repeat, program }) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  const views = {};
  let dashboard;
  try {
    dashboard = await measureDashboard({
      few,
      many,
      repeat,
      program,
      // On the data that is there anyway.
      also: async (sets) => {
        for (const [size, { worker }] of Object.entries(sets)) {
          views[size] = {};
          await view(browser, worker, '/');
          for (const path of PAGES) {
            const seen = [];
            for (let round = 0; round < 7; round += 1) seen.push(await view(browser, worker, path));
            views[size][path] = { bytes: Math.max(...seen.map(({ bytes }) => bytes)), median_ms: median(seen.map(({ ms }) => ms)) };
          }
        }
      },
    });
  } finally {
    await browser.close();
  }
  const all = Object.values(views).flatMap((pages) => Object.values(pages));
  return {
    ...dashboard,
    views,
    bars: {
      ...dashboard.bars,
      [`first view at most ${MOST_BYTES / 1024} KiB`]: all.every(({ bytes }) => bytes <= MOST_BYTES),
      [`first view at most ${MOST_MS} ms`]: all.every(({ median_ms: ms }) => ms <= MOST_MS),
    },
  };
}
