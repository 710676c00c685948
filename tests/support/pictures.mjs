// Makes the pictures of a review in docs/images anew: the terminal, the note and threads of a merge request and of a pull request.
// Everything in them is real: the program, OpenCode, tmux as the terminal, and what was posted; the model is a scripted stand-in, and so
// are GitLab and GitHub, whose pages are drawn here.
//
//   cargo build -p conclave -p conclave-scripted-provider -p conclave-fake-gitlab -p conclave-fake-github
//   source scripts/lib/env.sh && node tests/support/pictures.mjs [DIRECTORY]
//
// PROGRAMS names another directory with the four programs, such as target/release.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { launch } from './browser.mjs';
import { commentPage, notePage, threadPage } from './note-page.mjs';
import { serve as start } from './serve.mjs';
import { terminalPage } from './terminal-page.mjs';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const images = resolve(process.argv[2] ?? join(root, 'docs/images'));
const programs = resolve(root, process.env.PROGRAMS ?? 'target/debug');
const COLUMNS = 110;
const BRANCH = 'feature/order-export';

const state = mkdtempSync(join(tmpdir(), 'conclave-pictures-'));
const stops = [];
const socket = `conclave-pictures-${process.pid}`;

/** Starts a server, and gives the first line that it says. */
async function serve(program, arguments_) {
  const { line, stop } = await start(join(programs, program), arguments_);
  stops.push(stop);
  return line;
}

/** The screen of a terminal once a command has ended in it. */
async function screen(command, directory, environment) {
  const script = join(state, 'run.sh');
  writeFileSync(script, `cd ${directory}\nprintf '\\033[1;32m$\\033[0m %s\\n' '${command}'\n${command}\ntmux -L ${socket} wait-for -S ended\nread -r _\n`);
  const options = { env: { ...environment, TERM: 'xterm-256color', LANG: 'C.UTF-8' } };
  const tmux = (...rest) => run('tmux', ['-u', '-L', socket, ...rest], options);
  await tmux('new-session', '-d', '-x', String(COLUMNS), '-y', '60', `bash ${script}`);
  await tmux('wait-for', 'ended');
  const { stdout } = await tmux('capture-pane', '-e', '-p', '-S', '-');
  await tmux('kill-server');
  return stdout.trimEnd();
}

