// The first review of a new user: an empty home, no Rust, packed files and a registry. And everything that can be in the way.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { arch, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { crowd } from '../support/clock.mjs';
import { startRegistry } from '../support/npm-registry.mjs';
import { serve } from '../support/serve.mjs';

const execute = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const built = (name) => join(root, 'target/debug', name);
const OPENCODE = '1.18.33';
const SHARE = '.local/share/conclave';
/** Where the installed OpenCode is, below the home. */
const PLACE = `${SHARE}/opencode/${OPENCODE}/opencode`;
const MAX_SECONDS = 60;
const TARGET = { x64: 'x86_64-unknown-linux-musl', arm64: 'aarch64-unknown-linux-musl' }[arch()];

/** Runs something, and gives its exit code with what it said. */
async function result(program, rest, options = {}) {
  try {
    return { code: 0, ...(await execute(program, rest, options)) };
  } catch ({ code, signal, stdout, stderr }) {
    return { code, signal, stdout, stderr };
  }
}

/** Every file below a directory, as paths relative to it. */
const filesBelow = (directory) => (existsSync(directory)
  ? readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted()
  : []);

describe('from packed files, in an empty home,', () => {
  let work, tarballs, registry, path;
  before(async () => {
    for (const name of ['conclave', 'conclave-demo-provider']) {
      assert.ok(existsSync(built(name)), 'build first: cargo build -p conclave -p conclave-scripted-provider');
    }
    work = realpathSync(mkdtempSync(join(tmpdir(), 'conclave-first-')));
    mkdirSync(join(work, 'files'));
    // As it is released, but for the optimization.
    await execute('strip', ['-o', join(work, 'program'), built('conclave')]);
    await execute(join(root, 'scripts/lib/make-packages'), [
      '--target', TARGET, '--version', '1.2.3', '--binary', join(work, 'program'), '--output', join(work, 'files'), '--level', '1',
    ]);
    // The same files as `npm ci` has fetched for the tests.
    const packages = [`opencode-linux-${arch()}@${OPENCODE}`, `@vscode/ripgrep-linux-${arch()}@1.18.0`];
    await execute('npm', ['pack', '--prefer-offline', '--pack-destination', work, ...packages], { cwd: work });
    tarballs = readdirSync(work).filter((name) => name.endsWith('.tgz')).map((name) => join(work, name));
    registry = await startRegistry(tarballs);
    // Git, Node and what npm needs; no OpenCode but another one's version 2, no ripgrep, no Rust.
    path = join(work, 'bin');
    mkdirSync(path);
    for (const name of ['git', 'node', 'npm', 'sh', 'env']) {
      const { stdout } = await execute('sh', ['-c', `command -v ${name}`]);
      await execute('ln', ['-s', stdout.trim(), join(path, name)]);
    }
    writeFileSync(join(path, 'opencode'), `#!/bin/sh\necho "$*" >>'${work}/calls'\necho 2.1.4\n`, { mode: 0o755 });
  });
  after(async () => {
    await registry?.close();
    rmSync(work, { recursive: true, force: true });
  });

  /** A home, and `conclave` in it: the program itself. */
  function newUser() {
    const home = mkdtempSync(join(work, 'home-'));
    const env = { HOME: home, PATH: path, TMPDIR: home, npm_config_registry: registry.url, npm_config_cache: join(home, '.npm'), npm_config_audit: 'false' };
    const conclave = (rest, more = {}, options = {}) => result(join(work, 'program'), rest, { env: { ...env, ...more }, cwd: home, ...options });
    return { home, env, conclave, installed: () => filesBelow(join(home, SHARE)) };
  }
  const WHOLE = [`opencode/${OPENCODE}/opencode`, 'ripgrep/15.0.0/rg'];
  const tarball = (name) => tarballs.find((file) => file.includes(name));

  test('the first review is done in a minute, and everything goes again', { timeout: 300_000 }, async (context) => {
    const { home, env } = newUser();
    const packages = readdirSync(join(work, 'files')).filter((name) => name.endsWith('.tgz')).map((name) => join(work, 'files', name));
    const provider = await serve(built('conclave-demo-provider'));
    try {
      const [url] = provider.line.match(/http:\S+/);
      const shop = join(work, 'shop');
      await execute(join(root, 'scripts/demo-repository'), [shop]);
      const prefix = { ...env, npm_config_prefix: join(home, 'npm') };
      const conclave = join(home, 'npm/bin/conclave');

      const began = performance.now();
      const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
      await execute('npm', ['install', '--global', '--offline', ...packages], { env: prefix, cwd: home });
      context.diagnostic(`npm's packages are installed after ${seconds()} s`);
      const installed = await result(conclave, ['runtime', 'install'], { env, cwd: home });
      assert.equal(installed.code, 0, installed.stderr);
      context.diagnostic(`OpenCode is installed after ${seconds()} s`);
      const model = { ...env, ANTHROPIC_API_KEY: 'demo', ANTHROPIC_BASE_URL: url };
      const review = await result(conclave, ['local', 'main..feature/order-export', '--format', 'json'], { env: model, cwd: shop });
      const total = Number(seconds());
      context.diagnostic(`the first review is done after ${total} s`);
      assert.equal(review.code, 0, review.stderr);
      assert.equal(JSON.parse(review.stdout).verdict, 'significant_concerns');
      assert.ok(total <= MAX_SECONDS * crowd(), `${total} s`);
      assert.deepEqual(filesBelow(join(home, SHARE)), WHOLE);
      assert.equal(existsSync(join(work, 'calls')), false, 'the other OpenCode was not even asked');

      const doctor = await result(conclave, ['doctor', '--json'], { env: model, cwd: shop });
      const { checks } = JSON.parse(doctor.stdout);
      for (const name of ['opencode', 'ripgrep']) {
        assert.ok(checks.find((check) => check.name === name).detail.includes(join(home, SHARE)), doctor.stdout);
      }
      const demo = await result(conclave, ['demo'], { env, cwd: home });
      assert.equal(demo.code, 0, demo.stderr);
      const { stdout: size } = await execute('du', ['-sm', join(home, SHARE), join(home, 'npm')]);
      context.diagnostic(`on disk, in MB: ${size.trim().replaceAll('\n', ', ').replaceAll(`${home}/`, '')}`);

      await execute(conclave, ['runtime', 'remove'], { env, cwd: home });
      await execute('npm', ['uninstall', '--global', 'conclave', `conclave-linux-${arch()}`], { env: prefix, cwd: home });
      assert.equal(existsSync(join(home, SHARE)), false);
      assert.deepEqual(filesBelow(join(home, 'npm/bin')), []);
    } finally {
      provider.stop();
    }
  });

  test('the wheel brings the same program, by pip and by uv', async (context) => {
    const { home, env } = newUser();
    const wheel = join(work, 'files', readdirSync(join(work, 'files')).find((name) => name.endsWith('.whl')));
    const python = join(home, 'python');
    await execute('python3', ['-m', 'venv', python]);
    const offline = { HOME: home, PATH: process.env.PATH, PIP_NO_INDEX: '1', UV_OFFLINE: '1' };
    await execute(join(python, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', wheel], { env: offline });
    const program = join(python, 'bin/conclave');
    assert.ok(readFileSync(program).equals(readFileSync(join(work, 'program'))));
    const review = await result(program, ['demo'], { env: { ...env, CONCLAVE_FORMAT: 'json' }, cwd: home });
    assert.equal(review.code, 0, review.stderr);
    assert.equal(JSON.parse(review.stdout).verdict, 'significant_concerns');

    const uv = await result('uvx', ['--python', join(python, 'bin/python'), '--from', wheel, 'conclave', '--version'], { env: offline, cwd: home });
    if (uv.code === 'ENOENT') context.diagnostic('uv is not there');
    else assert.match(uv.stdout, /^conclave \d/, uv.stderr);
  });

  test('a file does as well as a registry, and another one is refused', async () => {
    const { conclave, installed } = newUser();
    const wrong = join(work, 'wrong.tgz');
    copyFileSync(tarball('vscode-ripgrep'), wrong);
    writeFileSync(wrong, Buffer.concat([readFileSync(wrong), Buffer.from('more')]));
    const refused = await conclave(['runtime', 'install', '--tarball', tarball('opencode-linux'), '--tarball', wrong]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /wrong\.tgz is none of the packages for this machine: its SHA-512 is .*, though it calls itself @vscode\/ripgrep-linux-x64@1\.18\.0\. Make it with `npm pack @vscode\/ripgrep-linux/s);
    assert.deepEqual(installed(), []);
    const offline = { npm_config_registry: 'http://127.0.0.1:9/' };
    const taken = await conclave(['runtime', 'install', '--tarball', tarball('opencode-linux'), '--tarball', tarball('vscode-ripgrep')], offline);
    assert.equal(taken.code, 0, taken.stderr);
    assert.deepEqual(installed(), WHOLE);
    const both = await conclave(['runtime', 'install', '--tarball', wrong, '--registry', registry.url]);
    assert.equal(both.code, 2);
  });

  test('what is in the way is named, and nothing is half installed', async () => {
    const { conclave, installed, home } = newUser();
    const other = createServer((_, response) => response.end('another file'));
    await new Promise((done) => other.listen(0, '127.0.0.1', done));
    const empty = await startRegistry([]);
    try {
      for (const [rest, more, said] of [
        [[], { npm_config_registry: 'http://127.0.0.1:9/' }, /127\.0\.0\.1:9 cannot be reached \(.*npm_config_registry.*HTTP_PROXY\..*--registry.*npm pack opencode-linux/s],
        [['--registry', empty.url], {}, /127\.0\.0\.1:\d+ answered 404 for opencode-linux-x64@1\.18\.33\. Name a registry that has it/],
        [['--registry', `http://127.0.0.1:${other.address().port}`], {}, /what came from 127\.0\.0\.1:\d+ is not opencode-linux-x64@1\.18\.33: it is not packed with gzip/],
        [['--registry', 'ftp://example.com'], {}, /begins with neither https:\/\/ nor http:\/\//],
        [['--ca-file', '/nowhere.pem'], {}, /the certificates in \/nowhere\.pem.*--ca-file/],
        [[], { XDG_DATA_HOME: '/proc/nowhere' }, /failed to write \/proc\/nowhere.*Set XDG_DATA_HOME to a directory that can be written; nothing was installed/s],
        [[], { HOME: '' }, /there is no directory to install into\. Set HOME/],
      ]) {
        const { code, stderr } = await conclave(['runtime', 'install', ...rest], more);
        assert.equal(code, 2, stderr);
        assert.match(stderr.replaceAll(/\s+/g, ' '), said);
        assert.deepEqual(installed(), []);
      }
    } finally {
      other.close();
      await empty.close();
    }

    // A disk with too little room.
    const full = join(home, 'full');
    mkdirSync(full);
    const own = process.getuid() === 0 ? [] : ['--user', '--map-root-user'];
    const script = `mount -t tmpfs -o size=30m tmpfs '${full}' && XDG_DATA_HOME='${full}' '${join(work, 'program')}' runtime install; code=$?; find '${full}' -type f; exit $code`;
    const { PATH } = process.env;
    const disk = await result('unshare', [...own, '--mount', 'sh', '-c', script], { env: { HOME: home, PATH, npm_config_registry: registry.url } });
    assert.equal(disk.code, 2, disk.stderr);
    assert.match(disk.stderr.replaceAll(/\s+/g, ' '), /No space left on device.*It takes 260 MB: free some space; nothing was installed/);
    assert.equal(disk.stdout.trim(), '');

    // A limit on the size of files is an error, and not the end by a signal.
    const limited = ['-c', `ulimit -f 1000; exec '${join(work, 'program')}' runtime install`];
    const { code, stderr } = await result('bash', limited, { env: { HOME: home, PATH, npm_config_registry: registry.url } });
    assert.equal(code, 2, stderr);
    assert.match(stderr.replaceAll(/\s+/g, ' '), /File too large.*raise the limit on the size of a file \(`ulimit -f`\); nothing was installed/);
    assert.deepEqual(installed(), []);
  });

  test('an installation that was stopped is repeated as if nothing had been', async () => {
    const { home, env, conclave, installed } = newUser();
    const whole = readFileSync(tarball('opencode-linux'));
    // It sends half of the file and then nothing.
    const waits = [];
    let arrived;
    const slow = createServer((_, response) => {
      response.writeHead(200, { 'content-length': whole.length });
      response.write(whole.subarray(0, whole.length / 2), () => waits.splice(0).forEach((go) => go()));
    });
    await new Promise((done) => slow.listen(0, '127.0.0.1', done));
    try {
      for (const [signal, ended] of [['SIGINT', { code: 130, signal: null }], ['SIGTERM', { code: 143, signal: null }], ['SIGKILL', { code: null, signal: 'SIGKILL' }]]) {
        arrived = new Promise((done) => waits.push(done));
        const child = spawn(join(work, 'program'), ['runtime', 'install', '--registry', `http://127.0.0.1:${slow.address().port}`], { env, cwd: home, stdio: 'ignore' });
        const end = new Promise((done) => child.on('exit', (code, signal_) => done({ code, signal: signal_ })));
        await Promise.race([arrived, end]);
        child.kill(signal);
        assert.deepEqual(await end, ended);
        assert.equal(existsSync(join(home, PLACE)), false);
      }
      assert.ok(installed().length > 0, 'SIGKILL leaves what it has found no time to remove');
    } finally {
      slow.closeAllConnections();
      slow.close();
    }
    const again = await conclave(['runtime', 'install']);
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(installed(), WHOLE);

    // Broken afterwards: named, and mended by the same command.
    writeFileSync(join(home, PLACE), 'broken');
    chmodSync(join(home, PLACE), 0o755);
    const check = async (wanted, more = {}) => {
      const doctor = await conclave(['doctor', '--json'], more);
      return JSON.parse(doctor.stdout).checks.find(({ name }) => name === wanted);
    };
    assert.match((await check('runtime')).detail, /^native, because OpenCode \S+ is not installed: \S+ does not run/);
    const meant = await check('opencode', { CONCLAVE_RUNTIME: 'opencode' });
    assert.equal(meant.status, 'failure');
    assert.match(meant.detail, /does not run|failed to start OpenCode/);
    await conclave(['runtime', 'install']);
    assert.ok((await execute(join(home, PLACE), ['--version'], { env })).stdout.includes(OPENCODE));
  });

  test('without any OpenCode that fits, the native runtime reviews and names what is there and the one command', async () => {
    const { conclave } = newUser();
    const passedOver = new RegExp(`OpenCode ${OPENCODE} is not installed: \\S+/opencode is 2\\.1\\.4\\. Fetch it with \`conclave runtime install\``);
    const reviewed = await conclave(['demo'], { CONCLAVE_FORMAT: 'json' });
    assert.equal(reviewed.code, 0, reviewed.stderr);
    const review = JSON.parse(reviewed.stdout);
    assert.equal(review.verdict, 'significant_concerns');
    assert.equal(review.runtime, 'native');
    assert.match(review.warnings.join('\n'), passedOver);
    const { code, stderr } = await conclave(['demo'], { CONCLAVE_RUNTIME: 'opencode' });
    assert.equal(code, 2);
    assert.match(stderr.replaceAll(/\s+/g, ' '), passedOver);
    // Where there is a sandbox, it is asked in it and cannot even write that down.
    const calls = existsSync(join(work, 'calls')) ? readFileSync(join(work, 'calls'), 'utf8').trim().split('\n') : [];
    assert.deepEqual(calls.filter((call) => call !== '--version'), []);
  });
});
