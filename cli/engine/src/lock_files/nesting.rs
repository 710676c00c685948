//! A bound on the depth of YAML.
//!
//! The time that the parser takes grows with the square of the depth of brackets: 120 kB of them keep it busy for minutes. So the
//! text is taken apart before that, into pieces that each close what they open: mostly a line, or the few lines of an
//! entry that a formatter has broken. Package managers write no other.

use super::plain::{shortened, without_mark};

/// Maximum number of brackets that a piece opens.
const MAX_OPENED: usize = 32;
/// Maximum number of lines of a piece.
const MAX_LINES: usize = 32;
/// Maximum length of a piece of several lines, in bytes.
const MAX_LENGTH: usize = 16 << 10;

/// Refuses a text with more brackets in brackets than a package manager writes. `is_valid` asks the parser about a piece.
pub(super) fn refuse_nesting(text: &str, is_valid: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut lines = (1..).zip(without_mark(text).lines());
    // The column of a key below which a text of several lines stands.
    let mut key: Option<usize> = None;
    while let Some((number, line)) = lines.next() {
        let content = line.trim_start_matches(' ');
        let column = line.len() - content.len();
        if content.is_empty() || key.is_some_and(|key| column > key) {
            continue;
        }
        key = key_of_text(content, column);
        if content.starts_with('#') {
            continue;
        }
        let too_deep = || {
            let line = shortened(content);
            format!("it is not valid YAML: what line {number} opens is nested too deep, or not closed: `{line}`")
        };
        let mut piece = content.to_owned();
        let mut count = 1;
        while !is_closed(&piece, &is_valid).ok_or_else(too_deep)? {
            let (_, next) = lines.next().ok_or_else(too_deep)?;
            piece.push('\n');
            piece.push_str(next);
            count += 1;
            if count > MAX_LINES || piece.len() > MAX_LENGTH {
                return Err(too_deep());
            }
        }
    }
    Ok(())
}

/// Returns whether a piece closes all brackets and quotes that it opens; `None` if those are too many brackets.
fn is_closed(piece: &str, is_valid: impl Fn(&str) -> bool) -> Option<bool> {
    let opened = piece.matches(['[', '{']).count();
    if opened > MAX_OPENED {
        return None;
    }
    // A bracket may be one of a quoted text or a comment. Only the parser knows.
    if piece.contains(['"', '\'', '#']) {
        return Some(is_valid(piece));
    }
    // Without them, one that closes before one opens is a part of a word.
    let mut open = 0_usize;
    for bracket in piece.matches(['[', '{', ']', '}']) {
        open = match bracket {
            "[" | "{" => open + 1,
            _ if open == 0 => return Some(is_valid(piece)),
            _ => open - 1,
        };
    }
    Some(open == 0)
}

/// The column of a key whose value is a text on the lines below it: `deprecated: |-`.
fn key_of_text(content: &str, column: usize) -> Option<usize> {
    let (_, value) = content.rsplit_once(": ")?;
    let mark = value.trim_end_matches(|character: char| "+-123456789".contains(character));
    if !matches!(mark, "|" | ">") || content.contains(['#', '"', '\'']) {
        return None;
    }
    let key = content.trim_start_matches("- ").trim_start_matches(' ');
    Some(column + content.len() - key.len())
}

#[cfg(test)]
#[path = "nesting_tests.rs"]
mod tests;
