// Problem documents (RFC 9457) as both Workers answer them.

import assert from 'node:assert/strict';

/** Asserts that a response is a problem of this status and kind, and returns it. */
export async function assertProblem(response, status, kind) {
  assert.equal(response.status, status);
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  const text = await response.text();
  const problem = JSON.parse(text);
  assert.equal(problem.status, status);
  assert.equal(problem.type, `/problems/${kind}`);
  assert.ok(problem.title && problem.detail, text);
  assert.doesNotMatch(text, /\.rs\b|panicked|\bat \w+ \(|wasm/, 'internals must not be in an answer');
  return problem;
}
