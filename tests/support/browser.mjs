// The browser of the tests: CHROMIUM, or the one that scripts/lib/env.sh has found.

import { chromium } from 'playwright-core';

/** Starts a browser that asks nothing of anybody by itself, and needs no room in /dev/shm, of which containers have little. */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM || process.env.CONCLAVE_TEST_CHROMIUM || '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
