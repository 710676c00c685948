// Time, on a machine that does other work beside the tests, and by the wall clock that all of them share.

import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for the next window of a limit that counts by the wall clock, unless this one still has `need` milliseconds: requests of a
 * test on both sides of its end would be counted apart. Miniflare's rate limits have such windows.
 */
export async function early(windowMs, need) {
  const left = windowMs - (Date.now() % windowMs);
  if (left < need) await sleep(left + 50);
}

/** Number of processes that share a processor: where others are busy, everything takes longer. */
export const crowd = () => Math.max(1, loadavg()[0] / availableParallelism());
