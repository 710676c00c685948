// A note as a forge shows it: its Markdown as HTML, in the forge's colors; GitLab's light or dark, GitHub's light.

import MarkdownIt from 'markdown-it';

/** Colored signs, for which not every machine has a font. GitLab draws them itself, too. */
const SIGNS = { '🔴': '#dd2b0e', '🟡': '#e9a100', '🔵': '#1f75cb', '🟢': '#108548', '⚪': '#bfbfc3' };

const COLOURS = {
  github: { text: '#1f2328', quiet: '#59636e', ground: '#fff', line: '#d1d9e0', code: '#eff1f3', block: '#f6f8fa', link: '#0969da', added: '#dafbe1' },
  light: { text: '#28272d', quiet: '#626168', ground: '#fff', line: '#dcdcde', code: '#ececef', block: '#f6f6f7', link: '#0b5cad', added: '#ecfdf0' },
  dark: { text: '#ececef', quiet: '#a4a3a8', ground: '#18171d', line: '#3a383f', code: '#2b2a31', block: '#24232a', link: '#63a6e9', added: '#14291c' },
};

/** The note's HTML. Like the forges this lets HTML through; what may stand in a note is its writer's business. */
export function renderNote(markdown, github = false) {
  const renderer = new MarkdownIt({ html: true, linkify: true });
  // A fenced block called `suggestion`, on GitLab `suggestion:-1+0`, is a change that can be committed with a click.
  const { fence } = renderer.renderer.rules;
  renderer.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.startsWith('suggestion')
      ? `<div class="suggestion"><b>Suggested change</b><span>${github ? 'Commit suggestion' : 'Apply suggestion'}</span><pre><code>${renderer.utils.escapeHtml(tokens[index].content)}</code></pre></div>`
      : fence(tokens, index, ...rest);
  const visible = markdown.replace(/<!-- conclave:[^]*?-->/g, '').trim();
  return renderer.render(visible).replace(/🔴|🟡|🔵|🟢|⚪/gu, (sign) => `<span class="sign" style="background:${SIGNS[sign]}"></span>`);
}

function page(content, scheme) {
  const colour = COLOURS[scheme];
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Note</title><style>
    body { display: flow-root; margin: 0; background: ${colour.ground}; color: ${colour.text};
      font: 14px/1.43 "Noto Sans", Ubuntu, Cantarell, "Helvetica Neue", "Liberation Sans", sans-serif; }
    main { max-width: 860px; margin: 20px; padding: 8px 18px; border: 1px solid ${colour.line}; border-radius: 8px; }
    main.file { padding: 0; overflow: hidden; }
    main.comment { padding-top: 0; }
    .head { margin: 0 -18px 12px; padding: 9px 18px; border-bottom: 1px solid ${colour.line}; border-radius: 8px 8px 0 0; background: ${colour.block}; color: ${colour.quiet}; }
    .head b { color: ${colour.text}; }
    h2 { margin: 12px 0 8px; padding-bottom: 5px; border-bottom: 1px solid ${colour.line}; font-size: 1.5em; }
    h3 { margin: 20px 0 8px; font-size: 1.25em; }
    p { margin: 0 0 10px; }
    code { padding: 2px 4px; border-radius: 4px; background: ${colour.code}; font: 12.5px "JetBrains Mono", "DejaVu Sans Mono", monospace; }
    pre { padding: 8px 12px; border: 1px solid ${colour.line}; border-radius: 4px; background: ${colour.block}; overflow: auto; }
    pre code { padding: 0; background: none; }
    blockquote { margin: 0 0 10px; padding: 0 12px; border-left: 3px solid ${colour.line}; color: ${colour.quiet}; }
    a { color: ${colour.link}; text-decoration: none; }
    hr { margin: 16px 0; border: 0; border-top: 1px solid ${colour.line}; }
    table { margin-bottom: 10px; border-collapse: collapse; font-size: 13px; }
    td, th { padding: 4px 10px; border: 1px solid ${colour.line}; text-align: left; }
    details { margin-bottom: 12px; }
    summary, sub { color: ${colour.quiet}; }
    .sign { display: inline-block; width: .72em; height: .72em; margin-right: .12em; border-radius: 50%; }
    .path { padding: 8px 16px; border-bottom: 1px solid ${colour.line}; background: ${colour.block}; font: 12.5px "JetBrains Mono", "DejaVu Sans Mono", monospace; }
    .code { margin: 0; padding: 0; border: 0; border-radius: 0; background: none; font: 12.5px/1.6 "JetBrains Mono", "DejaVu Sans Mono", monospace; }
    .code div { display: flex; align-items: baseline; background: ${colour.added}; }
    .code span { width: 52px; padding-right: 10px; color: ${colour.quiet}; text-align: right; }
    .thread { padding: 14px 18px 4px; border: solid ${colour.line}; border-width: 1px 0; }
    .thread:last-child { border-bottom: 0; }
    .who { margin-bottom: 8px; color: ${colour.quiet}; }
    .who b { color: ${colour.text}; }
    .suggestion { position: relative; margin-bottom: 10px; padding: 8px 12px; border: 1px solid ${colour.line}; border-radius: 4px; }
    .suggestion > span { position: absolute; right: 12px; color: ${colour.link}; }
    .suggestion pre { margin: 8px 0 0; background: ${colour.added}; }
  </style>${content}</html>`;
}

/** A page with the note, as GitLab shows it. `scheme` is `light` or `dark`. */
export const notePage = (markdown, scheme) => page(`<main>${renderNote(markdown)}</main>`, scheme);

/** A page with the comment on a pull request, by this account. */
export const commentPage = (markdown, account) =>
  page(`<main class="comment"><div class="head"><b>${account.replace('[bot]', '')}</b> bot commented</div>${renderNote(markdown, true)}</main>`, 'github');

/**
 * A page with threads of the diff, each below the lines that it is about, of which all are taken for new.
 * A thread has a `body`, the `path` with its `first` and `last` line, and the file's `source`; `account` opens them on GitHub.
 */
export function threadPage(threads, scheme, account) {
  const { escapeHtml } = new MarkdownIt().utils;
  const who = account ? `<b>${escapeHtml(account.replace('[bot]', ''))}</b> bot` : '<b>review-bot</b> @review-bot · started a thread on the diff';
  const file = ({ body, path, first, last, source }) => {
    const lines = source.split('\n');
    const from = Math.max(1, first - 2);
    const row = (number) => `<div><span>${number}</span><code style="background:none">+ ${escapeHtml(lines[number - 1])}</code></div>`;
    const code = Array.from({ length: last - from + 1 }, (_, index) => row(from + index)).join('');
    return `<main class="file"><div class="path">${escapeHtml(path)}</div><pre class="code">${code}</pre>
      <div class="thread"><div class="who">${who}</div>${renderNote(body, Boolean(account))}</div></main>`;
  };
  return page(threads.map(file).join(''), scheme);
}