/** The first two findings and the account; how many are left out is said. */
function shortened(text) {
  const lines = text.split('\n');
  const plain = lines.map((line) => line.replace(/\x1b\[[\d;]*m/g, ''));
  const findings = plain.flatMap((line, index) => (/^(CRITICAL|WARNING|SUGGESTION) /.test(line) ? [index] : []));
  const account = plain.findLastIndex((line) => /^─{20,}/.test(line));
  const records = plain.findLastIndex((line) => line.startsWith('  records: '));
  if (findings.length < 3 || account < 0 || records < account) throw new Error(`this is no review:\n${plain.join('\n')}`);
  const left = `\x1b[0;2m      ⋮  ${findings.length - 2} more findings\x1b[0m`;
  return [...lines.slice(0, findings[2]), left, '', ...lines.slice(account, records)].join('\n');
}

async function picture(browser, name, html, selector, width) {
  const page = await browser.newPage({ viewport: { width, height: 400 }, deviceScaleFactor: 2 });
  await page.setContent(html);
  await page.locator(selector).screenshot({ path: join(images, name), omitBackground: true });
  await page.close();
}

/** The file on the branch of the change. */
const source = async (shop, path) => (await run('git', ['-C', shop, 'show', `${BRANCH}:${path}`])).stdout;

/** A critical finding and a warning. */
const two = (notes) => ['Critical', 'Warning'].map((word) => notes.find(({ body }) => body.includes(word)));

/** Reviews the same change as a pull request, and gives the comment and the threads that were posted, with the account. */
async function onGitHub(shop, environment) {
  const github = JSON.parse(await serve('fake-github', ['--repo', shop, '--head', BRANCH, '--base', 'main', '--owner', 'shop', '--name', 'orders', '--enterprise', '3.19.0']));
  const token = github.tokens.actions;
  const url = `${github.url}/shop/orders/pull/${github.number}`;
  const elsewhere = mkdtempSync(join(state, 'elsewhere-'));
  await run(join(programs, 'conclave'), ['review', '--pr', url, '--quiet', '--repo', elsewhere], { env: { ...environment, GITHUB_TOKEN: token }, maxBuffer: 1 << 24 });
  const list = async (path) => {
    const headers = { authorization: `Bearer ${token}`, 'user-agent': 'pictures', accept: 'application/vnd.github+json' };
    return (await fetch(`${github.api_url}/repos/shop/orders/${path}?per_page=100`, { headers })).json();
  };
  const [[comment], beside] = await Promise.all([list(`issues/${github.number}/comments`), list(`pulls/${github.number}/comments`)]);
  const threads = await Promise.all(two(beside.toSorted((a, b) => (a.body < b.body ? 1 : -1))).map(async ({ body, path, line, start_line: start }) => (
    { body, path, first: start ?? line, last: line, source: await source(shop, path) })));
  return { comment: comment.body, account: comment.user.login, threads };
}

async function main() {
  const shop = join(state, 'shop');
  await run(join(root, 'scripts/demo-repository'), [shop]);
  const provider = (await serve('conclave-demo-provider', ['--port', '0'])).match(/http:\S+/)[0];
  const gitlab = JSON.parse(await serve('fake-gitlab', ['--repo', shop, '--source', BRANCH, '--target', 'main', '--project', 'shop/orders']));
  const environment = {
    HOME: state,
    PATH: `${programs}:${process.env.PATH}`,
    CONCLAVE_OPENCODE: process.env.CONCLAVE_OPENCODE,
    ANTHROPIC_API_KEY: 'demo',
    ANTHROPIC_BASE_URL: provider,
  };
  const local = await screen(`conclave local main..${BRANCH}`, shop, environment);

  await run('git', ['-C', shop, 'remote', 'add', 'origin', `${gitlab.url}/shop/orders.git`]);
  const url = `${gitlab.url}/shop/orders/-/merge_requests/${gitlab.iid}`;
  await run(join(programs, 'conclave'), ['review', '--mr', url, '--quiet', '--repo', shop], { env: { ...environment, GITLAB_TOKEN: gitlab.token }, maxBuffer: 1 << 24 });
  const address = `${gitlab.api_url}/projects/${gitlab.project_id}/merge_requests/${gitlab.iid}/discussions?per_page=100`;
  const discussions = await (await fetch(address, { headers: { 'PRIVATE-TOKEN': gitlab.token } })).json();
  const notes = discussions.map(({ notes: [note] }) => note).filter(({ system }) => !system);
  const summary = notes.find(({ position }) => !position);
  // Threads are posted beside each other: their order is arbitrary.
  const beside = notes.filter(({ position }) => position).toSorted((a, b) => (a.body < b.body ? 1 : -1));
  const threads = await Promise.all(two(beside).map(async ({ body, position }) => {
    const first = position.line_range?.start?.new_line ?? position.new_line;
    return { body, path: position.new_path, first, last: position.new_line, source: await source(shop, position.new_path) };
  }));
  if (process.env.NOTES) writeFileSync(process.env.NOTES, notes.map(({ body }) => body).join('\n\n=====\n\n'));

  const pull = await onGitHub(shop, environment);
  const browser = await launch();
  await picture(browser, 'review.png', terminalPage(shortened(local), COLUMNS), 'pre', 1200);
  await picture(browser, 'gitlab-note.png', notePage(summary.body, 'light'), 'body', 920);
  await picture(browser, 'gitlab-thread.png', threadPage(threads, 'light'), 'body', 920);
  await picture(browser, 'github-note.png', commentPage(pull.comment, pull.account), 'body', 920);
  await picture(browser, 'github-thread.png', threadPage(pull.threads, 'github', pull.account), 'body', 920);
  await browser.close();
}

try {
  await main();
} finally {
  for (const stop of stops) stop();
  await run('tmux', ['-L', socket, 'kill-server']).catch(() => {});
  rmSync(state, { recursive: true, force: true });
}
