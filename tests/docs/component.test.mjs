// The CI component, as gitlab-ci-local sees it: held against GitLab's own schema of a pipeline, and its rules evaluated.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const program = join(root, 'node_modules/gitlab-ci-local/dist/index.js');
const IMAGE = 'registry.example.com/conclave:1';

/** The variables of a merge request's pipeline in the project itself. */
const MERGE_REQUEST = {
  CI_PIPELINE_SOURCE: 'merge_request_event',
  CI_PROJECT_PATH: 'group/project',
  CI_MERGE_REQUEST_PROJECT_PATH: 'group/project',
  CI_MERGE_REQUEST_TITLE: 'Add an export',
  CI_MERGE_REQUEST_IID: '7',
};

let directory;

/** A project that includes the component with these inputs. */
function include(inputs) {
  const lines = Object.entries(inputs).map(([name, value]) => `      ${name}: ${JSON.stringify(value)}\n`);
  writeFileSync(
    join(directory, '.gitlab-ci.yml'),
    `include:\n  - local: templates/conclave/template.yml\n    inputs:\n${lines.join('')}`,
  );
}

/** Runs gitlab-ci-local in the project; the result of a failure is what it says. */
async function pipeline(...arguments_) {
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...arguments_], {
      cwd: directory,
      env: { ...process.env, HOME: directory },
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

/** When the job of a pipeline with these variables runs. */
async function when(variables) {
  const given = Object.entries(variables).flatMap(([name, value]) => ['--variable', `${name}=${value}`]);
  const names = ['--ignore-predefined-vars', Object.keys(variables).join(',')];
  const { stdout, stderr } = await pipeline('--list-json', ...names, ...given);
  const start = stdout.indexOf('[');
  assert.ok(start >= 0, stdout + stderr);
  return JSON.parse(stdout.slice(start)).find((job) => job.name === 'conclave').when;
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'conclave-component-'));
  cpSync(join(root, 'templates'), join(directory, 'templates'), { recursive: true });
  include({ image: IMAGE });
  const git = (...rest) => run('git', ['-C', directory, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...rest]);
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all');
  await git('commit', '--quiet', '--message=Start');
  await git('remote', 'add', 'origin', 'https://gitlab.example.com/group/project.git');
});

after(() => rmSync(directory, { recursive: true, force: true }));

