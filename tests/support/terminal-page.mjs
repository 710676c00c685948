// A terminal's screen as a page: the text and colors that tmux captures (`capture-pane -e`), as HTML.

const COLORS = ['#484f58', '#ff7b72', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#c9d1d9'];

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Applies a list of codes to a style. An unknown one is an error: the picture would differ from the screen. */
function styled(style, codes) {
  const next = { ...style };
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) for (const name of Object.keys(next)) delete next[name];
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 22) delete next.bold, delete next.dim;
    else if (code === 3) next.italic = true;
    else if (code === 23) delete next.italic;
    else if (code === 4) next.underline = true;
    else if (code === 24) delete next.underline;
    else if (code >= 30 && code <= 37) next.colour = COLORS[code - 30];
    else if (code >= 90 && code <= 97) next.colour = COLORS[code - 90];
    else if (code === 39) delete next.colour;
    else if (code !== 49) throw new Error(`no picture of the code ${code} of \`${codes}\``);
  }
  return next;
}

function css({ bold, dim, italic, underline, colour }) {
  return [
    bold && 'font-weight:700',
    dim && 'opacity:.62',
    italic && 'font-style:italic',
    underline && 'text-decoration:underline',
    colour && `color:${colour}`,
  ].filter(Boolean).join(';');
}

/** The screen's lines as HTML. A style goes on over the end of a line, as on a terminal. */
export function renderScreen(screen) {
  let style = {};
  return screen.split('\n').map((line) => {
    // The addresses of links are not seen.
    const parts = line.replace(/\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)/g, '').split(/\x1b\[([\d;]*)m/);
    return parts.map((part, index) => {
      if (index % 2 === 1) {
        style = styled(style, part || '0');
        return '';
      }
      return part && `<span style="${css(style)}">${escaped(part)}</span>`;
    }).join('');
  }).join('\n');
}

/** A page with the screen, `columns` wide. */
export function terminalPage(screen, columns) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Terminal</title><style>
    body { margin: 0; background: #fff; }
    pre { box-sizing: content-box; width: ${columns}ch; margin: 0; padding: 18px 22px; border-radius: 10px; background: #0d1117; color: #e6edf3;
      font: 14px/1.36 "JetBrains Mono", "DejaVu Sans Mono", monospace; }
  </style><pre>${renderScreen(screen)}</pre></html>`;
}
