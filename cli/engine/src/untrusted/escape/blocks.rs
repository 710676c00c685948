//! Blocks of code in a text that is posted: kept as such where the text closes them.

use conclave_shared::invisible::{ends_line, is_invisible, is_presentation_selector};

use super::{escape, fenced};

/// The languages that a block may name. What a forge makes something else of is not among them: a suggestion to commit, a diagram, a
/// formula, a table, a query.
const LANGUAGES: &str = "bash c cpp csharp css diff dockerfile elixir go graphql haskell hcl html ini java javascript js json jsx kotlin lua \
    makefile php powershell proto py python ruby rust scala sh shell sql swift terraform text toml ts tsx typescript vue xml yaml yml";

/// The text as [`escape`] makes it, but for its blocks of code: these are code blocks of the same lines, which their content cannot
/// close, and which no forge acts on. A fence that nothing closes is escaped with all that follows.
pub(crate) fn escape_with_blocks(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split(ends_line).collect();
    let mut parts: Vec<String> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some((fence, behind)) = lines.get(at).map(|line| (Fence::opening(line), &lines[at + 1..])) {
        let Some(fence) = fence else {
            at += 1;
            continue;
        };
        let Some(length) = behind.iter().position(|line| fence.is_closed_by(line)) else {
            break;
        };
        if from < at {
            parts.push(escape(&lines[from..at].join("\n")));
        }
        let code: Vec<String> = behind[..length].iter().map(|line| fence.shown(line)).collect();
        parts.push(fenced(&code.join("\n"), fence.language));
        at += length + 2;
        from = at;
    }
    if from < lines.len() {
        parts.push(escape(&lines[from..].join("\n")));
    }
    parts.join("\n")
}

/// The line that opens a block of code.
struct Fence<'l> {
    /// Blanks in front of it, which the lines of the block have too.
    indent: usize,
    mark: char,
    length: usize,
    language: &'l str,
}

impl<'l> Fence<'l> {
    fn opening(line: &'l str) -> Option<Self> {
        let (indent, mark, length, info) = fence_of(line)?;
        if mark == '`' && info.contains('`') {
            return None;
        }
        let named = info.split_whitespace().next().unwrap_or_default();
        let is_known = LANGUAGES.split_ascii_whitespace().any(|known| known == named);
        Some(Self {
            indent,
            mark,
            length,
            language: if is_known { named } else { "" },
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        fence_of(line)
            .is_some_and(|(_, mark, length, info)| mark == self.mark && length >= self.length && info.trim().is_empty())
    }

    /// A line of the block, without characters that are not seen.
    fn shown(&self, line: &str) -> String {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        line[blanks.min(self.indent)..]
            .chars()
            .filter(|character| !is_invisible(*character) || is_presentation_selector(*character))
            .collect()
    }
}

/// The blanks in front of a fence, its mark, its length and what stands behind it.
fn fence_of(line: &str) -> Option<(usize, char, usize, &str)> {
    let bare = line.trim_start_matches(' ');
    let indent = line.len() - bare.len();
    let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = bare.trim_start_matches(mark);
    let length = bare.len() - info.len();
    (indent <= 3 && length >= 3).then_some((indent, mark, length, info))
}
