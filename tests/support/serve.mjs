// Programs that serve a test, and say where in their first line.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Limit of the wait for the first line, on a machine that does a lot else. */
const READY_MS = 60_000;

/**
 * Starts a program; gives its first line, and how to end it. It has a pipe of its own for its errors: who waits for the end of a
 * test's output does not wait for a program that the test, cut off, has left behind.
 */
export async function serve(program, rest = []) {
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stderr.pipe(process.stderr, { end: false });
  const stop = () => child.kill();
  const ended = once(child, 'exit').then(([code, signal]) => Promise.reject(new Error(`it ended with ${code ?? signal}`)));
  try {
    const said = once(createInterface({ input: child.stdout }), 'line', { signal: AbortSignal.timeout(READY_MS) });
    const [line] = await Promise.race([said, ended]);
    return { line, stop };
  } catch (error) {
    stop();
    throw new Error(`${program} does not say where it listens`, { cause: error });
  }
}
