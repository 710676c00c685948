// Sends events through the real ingest: full batches, some at a time, again when one could not be taken.

import { Agent, request } from 'node:http';
import { request as requestSecurely } from 'node:https';

const MAX_EVENTS = 500;
const MAX_BYTES = 250 * 1024;
const TRIES = 8;

/** Bodies of as many events as a batch may have. */
export function* bodies(groups) {
  let texts = [];
  let bytes = 0;
  for (const group of groups) {
    for (const event of group) {
      const text = JSON.stringify(event);
      if (texts.length === MAX_EVENTS || bytes + Buffer.byteLength(text) + 1 > MAX_BYTES) {
        yield { body: `{"events":[${texts.join(',')}]}`, events: texts.length };
        texts = [];
        bytes = 0;
      }
      texts.push(text);
      bytes += Buffer.byteLength(text) + 1;
    }
  }
  if (texts.length > 0) yield { body: `{"events":[${texts.join(',')}]}`, events: texts.length };
}

/** Posts a body; answers status, text and how long that took in ms. Rejects when nobody answers. */
export function postBody(url, token, body, { agent, timeout = 30_000 } = {}) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const ask = url.startsWith('https:') ? requestSecurely : request;
    const sent = ask(`${url}/v1/events`, { method: 'POST', headers, agent, timeout }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (more) => (text += more));
      response.on('end', () => resolve({ status: response.statusCode, text, ms: performance.now() - began, wait: Number(response.headers['retry-after']) }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/**
 * Sends everything; answers how many events were accepted.
 *
 * @param {string} url
 * @param {string} token
 * @param {Iterable<object[]>} groups
 * @param {{clients?: number, progress?: (events: number) => void}} [options]
 */
export async function sendAll(url, token, groups, { clients = 8, progress = () => {} } = {}) {
  const waiting = bodies(groups);
  const agent = url.startsWith('https:') ? undefined : new Agent({ keepAlive: true, maxSockets: clients });
  let accepted = 0;
  const client = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      const events = await deliver(next.value);
      accepted += events;
      progress(accepted);
    }
  };
  const deliver = async ({ body, events }) => {
    for (let tried = 1; ; tried += 1) {
      const answer = await postBody(url, token, body, { agent }).catch((error) => ({ status: 0, text: error.message }));
      if (answer.status === 202) return events;
      // A minute's quota is used up, which is no failure: the next minute has its own.
      if (answer.status === 429 && answer.wait <= 60) {
        tried -= 1;
        await new Promise((resolve) => setTimeout(resolve, answer.wait * 1000));
        continue;
      }
      if (answer.status !== 0 && answer.status !== 503 && answer.status < 500) {
        throw new Error(`the tracker answered ${answer.status}: ${answer.text.slice(0, 400)}`);
      }
      if (tried === TRIES) throw new Error(`the tracker took nothing in ${TRIES} tries, last: ${answer.status} ${answer.text.slice(0, 200)}`);
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tried));
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    agent?.destroy();
  }
  return accepted;
}
