// The commands in the documents: every call of conclave is one that it understands, and those that cost nothing and change nothing run.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const conclave = join(root, 'target/debug/conclave');
const documents = ['README.md', ...globSync('docs/*.md', { cwd: root })].toSorted();

/** The blocks of shell of a document, each without the lines that are not to be read. */
function blocks(name) {
  const text = readFileSync(join(root, name), 'utf8');
  return [...text.matchAll(/(<!-- not run: [^>]+-->\s*)?```sh\n(.*?)```/gs)].map(([, skipped, lines]) => ({
    skipped: Boolean(skipped),
    lines: lines.split('\n').map((line) => line.trim()).filter((line) => line && !line.startsWith('#')),
  }));
}

/** The calls that run: they ask no model, write nothing outside the scratch repository, and need no other service. */
const RUNS = /^(export |mkdir -p [\w-]+$|cp [\w/.-]+ [\w/.-]+$|conclave (plan\b|completions\b|man\b|doctor\b|init\b.*--dry-run|--version))/;

describe('commands in the documents', () => {
  let directory, repository;
  const environment = () => ({
    PATH: `${dirname(conclave)}:${process.env.PATH}`,
    HOME: directory,
    CONCLAVE_OPENCODE: process.env.CONCLAVE_OPENCODE ?? join(root, 'node_modules/opencode-linux-x64/bin/opencode'),
  });

  before(async () => {
    assert.ok(existsSync(conclave), 'build first: cargo build -p conclave');
    directory = mkdtempSync(join(tmpdir(), 'conclave-docs-'));
    repository = join(directory, 'shop');
    await run(join(root, 'scripts/demo-repository'), [repository]);
    // Documents speak of the prompts as in a clone of Conclave, and of a branch `my-branch`.
    symlinkSync(join(root, 'prompts'), join(repository, 'prompts'));
    for (const branch of ['my-branch', 'develop']) await run('git', ['-C', repository, 'branch', branch, 'feature/order-export']);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('are there', () => {
    const all = documents.flatMap((name) => blocks(name)).flatMap(({ lines }) => lines);
    assert.ok(all.filter((line) => line.startsWith('conclave ')).length > 10);
    assert.ok(all.filter((line) => RUNS.test(line) && line.startsWith('conclave')).length >= 4, all.join('\n'));
  });

  for (const name of documents) {
    test(`${name}: every call is understood`, async () => {
      const calls = blocks(name).flatMap(({ lines }) => lines).filter((line) => /^conclave( |$)/.test(line));
      for (const call of calls) {
        // Arguments are read up to --help, so a flag that is not there is an error before it.
        const { code, stderr } = await run('bash', ['-c', `${call.replace(/\s#.*$/, '').replace(/[|>].*$/, '')} --help`], { cwd: repository, env: environment() })
          .then(() => ({ code: 0 }), (error) => error);
        assert.equal(code, 0, `${call}\n${stderr}`);
      }
    });

    test(`${name}: scripts and their flags are there`, async () => {
      for (const line of blocks(name).flatMap(({ lines }) => lines)) {
        const [, script, rest] = line.match(/^(?:\w+=\S+ )*\.\/(scripts\/[\w-]+)(.*)$/) ?? [];
        if (!script) continue;
        assert.ok(existsSync(join(root, script)), line);
        const text = readFileSync(join(root, script), 'utf8');
        for (const [flag] of rest.replace(/#.*$/, '').matchAll(/--[\w-]+/g)) assert.ok(text.includes(flag), `${script} knows no ${flag}`);
      }
    });

    const runnable = blocks(name).filter(({ skipped, lines }) => !skipped && lines.some((line) => RUNS.test(line) && line.startsWith('conclave')));
    if (runnable.length > 0) {
      test(`${name}: what costs nothing runs`, async () => {
        for (const { lines } of runnable) {
          // The doctor ends with 1 where something is missing, as a key is here.
          const script = lines.filter((line) => RUNS.test(line)).map((line) => line.replaceAll('=...', '=x').replace(/^(conclave doctor[^#]*)/, '{ $1; } || test $? = 1 '));
          const { code, stdout, stderr } = await run('bash', ['-euc', script.join('\n')], { cwd: repository, env: environment(), timeout: 60_000 })
            .then((good) => ({ code: 0, ...good }), (error) => error);
          assert.equal(code, 0, `${script.join('\n')}\n${stdout}${stderr}`);
        }
      });
    }
  }
});
