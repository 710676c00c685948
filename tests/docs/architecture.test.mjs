// scripts/check-architecture: that it passes here says little unless it fails where it should.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
let copy;

/** Copies what git knows of (and what is new) from the repository. */
function copyTree() {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  const wanted = /^(Cargo\.|rust-toolchain|(cli|shared|workers|tests\/support|tests\/e2e)\/.*\.(rs|toml|json|md)$|prompts\/)/;
  for (const file of listed.split('\0').filter((name) => wanted.test(name))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file), { force: true });
  }
}

function check() {
  const result = spawnSync(join(root, 'scripts/check-architecture'), [copy], { encoding: 'utf8' });
  return { status: result.status, text: result.stdout + result.stderr };
}

/** Puts a dependency into a crate, and into the lock file, which the check does not change. */
function depend(crate, dependency) {
  const manifest = join(copy, crate, 'Cargo.toml');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace('[dependencies]\n', `[dependencies]\n${dependency}.workspace = true\n`));
  execFileSync('cargo', ['metadata', '--offline', '--format-version', '1'], { cwd: copy, stdio: ['ignore', 'ignore', 'inherit'], maxBuffer: 1 << 28 });
}

describe('scripts/check-architecture', () => {
  before(() => {
    copy = mkdtempSync(join(tmpdir(), 'conclave-architecture-'));
    copyTree();
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  test('passes on the tree as it is', () => {
    const { status, text } = check();
    assert.equal(status, 0, text);
  });

  // A run takes seconds and names every rule that is broken, so one has them all.
  describe('on a tree that breaks them', () => {
    const variables = [
      ['cli/plugins/gitlab/src/gitlab.rs', 'CI_JOB_TOKEN'],
      ['cli/src/exit.rs', 'GITLAB_USER_LOGIN'],
      ['cli/src/args.rs', 'CI'],
      ['cli/plugins/cloudflare/src/lib.rs', 'GITLAB_TOKEN'],
    ];
    let text;
    /** Returns the text about a rule, up to the next one. */
    const said = (rule) => text.split(/^architecture: /m).find((part) => part.startsWith(rule)) ?? assert.fail(`no \`${rule}\` in\n${text}`);

    before(() => {
      depend('cli/plugins/gitlab', 'conclave-plugin-cloudflare');
      appendFileSync(join(copy, 'cli/fetch/src/lib.rs'), '/// An example.\n///\n/// ```\n/// assert!(true);\n/// ```\npub fn planted() {}\n');
      appendFileSync(join(copy, 'tests/support/fake-github/src/bin/fake-github.rs'), '#[test]\nfn planted() {}\n');
      appendFileSync(join(copy, 'cli/resilience/src/lib.rs'), '\nmod planted_one;\nmod planted_two;\n');
      for (const [own, other] of [['one', 'two'], ['two', 'one']]) {
        writeFileSync(join(copy, `cli/resilience/src/planted_${own}.rs`), `use crate::planted_${other}::Other;\n`);
      }
      for (const [file, name] of variables) {
        // At the top: what comes after `mod tests` is a test's.
        const source = join(copy, file);
        writeFileSync(source, `const ELSEWHERE: &str = "${name}";\n${readFileSync(source, 'utf8')}`);
      }
      appendFileSync(join(copy, 'cli/plugins/telemetry/src/lib.rs'), '\nfn read() { let _ = std::env::var(concat!("C", "I_JOB_TOKEN")); }\n');
      const checked = check();
      assert.equal(checked.status, 1, checked.text);
      text = checked.text;
    });

    test('a plugin that imports another is named', () => {
      assert.match(said('a plugin knows no other plugin'), /\n\s+conclave-plugin-gitlab depends on conclave-plugin-cloudflare/);
    });

    test('so is a test or an example in a target that is left out of tests', () => {
      assert.match(text, /what is left out of tests has none\n\s+conclave-fetch has `doctest = false`: cli\/fetch\/src\/lib\.rs/);
      assert.match(text, /conclave-fake-github has `test = false`: /);
    });

    test('so are modules that use each other in a circle', () => {
      assert.match(text, /do not use each other in a circle\n\s+cli\/resilience: planted_one, planted_two\n\s+planted_one → planted_two: cli\/resilience\/src\/planted_one.rs:1 Other\n/);
    });

    test('so is a variable of CI that is read elsewhere, and the environment past the one door', () => {
      const first = said('variables of CI are read in cli/src/env/ci.rs only');
      for (const [file] of variables) {
        assert.ok(first.includes(`${file}:1:`), `${file} is missing in\n${first}`);
      }
      assert.match(said('the environment is read in cli/src/main.rs only'), /^.*\n +cli\/plugins\/telemetry\/src\/lib.rs:\d+:.*\n$/);
    });

    test('and nothing else is', () => {
      // The plugin depends on the other, and reaches it.
      assert.match(text, /^architecture: 7 violations$/m);
    });
  });
});
