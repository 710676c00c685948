// A GitLab as far as its job tokens go: publishes its keys over HTTP, and signs what a job of it would be given.
//
// It is strict: whatever is asked besides its keys is a violation, which a test looks at in the end.

import { createHmac, createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const KEYS = '/oauth/discovery/keys';
const part = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A key pair with its id. */
export function makeKey(id = randomUUID(), bits = 2048) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: id, use: 'sig', alg: 'RS256' };
  return { id, jwk, privateKey, publicKey };
}

/** Starts an issuer. */
export async function startIssuer() {
  const issuer = {
    keys: [makeKey()],
    /** Answers instead of the keys: a function of the response. */
    broken: undefined,
    asked: 0,
    violations: [],
  };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== KEYS || request.headers.authorization) {
      issuer.violations.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
      return;
    }
    issuer.asked += 1;
    if (issuer.broken) {
      issuer.broken(response);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer.url = `http://127.0.0.1:${server.address().port}`;
  issuer.stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });

  /** The claims of a job's token, as GitLab makes them. */
  issuer.claims = (changes = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const project = changes.project_path ?? 'platform/build';
    return {
      namespace_id: '7',
      namespace_path: project.split('/')[0],
      project_id: '42',
      project_path: project,
      user_login: 'ada',
      pipeline_id: '1000',
      pipeline_source: 'merge_request_event',
      job_id: '2000',
      ref: 'feature',
      ref_type: 'branch',
      ref_protected: 'false',
      jti: randomUUID(),
      iss: issuer.url,
      iat: now,
      nbf: now - 5,
      exp: now + 300,
      sub: `project_path:${project}:ref_type:branch:ref:feature`,
      aud: 'https://config.example.com',
      ...changes,
    };
  };

  /** A token. `header` and `key` are for what is forged. */
  issuer.token = (changes = {}, { header = {}, key = issuer.keys[0] } = {}) => {
    const signed = `${part({ alg: 'RS256', typ: 'JWT', kid: key.id, ...header })}.${part(issuer.claims(changes))}`;
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key.privateKey, 'base64url')}`;
  };

  /** A token that is signed with the public key as if it were a secret: what a verifier without a pinned algorithm takes. */
  issuer.confused = () => {
    const key = issuer.keys[0];
    const signed = `${part({ alg: 'HS256', typ: 'JWT', kid: key.id })}.${part(issuer.claims())}`;
    const secret = key.publicKey.export({ type: 'spki', format: 'pem' });
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  return issuer;
}
