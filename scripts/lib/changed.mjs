// What a change can break: reads paths on standard input, one a line, and prints the stages of scripts/test that they need, and
// which Rust tests (a filterset of cargo-nextest).   changed.mjs [ROOT]
//
// A crate's change can break every crate that is made with it. A file that a test, a crate or a script names can break that one, too:
// those are found in the sources. A path that no rule knows needs everything.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const STAGES = ['dependencies', 'workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo'];
const END_TO_END = 'package(conclave) & binary(e2e)';

/**
 * Needs of a path by where it is. The first that matches counts: a pattern, stages, and which Rust tests. `CRATE` is the crate that
 * the path is in.
 */
const RULES = [
  // What everything is built or run with.
  [/^(Cargo\.(toml|lock)|rust-toolchain\.toml|clippy\.toml|rustfmt\.toml|package(-lock)?\.json|\.npmrc|\.config\/.*|\.cargo\/.*)$/, STAGES, 'all()'],
  [/^scripts\/(setup|test|versions\.env|lib\/([^/]+\.sh|prebuilt\.txt))$/, STAGES, 'all()'],
  [/^deny\.toml$/, ['dependencies']],
  [/(^|\/)(AGENTS|README)\.md$/, ['docs']],
  // Crates, the Workers' apart: those run in other tests too.
  [/^(workers\/|shared\/|wrangler\.toml)/, ['workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo'], `CRATE + (${END_TO_END})`],
  [/^tests\/support\/(bench|evidence|intruder)\//, ['rust', 'examples'], 'CRATE'],
  // And those that import it.
  [/^tests\/support\/([^/]+|seed\/.+)\.mjs$/, ['docs']],
  [/^cli\//, ['rust', 'examples', 'docs', 'demo'], 'CRATE'],
  [/^tests\/support\/[^/]+\//, ['rust', 'examples', 'docs', 'demo'], 'CRATE'],
  [/^prompts\//, ['rust', 'docs', 'demo'], 'rdeps(conclave-engine)'],
  // Tests.
  [/^tests\/e2e\//, ['rust'], END_TO_END],
  [/^tests\/(failures|fixtures)\//, ['rust', 'docs'], 'all()'],
  [/^tests\/workers\//, ['workers', 'workerd']],
  [/^tests\/browser\//, ['workers', 'browser']],
  // What is held by tests of documents.
  [/^scripts\/demo$/, ['docs', 'demo']],
  [/^(tests\/docs|docs|templates|deploy|scripts|\.ci|\.github)\//, ['docs']],
  [/^(action\.yml|LICENSE|\.gitlab-ci\.yml|\.gitignore|\.dockerignore|\.[a-z]+ignore|\.conclave\.toml|[A-Z]+\.md|\.editorconfig|\.gitattributes)$/, ['docs']],
];

/** Files that can read others of the repository. Documents only speak of them. */
const READERS = /^((cli|shared|workers|tests)\/.+\.(rs|mjs)|(cli|shared|workers|tests)\/.+\/Cargo\.toml|scripts\/(lib\/)?([^/.]+|[^/]+\.mjs)|deploy\/[^/.]+)$/;

/** This file and its test, which read none of those that they name. */
const OURSELVES = /\/changed\.(test\.)?mjs$/;

/** Readers that are neither a test nor part of a crate: those who read or run them depend on what they read. */
const HELPERS = /^(scripts|deploy)\/|^tests\/support\/.+\.mjs$/;

/** The directory of the crate that a path is in, if it is in one. */
function crateDirectory(root, path) {
  for (let directory = dirname(path); directory !== '.'; directory = dirname(directory)) {
    if (existsSync(join(root, directory, 'Cargo.toml'))) return directory;
  }
  return undefined;
}

/** The name of the crate that a path is in, if it is in one. */
function crateOf(root, path) {
  const directory = crateDirectory(root, path);
  return directory && readFileSync(join(root, directory, 'Cargo.toml'), 'utf8').match(/^name = "([^"]+)"/m)?.[1];
}

/** The rule of a path, or nothing. */
export const ruleOf = (path) => RULES.find(([pattern]) => pattern.test(path));

/** Paths from the root that a line names: in full, relative to the file, to its crate, or to a variable for the root. */
function namesIn(line, bases, isThere) {
  const names = [];
  for (const [token] of line.replaceAll(/\\([./])/g, '$1').matchAll(/[\w.@-]*(?:\/[\w.@-]+)+/g)) {
    const path = token.replace(/^\//, '');
    const places = [...bases.map((base) => normalize(join(base, path))), path.replace(/^[A-Z_]+\//, '')];
    const place = /\w/.test(path) && places.find(isThere);
    if (place) names.push(place);
  }
  // A file right below the root has no directory that would tell it from another word.
  const [, name] = line.match(/(?:root\(\)\.join\(|join\(root, )['"]([^'"/]+)['"]/) ?? [];
  return name && isThere(name) ? [...names, name] : names;
}

/**
 * Every file and directory that is named in the sources, each with who names it and where: Map path -> [{ reader, lines, at }]. The
 * changed ones are among them, also where they are gone.
 */
export function readersIn(root, changed) {
  const listed = execFileSync('git', ['-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], { maxBuffer: 1 << 26 });
  const files = listed.toString().split('\0').filter(Boolean);
  const there = new Set([...files, ...changed]);
  // A directory right below the root is a word like any other.
  for (const file of there) for (let directory = dirname(file); directory.includes('/'); directory = dirname(directory)) there.add(directory);
  const readers = new Map();
  for (const reader of files.filter((file) => READERS.test(file) && !OURSELVES.test(file) && existsSync(join(root, file)))) {
    const bases = ['', dirname(reader), crateDirectory(root, reader) ?? ''];
    const lines = readFileSync(join(root, reader), 'utf8').split('\n');
    lines.forEach((line, at) => {
      // Comments only speak of files; `#[` is an attribute of Rust.
      if (/^\s*(\/\/|\/?\*(\s|\/|$)|#(?!\[))/.test(line)) return;
      for (const name of namesIn(line, bases, (path) => there.has(path) && path !== reader)) {
        readers.set(name, [...(readers.get(name) ?? []), { reader, lines, at }]);
      }
    });
  }
  return readers;
}

/** The end-to-end tests that a file of theirs is part of: those of its module, or all. */
function endToEnd(root, path) {
  let [, name] = path.match(/^tests\/e2e\/([\w]+)/);
  if (name === 'support') {
    // It may serve one module alone: whose file has the names that it gives.
    const given = readFileSync(join(root, 'tests/e2e/support.rs'), 'utf8').match(new RegExp(`use ${path.split('/').at(-1).replace('.rs', '')}::\\{?([^;}]+)`))?.[1] ?? '';
    const words = new RegExp(`\\b(${given.split(',').map((word) => word.trim()).filter(Boolean).join('|')})\\b`);
    const all = execFileSync('git', ['-C', root, 'ls-files', 'tests/e2e/*.rs']).toString().trim().split('\n');
    const users = all.filter((file) => file !== path && file !== 'tests/e2e/support.rs' && words.test(readFileSync(join(root, file), 'utf8')));
    const modules = new Set(users.map((file) => file.match(/^tests\/e2e\/(\w+)/)[1]));
    [name] = given && modules.size === 1 ? modules : ['main'];
  }
  return name === 'main' || name === 'support' ? END_TO_END : `${END_TO_END} & test(/^${name}::/)`;
}

/** The stage and the filter that a file needs because of one that names it; nothing, where it needs all that its reader does. */
function becauseOf(root, { reader, lines, at }) {
  if (reader.startsWith('tests/e2e/')) return ['rust', endToEnd(root, reader)];
  if (!reader.endsWith('.rs')) return undefined;
  if (/doctest/.test(lines[at - 1] ?? '')) return ['examples'];
  const isTest = /_tests\.rs$|\/tests(\/|\.rs$)/.test(reader) || lines.slice(0, at).some((line) => line === '#[cfg(test)]');
  // What goes into the program counts as its own source. All else is read by the crate's tests, or is part of a message.
  return !isTest && /include(_str|_bytes)?!/.test(lines[at]) ? undefined : ['rust', `package(${crateOf(root, reader)}) & not binary(e2e)`];
}

/** The stages that these paths need, in order, and the filterset of their Rust tests ('' for none). */
export function needed(root, paths, readers = readersIn(root, paths)) {
  const stages = new Set();
  const filters = new Set();
  const byRule = (path) => {
    const [, ofRule, filter] = ruleOf(path) ?? [null, STAGES, 'all()'];
    const crate = crateOf(root, path);
    ofRule.forEach((stage) => stages.add(stage));
    if (filter?.includes('CRATE')) filters.add(crate ? filter.replace('CRATE', `rdeps(${crate})`) : 'all()');
    else if (filter) filters.add(filter);
  };
  const queue = [...paths];
  const seen = new Set(queue);
  while (queue.length > 0) {
    const path = queue.pop();
    byRule(path);
    for (let place = path; place !== '.'; place = dirname(place)) {
      for (const found of readers.get(place) ?? []) {
        const { reader } = found;
        // What names everything, like scripts/test, says nothing about one file.
        if (ruleOf(reader)?.[2] === 'all()') continue;
        const [stage, filter] = becauseOf(root, found) ?? [];
        if (stage) stages.add(stage);
        if (filter) filters.add(filter);
        if (!stage && !seen.has(reader)) {
          seen.add(reader);
          if (HELPERS.test(reader)) queue.push(reader);
          else byRule(reader);
        }
      }
    }
  }
  const isIncluded = (filter) => filters.has(END_TO_END) && filter.startsWith(`${END_TO_END} & `);
  const all = filters.has('all()') ? ['all()'] : [...filters].filter((filter) => !isIncluded(filter)).toSorted();
  return { stages: STAGES.filter((stage) => stages.has(stage)), filter: all.map((filter) => (all.length > 1 ? `(${filter})` : filter)).join(' + ') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = readFileSync(0, 'utf8').split('\n').filter(Boolean);
  const { stages, filter } = needed(resolve(process.argv[2] ?? join(import.meta.dirname, '../..')), paths);
  process.stdout.write(`${stages.join(' ')}\n${filter}\n`);
}
