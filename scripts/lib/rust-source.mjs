// Rust source, taken apart into code, comments and literals: enough for checks that read it without compiling it.

// A line comment, the start of a block comment, the start of a raw string, a string, a character. A lifetime is none of them.
const LITERAL = /\/\/[^\n]*|\/\*|(?<![A-Za-z0-9_])[bc]?r(#*)"|"(?:[^"\\]|\\[^])*"|'(?:\\[^][^'\n]*|[^'\\\n])'/gu;

/** The position after the block comment that starts at `start`; block comments nest. */
function blockCommentEnd(text, start) {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  for (let depth = 0, mark; (mark = marks.exec(text)); ) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return text.length;
}

/**
 * Splits Rust source. `code` is as long as `text`, with blanks in place of comments and of what literals hold, so that
 * positions and lines agree. `comments` and `strings` have the position and the text, comments with their slashes,
 * strings without their quotes.
 */
export function splitRust(text) {
  const comments = [];
  const strings = [];
  let code = '';
  let copied = 0;
  LITERAL.lastIndex = 0;
  for (let match; (match = LITERAL.exec(text)); ) {
    const start = match.index;
    let end = LITERAL.lastIndex;
    if (match[0] === '/*') end = blockCommentEnd(text, start);
    if (match[1] !== undefined) {
      const close = text.indexOf(`"${match[1]}`, end);
      end = close < 0 ? text.length : close + 1 + match[1].length;
      strings.push({ at: start, text: text.slice(start + match[0].length, close < 0 ? end : close) });
    } else if (match[0].startsWith('/')) {
      comments.push({ at: start, text: text.slice(start, end) });
    } else if (match[0].startsWith('"')) {
      strings.push({ at: start, text: match[0].slice(1, -1) });
    }
    const blank = text.slice(start, end).replace(/[^\n]/g, ' ');
    // A literal stays a token, so that what surrounds it does not grow together.
    code += text.slice(copied, start) + (match[0].startsWith('/') ? blank : `"${blank.slice(1)}`);
    copied = end;
    LITERAL.lastIndex = end;
  }
  return { code: code + text.slice(copied), comments, strings };
}

/** Turns positions of a text into line numbers, from 1. */
export function lineFinder(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (position) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= position) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** The tokens of code without comments: words, `::`, and single characters, each with its position. */
export function tokenize(code) {
  return Array.from(code.matchAll(/(?:r#)?[A-Za-z_]\w*|\d\w*|::|[^\s]/gu), ({ 0: text, index }) => ({ text, at: index }));
}

/** Three-valued: false if a `cfg` predicate holds in tests only, true if it always holds, undefined otherwise. */
function outsideOfTests(tokens) {
  const read = () => {
    const name = tokens.shift();
    if (tokens[0] !== '(') {
      // `key = "value"`
      if (tokens[0] === '=') tokens.splice(0, 2);
      return name === 'test' || name === 'doctest' ? false : undefined;
    }
    const values = [];
    while (tokens.length > 0 && tokens.shift() !== ')') {
      if (tokens[0] !== ')') values.push(read());
    }
    if (name === 'not') return values[0] === undefined ? undefined : !values[0];
    if (name === 'any') return values.includes(true) ? true : values.every((value) => value === false) ? false : undefined;
    return values.includes(false) ? false : values.every((value) => value === true) ? true : undefined;
  };
  return read();
}

/** Returns whether an attribute (the texts of the tokens between its brackets) keeps its item out of everything but tests. */
export function isTestOnly(attribute) {
  return attribute[0] === 'cfg' && outsideOfTests(attribute.slice(2, -1)) === false;
}

const ITEM_KEYWORDS = new Set(
  ['pub', 'mod', 'use', 'fn', 'struct', 'enum', 'union', 'trait', 'impl', 'const', 'static', 'type', 'async', 'unsafe', 'extern', 'macro_rules'],
);

/** The index after the bracket that closes the one at `index`. */
export function closing(tokens, index) {
  let depth = 0;
  for (let i = index; i < tokens.length; i++) {
    if ('([{'.includes(tokens[i].text)) depth++;
    if (')]}'.includes(tokens[i].text) && --depth === 0) return i + 1;
  }
  return tokens.length;
}

/** The index after the item, field, variant or statement that starts at `index`, its attributes included. */
export function itemEnd(tokens, index) {
  let i = index;
  while (tokens[i]?.text === '#') i = closing(tokens, i + 1);
  const isItem = ITEM_KEYWORDS.has(tokens[i]?.text);
  const isUse = tokens.slice(i, i + 6).some(({ text }) => text === 'use');
  for (; i < tokens.length; i++) {
    const { text } = tokens[i];
    if (text === ';' || (!isItem && text === ',')) return i + 1;
    if (')]}'.includes(text)) return i;
    if ('([{'.includes(text)) {
      i = closing(tokens, i) - 1;
      if (text === '{' && !isUse) return i + 1;
    }
  }
  return i;
}

/** The stretches of code that only tests compile, as pairs of positions. */
export function testSpans(code) {
  const tokens = tokenize(code);
  const spans = [];
  for (let i = 0; i < tokens.length; i++) {
    if (tokens[i].text !== '#') continue;
    const inner = tokens[i + 1]?.text === '!';
    const open = inner ? i + 2 : i + 1;
    if (tokens[open]?.text !== '[') continue;
    const end = closing(tokens, open);
    if (isTestOnly(tokens.slice(open + 1, end - 1).map((token) => token.text))) {
      const after = inner ? tokens.length : itemEnd(tokens, i);
      spans.push([tokens[i].at, tokens[after]?.at ?? code.length]);
      i = after - 1;
    } else {
      i = end - 1;
    }
  }
  return spans;
}
