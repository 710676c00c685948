// Counts habits of English that make a reader stop, in comments, in what users read, and in the documents; the counts only fall.
//
// Usage: node scripts/lib/english.mjs [--update | --list PATTERN [AREA]]
//   (nothing)   fails if a count is above its ceiling in scripts/lib/english.json
//   --update    lowers the ceilings to the counts; fails where a count is above
//   --list      prints each place of a pattern

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lineFinder, splitRust, testSpans } from './rust-source.mjs';

/** The habits, and what to write instead. `where` limits a habit to the openings of doc comments, or to names in code. */
export const PATTERNS = {
  opening: { where: 'openings', regex: /^(?:What|How|Whether|Who|Whom|Whose)\b/g, instead: 'open a doc comment with a noun phrase or a verb: "Maximum note length in bytes.", "Returns the fallback for `model`."' },
  somebody: { regex: /\b(?:somebody|whoever|nobody)\b/gi, instead: 'name the thing: "each caller", "no reviewer", "the author"' },
  told: { regex: /\b(?:is|are|was|were|be|been)\s+told\b|\btells\b/gi, instead: 'report, log, send, show, or "returns whether"' },
  isNo: { regex: /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\s+(?!longer\b|more\b|later\b|less\b|worse\b|better\b)/gi, instead: '"is not an X"' },
  comesBack: { regex: /\bcomes?\s+back\s+when\b/gi, instead: '"Resolves when" or "Returns once"' },
  superlative: { where: 'names', regex: /\b(?:MOST|LONGEST|LARGEST|LEAST|FEWEST|SHORTEST|SMALLEST|GREATEST)_[A-Z]\w*/g, instead: 'MAX_ or MIN_' },
  british: {
    regex: /\b(?:\w*(?:organis|normalis|sanitis|serialis|initialis|summaris|recognis|specialis(?!t)|categoris|prioritis|authoris|optimis|minimis|maximis|generalis(?!t)|capitalis(?!t)|customis|synchronis|tokenis)\w*|(?:mis)?behaviour\w*|colour\w*|licences?|favour\w*|honour\w*|neighbour\w*|catalogues?|centres?)\b/gi,
    instead: 'American spelling: organization, behavior, color, license',
  },
};

/** Where the habits are counted. */
export const AREAS = ['comments', 'texts', 'docs'];

const isTestFile = (path) => /(^|\/)(tests?|test_support|benches|examples)(\/|\.rs$)|_tests?\.rs$/.test(path);

/** Joins line comments that follow each other, so that a sentence across lines is one text; each keeps its position. */
function blocksOf(comments, code) {
  const blocks = [];
  for (const { at, text } of comments) {
    const last = blocks.at(-1);
    const kind = /^\/\/[/!]|^\/\*[*!]|^\/\/|^\/\*/.exec(text)[0];
    const body = text.slice(kind.length).replace(/\*\/$/, '');
    // Only blanks and one line end between two lines of one block.
    if (last?.kind === kind && /^[ \t]*\n[ \t]*$/.test(code.slice(last.end, at))) {
      last.text += `\n${body}`;
      last.end = at + text.length;
    } else {
      blocks.push({ kind, at, end: at + text.length, text: body });
    }
  }
  return blocks;
}

