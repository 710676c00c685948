// scripts/lib/module-graph.mjs: what counts as an arrow between modules, and what breaks the rules.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { checkCrates, drawMermaid, drawText, essentialArrows, readCrate } from '../../scripts/lib/module-graph.mjs';

let directory;
let planted = 0;

/** Writes a crate, a file by each key, and returns its root file. */
function crate(files) {
  const src = join(directory, String(planted++), 'src');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(src, name)), { recursive: true });
    writeFileSync(join(src, name), text);
  }
  return join(src, 'lib.rs');
}

/** The arrows of a crate as `from → to`, those between a module and its own folder left out. */
function arrows(files) {
  const { uses } = readCrate(crate(files));
  const related = (a, b) => a === '' || b === '' || `${a}::`.startsWith(`${b}::`) || `${b}::`.startsWith(`${a}::`);
  return [...new Set(uses.filter(({ from, to }) => !related(from, to)).map(({ from, to }) => `${from} → ${to}`))].toSorted();
}

/** The faults of a crate called `house`, with paths relative to it. */
function faults(files, layers = '') {
  const file = crate(files);
  return { found: checkCrates(dirname(file), [{ name: 'house', file }], layers).faults };
}

const roof = { 'lib.rs': 'mod attic;\nmod cellar;\n' };

