// A real Prometheus, of the Debian package that scripts/setup unpacks, scraping one target.
//
// A missing program is an error, never a skipped test.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = () => join(process.env.CONCLAVE_TOOLS ?? join(process.env.HOME, '.cache/conclave/tools'), 'prometheus/bin');

/** The path of `prometheus` or `promtool`. */
export function program(name) {
  const search = `${directory()}:${process.env.PATH}`;
  try {
    return execFileSync('/bin/sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8', env: { ...process.env, PATH: search } }).trim();
  } catch {
    throw new Error(`${name} is missing: run scripts/setup --for test`);
  }
}

/** Runs promtool; its output and exit code. `input` goes to its standard input. */
export function promtool(args, { input = '', cwd } = {}) {
  try {
    const output = execFileSync(program('promtool'), args, { input, cwd, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
    return { code: 0, output };
  } catch (error) {
    return { code: error.status, output: `${error.stdout}${error.stderr}` };
  }
}

/** Polls until `probe` gives something that is not undefined; an error names `what` if it never does. */
export async function eventually(what, probe, limit = 120_000) {
  const end = Date.now() + limit;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    assert.ok(Date.now() < end, `${what}: not within ${limit / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts Prometheus, which scrapes `url`/metrics every second. */
export async function startPrometheus(url, token) {
  const home = mkdtempSync(join(tmpdir(), 'conclave-prometheus-'));
  writeFileSync(join(home, 'token'), token);
  writeFileSync(
    join(home, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '1s' },
      scrape_configs: [
        {
          job_name: 'conclave',
          authorization: { credentials_file: join(home, 'token') },
          static_configs: [{ targets: [new URL(url).host] }],
        },
      ],
    }),
  );
  const child = spawn(
    program('prometheus'),
    [
      `--config.file=${home}/prometheus.yml`,
      `--storage.tsdb.path=${home}/data`,
      // A port that is free now could be taken a moment later: Prometheus picks one, and logs which.
      '--web.listen-address=127.0.0.1:0',
      '--log.level=info',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (text) => (log += text));
  let ended;
  child.on('exit', (code) => (ended = code));
  const port = await eventually('Prometheus listens', () => {
    assert.equal(ended, undefined, log);
    return log.match(/msg="Listening on" address=127\.0\.0\.1:(\d+)/)?.[1];
  });
  const api = async (path, parameters = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, data, error } = await response.json();
    assert.equal(status, 'success', `${JSON.stringify(parameters)}: ${error}`);
    return data;
  };
  await eventually('Prometheus is ready', async () => {
    assert.equal(ended, undefined, log);
    const response = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined);
    return response?.ok ? true : undefined;
  });
  return {
    api,
    /** The result of an instant query. */
    query: async (expression) => (await api('query', { query: expression })).result,
    stop: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
      rmSync(home, { recursive: true, force: true });
    },
  };
}
