// scripts/lib/english.mjs: what it counts, where, and that a count may only fall.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compare, count, findHabits } from '../../scripts/lib/english.mjs';

/** The habits of a file as `area pattern line`. */
const habits = (path, text) => findHabits(path, text).map(({ area, pattern, line }) => `${area} ${pattern} ${line}`);

describe('the count of habits', () => {
  test('knows how a doc comment opens, on its first line only', () => {
    assert.deepEqual(habits('cli/src/a.rs', '/// What is left.\n/// How much it is.\nfn f() {}\n'), ['comments opening 1']);
    assert.deepEqual(habits('cli/src/a.rs', '//! Whether it is so.\n\n/** Who did it. */\nfn f() {}\n'), ['comments opening 1', 'comments opening 3']);
    assert.deepEqual(habits('cli/src/a.rs', '/// The rest.\n///\n/// What is left.\nfn f() {}\n// What follows is code.\n/// Whatever.\nfn g() {}\n'), []);
    assert.deepEqual(habits('tests/support/a.mjs', '/** How long. */\nconst a = 1;\n/**\n * Who\n */\n'), ['comments opening 1', 'comments opening 3']);
  });

  test('tells comments, what users read, names and documents apart', () => {
    const source = [
      '// Nobody is told.',
      'const MOST_LINES: &str = "the file is no file";',
      'fn f() { g(r#"whoever "reads" this"#) } // MAX_LINES',
      '#[cfg(test)]',
      'mod tests {',
      '    const NAME: &str = "nobody";',
      '}',
    ].join('\n');
    assert.deepEqual(habits('cli/src/a.rs', source), ['comments somebody 1', 'comments told 1', 'texts isNo 2', 'texts somebody 3', 'comments superlative 2']);
    assert.deepEqual(habits('tests/e2e/a.rs', 'const A: &str = "nobody"; // nobody'), ['comments somebody 1']);
    assert.deepEqual(habits('cli/src/a_tests.rs', 'const A: &str = "nobody";'), []);
    assert.deepEqual(habits('docs/a.md', 'The table tells.\n\n`nobody`\n\n```rust\n/// nobody\n```\nWhat is no file.\n'), ['docs told 1', 'docs isNo 8']);
    assert.deepEqual(habits('scripts/a', '#!/usr/bin/env bash\n# Whoever\necho nobody # nobody\n'), ['comments somebody 2']);
  });

  test('takes each habit, also across lines, and leaves good English alone', () => {
    const bad = { somebody: ['Somebody', 'whoever'], told: ['is told', 'are\n told', 'tells'], isNo: ['this is no file'], comesBack: ['Comes back when'], british: ['behaviour', 'organisation', 'coloured', 'licence', 'sanitised'] };
    for (const [pattern, texts] of Object.entries(bad)) {
      for (const text of texts) assert.deepEqual(habits('docs/a.md', text).map((habit) => habit.split(' ')[1]), [pattern], text);
    }
    for (const text of ['there is no file', 'it is no longer so', 'the generalist', 'a specialist', 'behavior', 'license', 'everybody told', 'coming back']) {
      assert.deepEqual(habits('docs/a.md', text), [], text);
    }
  });

  test('fails above the ceiling, and asks for a lower one below', () => {
    const counts = count([...findHabits('docs/a.md', 'nobody, nobody'), ...findHabits('cli/src/a.rs', '/// What.\nfn f() {}')]);
    assert.equal(counts.docs.somebody, 2);
    const { above, below } = compare(counts, { docs: { somebody: 1 }, comments: { opening: 3 } });
    assert.equal(above.length, 1);
    assert.match(above[0], /^docs: somebody 2 times, at most 1 allowed; write .* --list somebody docs$/);
    assert.equal(below.length, 1);
    assert.match(below[0], /^comments: opening 1 times, 3 allowed: lower the ceiling with .* --update$/);
    assert.deepEqual(compare(counts, counts), { above: [], below: [] });
  });
});
