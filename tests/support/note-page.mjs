// A note as GitLab shows it: its Markdown as HTML, in GitLab's colours, light or dark.

import MarkdownIt from 'markdown-it';

/** Coloured signs, which not every machine has a font for. GitLab draws them itself, too. */
const SIGNS = { '🔴': '#dd2b0e', '🟡': '#e9a100', '🔵': '#1f75cb', '🟢': '#108548', '⚪': '#bfbfc3' };

const COLOURS = {
  light: { text: '#28272d', quiet: '#626168', ground: '#fff', line: '#dcdcde', code: '#ececef', block: '#f6f6f7', link: '#0b5cad' },
  dark: { text: '#ececef', quiet: '#a4a3a8', ground: '#18171d', line: '#3a383f', code: '#2b2a31', block: '#24232a', link: '#63a6e9' },
};

/** The note's HTML. Like GitLab this lets HTML through; what may stand in a note is its writer's business. */
export function renderNote(markdown) {
  return new MarkdownIt({ html: true, linkify: true }).render(markdown);
}

/** A page with the note. `scheme` is `light` or `dark`. */
export function notePage(markdown, scheme) {
  const colour = COLOURS[scheme];
  const body = renderNote(markdown.replace(/<!-- conclave:[^]*?-->/g, '')).replace(
    /🔴|🟡|🔵|🟢|⚪/gu,
    (sign) => `<span class="sign" style="background:${SIGNS[sign]}"></span>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Note</title><style>
    body { margin: 0; background: ${colour.ground}; color: ${colour.text};
      font: 14px/1.43 "Noto Sans", Ubuntu, Cantarell, "Helvetica Neue", "Liberation Sans", sans-serif; }
    main { max-width: 860px; margin: 20px; padding: 8px 18px; border: 1px solid ${colour.line}; border-radius: 8px; }
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
  </style><main>${body}</main></html>`;
}
