// What a change can break: reads paths on standard input, one a line, and prints the stages of scripts/test that they need, and
// which Rust tests (a filterset of cargo-nextest).   changed.mjs [ROOT]
//
// A crate's change can break every crate that is made with it. A path that no rule knows needs everything.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const STAGES = ['lint', 'dependencies', 'workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo'];
const END_TO_END = 'package(conclave) & binary(e2e)';

/** The first that matches counts: a pattern, stages, and which Rust tests. `CRATE` is the crate that the path is in. */
const RULES = [
  // What everything is built or run with.
  [/^(Cargo\.(toml|lock)|rust-toolchain\.toml|clippy\.toml|rustfmt\.toml|package(-lock)?\.json|\.npmrc|\.config\/.*|\.cargo\/.*)$/, STAGES, 'all()'],
  [/^scripts\/(setup|test|versions\.env|lib\/([^/]+\.sh|prebuilt\.txt))$/, STAGES, 'all()'],
  [/^deny\.toml$/, ['dependencies']],
  // Crates, the Workers' apart: those run in other tests too.
  [/^(workers\/|shared\/|wrangler\.toml)/, ['lint', 'workers', 'rust', 'examples', 'workerd', 'browser', 'docs', 'demo'], `CRATE + (${END_TO_END})`],
  [/^tests\/support\/(bench|evidence|intruder)\//, ['lint', 'rust', 'examples'], 'CRATE'],
  [/^(cli|tests\/support\/[^/]+)\/.*\.md$/, ['docs']],
  [/^cli\//, ['lint', 'rust', 'examples', 'docs', 'demo'], 'CRATE'],
  [/^tests\/support\/[^/]+\//, ['lint', 'rust', 'examples', 'docs', 'demo'], 'CRATE'],
  [/^prompts\//, ['rust', 'docs', 'demo'], 'rdeps(conclave-engine)'],
  // Tests.
  [/^tests\/e2e\//, ['lint', 'rust'], END_TO_END],
  [/^tests\/(failures|fixtures)\//, ['rust', 'docs'], 'all()'],
  [/^tests\/workers\//, ['workers', 'workerd']],
  [/^tests\/browser\//, ['workers', 'browser']],
  [/^tests\/support\/[^/]+\.mjs$/, ['workers', 'workerd', 'browser', 'docs']],
  // What is held by tests of documents. Some documents are made by Rust tests.
  [/^docs\/(schema\/.*|configuration\.md|failures\.md|security-paths\.md|models\.md|settings\.md)$/, ['rust', 'docs'], 'rdeps(conclave-shared) & kind(lib) + test(the_document_is_current)'],
  [/^scripts\/(demo|demo-repository|seed-demo-data)$/, ['rust', 'docs', 'demo'], `package(conclave-scripted-provider) + (${END_TO_END} & test(/^demo::/))`],
  [/^(tests\/docs|docs|templates|deploy|scripts|\.ci|\.github)\//, ['docs']],
  [/^(action\.yml|LICENSE|\.gitlab-ci\.yml|\.gitignore|\.dockerignore|\.[a-z]+ignore|\.conclave\.toml|[A-Z]+\.md|tests\/AGENTS\.md|\.editorconfig|\.gitattributes)$/, ['docs']],
];

/** The name of the crate that a path is in, if it is in one. */
function crateOf(root, path) {
  for (let directory = dirname(path); directory !== '.'; directory = dirname(directory)) {
    const manifest = join(root, directory, 'Cargo.toml');
    if (existsSync(manifest)) return readFileSync(manifest, 'utf8').match(/^name = "([^"]+)"/m)?.[1];
  }
  return undefined;
}

/** The rule of a path, or nothing. */
export const ruleOf = (path) => RULES.find(([pattern]) => pattern.test(path));

/** The stages that these paths need, in order, and the filterset of their Rust tests ('' for none). */
export function needed(root, paths) {
  const stages = new Set();
  const filters = new Set();
  for (const path of paths) {
    const [, ofRule, filter] = ruleOf(path) ?? [null, STAGES, 'all()'];
    const crate = crateOf(root, path);
    ofRule.forEach((stage) => stages.add(stage));
    if (filter?.includes('CRATE')) filters.add(crate ? filter.replace('CRATE', `rdeps(${crate})`) : 'all()');
    else if (filter) filters.add(filter);
  }
  const all = filters.has('all()') ? ['all()'] : [...filters].toSorted();
  return { stages: STAGES.filter((stage) => stages.has(stage)), filter: all.map((filter) => (all.length > 1 ? `(${filter})` : filter)).join(' + ') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = readFileSync(0, 'utf8').split('\n').filter(Boolean);
  const { stages, filter } = needed(resolve(process.argv[2] ?? join(import.meta.dirname, '../..')), paths);
  process.stdout.write(`${stages.join(' ')}\n${filter}\n`);
}
