// The image: no daemon can build it here, so its file tree is assembled from the list that the Dockerfile uses, and what is in it
// runs as the image's user.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { serve } from '../support/serve.mjs';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const conclave = join(root, 'target/debug/conclave');
const demoProvider = join(root, 'target/debug/conclave-demo-provider');
const opencode = process.env.CONCLAVE_OPENCODE ?? join(root, 'node_modules/opencode-linux-x64/bin/opencode');
const USER = 10001;
const asRoot = process.getuid() === 0;

/** Runs something, and gives its exit code with what it said. */
async function result(program, arguments_, options = {}) {
  try {
    return { code: 0, ...(await run(program, arguments_, options)) };
  } catch (error) {
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

describe('scripts/lint-image', () => {
  const script = join(root, 'scripts/lint-image');
  let directory;
  before(() => { directory = mkdtempSync(join(tmpdir(), 'conclave-lint-')); });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('passes on deploy/Dockerfile', async () => {
    const { code, stderr } = await result(script, []);
    assert.equal(code, 0, stderr);
  });

  test('fails on each fault that it knows', async () => {
    const good = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
    for (const [change, said] of [
      [(text) => text.replace('USER 10001:10001\n', ''), /runs as `root`/],
      [(text) => text.replace('USER 10001:10001', 'USER conclave'), /runs as `conclave`/],
      [(text) => text.replaceAll('FROM debian:trixie-slim', 'FROM debian:latest'), /has no version/],
      [(text) => text.replace(/FROM debian:trixie-slim(?![^]*FROM )/, 'FROM debian:bookworm-slim'), /the git of debian:bookworm-slim is 2\.39, and a review needs 2\.41/],
      [(text) => text.replace(/FROM debian:trixie-slim(?![^]*FROM )/, 'FROM ubuntu:24.04'), /the git of ubuntu:24\.04 is not known, and a review needs 2\.41/],
      [(text) => text.replace('FROM rust:1.', 'FROM rust:0.'), /Rust is not that of/],
      [(text) => text.replace('git ripgrep', 'git cargo ripgrep'), /last stage builds something/],
      [(text) => text.replace('ENV HOME', 'ENV GITLAB_TOKEN=x\nENV HOME'), /secret in ARG or ENV/],
      [(text) => text.replace('WORKDIR /home/conclave', 'WORKDIR home/conclave'), /hadolint has found something/],
      [() => 'FROM debian:trixie-slim\nUSER 1\n', /one stage only/],
    ]) {
      const file = join(directory, 'Dockerfile');
      writeFileSync(file, change(good));
      const { code, stderr } = await result(script, [file]);
      assert.equal(code, 1, `${said}: ${stderr}`);
      assert.match(stderr, said);
    }
  });
});

describe('the image', () => {
  let directory, image, environment;
  const within = (path) => join(image, path);
  /** A program of the image as its user, with the variables that the Dockerfile sets. */
  const inside = (arguments_, options = {}) => result(within('/usr/local/bin/conclave'), arguments_, {
    ...(asRoot ? { uid: USER, gid: USER } : {}),
    timeout: 120_000,
    cwd: options.cwd ?? within('/home/conclave'),
    env: { ...environment, ...options.env },
  });

  before(async () => {
    assert.ok(existsSync(conclave) && existsSync(demoProvider), 'build first: cargo build -p conclave -p conclave-scripted-provider');
    directory = mkdtempSync(join(tmpdir(), 'conclave-image-'));
    chmodSync(directory, 0o755);
    image = join(directory, 'root');
    await run(join(root, 'deploy/assemble'), [image, '--conclave', conclave, '--opencode', opencode]);
    const set = [...readFileSync(join(root, 'deploy/Dockerfile'), 'utf8').split(/^FROM /m).at(-1).matchAll(/\b([A-Z_]+)=(\/\S+)/g)];
    // As in the image, but below the tree: the root cannot be changed here without a container.
    environment = Object.fromEntries(set.map(([, name, value]) => [name, within(value)]));
    environment.PATH = `${within('/usr/local/bin')}:/usr/local/bin:/usr/bin:/bin`;
    environment.TMPDIR = join(directory, 'tmp');
    await run('mkdir', ['-m', '1777', environment.TMPDIR]);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('has the files of the list, with their rights, and no others', async () => {
    const lines = readFileSync(join(root, 'deploy/image-files'), 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
    const listed = lines.map((line) => line.split(/\s+/));
    for (const [kind, mode, owner, , destination] of listed) {
      const found = statSync(within(destination));
      assert.equal(kind === 'directory', found.isDirectory(), destination);
      assert.equal(found.mode & 0o7777, parseInt(mode, 8), destination);
      if (asRoot) assert.equal(`${found.uid}:${found.gid}`, owner, destination);
    }
    const files = readdirSync(image, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
    const names = files.map((entry) => join(entry.parentPath, entry.name).slice(image.length)).toSorted();
    assert.deepEqual(names, listed.filter(([kind]) => kind === 'file').map((row) => row[4]).toSorted());
    assert.deepEqual(Object.keys(environment).toSorted(), ['CONCLAVE_OPENCODE', 'HOME', 'PATH', 'TMPDIR']);
  });

  test('has the same files when its program comes from a release, which has to be whole', async () => {
    const release = join(directory, 'release');
    const machine = process.arch === 'x64' ? 'x86_64' : 'aarch64';
    const name = `conclave-1.2.3-${machine}-unknown-linux-musl`;
    await run('mkdir', ['-p', join(release, name)]);
    writeFileSync(join(release, name, 'conclave'), 'packed', { mode: 0o755 });
    await run('tar', ['-czf', `${name}.tar.gz`, name], { cwd: release });
    await run('sh', ['-c', 'sha256sum *.tar.gz >SHA256SUMS'], { cwd: release });
    const assembled = (tree) => result(join(root, 'deploy/assemble'), [join(directory, tree), '--release', release, '--opencode', opencode]);
    const { code, stderr } = await assembled('packed');
    assert.equal(code, 0, stderr);
    assert.equal(readFileSync(join(directory, 'packed/usr/local/bin/conclave'), 'utf8'), 'packed');
    const names = (tree) => readdirSync(tree, { recursive: true }).filter((file) => !file.includes('runs/')).toSorted();
    assert.deepEqual(names(join(directory, 'packed')).filter((file) => !/\.local\/state|tmp/.test(file)), names(image).filter((file) => !/\.local\/state|tmp/.test(file)));

    writeFileSync(join(release, `${name}.tar.gz`), 'another');
    const changed = await assembled('changed');
    assert.equal(changed.code, 1);
    assert.match(changed.stderr, /is not as SHA256SUMS says/);
    rmSync(join(release, `${name}.tar.gz`));
    assert.match((await assembled('missing')).stderr, /has no archive for/);
    rmSync(release, { recursive: true });
    const { stderr: gone } = await assembled('missing');
    assert.equal(gone, `deploy/assemble: there is no directory ${release}. Make it: scripts/release --output ${release}\n`);
    const help = await result(join(root, 'deploy/assemble'), ['--help']);
    assert.deepEqual([help.code, help.stderr], [0, '']);
    assert.match(help.stdout, /^Usage: deploy\/assemble ROOT/);
    assert.equal(existsSync(join(directory, 'changed')) || existsSync(join(directory, 'missing')), false, 'nothing is half there');
  });

  test('tells its version', async () => {
    const { code, stdout, stderr } = await inside(['--version']);
    assert.equal(code, 0, stderr);
    const version = readFileSync(join(root, 'Cargo.toml'), 'utf8').match(/^version = "([^"]+)"/m)[1];
    assert.ok(stdout.startsWith(`conclave ${version} (`), stdout);
  });

  test('reviews as its user, and the doctor finds nothing amiss', async () => {
    const provider = await serve(demoProvider);
    try {
      const [url] = provider.line.match(/http:\S+/);
      const shop = join(directory, 'shop');
      await run(join(root, 'scripts/demo-repository'), [shop]);
      if (asRoot) await run('chown', ['-R', `${USER}:${USER}`, shop]);
      const model = { ANTHROPIC_API_KEY: 'demo', ANTHROPIC_BASE_URL: url };

      const doctor = await inside(['doctor', '--json'], { cwd: shop, env: model });
      assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
      const { checks } = JSON.parse(doctor.stdout);
      assert.ok(checks.find(({ name }) => name === 'opencode').detail.includes(within('/usr/local/bin/opencode')), doctor.stdout);
      assert.deepEqual(checks.filter(({ status }) => status === 'failure'), []);

      const review = await inside(['local', 'main..feature/order-export', '--format', 'json'], { cwd: shop, env: model });
      assert.equal(review.code, 0, review.stderr);
      assert.equal(JSON.parse(review.stdout).verdict, 'significant_concerns');
      const records = readdirSync(within('/home/conclave/.local/state/conclave/runs'));
      assert.equal(records.length, 1, 'the records are where the image has a place for them');
    } finally {
      provider.stop();
    }
  });
});
