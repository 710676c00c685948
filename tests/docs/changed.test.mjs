// `scripts/test --changed`: which tests a change needs.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { needed, readersIn, ruleOf } from '../../scripts/lib/changed.mjs';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

test('every file of the repository has a rule', async () => {
  const { stdout } = await run('git', ['-C', root, 'ls-files'], { maxBuffer: 1 << 24 });
  assert.deepEqual(stdout.trim().split('\n').filter((path) => !ruleOf(path)), []);
});

test('a change needs the tests that it can break', () => {
  const readers = readersIn(root, []);
  const of = (...paths) => needed(root, paths, readers);
  assert.deepEqual(of(), { stages: [], filter: '' });
  assert.deepEqual(of('docs/limits.md', 'README.md'), { stages: ['docs'], filter: '' });
  assert.deepEqual(of('cli/gateway/src/lib.rs'), { stages: ['rust', 'examples', 'docs', 'demo'], filter: 'rdeps(conclave-gateway)' });
  assert.deepEqual(of('cli/plugins/gitlab/src/lib.rs', 'tests/e2e/hook.rs').filter, '(package(conclave) & binary(e2e)) + (rdeps(conclave-plugin-gitlab))');
  // The Workers run in the end-to-end tests, too, which no dependency says.
  const { stages, filter } = of('workers/review-tracker/src/quota.rs');
  assert.ok(filter.includes('rdeps(review-tracker)') && filter.includes('binary(e2e)'), filter);
  assert.deepEqual(stages, ['workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo']);
  assert.deepEqual(of('tests/browser/note.test.mjs').stages, ['workers', 'browser']);
  assert.equal(of('shared/src/lib.rs', 'Cargo.lock').filter, 'all()');
  assert.equal(of('a-new/kind-of.file').filter, 'all()', 'what no rule knows needs everything');
  assert.equal(of('a-new/kind-of.file').stages.length, 8);
});

test('what a test, a crate or a script reads can break it', () => {
  const e2e = 'package(conclave) & binary(e2e)';
  const cases = [
    ['scripts/deploy', ['workerd'], [`${e2e} & test(/^installation::/)`]],
    ['docs/operating.md', ['workerd', 'docs'], [`${e2e} & test(/^installation::/)`]],
    ['docs/plan.md', ['rust', 'docs'], [`${e2e} & test(/^plan::/)`]],
    ['docs/runtimes.md', ['rust', 'docs'], [`${e2e} & test(/^runtimes::/)`]],
    ['docs/failures.md', ['rust', 'docs'], [`${e2e} & test(/^failure_table::/)`]],
    ['docs/configuration.md', ['rust', 'docs'], ['package(conclave) & not binary(e2e)']],
    ['docs/writing-a-plugin.md', ['examples', 'docs'], []],
    ['docs/schema/config-document.schema.json', ['workers', 'workerd'], ['rdeps(reviewer-config)']],
    ['templates/github/conclave.yml', ['rust', 'demo', 'docs'], ['rdeps(conclave)']],
    ['templates/github/fork-1-untrusted.yml', ['rust', 'docs'], [`${e2e} & test(/^github_review::/)`]],
    ['action.yml', ['rust', 'docs'], [`${e2e} & test(/^github_review::/)`]],
    ['deploy/prometheus/alerts.yml', ['workers', 'workerd', 'docs'], []],
    ['deploy/grafana/conclave.json', ['workers', 'workerd', 'docs'], []],
    ['scripts/demo-repository', ['rust', 'docs', 'demo'], [e2e, 'package(conclave-scripted-provider)']],
    ['tests/support/workers-server.mjs', ['rust'], [e2e]],
    // Two steps away: the server of the Workers imports it.
    ['tests/support/oidc-issuer.mjs', ['rust', 'workerd'], [e2e]],
    ['tests/support/installation.mjs', ['rust'], [`${e2e} & test(/^installation::/)`]],
    ['tests/support/seed/bulk.mjs', ['workers', 'workerd'], []],
    ['tests/support/note-page.mjs', ['workers', 'browser'], []],
    ['tests/fixtures/telemetry/new.json', ['workers', 'workerd'], ['all()']],
    ['cli/plugins/gitlab/tests/publisher/golden/hostile.md', ['rust', 'browser'], ['rdeps(conclave-plugin-gitlab)']],
    ['cli/src/assets/fullreview.md', ['rust', 'docs'], ['rdeps(conclave)']],
  ];
  const readers = readersIn(root, cases.map(([path]) => path));
  for (const [path, stages, filters] of cases) {
    const found = needed(root, [path], readers);
    assert.deepEqual(stages.filter((stage) => !found.stages.includes(stage)), [], path);
    assert.deepEqual(filters.filter((filter) => !found.filter.includes(filter)), [], `${path}: ${found.filter}`);
  }
  // And no more than that.
  assert.deepEqual(needed(root, ['docs/runtimes.md'], readers), { stages: ['rust', 'docs'], filter: `${e2e} & test(/^runtimes::/)` });
  assert.deepEqual(needed(root, ['tests/support/npm-registry.mjs'], readers), { stages: ['docs'], filter: '' });
});

test('who reads a file is found in the sources, however they name it, and not in comments', async () => {
  const place = mkdtempSync(join(tmpdir(), 'conclave-readers-'));
  try {
    const write = (path, text) => {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      writeFileSync(join(place, path), text);
    };
    await run('git', ['init', '--quiet', place]);
    write('cli/thing/Cargo.toml', '[package]\nname = "thing"\n');
    write('cli/thing/src/lib.rs', 'const A: &str = include_str!("../../../docs/a.md");\n// docs/f.md\n#[cfg(test)]\nmod tests {\n  const B: &str = include_str!("../../../docs/b.md");\n}\n');
    write('cli/thing/tests/all.rs', 'let text = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/c.md"));\n');
    write('scripts/tool', '#!/usr/bin/env bash\n# docs/f.md\ncat "$CONCLAVE_ROOT/docs/d.md"\n');
    write('tests/workers/tool.test.mjs', "await run(join(root, 'scripts/tool'));\nassert.match(text, /^docs\\/e\\.md/);\n");
    // One of them is gone.
    for (const name of 'abdef') write(`docs/${name}.md`, '');
    const of = (name) => needed(place, [`docs/${name}.md`]);
    assert.equal(of('a').filter, 'rdeps(thing)');
    for (const name of 'bc') assert.deepEqual(of(name), { stages: ['rust', 'docs'], filter: 'package(thing) & not binary(e2e)' }, name);
    for (const name of 'de') assert.deepEqual(of(name), { stages: ['workers', 'workerd', 'docs'], filter: '' }, name);
    assert.deepEqual(of('f'), { stages: ['docs'], filter: '' });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
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