describe('the CI component', () => {
  test('is a valid pipeline with no input but the image, and hands its inputs on', async () => {
    include({ image: IMAGE });
    const plain = await pipeline('--preview');
    assert.equal(plain.code, 0, plain.stderr);
    assert.match(plain.stdout, /name: registry\.example\.com\/conclave:1/);
    assert.match(plain.stdout, /resource_group: conclave-\$CI_MERGE_REQUEST_IID/);
    assert.match(plain.stdout, /interruptible: true/);
    assert.match(plain.stdout, /codequality: conclave-reports\/code-quality\.json/);

    include({ image: IMAGE, mode: 'gate', gate: 'block', strict: true, max_cost_usd: '1.50', agents: '3', stage: 'build' });
    const whole = await pipeline('--preview');
    for (const line of [
      'CONCLAVE_INPUT_MODE: gate',
      'CONCLAVE_INPUT_GATE: block',
      "CONCLAVE_INPUT_STRICT: 'true'",
      "CONCLAVE_INPUT_MAX_COST_USD: '1.50'",
      "CONCLAVE_INPUT_AGENTS: '3'",
    ]) {
      assert.ok(whole.stdout.includes(line), `${line} in ${whole.stdout}${whole.stderr}`);
    }
  });

  test('lets an input that was given count before a variable, and one that is empty hide none', async () => {
    // The first command alone: the review itself, with the job as it is expanded, is in the end-to-end tests.
    const settings = async (inputs, variables) => {
      include({ image: IMAGE, ...inputs });
      const { conclave: job } = parse((await pipeline('--preview')).stdout);
      const { stdout } = await run('sh', ['-euc', `${job.script[0]}\nenv`], {
        env: { PATH: process.env.PATH, ...variables, ...job.variables },
      });
      return Object.fromEntries(
        stdout
          .split('\n')
          .filter((line) => /^CONCLAVE_(?!INPUT_)/.test(line))
          .map((line) => line.split(/=(.*)/s, 2)),
      );
    };
    const pipelines = { CONCLAVE_CONFIG_URL: 'https://pipeline.example.com', CONCLAVE_STRICT: 'true', CONCLAVE_GATE: 'block' };
    assert.deepEqual(await settings({}, pipelines), pipelines);
    assert.deepEqual(await settings({}, {}), {});
    const inputs = {
      mode: 'gate',
      gate: 'off',
      strict: true,
      max_cost_usd: '1.50',
      agents: '12',
      codex_rules: 'rules; echo "$(id)" \'x\'',
      config_url: 'https://input.example.com/?a=b',
      tracker_url: 'https://tracker.example.com',
    };
    const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`CONCLAVE_${name.toUpperCase()}`, String(value)]));
    assert.deepEqual(await settings(inputs, pipelines), given);
  });

  test('asks for tokens of the job only where its input says so', async () => {
    include({ image: IMAGE, config_url: 'https://config.example.com', tracker_url: 'https://tracker.example.com' });
    const without = await pipeline('--preview');
    assert.equal(without.code, 0, without.stderr);
    assert.doesNotMatch(without.stdout, /id_tokens|OIDC|secrets/);

    include({ image: IMAGE, id_tokens: true, id_token_audience: 'https://conclave.example.com' });
    const { stdout } = await pipeline('--preview');
    for (const name of ['CONFIG', 'TRACKER']) {
      assert.match(stdout, new RegExp(`^    CONCLAVE_${name}_OIDC_TOKEN:\n      aud: https://conclave.example.com$`, 'm'));
    }
    assert.doesNotMatch(stdout, /secrets/);
  });

  test('takes secrets from Vault where its inputs name the place', async () => {
    const place = (engine, path, field) => [
      `    ${field}:`,
      '      vault:',
      '        engine:',
      `          name: ${engine}`,
      `          path: ${path}`,
      '        path: platform/conclave',
      `        field: ${field}`,
      '      file: false',
      '      token: $CONCLAVE_VAULT_ID_TOKEN',
    ];
    for (const engine of ['kv-v1', 'kv-v2', 'generic']) {
      include({ image: IMAGE, vault_engine: engine, vault_engine_path: 'ops', vault_path: 'platform/conclave', vault_variable: 'OPENAI_API_KEY' });
      const { code, stdout, stderr } = await pipeline('--preview');
      assert.equal(code, 0, stderr);
      assert.ok(stdout.includes(['  secrets:', ...place(engine, 'ops', 'OPENAI_API_KEY'), '  stage: test'].join('\n')), stdout);
      assert.match(stdout, /^ {4}CONCLAVE_VAULT_ID_TOKEN:\n {6}aud: \$VAULT_SERVER_URL$/m);
      assert.doesNotMatch(stdout, /OIDC/);
    }
    include({ image: IMAGE, id_tokens: true, vault_engine: 'kv-v2', vault_path: 'platform/conclave', vault_gitlab_token: true, vault_audience: 'https://vault.example.com' });
    const { code, stdout, stderr } = await pipeline('--preview');
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(place('kv-v2', 'kv-v2', 'GITLAB_TOKEN').join('\n')), stdout);
    assert.ok(stdout.includes(place('kv-v2', 'kv-v2', 'ANTHROPIC_API_KEY').join('\n')), stdout);
    assert.match(stdout, /CONCLAVE_VAULT_ID_TOKEN:\n {6}aud: https:\/\/vault\.example\.com\n/);
    assert.match(stdout, /CONCLAVE_CONFIG_OIDC_TOKEN:/);
  });

  test('stops where a token is to come from a Vault that nobody names', async () => {
    include({ image: IMAGE, vault_gitlab_token: true });
    const { code, stdout, stderr } = await pipeline('--preview');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /vault_gitlab_token needs the input vault_engine[^]*exit 1/);
    assert.doesNotMatch(stdout, /secrets:/);
  });

  test('is what `conclave init` includes, as a component of another project and as a copy', async () => {
    const conclave = join(root, 'target/debug/conclave');
    for (const copied of [true, false]) {
      const project = mkdtempSync(join(tmpdir(), 'conclave-init-'));
      try {
        const git = (...rest) => run('git', ['-C', project, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...rest]);
        await git('init', '--quiet', '--initial-branch=main');
        await git('remote', 'add', 'origin', 'https://gitlab.example.com/group/project.git');
        const component = copied ? [] : ['--component', 'platform/conclave@main'];
        await run(conclave, ['init', '--yes', '--block', '--image', IMAGE, ...component], { cwd: project });
        const own = directory;
        directory = project;
        try {
          if (!copied) {
            // The other project is not to be had here: its file stands in, by the same inputs.
            const text = readFileSync(join(project, '.gitlab-ci.yml'), 'utf8');
            assert.match(text, /component: \$CI_SERVER_FQDN\/platform\/conclave\/conclave@main\n/);
            cpSync(join(root, 'templates/conclave/template.yml'), join(project, 'template.yml'));
            writeFileSync(join(project, '.gitlab-ci.yml'), text.replace(/component: .*/, 'local: template.yml'));
          }
          await git('add', '--all');
          await git('commit', '--quiet', '--message=Start');
          const { code, stdout, stderr } = await pipeline('--preview');
          assert.equal(code, 0, stderr);
          for (const line of ['name: registry.example.com/conclave:1', 'CONCLAVE_INPUT_GATE: block', 'allow_failure: false']) {
            assert.ok(stdout.includes(line), `${line} in ${stdout}`);
          }
          assert.equal(await when(MERGE_REQUEST), 'on_success');
        } finally {
          directory = own;
        }
      } finally {
        rmSync(project, { recursive: true, force: true });
      }
    }
  });

  test('refuses inputs that mean nothing', async () => {
    for (const [inputs, said] of [
      [{}, /image/],
      [{ image: IMAGE, gate: 'always' }, /`gate` input: `always` cannot be used/],
      [{ image: IMAGE, max_cost_usd: 'cheap' }, /max_cost_usd/],
      [{ image: IMAGE, max_cost_usd: '0' }, /max_cost_usd/],
      [{ image: IMAGE, agents: '65' }, /agents/],
      [{ image: IMAGE, vault_engine: 'kv-v3' }, /vault_engine/],
      [{ image: IMAGE, vault_engine: 'kv-v2', vault_variable: 'NOT A NAME' }, /vault_variable/],
    ]) {
      include(inputs);
      const refused = await pipeline('--preview');
      assert.notEqual(refused.code, 0, JSON.stringify(inputs));
      assert.match(refused.stdout + refused.stderr, said);
    }
  });

  test('runs for merge requests of the project itself that are ready, and for nothing else', async () => {
    include({ image: IMAGE });
    assert.equal(await when(MERGE_REQUEST), 'on_success');
    for (const other of [
      { CI_PIPELINE_SOURCE: 'push' },
      { CI_PROJECT_PATH: 'someone/fork' },
      { CI_MERGE_REQUEST_EVENT_TYPE: 'merge_train' },
      { CI_MERGE_REQUEST_TITLE: 'Draft: add an export' },
      { CI_MERGE_REQUEST_TITLE: '[draft] add an export' },
    ]) {
      assert.equal(await when({ ...MERGE_REQUEST, ...other }), 'never', JSON.stringify(other));
    }
    assert.equal(await when({ ...MERGE_REQUEST, CI_MERGE_REQUEST_TITLE: 'Drafting table: add it' }), 'on_success');
    include({ image: IMAGE, review_drafts: true });
    assert.equal(await when({ ...MERGE_REQUEST, CI_MERGE_REQUEST_TITLE: 'Draft: add an export' }), 'on_success');
  });
});
