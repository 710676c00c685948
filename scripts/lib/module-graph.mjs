// The modules of each crate and what they use of each other, read from `mod`, `use` and the paths in the code.
//
// Used by scripts/check-architecture, which hands in the crates. Fails on a cycle between the modules of a folder (a folder's
// own file belongs to it, with everything below), and on an arrow upwards where scripts/lib/layers.txt orders the modules.
// Only what is compiled outside of tests counts. A name that a module re-exports leads to where it is defined; names that
// reach a module through a private `use module::*` are not followed further than to that module.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { closing, isTestOnly, itemEnd, lineFinder, splitRust, tokenize } from './rust-source.mjs';

const WORD = /^(?:r#)?[A-Za-z_]\w*$/;
const NAMED_ITEMS = new Set(['fn', 'struct', 'enum', 'union', 'trait', 'const', 'static', 'type']);

/** A module's path as text: `a::b`, and nothing for the crate itself. */
const below = (module, name) => (module === '' ? name : `${module}::${name}`);
const parentOf = (module) => module.split('::').slice(0, -1).join('::');

/** The paths of a `use` tree, from the token after `use` to its semicolon: segments and the name that each is known by. */
function usePaths(tokens) {
  const paths = [];
  let i = 0;
  const read = (prefix) => {
    const segments = [...prefix];
    for (; i < tokens.length; i++) {
      const { text } = tokens[i];
      if (text === '{') {
        do {
          i++;
          read(segments);
        } while (tokens[i]?.text === ',');
        i++;
        return;
      }
      if (text === ',' || text === '}') break;
      if (text === 'as') {
        paths.push({ segments: withoutSelf(segments), name: tokens[i + 1].text });
        i += 2;
        return;
      }
      if (text !== '::') segments.push(text);
    }
    if (segments.length > prefix.length) paths.push({ segments: withoutSelf(segments), name: withoutSelf(segments).at(-1) });
  };
  const withoutSelf = (segments) => (segments.length > 1 && segments.at(-1) === 'self' ? segments.slice(0, -1) : segments);
  read([]);
  return paths;
}

/** Reads one crate from its root file. */
class Crate {
  constructor(rootFile) {
    /** Each module by its path: the file that it stands in, what it defines, imports and mentions. */
    this.modules = new Map();
    this.readFile('', rootFile, dirname(rootFile));
  }

  readFile(module, file, directory) {
    const text = readFileSync(file, 'utf8');
    const { code } = splitRust(text);
    const source = { file, text, tokens: tokenize(code), lineOf: lineFinder(text) };
    const first = source.tokens;
    if (first[0]?.text === '#' && first[1]?.text === '!' && isTestOnly(first.slice(3, closing(first, 2) - 1).map((token) => token.text))) return;
    this.readModule(module, directory, source, 0);
  }

  /** Reads the module's items from the token at `index` to the end of the file or the brace that closes it, and returns where that is. */
  readModule(module, directory, source, index) {
    const { tokens, text: whole, file } = source;
    const known = { file, lineOf: source.lineOf, items: new Set(), imports: new Map(), globs: [], paths: [] };
    this.modules.set(module, known);
    let depth = 0;
    let path;
    for (let i = index; i < tokens.length; i++) {
      const { text, at } = tokens[i];
      const next = tokens[i + 1]?.text;
      if (text === '{') depth++;
      else if (text === '}') {
        if (depth === 0) return i;
        depth--;
      } else if (text === '#' && (next === '[' || next === '!')) {
        const open = next === '!' ? i + 2 : i + 1;
        const end = closing(tokens, open);
        const attribute = tokens.slice(open + 1, end - 1).map((token) => token.text);
        if (next === '[' && isTestOnly(attribute)) {
          i = itemEnd(tokens, i) - 1;
          path = undefined;
          continue;
        }
        if (attribute[0] === 'path') path = /"([^"]+)"/.exec(whole.slice(at))?.[1];
        i = end - 1;
      } else if (text === 'pub' && next === '(') {
        i = closing(tokens, i + 1) - 1;
      } else if (text === 'mod' && WORD.test(next ?? '')) {
        const child = below(module, next);
        if (tokens[i + 2]?.text === '{') {
          i = this.readModule(child, join(directory, next), source, i + 3);
        } else if (tokens[i + 2]?.text === ';') {
          const found = path === undefined ? [join(directory, `${next}.rs`), join(directory, next, 'mod.rs')].find(existsSync) : join(dirname(file), path);
          if (found !== undefined) this.readFile(child, found, join(directory, next));
        }
        path = undefined;
      } else if (text === 'use' && (WORD.test(next ?? '') || next === '{' || next === '::')) {
        const end = tokens.findIndex((token, j) => j > i && token.text === ';');
        for (const { segments, name } of usePaths(tokens.slice(i + 1, end))) {
          known.paths.push({ segments: segments.filter((segment) => segment !== '*'), at });
          if (name === '*') known.globs.push(segments.slice(0, -1));
          else if (name !== '_' && (depth === 0 || !known.imports.has(name))) known.imports.set(name, segments);
        }
        i = end;
      } else if (NAMED_ITEMS.has(text) && WORD.test(next ?? '')) {
        if (depth === 0) known.items.add(next);
      } else if (WORD.test(text) && next === '::' && !['::', '.'].includes(tokens[i - 1]?.text)) {
        const segments = [text];
        while (tokens[i + 1]?.text === '::' && WORD.test(tokens[i + 2]?.text ?? '')) {
          segments.push(tokens[i + 2].text);
          i += 2;
        }
        known.paths.push({ segments, at });
      }
    }
    return tokens.length;
  }

  /**
   * Where a path leads that is written in `module`: the module that defines it, and what is left of it there. Undefined if
   * it leads out of the crate; null if it leads back to one of `seen`, the paths on the way here.
   */
  resolve(module, segments, seen = []) {
    const key = `${module}>${segments.join('::')}`;
    if (seen.includes(key)) return null;
    const way = [...seen, key];
    let current = module;
    let rest = segments;
    if (rest[0] === 'crate') {
      current = '';
      rest = rest.slice(1);
    } else if (rest[0] === 'self' || rest[0] === 'super') {
      for (; rest[0] === 'self' || rest[0] === 'super'; rest = rest.slice(1)) {
        if (rest[0] === 'super') current = parentOf(current);
      }
    } else if (!this.has(module, rest[0])) {
      return undefined;
    }
    while (rest.length > 0) {
      const { items, imports, globs } = this.modules.get(current);
      const [name] = rest;
      const child = below(current, name);
      if (this.modules.has(child)) {
        current = child;
        rest = rest.slice(1);
        continue;
      }
      if (items.has(name)) break;
      const imported = imports.has(name) ? [...imports.get(name)] : globs.map((glob) => [...glob, name]).find((path) => this.defines(current, path, way));
      const found = imported && this.resolve(current, imported, way);
      if (found === null && seen.length > 0) return null;
      if (!found) break;
      if (found.rest.length > 0) return { module: found.module, rest: [...found.rest, ...rest.slice(1)] };
      current = found.module;
      rest = rest.slice(1);
    }
    return { module: current, rest };
  }

  /** Returns whether the last name of a path is defined where the rest of it leads. */
  defines(module, path, way) {
    const found = this.resolve(module, path, way);
    return Boolean(found) && (found.rest.length === 0 || this.modules.get(found.module).items.has(found.rest[0]));
  }

  /** Returns whether a name means something in a module by itself. */
  has(module, name) {
    const { items, imports } = this.modules.get(module);
    return this.modules.has(below(module, name)) || imports.has(name) || items.has(name);
  }

  /** Each use of one module by another: from, to, and where. */
  *uses() {
    for (const [from, { file, lineOf, paths }] of this.modules) {
      for (const { segments, at } of paths) {
        const found = this.resolve(from, segments);
        if (found && found.module !== from) {
          yield { from, to: found.module, file, line: lineOf(at), name: found.rest.join('::') || `mod ${found.module.split('::').at(-1)}` };
        }
      }
    }
  }
}

