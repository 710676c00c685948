// The packages for npm and PyPI, installed for real from their files, in a home without anything.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { arch, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { manifestOf, startRegistry } from '../support/npm-registry.mjs';

const execute = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const VERSION = '1.2.3';
const HERE = `linux-${arch()}`;
const rows = readFileSync(join(root, 'scripts/lib/targets.txt'), 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
const targets = rows.map((line) => line.split(/\s+/));
// A program that says what it was given, ends as it is asked to, and says which signal it got and how often.
const PROGRAM = `#!/bin/sh
case $1 in
  exit) exit "$2" ;;
  die) kill -"$2" $$ ;;
  wait)
    trap 'echo TERM' TERM
    trap 'echo INT' INT
    trap 'exit 7' HUP
    echo ready $$
    while :; do sleep 0.05; done ;;
  *) echo "$#:$*" ;;
esac
`;

describe('the packages', () => {
  let work, files, environment;
  before(async () => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'conclave-packages-')));
    writeFileSync(join(work, 'program'), PROGRAM, { mode: 0o755 });
    mkdirSync(join(work, 'files'));
    for (const [triple] of targets) await make(triple);
    files = readdirSync(join(work, 'files')).map((name) => join(work, 'files', name));
    // The machine's own Node and npm; the registry is nowhere unless a test has one.
    const path = process.env.PATH.split(':').filter((directory) => !directory.includes('node_modules')).join(':');
    environment = { PATH: path, npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0', npm_config_audit: 'false' };
  });
  after(() => rmSync(work, { recursive: true, force: true }));

  const make = (triple, version = VERSION, directory = 'files') =>
    execute(join(root, 'scripts/lib/make-packages'), [
      '--target', triple, '--version', version, '--binary', join(work, 'program'), '--output', join(work, directory),
    ]);
  const packed = (name, version = VERSION) => join(work, 'files', `${name}-${version}.tgz`);

  /** An empty home. */
  function empty(env = {}) {
    const home = mkdtempSync(join(work, 'home-'));
    const all = { ...environment, HOME: home, npm_config_prefix: join(home, 'npm'), ...env };
    return { home, env: all, program: join(home, 'npm/bin/conclave'), library: join(home, 'npm/lib/node_modules') };
  }
  /** A home with these packages; `started(place, arguments)` is the program as its user starts it. */
  async function installed(packages, { env = {}, extra = [] } = {}) {
    const place = empty(env);
    await execute('npm', ['install', '--global', ...extra, ...packages], { env: place.env, cwd: place.home });
    return place;
  }
  async function started({ program, env }, rest, more = {}) {
    try {
      return { code: 0, ...(await execute(program, rest, { env: { ...env, ...more } })) };
    } catch ({ code, signal, stdout, stderr }) {
      return { code, signal, stdout, stderr };
    }
  }

  test('of npm are one for people and one a platform, which it names at its own version', () => {
    const manifest = manifestOf(packed('conclave'));
    const platforms = targets.map(([, platform]) => `conclave-${platform}`);
    assert.deepEqual(manifest.optionalDependencies, Object.fromEntries(platforms.map((name) => [name, VERSION])));
    assert.equal(manifest.scripts, undefined, 'nothing runs at installation');
    assert.equal(manifest.dependencies, undefined);
    for (const name of platforms) {
      const [system, processor] = name.slice('conclave-'.length).split('-');
      const { os, cpu, version, scripts, dependencies } = manifestOf(packed(name));
      assert.deepEqual({ os, cpu, version, scripts, dependencies }, { os: [system], cpu: [processor], version: VERSION, scripts: undefined, dependencies: undefined });
    }
  });

  test('install from their files without a network, run, and leave nothing when they go', async () => {
    const place = await installed([packed('conclave'), packed(`conclave-${HERE}`)]);
    assert.deepEqual(readdirSync(place.library).toSorted(), ['conclave', `conclave-${HERE}`]);
    assert.equal((await started(place, ['a b', '--help', ''])).stdout, '3:a b --help \n');
    await execute('npm', ['uninstall', '--global', 'conclave', `conclave-${HERE}`], { env: place.env, cwd: place.home });
    assert.deepEqual([existsSync(place.program), readdirSync(place.library).filter((name) => name.startsWith('conclave'))], [false, []]);
  });

  test('from a registry, npm takes the program of this platform and no other, also for npx', async () => {
    const registry = await startRegistry(files.filter((file) => file.endsWith('.tgz')));
    try {
      const place = await installed(['conclave'], { env: { npm_config_registry: registry.url } });
      assert.equal((await started(place, ['x'])).stdout, '1:x\n');
      const programs = registry.requests.filter((request) => request.includes('/-/'));
      assert.deepEqual(programs.toSorted(), [`GET /conclave-${HERE}/-/conclave-${HERE}-${VERSION}.tgz`, `GET /conclave/-/conclave-${VERSION}.tgz`]);
      const { stdout } = await execute('npx', ['--yes', 'conclave', 'y', 'z'], { env: place.env, cwd: work });
      assert.equal(stdout, '2:y z\n');
    } finally {
      await registry.close();
    }
  });

  test('pass exit codes and signals on, with each way that Node has to start a program', async () => {
    const place = await installed([packed('conclave'), packed(`conclave-${HERE}`)]);
    const launcher = realpathSync(place.program);
    const pinned = join(root, 'node_modules', `node-${HERE}`, 'bin/node');
    const ways = [[process.execPath, []], [process.execPath, ['--require', join(work, 'without-execve.cjs')]]];
    if (existsSync(pinned)) ways.push([pinned, []]);
    // And on a machine where the program is up before the launcher has returned from its start.
    writeFileSync(join(work, 'without-execve.cjs'), `
      delete process.execve;
      const processes = require('node:child_process');
      const { spawn } = processes;
      processes.spawn = (...call) => {
        const child = spawn(...call);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        return child;
      };
    `);
    for (const [node, options] of ways) {
      const run = { program: node, env: place.env };
      const through = (...rest) => started(run, [...options, launcher, ...rest]);
      assert.equal((await through('exit', '5')).code, 5);
      assert.equal((await through('die', 'TERM')).signal, 'SIGTERM');
      assert.equal((await through('die', 'KILL')).signal, 'SIGKILL');

      // A whole group gets a signal, as from a runner: the program hears it once.
      const child = spawn(node, [...options, launcher, 'wait'], { env: place.env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => (await lines.next()).value;
      // A program that hears nothing never ends, and may have a group of its own: it must not outlive the test.
      const pids = [child.pid];
      const end = () => pids.forEach((pid) => { try { process.kill(pid, 'SIGKILL'); } catch { /* It has ended. */ } });
      const deaf = setTimeout(end, 60_000);
      try {
        const ready = await next();
        assert.match(ready, /^ready \d+$/);
        pids.push(Number(ready.split(' ')[1]));
        process.kill(-child.pid, 'SIGTERM');
        assert.equal(await next(), 'TERM');
        process.kill(-child.pid, 'SIGINT');
        assert.equal(await next(), 'INT');
        process.kill(child.pid, 'SIGHUP');
        const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
        assert.equal(code, 7);
        assert.deepEqual(await lines.next(), { value: undefined, done: true });
      } finally {
        clearTimeout(deaf);
        end();
      }
    }
  });

  test('say what is missing and how it is mended', async () => {
    const alone = await installed([packed('conclave')], { extra: ['--omit=optional'] });
    const missing = await started(alone, ['--version']);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, new RegExp(`the package conclave-${HERE} with the program is missing.*--omit=optional[^]*next: npm install --global --include=optional conclave@${VERSION}\n`));

    mkdirSync(join(work, 'other'));
    await make(targets.find(([, platform]) => platform === HERE)[0], '1.2.4', 'other');
    const mixed = await installed([packed('conclave'), join(work, 'other', `conclave-${HERE}-1.2.4.tgz`)]);
    const wrong = await started(mixed, ['--version']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /has the version 1\.2\.4, and conclave the version 1\.2\.3[^]*next: npm install --global --include=optional conclave@1\.2\.3\n/);

    writeFileSync(join(work, 'windows.cjs'), "Object.defineProperty(process, 'platform', { value: 'win32' });");
    const elsewhere = await started({ ...mixed, program: process.execPath }, ['--require', join(work, 'windows.cjs'), realpathSync(mixed.program)]);
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /there is no program for win32-.*only for linux-x64, linux-arm64[^]*WSL/);
  });

  test('do not take what a full disk left of the program for one that succeeds', async () => {
    const place = await installed([packed('conclave'), packed(`conclave-${HERE}`)]);
    const program = join(place.library, `conclave-${HERE}`, 'bin/conclave');
    for (const [content, said] of [
      ['', /it has 0 bytes, not \d+/],
      [PROGRAM.slice(0, -1), /it has \d+ bytes, not \d+/],
      ['\0'.repeat(PROGRAM.length), /it is not a program/],
      ['<!DOCTYPE html>'.padEnd(PROGRAM.length), /it is not a program/],
    ]) {
      writeFileSync(program, content);
      const { code, stdout, stderr } = await started(place, ['review', '--gate', 'block']);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, said);
      assert.match(stderr, /bin\/conclave is damaged: [^]*next: npm install --global .* --force\n/);
    }
    rmSync(program);
    const gone = await started(place, ['x']);
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /does not start: ENOENT/);
  });

  test('say what mends it, after npm and after npx, where npm leaves out what is optional', async () => {
    const registry = await startRegistry(files.filter((file) => file.endsWith('.tgz')));
    try {
      const place = empty({ npm_config_registry: registry.url, npm_config_omit: 'optional' });
      const npx = () => started({ program: 'npx', env: place.env }, ['--yes', 'conclave', 'x']);
      const broken = await npx();
      assert.equal(broken.code, 2, broken.stderr);
      await execute('sh', ['-c', broken.stderr.match(/next: (npm .*)/)[1]], { env: place.env, cwd: place.home });
      assert.equal((await started(place, ['x'])).stdout, '1:x\n');
      assert.equal((await npx()).stdout, '1:x\n');
    } finally {
      await registry.close();
    }
  });

  test('refuse the package of another platform, unless they are asked for those that fit', async () => {
    const other = HERE === 'linux-x64' ? 'linux-arm64' : 'linux-x64';
    await assert.rejects(installed([packed(`conclave-${other}`)]), /EBADPLATFORM/);
    // What docs/install.md says for a directory with the files of all platforms.
    const all = files.filter((file) => /\/conclave-[^/]*\.tgz$/.test(file));
    assert.equal(all.length, targets.length + 1);
    const place = await installed(all, { extra: ['--save-optional'] });
    assert.deepEqual(readdirSync(place.library).toSorted(), ['conclave', `conclave-${HERE}`]);
    assert.equal((await started(place, ['x'])).stdout, '1:x\n');
    const wheel = files.find((file) => file.endsWith('.whl') && !file.includes(arch() === 'x64' ? 'x86_64' : 'aarch64'));
    await assert.rejects(pip(await environmentOfPython(), 'install', wheel), /not a supported wheel/);
  });

  async function environmentOfPython() {
    const directory = mkdtempSync(join(work, 'python-'));
    await execute('python3', ['-m', 'venv', directory]);
    return directory;
  }
  const pip = (directory, ...rest) =>
    execute(join(directory, 'bin/pip'), [rest[0], '--disable-pip-version-check', ...rest.slice(1)], { env: { PATH: process.env.PATH, HOME: directory, PIP_NO_INDEX: '1' } });

  test('of PyPI install from their file, run, are whole, and leave nothing when they go', async () => {
    const directory = await environmentOfPython();
    const tag = arch() === 'x64' ? 'x86_64' : 'aarch64';
    const wheel = files.find((file) => file.endsWith('.whl') && file.includes(`manylinux_2_17_${tag}`));
    await pip(directory, 'install', wheel);
    const program = join(directory, 'bin/conclave');
    assert.equal((await execute(program, ['a b', 'c'])).stdout, '2:a b c\n');
    const { stdout: shown } = await pip(directory, 'show', '--files', 'conclave-review');
    assert.match(shown, /^Version: 1\.2\.3$/m);
    // Every file is as the list of the wheel says: Python's own tool checks it when it unpacks.
    const check = 'import sys, zipfile, csv, hashlib, base64, io\nz = zipfile.ZipFile(sys.argv[1])\nr = next(n for n in z.namelist() if n.endswith("/RECORD"))\nrows = list(csv.reader(io.StringIO(z.read(r).decode())))\nassert sorted(x[0] for x in rows) == sorted(z.namelist())\nfor name, digest, size in rows:\n  if name != r:\n    b = z.read(name); assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode() and int(size) == len(b), name\n';
    await execute('python3', ['-c', check, wheel]);
    await pip(directory, 'uninstall', '--yes', 'conclave-review');
    assert.equal(existsSync(program), false);
  });

  test('are published once, the platforms before the one that names them, and only with a token', async () => {
    const directory = mkdtempSync(join(work, 'all-'));
    for (const file of files) copyFileSync(file, join(directory, basename(file)));
    const sums = async () => writeFileSync(join(directory, 'SHA256SUMS'), (await execute('sha256sum', readdirSync(directory).filter((name) => name !== 'SHA256SUMS'), { cwd: directory })).stdout);
    await sums();
    const registry = await startRegistry([], { token: 'npm-secret' });
    const uploads = [];
    const pypi = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString('latin1');
      const user = Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString();
      const name = body.match(/filename="([^"]+\.whl)"/)?.[1];
      if (user !== '__token__:pypi-secret' || !name) response.writeHead(403).end();
      else {
        uploads.push(name);
        response.writeHead(200).end();
      };
    });
    await new Promise((done) => pypi.listen(0, '127.0.0.1', done));
    const publish = (more) => started({ program: join(root, 'scripts/publish'), env: { ...process.env, NPM_REGISTRY: registry.url, PYPI_UPLOAD_URL: `http://127.0.0.1:${pypi.address().port}/legacy/` } }, [directory], more);
    try {
      const without = await publish({});
      assert.deepEqual([without.code, registry.requests, uploads], [0, [], []], without.stderr);
      const refused = await publish({ NPM_TOKEN: 'guessed' });
      assert.notEqual(refused.code, 0);
      assert.deepEqual(registry.published, []);
      const platforms = targets.map(([, platform]) => `conclave-${platform}`).toSorted();
      const first = await publish({ NPM_TOKEN: 'npm-secret', PYPI_TOKEN: 'pypi-secret' });
      assert.equal(first.code, 0, first.stderr);
      assert.deepEqual([registry.published.slice(0, -1).toSorted(), registry.published.at(-1)], [platforms, 'conclave']);
      const wheels = files.filter((file) => file.endsWith('.whl')).map((file) => basename(file)).toSorted();
      assert.deepEqual(uploads.toSorted(), wheels);
      assert.doesNotMatch(first.stdout + first.stderr, /npm-secret|pypi-secret/);
      const again = await publish({ NPM_TOKEN: 'npm-secret' });
      assert.equal(again.code, 0, again.stderr);
      assert.equal(registry.published.length, platforms.length + 1);

      // The same names and versions, and other files.
      writeFileSync(join(work, 'program'), `${PROGRAM}# Another one.\n`);
      for (const [triple] of targets) await make(triple, VERSION, basename(directory));
      writeFileSync(join(work, 'program'), PROGRAM);
      await sums();
      const another = await publish({ NPM_TOKEN: 'npm-secret' });
      assert.equal(another.code, 1);
      assert.match(another.stderr, /npm has another conclave-linux-\w+ 1\.2\.3 than .*raise the version in Cargo\.toml, or, if the name is not yours, choose one with NPM_NAME/s);
      assert.equal(registry.published.length, platforms.length + 1);

      writeFileSync(join(directory, basename(files[0])), 'another file');
      const tampered = await publish({ NPM_TOKEN: 'npm-secret' });
      assert.equal(tampered.code, 1);
      assert.match(tampered.stderr, /are not as its SHA256SUMS says/);
    } finally {
      await registry.close();
      await new Promise((done) => pypi.close(done));
    }
  });

  test('are not made of a version that a registry would read otherwise, nor under a name that it refuses', async () => {
    await assert.rejects(make(targets[0][0], '1.2.3-rc.1'), /need a version like 1\.2\.3/);
    const named = ['--target', targets[0][0], '--version', VERSION, '--list', '--npm-name', 'Con Clave'];
    await assert.rejects(execute(join(root, 'scripts/lib/make-packages'), named), /is not the name of a package/);
    const { stdout } = await execute(join(root, 'scripts/lib/make-packages'), [...named.slice(0, -1), '@acme/conclave']);
    assert.deepEqual(stdout.split('\n').slice(0, 2), [`acme-conclave-${VERSION}.tgz`, `acme-conclave-linux-x64-${VERSION}.tgz`]);
  });
});
