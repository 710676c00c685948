//! The last step of everything that is printed: what a terminal, or what reads a job's log, would act on is left out.
//!
//! Whatever a message is made of, it passes here. Escape sequences, control and invisible characters go, signs of our own
//! ([`super::paint`]) become sequences, and marks that GitLab, GitHub or Azure act on in a log are broken. Line breaks inside
//! of a message's values are indented by [`message`], or taken out by [`one_line`] before a layout is made.

use std::fmt::Write;

use conclave_shared::invisible::{ends_line, is_invisible, is_presentation_selector};

use crate::output::paint::{OPEN, Sign};

/// The indentation of a message's further lines: nothing in them begins a line of a log.
const INDENT: &str = "  ";

/// What is kept of a text besides its letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Our colours and links.
    Signs,
    /// Nothing: plain text.
    Text,
    /// The joiners of a Markdown document, which keep it from referring to somebody.
    Joiners,
}

/// The text as it may be printed, in the lines that it has.
pub(crate) fn clean(text: &str, keep: Keep) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            cleaned.push('\n');
        }
        clean_line(line.strip_suffix('\r').unwrap_or(line), keep, &mut cleaned);
    }
    cleaned
}

fn clean_line(line: &str, keep: Keep, cleaned: &mut String) {
    // Marks are looked for in the text as it is seen.
    let mut seen = String::with_capacity(line.len());
    let mut signs: Vec<(usize, Sign)> = Vec::new();
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if character == OPEN
            && let Some((sign, length)) = Sign::read(rest)
        {
            signs.push((seen.len(), sign));
            rest = &rest[length..];
            continue;
        }
        let is_kept = !is_invisible(character)
            || is_presentation_selector(character)
            || (keep == Keep::Joiners && character == '\u{2060}');
        if ends_line(character) {
            seen.push(' ');
        } else if is_kept {
            seen.push(character);
        }
        rest = &rest[character.len_utf8()..];
    }
    let mut signs = signs.into_iter().filter(|_| keep == Keep::Signs).peekable();
    for (at, character) in seen.char_indices() {
        while let Some((_, sign)) = signs.next_if(|(place, _)| *place <= at) {
            cleaned.push_str(&sign.sequence());
        }
        if is_mark(&seen, at) {
            cleaned.push(' ');
        }
        cleaned.push(character);
    }
    for (_, sign) in signs {
        cleaned.push_str(&sign.sequence());
    }
}

/// Returns whether a mark that a CI system acts on goes on at this place, so that a space in front of it breaks it.
fn is_mark(line: &str, at: usize) -> bool {
    let (head, rest) = line.split_at(at);
    match rest.as_bytes().first() {
        // `section_start:` of GitLab.
        Some(b':') => {
            let is_section = ["section_start", "section_end"].iter().any(|name| {
                let start = head.len().checked_sub(name.len());
                start
                    .and_then(|start| head.get(start..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(name))
            });
            is_section || is_command(head, rest)
        }
        // `##[error]` of GitHub, `##vso[…]` of Azure, `##teamcity[…]`.
        Some(b'#') => {
            let name = rest[1..].trim_start_matches(|character: char| character.is_ascii_alphabetic());
            head.ends_with('#') && name.starts_with('[')
        }
        _ => false,
    }
}

/// Returns whether a workflow command of GitHub goes on at this colon: `::error::`, at the beginning of a word.
fn is_command(head: &str, rest: &str) -> bool {
    let Some(before) = head.strip_suffix(':') else {
        return false;
    };
    let begins = before
        .chars()
        .next_back()
        .is_none_or(|last| !(last.is_alphanumeric() || matches!(last, '_' | '>' | ')' | ']' | ':')));
    begins && rest[1..].starts_with(|character: char| character.is_alphabetic() || character == ' ')
}

/// A message in lines of which only the first begins where a line of the log does.
pub(crate) fn message(text: &str) -> String {
    let mut lines = text.split(ends_line);
    let mut message = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indent = if line.starts_with(INDENT) || line.is_empty() {
            ""
        } else {
            INDENT
        };
        let _ = write!(message, "\n{indent}{line}");
    }
    message
}

/// The text in one line: for a value that stands in a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|character| {
            if ends_line(character) || character == '\t' {
                ' '
            } else {
                character
            }
        })
        .collect();
    clean(&text, Keep::Text)
}

/// The text as the inside of JSON: what [`clean`] would leave out is written as an escape, so that nothing is lost.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for (at, character) in json.char_indices() {
        let acts = (is_invisible(character) && !is_presentation_selector(character))
            || (ends_line(character) && character != '\n')
            || is_mark(json, at);
        if acts {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
