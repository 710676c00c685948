// Cloudflare's API as far as scripts/deploy needs it: stateful, over HTTP, for the real wrangler (CLOUDFLARE_API_BASE_URL).
//
// It is strict: a route that it does not know, a wrong token, or an id that it never gave out is a violation, which a test
// looks at in the end. What it answers has the shape that wrangler 4.164 reads; production may say more.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

export const ACCOUNT = 'account-of-the-test';
export const TOKEN = 'token-of-the-test';

/** Starts an empty account. */
export async function startCloudflare() {
  const account = {
    namespaces: new Map(),
    /** By `NAMESPACE/KEY`. */
    values: new Map(),
    databases: new Map(),
    /** By name: uploads, secrets, metadata of the last upload. */
    workers: new Map(),
    violations: [],
    requests: [],
    /** Set to a pattern of `METHOD path`, the next request that fits fails once. */
    failOnce: undefined,
  };
  const worker = (name) => account.workers.get(name);

  const routes = [
    ['GET', /^\/storage\/kv\/namespaces$/, () => [...account.namespaces].map(([id, title]) => ({ id, title, supports_url_encoding: true }))],
    [
      'POST',
      /^\/storage\/kv\/namespaces$/,
      (_, body) => {
        const { title } = JSON.parse(body);
        if ([...account.namespaces.values()].includes(title)) return fail(400, 10014, 'a namespace with this account ID and title already exists');
        const id = randomUUID().replaceAll('-', '');
        account.namespaces.set(id, title);
        return { id, title };
      },
    ],
    [
      'PUT',
      /^\/storage\/kv\/namespaces\/([^/]+)\/values\/([^/]+)$/,
      ([id, key], body) => {
        if (!account.namespaces.has(id)) return fail(404, 10013, 'namespace not found');
        account.values.set(`${id}/${key}`, /name="value"\r\n(?:[^\r\n]+\r\n)*\r\n([^]*?)\r\n--/.exec(body)?.[1] ?? body);
        return {};
      },
    ],
    ['GET', /^\/d1\/database$/, () => [...account.databases].map(([uuid, { name }]) => ({ uuid, name, version: 'production', created_at: '2026-11-20T00:00:00Z' }))],
    [
      'POST',
      /^\/d1\/database$/,
      (_, body) => {
        const { name } = JSON.parse(body);
        if ([...account.databases.values()].some((database) => database.name === name)) return fail(400, 7502, 'A database with that name already exists');
        const uuid = randomUUID();
        account.databases.set(uuid, { name, sql: new DatabaseSync(':memory:') });
        return { uuid, name, version: 'production', created_at: '2026-11-20T00:00:00Z' };
      },
    ],
    ['GET', /^\/d1\/database\/([^/]+)$/, ([uuid]) => (account.databases.has(uuid) ? { uuid, name: account.databases.get(uuid).name, version: 'production' } : fail(404, 7404, 'no such database'))],
    [
      'POST',
      /^\/d1\/database\/([^/]+)\/query$/,
      ([uuid], body) => {
        const database = account.databases.get(uuid);
        if (!database) return fail(404, 7404, 'no such database');
        const { sql, params = [] } = JSON.parse(body);
        return run(database.sql, sql, params);
      },
    ],
    ['GET', /^\/workers\/subdomain$/, () => ({ subdomain: 'example' })],
    ['GET', /^\/workers\/services\/([^/]+)$/, ([name]) => (worker(name) ? service(name) : missing())],
    ['GET', /^\/workers\/scripts$/, () => [...account.workers].map(([id, { tag }]) => ({ id, migration_tag: tag }))],
    ['PUT', /^\/workers\/scripts\/([^/]+)$/, ([name], body) => upload(name, body)],
    // A Worker that is there gets a new version, which is then deployed.
    ['POST', /^\/workers\/scripts\/([^/]+)\/versions$/, ([name], body) => (worker(name) ? upload(name, body) : missing())],
    [
      'POST',
      /^\/workers\/scripts\/([^/]+)\/deployments$/,
      ([name], body) => {
        const [{ version_id: version, percentage }] = JSON.parse(body).versions;
        if (worker(name)?.version !== version || percentage !== 100) return fail(400, 10021, 'there is no such version');
        return { id: randomUUID() };
      },
    ],
    [
      'GET',
      /^\/workers\/scripts\/([^/]+)\/secrets$/,
      ([name]) => (worker(name) ? [...worker(name).secrets.keys()].map((secret) => ({ name: secret, type: 'secret_text' })) : missing()),
    ],
    [
      'PUT',
      /^\/workers\/scripts\/([^/]+)\/secrets$/,
      ([name], body) => {
        if (!worker(name)) return missing();
        const secret = JSON.parse(body);
        worker(name).secrets.set(secret.name, secret.text);
        return { name: secret.name, type: 'secret_text' };
      },
    ],
    ['GET', /^\/workers\/scripts\/([^/]+)\/subdomain$/, ([name]) => (worker(name) ? { enabled: true, previews_enabled: false } : missing())],
    ['POST', /^\/workers\/scripts\/([^/]+)\/subdomain$/, ([name]) => (worker(name) ? { enabled: true, previews_enabled: false } : missing())],
    ['GET', /^\/workers\/scripts\/([^/]+)\/settings$/, ([name]) => (worker(name) ? { bindings: worker(name).metadata.bindings, migration_tag: worker(name).tag, tags: [] } : missing())],
    ['PATCH', /^\/workers\/scripts\/([^/]+)\/script-settings$/, ([name]) => (worker(name) ? { logpush: false, tags: [] } : missing())],
    ['GET', /^\/workers\/workers\/([^/]+)$/, ([name]) => (worker(name) ? { id: name, name, subdomain: { enabled: true, previews_enabled: false } } : missing())],
    ['PATCH', /^\/workers\/workers\/([^/]+)$/, ([name]) => (worker(name) ? { id: name, name, subdomain: { enabled: true, previews_enabled: false } } : missing())],
    ['GET', /^\/workers\/scripts\/([^/]+)\/schedules$/, ([name]) => (worker(name) ? { schedules: worker(name).schedules ?? [] } : missing())],
    [
      'PUT',
      /^\/workers\/scripts\/([^/]+)\/schedules$/,
      ([name], body) => {
        if (!worker(name)) return missing();
        worker(name).schedules = JSON.parse(body);
        return { schedules: worker(name).schedules };
      },
    ],
    ['GET', /^\/workers\/scripts\/([^/]+)\/deployments$/, () => ({ deployments: [] })],
  ];

  function upload(name, body) {
    const metadata = JSON.parse(/name="metadata"\r\n(?:[^\r\n]+\r\n)*\r\n([^]*?)\r\n--/.exec(body)[1]);
    const known = worker(name) ?? { secrets: new Map(), uploads: 0 };
    const from = metadata.migrations?.old_tag ?? null;
    if (metadata.migrations && from !== (known.tag ?? null)) return fail(400, 10079, `migrations start at ${from}, the Worker is at ${known.tag}`);
    known.tag = metadata.migrations?.new_tag ?? known.tag;
    known.uploads += 1;
    known.metadata = metadata;
    known.version = randomUUID();
    account.workers.set(name, known);
    return { id: known.version, etag: 'e', deployment_id: known.version, startup_time_ms: 12, number: known.uploads, metadata: { has_preview: false }, resources: { script: { etag: 'e', handlers: ['fetch'] }, bindings: [], script_runtime: { usage_model: 'standard' } } };
  }

  function service(name) {
    const script = { id: name, migration_tag: worker(name).tag, last_deployed_from: 'wrangler' };
    return { id: name, default_environment: { environment: 'production', script } };
  }

  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const [path] = request.url.split('?');
      const asked = `${request.method} ${path}`;
      account.requests.push(asked);
      const answer = (status, body) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ success: status < 400, errors: [], messages: [], result: null, ...body }));
      };
      const own = `/client/v4/accounts/${ACCOUNT}`;
      if (request.headers.authorization !== `Bearer ${TOKEN}` || !path.startsWith(own)) {
        account.violations.push(asked);
        return answer(403, { errors: [{ code: 10000, message: 'Authentication error' }] });
      }
      if (account.failOnce?.test(asked)) {
        account.failOnce = undefined;
        // No 5xx: wrangler would repeat those by itself.
        return answer(400, { errors: [{ code: 10021, message: 'the upload could not be validated' }] });
      }
      const body = Buffer.concat(pieces).toString('latin1');
      for (const [method, pattern, handle] of routes) {
        const match = method === request.method && pattern.exec(path.slice(own.length));
        if (match) {
          const result = handle(match.slice(1).map(decodeURIComponent), body);
          if (result?.failure) return answer(result.failure, { errors: result.errors });
          // Lists are read page by page until one is empty; all of them fit on the first here.
          const page = Number(new URLSearchParams(request.url.split('?')[1]).get('page') ?? 1);
          return answer(200, { result: Array.isArray(result) && page > 1 ? [] : result });
        }
      }
      account.violations.push(asked);
      return answer(404, { errors: [{ code: 7003, message: `no route for ${asked}` }] });
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  account.url = `http://127.0.0.1:${server.address().port}/client/v4`;
  account.stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
  return account;
}

const fail = (status, code, message) => ({ failure: status, errors: [{ code, message }] });
const missing = () => fail(404, 10007, 'This Worker does not exist on your account.');

/** A statement, or several, as D1 answers. */
function run(database, sql, params) {
  try {
    const statement = database.prepare(sql);
    if (/^\s*(select|pragma)/i.test(sql)) {
      return [{ success: true, results: statement.all(...params), meta: { duration: 1, changes: 0, rows_read: 1, rows_written: 0 } }];
    }
    database.exec(sql);
    return [{ success: true, results: [], meta: { duration: 1, changes: 1, rows_read: 1, rows_written: 1 } }];
  } catch (error) {
    return fail(400, 7500, String(error));
  }
}
