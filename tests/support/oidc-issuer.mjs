// A forge as far as its job tokens go: publishes its keys over HTTP, and signs what a job of it would be given. A GitLab's jobs are given
// theirs; jobs of a GitHub ask for them, at the address and with the bearer that the runner has set (`issuer.job`).
//
// It is strict: whatever else is asked is a violation, which a test looks at in the end.

import { createHmac, createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const KEYS = { gitlab: '/oauth/discovery/keys', github: '/_services/token/.well-known/jwks' };
const ASK = '/_services/idtoken/9000001?api-version=2.0';
const part = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A key pair with its id. */
export function makeKey(id = randomUUID(), bits = 2048) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: id, use: 'sig', alg: 'RS256' };
  return { id, jwk, privateKey, publicKey };
}

/** Starts an issuer of a `gitlab`, or of a `github` that is an Enterprise Server on this machine. */
export async function startIssuer(forge = 'gitlab') {
  const issuer = {
    keys: [makeKey()],
    /** Answers instead of the keys: a function of the response. */
    broken: undefined,
    asked: 0,
    /** The tokens that jobs of a GitHub asked for. */
    given: 0,
    violations: [],
  };
  /** Gives a job of a GitHub its token, as the service of the runner does. */
  const give = (request, response) => {
    const { job } = issuer;
    const audience = new URL(request.url, issuer.origin).searchParams.get('audience');
    if (request.headers.authorization !== `Bearer ${job.token}`) {
      response.writeHead(401).end();
      return;
    }
    issuer.given += 1;
    const answer = JSON.stringify({ count: 1, value: issuer.token({ aud: audience ?? 'https://github.com/octo', ...job.claims() }) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  };
  const server = createServer((request, response) => {
    if (request.method === 'GET' && issuer.job && request.url.startsWith(ASK)) {
      give(request, response);
      return;
    }
    if (request.method !== 'GET' || request.url !== KEYS[forge] || request.headers.authorization) {
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
  issuer.origin = `http://127.0.0.1:${server.address().port}`;
  issuer.url = forge === 'github' ? `${issuer.origin}/_services/token` : issuer.origin;
  issuer.stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });

  /**
   * Starts a job of a repository on a GitHub; what it asks with is then `issuer.job`. Its tokens are good for so many seconds at a
   * Worker: the minute by which clocks may differ is used up.
   */
  issuer.startJob = (repository, seconds) => {
    issuer.job = {
      url: issuer.origin + ASK,
      token: `runner-token-${randomUUID()}`,
      claims: () => {
        const exp = Math.floor(Date.now() / 1000) - 60 + seconds;
        return { repository, ...(seconds && { exp, iat: exp - seconds, nbf: exp - seconds - 600 }) };
      },
    };
    return issuer.job;
  };

  /** The claims of a job's token, as GitHub makes them. */
  const ofGithub = (now, changes) => {
    const repository = changes.repository ?? 'octo/shop';
    const [owner, name] = repository.split('/');
    return {
      actor: 'ada',
      actor_id: '12',
      aud: 'https://config.example.com',
      base_ref: 'main',
      enterprise: '',
      event_name: 'pull_request',
      exp: now + 300,
      head_ref: 'feature',
      iat: now,
      iss: issuer.url,
      job_workflow_ref: `${repository}/.github/workflows/conclave.yml@refs/pull/7/merge`,
      jti: randomUUID(),
      nbf: now - 600,
      ref: 'refs/pull/7/merge',
      ref_type: 'branch',
      repository,
      repository_id: '74',
      repository_owner: owner,
      repository_owner_id: '65',
      repository_visibility: 'private',
      run_attempt: '1',
      run_id: '9000001',
      runner_environment: 'github-hosted',
      sub: `repo:${owner}@65/${name}@74:pull_request`,
      workflow: 'conclave',
      workflow_ref: `${repository}/.github/workflows/conclave.yml@refs/pull/7/merge`,
      ...changes,
    };
  };

  /** The claims of a job's token, as its forge makes them. */
  issuer.claims = (changes = {}) => {
    const now = Math.floor(Date.now() / 1000);
    if (forge === 'github') return ofGithub(now, changes);
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
