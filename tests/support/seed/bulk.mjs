// Fills the database of a local tracker that does not run, without its Worker: the same rows as through ingest, made by the
// Worker's own code (`workers/review-tracker/examples/event_rows.rs`) and written by SQLite itself, in large transactions.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { start } from '../workerd.mjs';
import { bodies } from './send.mjs';

/** Bodies of 500 events in one transaction: the more, the fewer sums are written again and again. */
const BODIES = 60;
/** Bodies on their way to the program, so that neither waits for the other. */
const AHEAD = 2 * BODIES;

/** The file of the database in a directory of `wrangler dev --persist-to`, with all migrations applied. */
export async function databaseFile(persist) {
  const worker = await start('review-tracker', { persist });
  await worker.dispose();
  const directory = join(persist, 'v3/d1/miniflare-D1DatabaseObject');
  const files = readdirSync(directory).filter((file) => file.endsWith('.sqlite') && file !== 'metadata.sqlite');
  if (files.length !== 1) throw new Error(`${directory} has ${files.length} databases, and not one`);
  return join(directory, files[0]);
}

/**
 * Writes events; answers how many were written: none if the first of them is there already.
 *
 * @param {string} persist
 * @param {Iterable<object[]>} groups
 * @param {{program: string, progress?: (events: number) => void}} options
 */
export async function fill(persist, groups, { program, progress = () => {} }) {
  const database = new DatabaseSync(await databaseFile(persist));
  // Until the end nobody else looks at it, and after a crash it is filled anew.
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY');
  const child = spawn(program, [String(BODIES)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  // A program that fails closes its input, which is told by how it ends.
  child.stdin.on('error', () => {});
  const waiting = [];
  let written = 0;
  const feed = async () => {
    for (const { body, events } of bodies(groups)) {
      waiting.push(events);
      while (waiting.length > AHEAD) await new Promise((resolve) => (feed.go = resolve));
      if (!child.stdin.write(`${body}\n`)) await Promise.race([once(child.stdin, 'drain'), ended]);
      if (child.exitCode !== null) break;
    }
    child.stdin.end();
  };
  const feeding = feed();
  try {
    let statements;
    let rows = 0;
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      if (line === '') {
        database.exec('COMMIT');
        written += waiting.splice(0, BODIES).reduce((sum, events) => sum + events, 0);
        feed.go?.();
        progress(written);
        rows = 0;
        continue;
      }
      const [index, value] = JSON.parse(line);
      if (index === 'statements') {
        statements = value.map((sql) => database.prepare(sql));
        continue;
      }
      if (rows === 0) {
        if (written === 0 && isThere(database, value)) {
          child.kill();
          return 0;
        }
        database.exec('BEGIN');
      }
      rows += 1;
      statements[index].run(value);
    }
    await feeding;
    const [code] = await ended;
    if (code !== 0) throw new Error(`${program} ended with ${code}`);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return written;
  } catch (error) {
    child.kill();
    if (/UNIQUE constraint failed: events.id/.test(error.message)) {
      throw new Error('the directory has some of these events already: take an empty one', { cause: error });
    }
    throw error;
  } finally {
    database.close();
  }
}

/** Whether the first event of a parameter has a row. */
function isThere(database, parameter) {
  const [[id]] = JSON.parse(parameter);
  return database.prepare('SELECT 1 FROM events WHERE id = ?').get(id) !== undefined;
}
