// The workflows that people copy: the templates for GitHub, and the excerpt in docs/github.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

import yaml from 'yaml';

const root = resolve(import.meta.dirname, '../..');
const read = (path) => readFileSync(join(root, path), 'utf8');
const TEMPLATES = ['conclave.yml', 'fork-1-untrusted.yml', 'fork-2-trusted.yml'];
const template = (name) => yaml.parse(read(`templates/github/${name}`));

describe('templates/github', () => {
  test('run as the user whom the files of a job belong to, which the image does not', () => {
    assert.match(read('deploy/Dockerfile'), /^USER 10001:10001$/m);
    const containers = TEMPLATES.flatMap((name) => Object.values(template(name).jobs)).map((job) => job.container).filter(Boolean);
    assert.equal(containers.length, 4);
    for (const container of containers) assert.deepEqual(container, { image: 'IMAGE', options: '--user 1001' });
  });

  test('give secrets to no job of a fork, and check out no head where there are secrets', () => {
    const untrusted = read('templates/github/fork-1-untrusted.yml');
    assert.doesNotMatch(untrusted, /secrets\./);
    for (const name of TEMPLATES) assert.doesNotMatch(read(`templates/github/${name}`), /^\s+(ref|repository): /m);
    assert.doesNotMatch(read('templates/github/fork-2-trusted.yml'), /actions\/checkout/);
  });

  test('are what docs/github.md shows of them', () => {
    const shown = yaml.parse(read('docs/github.md').match(/```yaml\n([\s\S]*?)```/)[1]);
    const whole = template('conclave.yml');
    assert.deepEqual([shown.on, shown.permissions], [whole.on, whole.permissions]);
    const { steps, container, ...job } = shown.jobs.review;
    const { steps: allSteps, container: ownContainer, ...ownJob } = whole.jobs.review;
    assert.deepEqual(job, ownJob);
    assert.deepEqual({ ...container, image: 'IMAGE' }, ownContainer);
    assert.deepEqual(steps, allSteps.slice(0, 2));
  });
});
