// Programs that serve a test: their first line, and an error where there is none to wait for.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serve } from '../support/serve.mjs';

const script = (text) => serve(process.execPath, ['--eval', text]);

test('a program that serves is known by its first line, and ends when the test wants it', async () => {
  const { line, stop } = await script('console.log("at http://127.0.0.1:1\\nand more"); setInterval(() => {}, 1000);');
  assert.equal(line, 'at http://127.0.0.1:1');
  assert.equal(stop(), true, 'it was still there');
});

test('one that ends without a word, or is not there, is an error and no wait without end', async () => {
  const why = async (starting) => (await starting.then(() => assert.fail('it says nothing'), (error) => error)).cause.message;
  assert.equal(await why(script('process.exit(3)')), 'it ended with 3');
  assert.equal(await why(script('process.kill(process.pid, "SIGKILL")')), 'it ended with SIGKILL');
  assert.match(await why(serve('/nowhere/program')), /ENOENT/);
});
