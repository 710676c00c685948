// A registry of npm packages, as `npm install`, `npx` and `npm publish` ask one: the document of a package, and its file.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** The package.json of a packed package, wherever it is in the archive. */
export function manifestOf(file) {
  const archive = gunzipSync(readFileSync(file));
  for (let at = 0; at + 512 <= archive.length;) {
    const name = archive.subarray(at, at + 100).toString().replace(/\0.*$/s, '');
    const size = parseInt(archive.subarray(at + 124, at + 136).toString(), 8) || 0;
    if (name === 'package/package.json') return JSON.parse(archive.subarray(at + 512, at + 512 + size).toString());
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error(`${file} has no package.json`);
}

/**
 * Serves the packed packages in `files`, and takes new ones from those who have `token`. Each request is kept in `requests`,
 * each published package in `published`.
 */
export async function startRegistry(files, { token } = {}) {
  const packages = new Map(files.map((file) => [manifestOf(file).name, { manifest: manifestOf(file), bytes: readFileSync(file) }]));
  const requests = [];
  const published = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://registry').pathname);
    requests.push(`${request.method} ${path}`);
    const answer = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const name = path.slice(1).replace(/\/-\/[^/]+$/, '');
    if (request.method === 'PUT') {
      const chunks = await request.toArray();
      if (!token || request.headers.authorization !== `Bearer ${token}`) return answer(401, { error: 'Unauthorized' });
      const { versions, _attachments: attachments } = JSON.parse(Buffer.concat(chunks).toString());
      const [[version, manifest]] = Object.entries(versions);
      if (packages.get(name)?.manifest.version === version) return answer(403, { error: 'You cannot publish over it' });
      const [{ data }] = Object.values(attachments);
      const bytes = Buffer.from(data, 'base64');
      if (integrityOf(bytes) !== manifest.dist.integrity) return answer(400, { error: 'The file is another one' });
      packages.set(name, { manifest, bytes });
      published.push(name);
      return answer(201, { ok: true });
    }
    const found = packages.get(name);
    if (request.method !== 'GET') return answer(405, { error: 'Method not allowed' });
    if (!found) return answer(404, { error: 'Not found' });
    if (path.includes('/-/')) return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.bytes);
    const { manifest, bytes } = found;
    const dist = {
      tarball: `http://127.0.0.1:${server.address().port}/${name}/-/${basename(name)}-${manifest.version}.tgz`,
      integrity: integrityOf(bytes),
      shasum: createHash('sha1').update(bytes).digest('hex'),
    };
    return answer(200, { name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } } });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, published, close: () => new Promise((resolve) => server.close(resolve)) };
}

const integrityOf = (bytes) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
