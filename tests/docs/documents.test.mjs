// The documents against the repository: what they name is there, and what users can set is named.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const read = (path) => readFileSync(join(root, path), 'utf8');
/** The guides of the rooms, beside that of the whole. */
const guides = globSync(['shared/AGENTS.md', 'cli/**/AGENTS.md', 'workers/**/AGENTS.md', 'tests/**/AGENTS.md'], { cwd: root, exclude: (path) => /(^|\/)(target|node_modules|fixtures)$/.test(String(path)) }).toSorted();
const documents = ['README.md', 'AGENTS.md', ...guides, 'CHANGELOG.md', ...globSync('docs/*.md', { cwd: root }).toSorted()];
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).split('\0').filter((path) => path && existsSync(join(root, path)));

/** The sources that define flags. */
const flagSources = () => ['cli/src/args.rs', ...globSync('cli/src/args/*.rs', { cwd: root })].map(read).join('\n');

/** The groups of all matches. */
const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1]);

/** The cells of the table's rows below a heading, without the table's head. */
function table(text, heading) {
  const section = text.split(`\n## ${heading}\n`)[1].split('\n## ')[0];
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((row) => row.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}

/** The names under which GitLab and GitHub find the headings of a document. */
function anchors(text) {
  const headings = all(text.replace(/```.*?```/gs, ''), /^#{1,6} +(.+)$/gm);
  return headings.map((heading) => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
}

for (const name of documents) {
  describe(name, () => {
    const text = read(name);
    const prose = text.replace(/```.*?```/gs, '');

    test('links lead to files, and in them to headings, that are there', () => {
      const links = all(prose, /\]\(([^)\s]+)\)/g).filter((link) => !/^https?:/.test(link));
      const broken = links.filter((link) => {
        const [file, anchor] = link.split('#');
        const path = file === '' ? name : join(dirname(name), file);
        return !existsSync(join(root, path)) || (anchor !== undefined && !anchors(read(path)).includes(anchor));
      });
      assert.deepEqual(broken, []);
    });

    test('paths and scripts are there', () => {
      const places = 'cli|shared|workers|tests|scripts|prompts|docs|deploy|templates';
      // Settings name paths of another repository.
      const paths = all(text.replace(/```toml.*?```/gs, ''), new RegExp(`(?<![\\w./~-])(?:\\./)?((?:${places})/[\\w./*-]*)`, 'g')).map((path) => path.replace(/\.$/, ''));
      const missing = paths.filter((path) => path.includes('*') ? globSync(path, { cwd: root }).length === 0 : !existsSync(join(root, path)));
      assert.deepEqual(missing.filter((path) => !path.includes('NAME') && !(name === 'docs/security-paths.md' && path === 'docs/login.md')), []);
    });

    test('files of Rust are there, also those that are named without their folder', () => {
      // A guide names the files of its room from there.
      const named = all(text.replace(/```.*?```/gs, ''), /`([\w./-]+\.rs)`/g).filter((path) => !path.includes('NAME'));
      const missing = named.filter((path) => !tracked.some((file) => file === path || file.endsWith(`/${path}`)) || (path.startsWith('src/') && !existsSync(join(root, dirname(name), path))));
      assert.deepEqual(missing, []);
    });
  });
}

describe('README.md', () => {
  const readme = read('README.md');

  test('names only environment variables that are read', () => {
    // That the reference has each one, a test of cli/src/reference_tests.rs sees to.
    const known = all(read('cli/src/env/names.rs'), /= "(\w+)";/g);
    const mentioned = [...known, ...all(flagSources(), /env = "(\w+)"/g)];
    for (const name of documents) {
      // A name at the end of a line of code may be that of a constant.
      const named = all(read(name), /\b(CONCLAVE_[A-Z_]*[A-Z])\b/g).filter((word) => !/^CONCLAVE_(UPDATE|WRITE|TEST|BUILD|TOOLS)/.test(word));
      assert.deepEqual(named.filter((word) => !mentioned.includes(word)), [], name);
    }
    const ci = read('cli/src/env/ci.rs');
    const gitlab = all(read('docs/gitlab.md').split('\n## What is read from the job\n')[1], /`(CI_\w+)`/g);
    assert.deepEqual(gitlab.toSorted(), [...new Set(all(ci, /"(CI_\w+)"/g))].toSorted());
  });

  test('lists the exit codes', () => {
    const codes = all(read('cli/src/exit.rs'), /^    \w+ = (\d+);$/gm);
    const listed = table(readme, 'The verdict').flatMap(([cell]) => (/^[\d, ]+$/.test(cell) ? cell.split(', ') : []));
    assert.deepEqual(listed.toSorted(), codes.toSorted());
  });

  test('names the pinned versions', () => {
    const version = read('cli/opencode/src/lib.rs').match(/OPENCODE_VERSION: &str = "([^"]+)"/)[1];
    for (const text of [readme, read('docs/install.md')]) {
      const named = all(text, /(?:OpenCode\]?\S* |opencode(?:-linux-x64@|\/))(\d+\.[\d.]*\d)/g);
      assert.ok(named.length > 0);
      assert.deepEqual(named.filter((name) => name !== version), []);
    }
  });

  test('names the models and tokens that are in the code', () => {
    const preset = read('shared/src/config/preset.rs');
    const models = table(read('docs/models.md'), 'Which models review').flatMap(([, , cell]) => all(cell ?? '', /`([\w@./-]+\/[\w@./-]+)`/g));
    assert.ok(models.length > 4);
    assert.deepEqual(models.filter((model) => !preset.includes(`"${model}"`)), []);
    const workers = globSync('workers/*/src/**/*.rs', { cwd: root }).map(read).join('\n');
    for (const text of [readme, read('docs/operating.md')]) {
      assert.deepEqual([...new Set(all(text, /\b([A-Z]+_TOKENS)\b/g))].filter((name) => !workers.includes(`"${name}"`)), []);
      assert.deepEqual(all(text, /`(conclave_\w+)`/g).filter((name) => !workers.includes(name.replace(/_total$/, ''))), []);
    }
  });

  test('is read in some minutes', () => {
    assert.ok(Buffer.byteLength(readme) <= 9 * 1024, 'README.md has at most 9 KB: what is longer belongs into docs/');
  });
});