/** The graph of one folder's modules: from → to → the uses that make the arrow. Everything below a module is part of it. */
function folderGraph(modules, uses, folder) {
  const depth = folder === '' ? 0 : folder.split('::').length;
  const inside = (module) => (folder === '' ? module !== '' : module.startsWith(`${folder}::`));
  const top = (module) => module.split('::').slice(0, depth + 1).join('::');
  const graph = new Map();
  for (const module of modules) {
    if (inside(module)) graph.set(top(module), graph.get(top(module)) ?? new Map());
  }
  for (const use of uses) {
    if (!inside(use.from) || !inside(use.to) || top(use.from) === top(use.to)) continue;
    const arrows = graph.get(top(use.from));
    arrows.set(top(use.to), [...(arrows.get(top(use.to)) ?? []), use]);
  }
  return graph;
}

/** The groups of modules that reach each other, smallest first. */
function cyclesOf(graph) {
  const reached = new Map();
  for (const start of graph.keys()) {
    const seen = new Set();
    const open = [start];
    while (open.length > 0) {
      for (const to of graph.get(open.pop()).keys()) {
        if (!seen.has(to)) {
          seen.add(to);
          open.push(to);
        }
      }
    }
    reached.set(start, seen);
  }
  const cycles = [];
  const placed = new Set();
  for (const module of graph.keys()) {
    if (placed.has(module) || !reached.get(module).has(module)) continue;
    const cycle = [...graph.keys()].filter((other) => reached.get(module).has(other) && reached.get(other).has(module));
    cycle.forEach((member) => placed.add(member));
    cycles.push(cycle);
  }
  return cycles.toSorted((a, b) => a.length - b.length);
}

