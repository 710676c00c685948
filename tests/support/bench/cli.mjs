// What a person waits for, beside the same work of the nearest peers: `scripts/bench cli`.
//
//   node cli.mjs --binary CONCLAVE --provider DEMO_PROVIDER --small REPOSITORY --large REPOSITORY --peers FILE
//     [--rounds N] --output FILE
//
// Beside peers models answer at once, so that nothing of what is measured is a model's time; the bar of a review is for what
// it takes beyond models of a fixed latency. In both repositories the branch with the change is checked out, and `main` is
// what it is compared with. FILE has a line `NAME VERSION COMMAND` for each peer.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, cpSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const BARS = { version: 10, plan: 1000, local: 3000 };
// A panel of seven and a judge on the native runtime, beside one finder that asks a model once for each file.
// Of its prompts at least this share is read from the provider's cache, which has our own texts from the review before.
const NATIVE_BARS = { wall: 1.5, processor: 1.5, tokens: 60_000, cache_read_share: 0.7 };
// How long a model waits until it begins to answer where a review is held to its bar. Real ones take a second and more.
const FIRST_BYTE = 300;

const { values: options } = parseArgs({
  options: {
    binary: { type: 'string' },
    provider: { type: 'string' },
    small: { type: 'string' },
    large: { type: 'string' },
    peers: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    output: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
// What takes seconds is not run as often.
const few = Math.min(rounds, 3);
const scratch = mkdtempSync(join(tmpdir(), 'conclave-bench-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

// What the peers take for a review with one finding.
const PEER_REVIEW = {
  'pr-agent': `review:
  estimated_effort_to_review_[1-5]: 2
  relevant_tests: |
    No
  key_issues_to_review:
    - relevant_file: |
        src/shop/orders.py
      issue_header: |
        Possible Bug
      issue_content: |
        The query is put together from what a user gives.
      start_line: 1
      end_line: 2
  security_concerns: |
    No
`,
  gito: JSON.stringify([
    {
      title: 'Injection',
      details: 'The query is put together from what a user gives.',
      severity: 1,
      confidence: 1,
      tags: ['security'],
      affected_lines: [{ start_line: 1, end_line: 2 }],
    },
  ]),
};

// One peer works with tools. It is given as few turns as it can have: a file is done in its first one, and what it asks about the
// one finding is answered in one.
const OPEN_CODE_REVIEW = 'open-code-review';
function answerTools(request) {
  const tools = new Set((request.tools ?? []).map((tool) => tool.function.name));
  const asked = request.messages.map((message) => JSON.stringify(message.content)).join();
  const finding = { content: 'The query is put together from what a user gives.', existing_code: 'query = f"' };
  const used = [];
  if (tools.has('code_comment') && asked.includes('query = f')) used.push(['code_comment', { comments: [finding] }]);
  if (tools.has('task_done')) used.push(['task_done', { state: 'DONE' }]);
  if (tools.has('approve_all_comments')) used.push(['approve_all_comments', {}]);
  if (used.length === 0) return { content: '{}' };
  const toolCall = ([name, given], index) => ({
    id: `call_${calls.count}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  });
  return { content: null, tool_calls: used.map(toolCall) };
}

// A provider for peers, which answers at once or after `delay` milliseconds; the path's first part says whom. The demo provider only
// streams, which peers do not ask for.
const calls = { count: 0, heard: () => {}, delay: 0 };
const standIn = createServer(async (request, response) => {
  let body = '';
  try {
    for await (const part of request) body += part;
  } catch {
    // A peer is ended at its first call.
    return;
  }
  calls.count += 1;
  calls.heard();
  const peer = request.url.split('/')[1];
  const message = peer === OPEN_CODE_REVIEW ? answerTools(JSON.parse(body)) : { content: PEER_REVIEW[peer] };
  await setTimeout(calls.delay);
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1700000000,
      model: 'gpt-5',
      choices: [
        { index: 0, message: { role: 'assistant', ...message }, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' },
      ],
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    }),
  );
});

// Runs a command to its end, or to its first model call; gives milliseconds.
async function time({ command, directory = scratch, variables = {}, untilCall = false, codes = [0] }) {
  const [program, ...rest] = command;
  calls.count = 0;
  const called = new Promise((resolve) => {
    calls.heard = resolve;
  });
  const start = process.hrtime.bigint();
  const child = spawn(program, rest, {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: scratch, TMPDIR: scratch, LANG: 'C.UTF-8', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said = (said + data).slice(-2000)));
  const ended = once(child, 'exit');
  const first = await Promise.race([ended, called.then(() => (untilCall ? 'called' : ended))]);
  const milliseconds = Number(process.hrtime.bigint() - start) / 1e6;
  if (first === 'called') {
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  } else if (untilCall || !codes.includes(first[0])) {
    throw new Error(`${command.join(' ')} ended with ${first[0]}${untilCall ? ' without asking a model' : ''}:\n${said}`);
  }
  return milliseconds;
}

const middle = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

// What a command takes of the clock, and of the processors with all that it starts.
async function cost(job) {
  const file = join(scratch, 'times');
  const timed = ['bash', '-c', 'TIMEFORMAT="%U %S"; { time "$@" 2>&9; } 9>&2 2>"$0"', file, ...job.command];
  const wall = await time({ ...job, command: timed });
  const [user, system] = readFileSync(file, 'utf8').trim().split('\n').at(-1).split(' ').map(Number);
  return { wall, processor: (user + system) * 1000 };
}

// The median of so many runs, after one that only warms up what is kept in memory.
async function median(count, job) {
  await time(job);
  const times = [];
  for (let round = 0; round < count; round += 1) times.push(await time(job));
  return middle(times);
}

const rounded = (milliseconds) => Math.round(milliseconds * 100) / 100;

// The figures of a peer beside our own.
const beside = (peer, own, more = {}) => ({ median_ms: rounded(peer), times_conclave: rounded(peer / own), ...more });

async function demoProvider(delay) {
  const child = spawn(options.provider, ['--port', '0', '--delay-ms', String(delay)], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  const [line] = await once(child.stdout, 'data');
  return String(line).match(/http:\/\/\S+/)[0];
}

function readPeers(url) {
  const peers = readFileSync(options.peers, 'utf8').split('\n').filter(Boolean);
  // Both count tokens with files that they would download; one of them brings them along.
  const tokenizers = join(scratch, 'tokenizers');
  mkdirSync(tokenizers);
  for (const line of peers.filter((line) => !line.startsWith(OPEN_CODE_REVIEW))) {
    const library = join(dirname(dirname(line.split(' ')[2])), 'lib');
    for (const python of readdirSync(library)) {
      const brought = join(library, python, 'site-packages/litellm/litellm_core_utils/tokenizers');
      if (existsSync(brought)) cpSync(brought, tokenizers, { recursive: true });
    }
  }
  const known = {
    'pr-agent': (program) => ({
      start: [program, '--version'],
      review: [program, '--pr_url=main', 'review'],
      variables: {
        CONFIG__GIT_PROVIDER: 'local',
        CONFIG__MODEL: 'openai/gpt-5',
        CONFIG__FALLBACK_MODELS: '[]',
        LOCAL__REVIEW_PATH: join(scratch, 'pr-agent.md'),
        OPENAI__KEY: 'demo',
        OPENAI__API_BASE: `${url}/pr-agent/v1`,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    }),
    gito: (program) => ({
      start: [program, 'version'],
      review: [program, 'review', 'HEAD..main', '--output', join(scratch, 'gito')],
      variables: { LLM_API_TYPE: 'openai', LLM_API_KEY: 'demo', LLM_API_BASE: `${url}/gito/v1`, MODEL: 'gpt-5' },
    }),
    [OPEN_CODE_REVIEW]: (program) => ({
      start: [program, 'version'],
      review: [program, 'review', '--from', 'main', '--to', 'HEAD', '--format', 'json', '--audience', 'agent'],
      variables: {
        OCR_LLM_URL: `${url}/${OPEN_CODE_REVIEW}/v1`,
        OCR_LLM_TOKEN: 'demo',
        OCR_LLM_MODEL: 'gpt-5',
        OCR_USE_ANTHROPIC: 'false',
      },
    }),
  };
  return peers.map((line) => {
    const [name, version, program] = line.split(' ');
    const peer = known[name](program);
    return { ...peer, name: `${name} ${version}`, variables: { ...peer.variables, TIKTOKEN_CACHE_DIR: tokenizers } };
  });
}

standIn.listen(0, '127.0.0.1');
await once(standIn, 'listening');
const peers = readPeers(`http://127.0.0.1:${standIn.address().port}`);
const { binary, small, large } = options;

const version = await median(rounds, { command: [binary, '--version'] });
const versionPeers = {
  'opencode --version': beside(await median(few, { command: [process.env.CONCLAVE_OPENCODE, '--version'] }), version),
};

const planned = { command: [binary, 'plan', 'main..HEAD', '--repo', large, '--format', 'json'] };
const plan = await median(rounds, planned);
const planPeers = {};

// The same review on models that begin to answer after so many milliseconds, and where it is recorded.
async function reviewing(delay, runtime = 'opencode') {
  const run = join(scratch, `run-${runtime}-${delay}`);
  const job = {
    command: [binary, 'local', 'main..HEAD', '--repo', small, '--quiet', '--format', 'json', '--runtime', runtime, '--output', run],
    variables: {
      ANTHROPIC_API_KEY: 'demo',
      ANTHROPIC_BASE_URL: await demoProvider(delay),
      CONCLAVE_OPENCODE: process.env.CONCLAVE_OPENCODE,
    },
  };
  return { job, review: () => JSON.parse(readFileSync(join(run, 'review.json'), 'utf8')) };
}

async function reviewed(delay) {
  const { job, review } = await reviewing(delay);
  const milliseconds = await median(few, job);
  return { milliseconds, review: review() };
}

// The native runtime beside a finder with tools, in turn, on models that begin to answer after the same time.
async function nativeBeside(peer) {
  const { job, review } = await reviewing(FIRST_BYTE, 'native');
  const jobs = { conclave: job, peer: { command: peer.review, directory: small, variables: peer.variables } };
  const costs = { conclave: [], peer: [] };
  calls.delay = FIRST_BYTE;
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, each] of Object.entries(jobs)) {
      const taken = await cost(each);
      // The first round warms up what is kept in memory.
      if (round > 0) costs[name].push(taken);
    }
  }
  calls.delay = 0;
  const medianOf = (name, what) => middle(costs[name].map((taken) => taken[what]));
  const ratio = (what) => rounded(medianOf('conclave', what) / medianOf('peer', what));
  const { reviewers, coordinator } = review();
  const usage = [...reviewers, coordinator].flatMap((report) => report.usage.map(({ tokens }) => tokens));
  const sum = (names) => usage.reduce((all, tokens) => all + names.reduce((own, name) => own + (tokens[name] ?? 0), 0), 0);
  const prompts = sum(['input', 'cache_read', 'cache_write']);
  const figures = {
    wall_ms: { conclave: rounded(medianOf('conclave', 'wall')), peer: rounded(medianOf('peer', 'wall')), ratio: ratio('wall') },
    processor_ms: {
      conclave: rounded(medianOf('conclave', 'processor')),
      peer: rounded(medianOf('peer', 'processor')),
      ratio: ratio('processor'),
    },
    tokens: prompts + sum(['output']),
    cache_read_share: rounded(sum(['cache_read']) / prompts),
  };
  return {
    peer: peer.name,
    peer_model_calls: calls.count,
    ...figures,
    bars: NATIVE_BARS,
    held:
      figures.wall_ms.ratio <= NATIVE_BARS.wall &&
      figures.processor_ms.ratio <= NATIVE_BARS.processor &&
      figures.tokens <= NATIVE_BARS.tokens &&
      figures.cache_read_share >= NATIVE_BARS.cache_read_share,
  };
}

const callsOf = ({ usage }) => usage.reduce((sum, { calls }) => sum + calls, 0);
const instant = await reviewed(0);
const local = instant.milliseconds;
const waiting = await reviewed(FIRST_BYTE);
// What nothing could make shorter: the reviewer with the most calls, and the coordinator, which is asked when there is a finding.
const { reviewers, coordinator } = waiting.review;
const path = FIRST_BYTE * (Math.max(...reviewers.map(callsOf)) + callsOf(coordinator));
const modelCalls = [...reviewers, coordinator].map(callsOf).reduce((sum, calls) => sum + calls, 0);
const localPeers = {};

for (const { name, start, review: reviewing, variables } of peers) {
  versionPeers[start.join(' ').replace(/^.*\//, '')] = beside(await median(few, { command: start, variables }), version);
  const prepared = await median(few, { command: reviewing, directory: large, variables, untilCall: true });
  planPeers[name] = beside(prepared, plan, { measured: 'from the start to its first model call, on the same change' });
  const whole = await median(few, { command: reviewing, directory: small, variables });
  localPeers[name] = beside(whole, local, { model_calls: calls.count });
}
const finder = peers.find(({ name }) => name.startsWith(OPEN_CODE_REVIEW));
const native = finder && (await nativeBeside(finder));
standIn.close();
standIn.closeAllConnections();

const bar = (name, milliseconds) => ({ median_ms: rounded(milliseconds), bar_ms: BARS[name], held: milliseconds <= BARS[name] });
const result = {
  bench: 'cli',
  version: { ...bar('version', version), peers: versionPeers },
  plan: {
    ...bar('plan', plan),
    peers: planPeers,
    not_the_same: 'no peer has a command that plans; what is measured of it is what it does before a model is asked',
  },
  local: {
    ...bar('local', waiting.milliseconds - path),
    measured: 'the whole run without the critical path of its models',
    first_byte_ms: FIRST_BYTE,
    critical_path_ms: path,
    sessions: [...reviewers, coordinator].filter((report) => callsOf(report)).length,
    model_calls: modelCalls,
    last_stages_ms: Object.fromEntries(
      waiting.review.stages.map(({ stage, seconds }) => [stage, Math.round(seconds * 1000)]),
    ),
    models_answer_at_once: { median_ms: rounded(local), peers: localPeers },
    not_the_same:
      'the same repository and change, and models that answer at once; a peer asks one model once, or once a file, without tools, while conclave runs a panel of sessions that read the source, and a judge',
  },
  native,
  compared_with: peers.map(({ name }) => name),
};
result.held = result.version.held && result.plan.held && result.local.held && (native?.held ?? true);
const text = `${JSON.stringify(result, null, 2)}\n`;
writeFileSync(options.output, text);
process.stdout.write(text);
process.exit(result.held ? 0 : 1);
