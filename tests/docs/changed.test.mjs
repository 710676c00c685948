// `scripts/test --changed`: which tests a change needs.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { needed, ruleOf } from '../../scripts/lib/changed.mjs';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

test('every file of the repository has a rule', async () => {
  const { stdout } = await run('git', ['-C', root, 'ls-files'], { maxBuffer: 1 << 24 });
  assert.deepEqual(stdout.trim().split('\n').filter((path) => !ruleOf(path)), []);
});

test('a change needs the tests that it can break', () => {
  const of = (...paths) => needed(root, paths);
  assert.deepEqual(of(), { stages: [], filter: '' });
  assert.deepEqual(of('docs/limits.md', 'README.md'), { stages: ['docs'], filter: '' });
  assert.deepEqual(of('cli/gateway/src/lib.rs'), { stages: ['lint', 'rust', 'examples', 'docs', 'demo'], filter: 'rdeps(conclave-gateway)' });
  assert.deepEqual(of('cli/plugins/gitlab/src/lib.rs', 'tests/e2e/hook.rs').filter, '(package(conclave) & binary(e2e)) + (rdeps(conclave-plugin-gitlab))');
  // The Workers run in the end-to-end tests, too, which no dependency says.
  const { stages, filter } = of('workers/review-tracker/src/quota.rs');
  assert.ok(filter.includes('rdeps(review-tracker)') && filter.includes('binary(e2e)'), filter);
  assert.deepEqual(stages, ['lint', 'workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo']);
  assert.deepEqual(of('tests/browser/note.test.mjs').stages, ['workers', 'browser']);
  assert.equal(of('shared/src/lib.rs', 'Cargo.lock').filter, 'all()');
  assert.equal(of('a-new/kind-of.file').filter, 'all()', 'what no rule knows needs everything');
  assert.equal(of('a-new/kind-of.file').stages.length, 9);
});

test('scripts/test --changed --list sees commits, uncommitted and new files since the base', async () => {
  const clone = mkdtempSync(join(tmpdir(), 'conclave-changed-'));
  try {
    const git = (...rest) => run('git', ['-C', clone, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...rest]);
    await run('git', ['clone', '--quiet', '--shared', root, clone]);
    // As the scripts are now, committed or not.
    await run('cp', ['-r', join(root, 'scripts'), clone]);
    await git('add', '--all');
    await git('commit', '--quiet', '--allow-empty', '--message=Base');
    const listed = async () => (await run(join(clone, 'scripts/test'), ['--changed=base', '--list'])).stdout;
    await git('tag', 'base');
    assert.match(await listed(), /^nothing has changed since base/m);
    writeFileSync(join(clone, 'docs/new.md'), '# New\n');
    assert.match(await listed(), /^stages: format architecture english scripts docs$/m);
    writeFileSync(join(clone, 'cli/git/src/new.rs'), '');
    await git('add', '--all');
    await git('commit', '--quiet', '--message=New');
    assert.match(await listed(), /^rust: rdeps\(conclave-git\)$/m);
    await assert.rejects(run(join(clone, 'scripts/test'), ['--changed=nonsense', '--list']), /git knows no commit `nonsense`/);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});