describe('the graph of the modules', () => {
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'conclave-modules-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('has an arrow for a use, a path, and a path behind an import', () => {
    const cases = [
      'use crate::cellar::Wine;',
      'use super::cellar::Wine as Red;',
      'use crate::{cellar::{self, Wine}, other::X};',
      'fn drink() -> crate::cellar::Wine { todo() }',
      'fn drink() { let _ = super::cellar::Wine::new::<u8>(); }',
      'fn drink() { use crate::cellar::Wine; }',
      'pub(crate) use crate::cellar::Wine;',
      'mod shelf { pub(super) fn f() { super::super::cellar::open(); } }',
      'macro_rules! m { () => { $crate::cellar::open() } }',
    ];
    for (const text of cases) {
      const [arrow, ...more] = arrows({ ...roof, 'attic.rs': text, 'cellar.rs': 'pub struct Wine; pub fn open() {}' });
      assert.match(arrow ?? text, /^attic(::shelf)? → cellar$/, text);
      assert.deepEqual(more, [], text);
    }
  });

  test('has no arrow for comments, texts, tests and what belongs to another crate', () => {
    const cases = [
      '//! See [`crate::cellar::Wine`].\n/// As [wine](crate::cellar::Wine).\nfn f() {} // use crate::cellar::Wine;',
      '/* outer /* use crate::cellar::A; */ use crate::cellar::Wine; */',
      'const A: &str = "use crate::cellar::Wine;"; const B: &str = r#"a " crate::cellar::Wine"#; const C: u8 = b\'"\'; const D: char = \'"\';',
      '#[cfg(test)]\nmod tests { use crate::cellar::Wine; }',
      '#[cfg(test)]\nmod tests;',
      '#[cfg(test)]\n#[path = "elsewhere.rs"]\nmod tests;',
      '#[cfg(all(test, unix))]\nfn f<A, B>(a: A, b: B) where A: Into<B> { crate::cellar::open() }',
      '#[cfg(test)] use crate::cellar::{Wine, open};\nfn g() {}',
      'struct S { a: u8, #[cfg(test)] b: crate::cellar::Wine, c: u8 }',
      'use cellar_of_others::cellar::Wine; use std::{fs, io};',
      'pub(in crate::cellar) fn f() {}',
      "fn life<'a>(x: &'a str, y: &'a str) -> &'a str { x } // crate::cellar::Wine",
    ];
    for (const text of cases) {
      const files = { ...roof, 'attic.rs': text, 'attic/tests.rs': 'use crate::cellar::Wine;', 'elsewhere.rs': 'use crate::cellar::Wine;', 'cellar.rs': 'pub struct Wine; pub fn open() {}' };
      assert.deepEqual(arrows(files), [], text);
    }
  });

  test('keeps what is compiled in tests and elsewhere, and what follows a test', () => {
    for (const attribute of ['#[cfg(any(test, feature = "support"))]', '#[cfg(not(test))]', '#[cfg(unix)]', '#[cfg(test)] const A: [u8; 2] = [1, 2];', '#[cfg(test)] mod tests { fn f() { if a { b } } }']) {
      assert.deepEqual(arrows({ ...roof, 'attic.rs': `${attribute}\nuse crate::cellar::Wine;`, 'cellar.rs': 'pub struct Wine;' }), ['attic → cellar'], attribute);
    }
  });

  test('follows a re-export to where the name is defined', () => {
    const house = { 'lib.rs': 'mod attic; mod cellar; mod hall; pub use cellar::shelf::Wine;', 'cellar.rs': 'pub mod shelf;', 'cellar/shelf.rs': 'pub struct Wine;\npub struct Beer;' };
    for (const hall of ['pub use crate::cellar::shelf::Wine as Drink;', 'pub use crate::cellar::shelf::Wine;\npub use Wine as Drink;', 'pub use crate::Wine as Drink;']) {
      assert.deepEqual(arrows({ ...house, 'hall.rs': hall, 'attic.rs': 'use crate::hall::Drink;' }), ['attic → cellar::shelf', 'hall → cellar::shelf'], hall);
    }
    assert.deepEqual(arrows({ ...house, 'hall.rs': 'pub use crate::cellar::shelf::*;', 'attic.rs': 'use crate::hall::Beer;' }), ['attic → cellar::shelf', 'hall → cellar::shelf']);
    assert.deepEqual(arrows({ ...house, 'hall.rs': 'use crate::cellar::shelf;', 'hall/x.rs': '', 'attic.rs': 'use crate::hall; fn f() { hall::shelf::Wine; }' }), ['attic → cellar::shelf', 'attic → hall', 'hall → cellar::shelf']);
    // Two imports that lead to each other, as those of a type and a function of one name do.
    assert.deepEqual(arrows({ ...roof, 'attic.rs': 'pub use crate::cellar::X;', 'cellar.rs': 'pub use crate::attic::X;' }), ['attic → cellar', 'cellar → attic']);
  });

  test('finds modules in mod.rs, at a path of their own, and in the same file', () => {
    const files = {
      'lib.rs': '#[path = "odd/place.rs"] mod attic; mod cellar { pub mod shelf { pub struct Wine; } pub fn f() { crate::hall::g(); } } mod hall;',
      'odd/place.rs': 'use crate::cellar::shelf::Wine;',
      'hall/mod.rs': 'mod door; pub fn g() {}',
      'hall/door.rs': 'use super::super::cellar::f;',
    };
    assert.deepEqual(arrows(files), ['attic → cellar::shelf', 'cellar → hall', 'hall::door → cellar']);
  });

  test('fails on a cycle, and names what ties it', () => {
    const { found } = faults({ ...roof, 'attic.rs': '\nuse crate::cellar::Wine;\npub struct Roof;', 'cellar.rs': 'use crate::attic::Roof;\npub struct Wine;' });
    assert.deepEqual(found, [['modules of a folder do not use each other in a circle', 'house: attic, cellar', 'attic → cellar: attic.rs:2 Wine', 'cellar → attic: cellar.rs:1 Roof']]);
  });

  test('fails on a cycle below, and on one of three that goes through a folder', () => {
    const below = faults({ 'lib.rs': 'mod a;', 'a.rs': 'mod b; mod c;', 'a/b.rs': 'use super::c::C; pub struct B;', 'a/c.rs': 'use super::b::B; pub struct C;' });
    assert.deepEqual(below.found.map(([, where]) => where), ['house, in a: b, c']);
    const through = faults({ 'lib.rs': 'mod a; mod b; mod c;', 'a.rs': 'pub mod deep;', 'a/deep.rs': 'use crate::b::B; pub struct A;', 'b.rs': 'use crate::c::C; pub struct B;', 'c.rs': 'use crate::a::deep::A; pub struct C;' });
    assert.deepEqual(through.found.map(([, where]) => where), ['house: a, b, c']);
  });

  test('takes a folder and its own file for one', () => {
    const { found } = faults({ 'lib.rs': 'mod a;', 'a.rs': 'mod b; use b::B; pub struct A;', 'a/b.rs': 'use super::A; pub struct B;' });
    assert.deepEqual(found, []);
  });

  test('fails on an arrow upwards, a module without a layer and a layer without a module', () => {
    const files = { ...roof, 'attic.rs': 'pub struct Roof;', 'cellar.rs': 'use crate::attic::Roof;' };
    const rule = 'a module uses only what stands below it in scripts/lib/layers.txt';
    assert.deepEqual(faults(files, '# top\n[house]\ncellar\nattic # bottom\n').found, []);
    assert.deepEqual(faults(files, '[house]\ncellar attic\n').found, []);
    assert.deepEqual(faults(files, '[house]\nattic\ncellar\n').found, [[rule, 'house: cellar uses attic, which stands above it: cellar.rs:1 Roof']]);
    assert.deepEqual(faults(files, '[house]\ncellar\ngarden\n').found, [[rule, 'house: module attic has no layer'], [rule, 'house: there is no module garden']]);
    assert.equal(faults(files, '[castle]\ncellar\n').found[0][1], 'castle is not one');
  });

  test('fails on a file that no module declares', () => {
    const files = {
      'lib.rs': '#[cfg(test)] mod test_support; mod attic; mod hall; mod inline { mod deep; }',
      'attic.rs': '#[cfg(test)]\n#[path = "attic_tests.rs"]\nmod tests;\nmod r#box;',
      'attic_tests.rs': '',
      'attic/box.rs': '',
      'attic/stray.rs': '',
      'hall/mod.rs': 'mod door;',
      'hall/door.rs': '',
      'inline/deep.rs': '',
      'test_support.rs': '',
      'lost.rs': 'mod stray;',
      'lost/stray.rs': '',
    };
    const { found } = faults(files);
    assert.deepEqual(found.map(([, where]) => where.split(' ')[0]).toSorted(), ['attic/stray.rs', 'lost.rs']);
  });

  test('is drawn with what follows left out', () => {
    const read = readCrate(crate({
      'lib.rs': 'mod attic; mod cellar; mod hall; mod shed;',
      'attic.rs': 'use crate::{cellar::C, hall::H};',
      'hall.rs': 'mod door; use crate::cellar::C; pub struct H;',
      'hall/door.rs': '',
      'cellar.rs': 'pub struct C;',
      'shed.rs': '',
    }));
    assert.deepEqual(essentialArrows(read.folders.get('')), [['attic', 'hall'], ['hall', 'cellar']]);
    assert.equal(drawText(read), ['  attic → hall', '', '  hall → cellar', '', '  cellar', '  shed', '', '  hall', '    door', ''].join('\n'));
    assert.equal(drawMermaid(read), ['```mermaid', 'flowchart TD', '  shed', '  attic --> hall', '  hall --> cellar', '```'].join('\n'));
  });
});
