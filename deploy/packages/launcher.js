#!/usr/bin/env node
// Starts the program of this machine's package. Nothing else: no download, no script at installation.
'use strict';

const { spawn } = require('node:child_process');
const { closeSync, fstatSync, openSync, readSync } = require('node:fs');
const { constants } = require('node:os');

const { name, version, optionalDependencies } = require('../package.json');

// `--global` also after npx: it looks there before it fetches. `--include` is for those who leave out what is optional.
const AGAIN = `npm install --global --include=optional ${name}@${version}`;

/** Ends with 2, as the program does for a setting that has to change. */
function fail(problem, next) {
  process.stderr.write(`conclave: ${problem}\n  next: ${next}\n`);
  process.exit(2);
}

function find() {
  const wanted = `${name}-${process.platform}-${process.arch}`;
  if (!(wanted in optionalDependencies)) {
    const there = Object.keys(optionalDependencies).map((other) => other.slice(name.length + 1));
    fail(`there is no program for ${process.platform}-${process.arch}, only for ${there.join(', ')}`, 'on Windows, use WSL');
  }
  let manifest;
  try {
    manifest = require.resolve(`${wanted}/package.json`);
  } catch {
    fail(
      `the package ${wanted} with the program is missing: npm leaves it out with --omit=optional, or when node_modules comes from another platform`,
      AGAIN,
    );
  }
  const { version: found, programBytes } = require(manifest);
  if (found !== version) {
    fail(`${wanted} has the version ${found}, and ${name} the version ${version}`, AGAIN);
  }
  const program = require('node:path').join(manifest, '..', 'bin', 'conclave');
  check(program, programBytes);
  return program;
}

// How a file begins that the system runs by itself: ELF, Mach-O, a script that names its interpreter.
const BEGINNINGS = ['7f454c46', 'cffaedfe', '2321'];

/**
 * Refuses what a full disk or a power cut left of the program. What the system cannot run, Node would have a shell read, for which an
 * empty file is a program that succeeds.
 */
function check(program, bytes) {
  let size;
  const first = Buffer.alloc(4);
  try {
    const file = openSync(program);
    size = fstatSync(file).size;
    readSync(file, first, 0, first.length, 0);
    closeSync(file);
  } catch (error) {
    // What may be run need not be readable.
    if (error.code === 'EACCES') return;
    fail(`${program} does not start: ${error.message}`, `${AGAIN} --force`);
  }
  if (size !== bytes) {
    fail(`${program} is damaged: it has ${size} bytes, not ${bytes}`, `${AGAIN} --force`);
  }
  if (!BEGINNINGS.some((beginning) => first.toString('hex').startsWith(beginning))) {
    fail(`${program} is damaged: it is not a program`, `${AGAIN} --force`);
  }
}

const program = find();
const rest = process.argv.slice(2);
if (typeof process.execve === 'function') {
  // The program takes this process's place: one process, and signals reach it directly.
  try {
    process.execve(program, [program, ...rest], process.env);
  } catch (error) {
    fail(`${program} does not start: ${error.message}`, `${AGAIN} --force`);
  }
}

// A terminal's keys signal all processes of a group, and the program must not get a signal twice: the second one of a kind
// hurries its end. With a terminal it stays in our group, and gets those by itself; else it has a group of its own.
const terminal = process.stdin.isTTY === true;
let child;
// Before the program is there: Node hands a signal on after this script, but dies of one that it has no listener for.
for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']) {
  const fromKeys = terminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
  process.on(signal, () => fromKeys || child.kill(signal));
}
child = spawn(program, rest, { stdio: 'inherit', detached: !terminal });
child.on('error', (error) => fail(`${program} does not start: ${error.message}`, `${AGAIN} --force`));
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Where the signal is ignored, as shells report it.
    process.exitCode = 128 + constants.signals[signal];
  } else {
    process.exitCode = code;
  }
});
