// docs/where.md and docs/how-a-review-works.md against the code: the answers, the hops and the pictures are there as they say.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { drawMermaid, readCrate } from '../../scripts/lib/module-graph.mjs';

const root = resolve(import.meta.dirname, '../..');
const read = (path) => readFileSync(join(root, path), 'utf8');

/** Returns whether a file of Rust defines an item, by its name or as `Type::method`. */
function defines(file, item) {
  if (!existsSync(join(root, file))) return false;
  const text = read(file);
  return item.split('::').every((name) => new RegExp(`\\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!|impl(?:<[^>]*>)?(?: \\w+ for)?) ${name}\\b`).test(text));
}

describe('docs/where.md', () => {
  const rows = read('docs/where.md').split('\n').filter((line) => line.startsWith('| ') && line.includes('?')).map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));

  test('answers twenty questions', () => {
    assert.ok(rows.length >= 20, `${rows.length} questions`);
    assert.deepEqual(rows.filter(([question]) => !question.endsWith('?')), []);
  });

  test('names files, and items that they define', () => {
    const wrong = rows.filter(([, file, item]) => {
      const path = /^`([^`]+)`$/.exec(file)?.[1];
      const name = /^`([^`]+)`$/.exec(item)?.[1];
      if (!path || !existsSync(join(root, path))) return true;
      return path.endsWith('.rs') ? !name || !defines(path, name) : name !== undefined && !read(path).includes(name);
    });
    assert.deepEqual(wrong, []);
  });
});

describe('docs/how-a-review-works.md', () => {
  const document = 'docs/how-a-review-works.md';
  const text = read(document);
  const walks = [
    ['A finding becomes a thread', 20],
    ['A document becomes a model', 12],
    ['An event becomes a cell', 15],
  ];

  for (const [heading, most] of walks) {
    test(`${heading}, in at most ${most} hops, each a function that is there`, () => {
      const section = text.split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
      const items = section.split('\n').filter((line) => /^\d+\. /.test(line));
      const hops = items.map((line) => /^\d+\. `([\w./-]+\.rs)::([\w:]+)`/.exec(line)?.slice(1));
      assert.ok(hops.length > 3 && hops.length <= most, `${hops.length} hops`);
      assert.deepEqual(items.filter((line, i) => !hops[i] || !defines(...hops[i])), []);
    });
  }

  test('has the picture of the modules as they are', () => {
    // CONCLAVE_WRITE_DOCS=1 renews it.
    const pictures = /(<!-- modules of ([\w/-]+) -->\n)(```mermaid\n[^]*?```)/g;
    const current = text.replace(pictures, (whole, mark, crate) => mark + drawMermaid(readCrate(join(root, crate, 'src/lib.rs'))));
    if (process.env.CONCLAVE_WRITE_DOCS) writeFileSync(join(root, document), current);
    const drawn = Array.from(text.matchAll(pictures), ([, , crate]) => crate);
    assert.ok(drawn.includes('cli/engine'), 'the engine has a picture');
    assert.ok(process.env.CONCLAVE_WRITE_DOCS || current === text, 'run this test with CONCLAVE_WRITE_DOCS=1');
  });

  test('has each room of the engine in its plan', () => {
    const rooms = [...readCrate(join(root, 'cli/engine/src/lib.rs')).folders.get('').keys()];
    const section = text.split('\n## The rooms\n')[1]?.split('\n## ')[0] ?? '';
    const plan = section.split('<!-- modules')[0];
    assert.deepEqual(rooms.filter((room) => !new RegExp(`\\b${room}\\b`).test(plan)), []);
  });

  test('names rooms of the other crates that are there', () => {
    const rows = text.split('\n').map((line) => /^\| `([\w/-]+\/src)\/` \| (.*) \|$/.exec(line)).filter(Boolean);
    assert.ok(rows.length >= 5, `${rows.length} crates`);
    for (const [, source, rooms] of rows) {
      const named = Array.from(rooms.matchAll(/`(\w+)`/g), ([, room]) => room);
      assert.deepEqual(named.filter((room) => !existsSync(join(root, source, `${room}.rs`)) && !existsSync(join(root, source, room))), [], source);
    }
  });
});