/** Everything that the checks and the pictures need of the crate whose root file this is. */
export function readCrate(rootFile) {
  const crate = new Crate(rootFile);
  const modules = [...crate.modules.keys()];
  const uses = [...crate.uses()];
  const folders = ['', ...new Set(modules.map(parentOf).filter((folder) => folder !== ''))].toSorted();
  return { modules, uses, folders: new Map(folders.map((folder) => [folder, folderGraph(modules, uses, folder)])) };
}

/** The cycles of a crate: the folder and the modules, each with the uses that tie it. */
export function findCycles({ folders }) {
  const found = [];
  for (const [folder, graph] of folders) {
    for (const cycle of cyclesOf(graph)) {
      const ties = cycle.flatMap((from) => [...graph.get(from)].filter(([to]) => cycle.includes(to)).map(([to, uses]) => ({ from, to, uses })));
      found.push({ folder, cycle, ties: ties.toSorted((a, b) => a.uses.length - b.uses.length) });
    }
  }
  return found;
}

/** Reads scripts/lib/layers.txt: for each crate its layers, the highest first. */
export function readLayers(text) {
  const crates = new Map();
  let layers;
  for (const line of text.split('\n').map((each) => each.replace(/#.*/, '').trim()).filter(Boolean)) {
    const crate = /^\[(.+)\]$/.exec(line)?.[1];
    if (crate) crates.set(crate, (layers = []));
    else layers.push(line.split(/\s+/));
  }
  return crates;
}

/** The faults of a crate by the order of its layers: a module without a layer, a layer without its module, an arrow upwards. */
export function findUpwardArrows({ folders }, layers) {
  const graph = folders.get('');
  const level = new Map(layers.flatMap((names, row) => names.map((name) => [name, row])));
  const faults = [];
  for (const module of graph.keys()) {
    if (!level.has(module)) faults.push({ fault: `module ${module} has no layer` });
  }
  for (const name of level.keys()) {
    if (!graph.has(name)) faults.push({ fault: `there is no module ${name}` });
  }
  for (const [from, arrows] of graph) {
    for (const [to, uses] of arrows) {
      if (level.get(to) < level.get(from)) faults.push({ fault: `${from} uses ${to}, which stands above it`, uses });
    }
  }
  return faults;
}

/** Rows of modules, the highest first: each uses only what stands in lower rows. Modules of one cycle share a row. */
export function rowsOf(graph) {
  const cycles = cyclesOf(graph);
  const tied = (a, b) => cycles.some((cycle) => cycle.includes(a) && cycle.includes(b));
  const height = new Map();
  const heightOf = (module) => {
    if (height.has(module)) return height.get(module);
    height.set(module, 0);
    const group = cycles.find((cycle) => cycle.includes(module)) ?? [module];
    const lower = group.flatMap((member) => [...graph.get(member).keys()]).filter((to) => !tied(module, to) && !group.includes(to));
    const own = lower.length === 0 ? 0 : 1 + Math.max(...lower.map(heightOf));
    group.forEach((member) => height.set(member, own));
    return own;
  };
  for (const module of graph.keys()) heightOf(module);
  const rows = [];
  for (const [module, row] of height) (rows[row] ??= []).push(module);
  return rows.map((row) => row.toSorted()).toReversed();
}

/** The arrows of a graph without those that follow from others: `a → c` goes where `a → b → c` is. */
export function essentialArrows(graph) {
  const reaches = (from, to, seen = new Set([from])) =>
    [...graph.get(from).keys()].some((next) => next === to || (!seen.has(next) && seen.add(next) && reaches(next, to, seen)));
  const arrows = [];
  for (const [from, targets] of graph) {
    for (const to of targets.keys()) {
      const others = [...targets.keys()].filter((other) => other !== to && !graph.get(to).has(other));
      if (!others.some((other) => reaches(other, to, new Set([from, other])))) arrows.push([from, to]);
    }
  }
  return arrows;
}

const lastName = (module) => module.split('::').at(-1);

/** The picture of a crate in text: folder by folder, its rows from the top, each module with what it uses directly. */
export function drawText({ folders }) {
  const lines = [];
  for (const [folder, graph] of folders) {
    const arrows = essentialArrows(graph);
    const indent = '  '.repeat(folder === '' ? 1 : folder.split('::').length + 1);
    if (folder !== '') lines.push(`${indent.slice(2)}${folder}`);
    for (const row of rowsOf(graph)) {
      for (const module of row) {
        const targets = arrows.filter(([from]) => from === module).map(([, to]) => lastName(to)).toSorted();
        lines.push(`${indent}${lastName(module)}${targets.length > 0 ? ` → ${targets.join(', ')}` : ''}`);
      }
      lines.push('');
    }
  }
  return lines.join('\n');
}

/** The picture of a crate's rooms (the modules right below its root) for a document. */
export function drawMermaid({ folders }) {
  const graph = folders.get('');
  const lines = rowsOf(graph).flat().filter((module) => graph.get(module).size === 0 && ![...graph.values()].some((to) => to.has(module)));
  const arrows = essentialArrows(graph);
  for (const row of rowsOf(graph)) {
    for (const module of row) {
      const targets = arrows.filter(([from]) => from === module).map(([, to]) => to).toSorted();
      if (targets.length > 0) lines.push(`${module} --> ${targets.join(' & ')}`);
    }
  }
  return ['```mermaid', 'flowchart TD', ...lines.map((line) => `  ${line}`), '```'].join('\n');
}

/** The uses of an arrow as `file:line name`, some of them. */
const places = (root, uses, most = 4) => {
  const shown = uses.slice(0, most).map(({ file, line, name }) => `${relative(root, file)}:${line} ${name}`);
  return [...shown, ...(uses.length > most ? [`and ${uses.length - most} more`] : [])].join(' | ');
};

/** The files below a crate's root file that no module declares, neither for the product nor for its tests: nothing compiles them. */
export function findStrayFiles(rootFiles) {
  const source = dirname(rootFiles[0]);
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.rs')).map((name) => join(source, name));
  const code = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const atPath = new Set([...code.values()].flatMap((text) => Array.from(text.matchAll(/#\[path = "([^"]+)"\]/g), ([, path]) => basename(path))));
  return files.filter((file) => {
    if (rootFiles.includes(file) || atPath.has(basename(file))) return false;
    const isFolder = basename(file) === 'mod.rs';
    const directory = isFolder ? dirname(dirname(file)) : dirname(file);
    const name = basename(isFolder ? dirname(file) : file, '.rs');
    const own = directory === source ? rootFiles : [`${directory}.rs`, join(directory, 'mod.rs')].filter((each) => code.has(each));
    // A module that stands in the file of another one has no file of its own: then any may declare what is below it.
    return !(own.length > 0 ? own : files).some((each) => new RegExp(`\\bmod (?:r#)?${name}\\s*;`).test(code.get(each)));
  });
}

/** Reads the crates (`name`, `file`) and says what breaks the rules, each fault the lines of its message. */
export function checkCrates(root, crates, layersText = '') {
  const layers = readLayers(layersText);
  const read = new Map(crates.map(({ name, file }) => [name, readCrate(file)]));
  const faults = [];
  for (const [name, crate] of read) {
    for (const { folder, cycle, ties } of findCycles(crate)) {
      const where = folder === '' ? name : `${name}, in ${folder}`;
      const lines = ties.map(({ from, to, uses }) => `${from} → ${to}: ${places(root, uses)}`);
      faults.push(['modules of a folder do not use each other in a circle', `${where}: ${cycle.map(lastName).join(', ')}`, ...lines]);
    }
    for (const { fault, uses } of layers.has(name) ? findUpwardArrows(crate, layers.get(name)) : []) {
      faults.push(['a module uses only what stands below it in scripts/lib/layers.txt', `${name}: ${fault}${uses ? `: ${places(root, uses)}` : ''}`]);
    }
  }
  for (const directory of new Set(crates.map(({ file }) => dirname(file)))) {
    // Programs in `bin/` are below a crate that has been looked at.
    if (basename(directory) === 'bin') continue;
    const roots = crates.map(({ file }) => file).filter((file) => [directory, join(directory, 'bin')].includes(dirname(file)));
    for (const file of findStrayFiles(roots.toSorted((a, b) => a.length - b.length))) {
      faults.push(['each file of a crate is a module of it', `${relative(root, file)} is declared nowhere: declare or delete it`]);
    }
  }
  for (const name of layers.keys()) {
    if (!read.has(name)) faults.push(['scripts/lib/layers.txt names crates that are there', `${name} is not one`]);
  }
  return { faults, crates: read };
}

/** A list beside this file, empty if it is not there. */
export function list(name) {
  const path = join(import.meta.dirname, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Checks or draws the crates that standard input names, `NAME TAB ROOT_FILE` a line; returns the exit code. */
function main(options) {
  const named = readFileSync(0, 'utf8').trim().split('\n').map((line) => line.split('\t')).map(([name, file]) => ({ name, file }));
  const { faults, crates } = checkCrates(process.cwd(), named, list('layers.txt'));
  if (options.includes('--picture')) {
    // A reader that has seen enough, as `head` has, is not a fault.
    process.stdout.on('error', () => process.exit());
    for (const [name, crate] of crates) {
      if (crate.modules.length > 1) process.stdout.write(`${name}\n${drawText(crate)}\n`);
    }
    return 0;
  }
  for (const [rule, ...details] of faults) process.stderr.write(`architecture: ${rule}\n${details.map((line) => `              ${line}\n`).join('')}`);
  return faults.length === 0 ? 0 : 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = main(process.argv.slice(2));
}
