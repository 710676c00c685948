// Hostile requests to every route of both Workers: a part of what `scripts/bench tracker abuse` sends, from a fixed seed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abuse } from '../support/abuse.mjs';

test('hostile requests to every route break nothing and leave little behind', { timeout: 120_000 }, async () => {
  const result = await abuse({ requests: Number(process.env.ABUSE_REQUESTS ?? 1200), seed: Number(process.env.SEED ?? 20261122) });
  assert.deepEqual(Object.entries(result.bars).filter(([, holds]) => !holds), [], JSON.stringify(result, null, 2));
  assert.ok(result.statuses[202] + result.statuses[207] > 0, 'some of it was taken');
});