describe('AGENTS.md', () => {
  test('and the guides name items that the code has', () => {
    const sources = tracked.filter((path) => /^(cli|shared|workers|tests|prompts|scripts)\/|\.toml$|\.json$/.test(path) && /\.(rs|mjs|toml|json|md)$|^scripts\//.test(path) && !path.endsWith('AGENTS.md') && !path.includes('/fixtures/'));
    const words = new Set(sources.flatMap((path) => read(path).match(/\w+/g) ?? []));
    for (const guide of ['AGENTS.md', ...guides]) {
      const named = all(read(guide).replace(/```.*?```/gs, ''), /`([A-Za-z_]\w*(?:::\w+)*)(?:\(\))?`/g).filter((name) => /_|::|[A-Z][a-z]/.test(name));
      assert.deepEqual(named.filter((name) => !name.split('::').every((word) => words.has(word))), [], guide);
    }
  });

  test('is read in some minutes, and leads to the guide of each room', () => {
    const text = read('AGENTS.md');
    assert.ok(Buffer.byteLength(text) <= 8 * 1024, 'AGENTS.md has at most 8 KB: contracts belong into the guide of their room');
    assert.ok(guides.length > 5);
    assert.deepEqual(guides.filter((guide) => !text.includes(`](${guide}`)), []);
  });
});

describe('docs/operating.md', () => {
  test('shows configurations that are JSON, with fields that the reference lists', () => {
    const section = read('docs/operating.md').split('\n## Changing the configuration\n')[1].split('\n## ')[0];
    const examples = all(section, /```json\n(.*?)```/gs).map((text) => JSON.parse(text));
    assert.ok(examples.length >= 3);
    const fields = all(read('docs/configuration.md').split('\n## The document of all reviews\n')[1], /^\| `(\w+)/gm);
    assert.deepEqual(examples.flatMap((example) => Object.keys(example)).filter((field) => !fields.includes(field)), []);
  });
});

describe('docs/security.md', () => {
  test('names tests that are there', () => {
    const sources = globSync(['cli/**/*.rs', 'shared/**/*.rs', 'workers/**/*.rs', 'tests/**/*.rs'], { cwd: root, exclude: ['**/target/**', '**/build/**'] });
    const rows = new Set(JSON.parse(read('tests/failures/outcomes.json')).map(({ name }) => name));
    const known = new Set([...sources.flatMap((path) => all(read(path), /fn (\w+)[(<]/g))]);
    for (const name of ['docs/security.md', 'docs/models.md', 'docs/writing-a-plugin.md', 'docs/writing-a-prompt.md']) {
      const named = all(read(name), /`([a-z0-9]+(?:_[a-z0-9]+){2,})`/g).filter((word) => !/^(every_row|max_completion_tokens|path_instructions|prompt_cache_key|provider_specific_fields)$/.test(word));
      assert.deepEqual(named.filter((word) => !known.has(word)), [], name);
      assert.deepEqual(all(read(name), /`failure_table::(\w+)`/g).filter((row) => !rows.has(row)), [], name);
    }
    assert.ok(all(read('docs/security.md'), /`([a-z0-9]+(?:_[a-z0-9]+){2,})`/g).length > 30);
  });
});

describe('docs/troubleshooting.md', () => {
  test('lists the checks of the doctor, and no others', () => {
    const sources = globSync('cli/src/{doctor,doctor/*}.rs', { cwd: root }).map(read).join('\n');
    const made = new Set([
      ...all(sources, /Check::(?:ok|warning|failure|of_error|of_change)\(\s*"([a-z-]+)"/g),
      ...all(sources, /const NAME: &str = "([a-z-]+)"/g),
      ...all(sources, /disk\("([a-z-]+)"/g),
      ...all(sources, /(?:judged|found)\(\s*"([a-z-]+)"/g),
      'provider NAME',
    ]);
    const section = read('docs/troubleshooting.md').split('| check | fails')[1].split('\n## ')[0];
    const listed = section.split('\n').filter((line) => line.startsWith('| `')).flatMap((line) => all(line.split('|')[1], /`([^`]+)`/g));
    assert.deepEqual(listed.toSorted(), [...made].toSorted());
  });
});