/** The pieces of a file that are read for habits: area, kind (`openings`, `names` or plain), line and text. */
export function piecesOf(path, text) {
  const pieces = [];
  const lineOf = lineFinder(text);
  if (path.endsWith('.rs')) {
    const { code, comments, strings } = splitRust(text);
    for (const { kind, at, text: body } of blocksOf(comments, code)) {
      pieces.push({ area: 'comments', line: lineOf(at), text: body, opening: /^(?:\/\/[/!]|\/\*[*!])$/.test(kind) });
    }
    const tests = testSpans(code);
    const inTest = (at) => tests.some(([from, to]) => from <= at && at < to);
    if (/^(?:cli|shared|workers)\//.test(path) && !isTestFile(path)) {
      for (const { at, text: body } of strings) if (!inTest(at)) pieces.push({ area: 'texts', line: lineOf(at), text: body });
    }
    pieces.push({ area: 'comments', line: 1, text: code, names: true });
  } else if (/\.mjs$/.test(path)) {
    for (const match of text.matchAll(/(?<=^\s*)\/\/.*(?:\n\s*\/\/.*)*|\/\*\*[^]*?\*\//gm)) {
      const opening = match[0].startsWith('/**');
      const body = match[0].replace(/^\/\*\*|\*\/$/g, '').replace(/\n\s*(?:\/\/|\*)/g, '\n').replace(/^\/\//, '');
      pieces.push({ area: 'comments', line: lineOf(match.index), text: body, opening });
    }
  } else if (path.endsWith('.md')) {
    // Code in a document is quoted, with the names that it has.
    pieces.push({ area: 'docs', line: 1, text: text.replace(/```[^]*?```|`[^`\n]*`/g, (quoted) => quoted.replace(/[^\n]/g, ' ')) });
  } else if (/^#!.*\bbash/.test(text) || path.endsWith('.sh')) {
    for (const match of text.matchAll(/^[ \t]*#.*(?:\n[ \t]*#.*)*/gm)) {
      pieces.push({ area: 'comments', line: lineOf(match.index), text: match[0].replace(/^[ \t]*#/gm, ' ') });
    }
  }
  return pieces;
}

/** Each place of a habit in a file: pattern, area, line, and the words. */
export function findHabits(path, text) {
  const found = [];
  for (const { area, line, text: piece, opening, names } of piecesOf(path, text)) {
    const body = opening ? piece.trimStart() : piece;
    const lineIn = lineFinder(body);
    for (const [pattern, { regex, where }] of Object.entries(PATTERNS)) {
      if ((where === 'openings' && !opening) || (where === 'names') !== Boolean(names)) continue;
      for (const match of body.matchAll(regex)) {
        const start = Math.max(0, match.index - 40);
        found.push({ pattern, area, path, line: line + lineIn(match.index) - 1, words: body.slice(start, match.index + match[0].length + 40).replace(/\s+/g, ' ').trim() });
      }
    }
  }
  return found;
}

/** The counts of habits by area and pattern. */
export function count(habits) {
  const counts = Object.fromEntries(AREAS.map((area) => [area, Object.fromEntries(Object.keys(PATTERNS).map((pattern) => [pattern, 0]))]));
  for (const { area, pattern } of habits) counts[area][pattern]++;
  return counts;
}

/** Compares counts with ceilings: one line for each that is above, and for each that can be lowered. */
export function compare(counts, ceilings) {
  const above = [];
  const below = [];
  for (const [area, patterns] of Object.entries(counts)) {
    for (const [pattern, number] of Object.entries(patterns)) {
      const ceiling = ceilings[area]?.[pattern] ?? 0;
      if (number > ceiling) above.push(`${area}: ${pattern} ${number} times, at most ${ceiling} allowed; write ${PATTERNS[pattern].instead}. Places: node scripts/lib/english.mjs --list ${pattern} ${area}`);
      if (number < ceiling) below.push(`${area}: ${pattern} ${number} times, ${ceiling} allowed: lower the ceiling with node scripts/lib/english.mjs --update`);
    }
  }
  return { above, below };
}

/** The files that are read: what git knows of or could add, without what is generated or quoted from outside. */
function files(root) {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  const wanted = /^(?:cli|shared|workers|tests)\/.*\.(?:rs|mjs)$|^(?:scripts|deploy|\.ci)\/|^(?:[A-Z]+|docs\/[^/]*|(?:cli|shared|workers|tests)\/.*AGENTS)\.md$/;
  return listed.split('\0').filter((path) => wanted.test(path) && !/\/fixtures\/|\/build\//.test(path) && path !== 'scripts/lib/english.mjs');
}

function main(options) {
  const root = resolve(import.meta.dirname, '../..');
  const ceilingsFile = join(import.meta.dirname, 'english.json');
  const habits = files(root).flatMap((path) => {
    try {
      return findHabits(path, readFileSync(join(root, path), 'utf8'));
    } catch (error) {
      // Deleted, and git has not heard of it yet.
      if (error.code === 'ENOENT') return [];
      throw error;
    }
  });
  if (options[0] === '--list') {
    for (const { pattern, area, path, line, words } of habits) {
      if (pattern === options[1] && (options[2] === undefined || area === options[2])) process.stdout.write(`${path}:${line}: ${words}\n`);
    }
    return 0;
  }
  const counts = count(habits);
  const ceilings = JSON.parse(readFileSync(ceilingsFile, 'utf8'));
  const { above, below } = compare(counts, ceilings);
  for (const line of above) process.stderr.write(`english: ${line}\n`);
  if (options[0] === '--update') {
    for (const [area, patterns] of Object.entries(counts)) {
      for (const [pattern, number] of Object.entries(patterns)) counts[area][pattern] = Math.min(number, ceilings[area]?.[pattern] ?? number);
    }
    writeFileSync(ceilingsFile, `${JSON.stringify(counts, null, 2)}\n`);
  } else {
    for (const line of below) process.stdout.write(`english: ${line}\n`);
  }
  if (above.length > 0) return 1;
  process.stdout.write(`english: ${habits.length} habits, none more than before\n`);
  return 0;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = main(process.argv.slice(2));
