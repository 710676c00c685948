//! Making text harmless before it is posted.
//!
//! What a model writes can be steered by the author of the merge request, and what we post is read by a forge that
//! acts on text: quick actions, mentions, images, links, HTML.

mod blocks;
mod references;

use std::{borrow::Cow, fmt::Write};

use conclave_shared::invisible::{ends_line, is_bidirectional_control, is_invisible, is_presentation_selector};

pub(crate) use self::blocks::escape_with_blocks;
use self::references::{JOINER, is_digit, is_numbered, joints};
use crate::look_alike::shown_name;

/// The text as Markdown that shows what it says and does nothing else.
///
/// Outside of code spans every character that Markdown or HTML could act on is escaped, a `/` at the beginning of a line is
/// escaped so that nothing is a quick action, and what would refer to somebody or something has a word joiner inside
/// ([`references`]). Characters that nobody sees are left out.
pub fn escape(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 16);
    // The last line with text on it.
    let mut above = String::new();
    for (number, line) in text.split(ends_line).enumerate() {
        let line = visible(line);
        let line = line.trim_end();
        if number > 0 {
            result.push('\n');
            // Line breaks are a space between a word and its number.
            if is_numbered(&above) && line.trim_start().starts_with(is_digit) {
                result.push(JOINER);
            }
        }
        escape_line(line, &mut result);
        if !line.is_empty() {
            line.clone_into(&mut above);
        }
    }
    result
}

/// The same in one line.
pub(crate) fn one_line(text: &str) -> String {
    escape(text).replace('\n', " ")
}

/// The line without characters that nobody sees. They go first: one that goes later was in front of what it no longer hides.
fn visible(line: &str) -> String {
    line.chars()
        .map(|character| if character == '\t' { ' ' } else { character })
        .filter(|character| !is_invisible(*character) || is_presentation_selector(*character))
        .collect()
}

fn escape_line(line: &str, result: &mut String) {
    let mut rest = line;
    let mut at_start = true;
    while !rest.is_empty() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        if ticks > 0 {
            at_start = false;
            if let Some(length) = length_of_code(rest) {
                result.push_str(&rest[..length]);
                rest = &rest[length..];
            } else {
                // All of them: a part of these could open what the whole does not.
                result.push_str(&"\\`".repeat(ticks));
                rest = &rest[ticks..];
            }
            continue;
        }
        let (plain, behind) = rest.split_at(rest.find('`').unwrap_or(rest.len()));
        at_start = escape_words(plain, at_start, result);
        rest = behind;
    }
}

/// Text without back-ticks. Says whether what comes next still stands at the beginning of the line.
fn escape_words(text: &str, mut at_start: bool, result: &mut String) -> bool {
    let mut joints = joints(text).into_iter().peekable();
    for (at, character) in text.char_indices() {
        if joints.next_if_eq(&at).is_some() {
            result.push(JOINER);
        }
        match character {
            // Some readers make these plain before they act.
            '／' | '⁄' | '∕' | '⧸' | '╱' if at_start => {
                result.push(JOINER);
                result.push(character);
            }
            // A list or heading marker in front does not take the danger from what follows; a colon makes a table, or an
            // inclusion.
            '/' | '-' | '+' | '=' | ':' if at_start => {
                result.push('\\');
                result.push(character);
            }
            '#' | '!' | '~' | '%' | '$' | '&' | '^' | '<' | '>' | '[' | ']' | '*' | '_' | '|' | '\\' => {
                result.push('\\');
                result.push(character);
            }
            character => result.push(character),
        }
        if !character.is_whitespace() && !matches!(character, '>' | '-' | '+' | '*' | '0'..='9' | '.' | ')') {
            at_start = false;
        }
    }
    if joints.next().is_some() {
        result.push(JOINER);
    }
    at_start
}

/// The length of the code span that the text begins with, fence and all. Its content is shown and never acted on.
fn length_of_code(text: &str) -> Option<usize> {
    let fence = text.len() - text.trim_start_matches('`').len();
    let mut position = fence;
    loop {
        let open = position + text[position..].find('`')?;
        let run = text[open..].len() - text[open..].trim_start_matches('`').len();
        if run == fence {
            return (open > fence).then_some(open + run);
        }
        position = open + run;
    }
}

/// A link to an address that the organisation itself has written down, or only its label if the address is no address.
///
/// Everything that could end the address early, or mean something inside of it, is escaped; what remains is shown by no
/// reader, and followed by none before somebody clicks.
pub(crate) fn link(label: &str, address: &str) -> String {
    let label = one_line(label);
    let is_web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    if !is_web
        || address
            .chars()
            .any(|character| character.is_whitespace() || character.is_control())
    {
        return label;
    }
    let mut target = String::with_capacity(address.len());
    for byte in address.bytes() {
        if byte.is_ascii_alphanumeric() || b"-./:?#&=%+,;_~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            let _ = write!(target, "%{byte:02X}");
        }
    }
    // Nothing looks for the keys of issues in a text that is a link already, and the names of rules look like such keys.
    let label = label.replace(&format!("-{JOINER}"), "-");
    format!("[{label}]({target})")
}

/// The text in one cell of a table. A bar ends a cell even inside a code span, and half a code span hides nothing.
pub(crate) fn cell(text: &str) -> String {
    one_line(&text.replace('`', "'"))
}

/// The text as code in one cell of a table.
pub(crate) fn code_cell(text: &str) -> String {
    let text: String = text.chars().filter(|character| !is_invisible(*character)).collect();
    code_span(&text.replace(['\n', '\r', '\t', '`', '|'], " "))
}

/// A code span that its content cannot close.
pub fn code_span(text: &str) -> String {
    let text: String = text.split(ends_line).collect::<Vec<_>>().join(" ");
    let text = shown_name(&visible(&text)).into_owned();
    if text.is_empty() {
        return text;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The number of back-ticks in the longest run of them.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|character| character != '`');
    runs.map(str::len).max().unwrap_or(0)
}

/// A fenced code block that its content cannot close.
///
/// GitLab reads a note with a regular expression that takes three back-ticks for the end of any block, however long its
/// fence is. So no line of the code may begin with a quick action either: such code is indented by one space.
pub(crate) fn fenced(code: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(code).max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    // A carriage return alone ends a line for some readers, and is nothing for others. GitLab refuses a note with a NUL.
    let mut code = code.replace("\r\n", "\n").replace('\r', "\n");
    code.retain(|character| matches!(character, '\n' | '\t') || !character.is_control());
    let code = with_directions_shown(&code);
    let code = code.trim_end_matches('\n');
    let code = if code.split('\n').any(is_quick_action) {
        code.split('\n')
            .map(|line| format!(" {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        code.to_owned()
    };
    format!("{fence}{language}\n{code}\n{fence}")
}

/// The code with the characters that change its direction written out: what is shown is what runs.
fn with_directions_shown(code: &str) -> Cow<'_, str> {
    if !code.contains(is_bidirectional_control) {
        return Cow::Borrowed(code);
    }
    let mut shown = String::with_capacity(code.len());
    for character in code.chars() {
        if is_bidirectional_control(character) {
            let _ = write!(shown, "<U+{:04X}>", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

fn is_quick_action(line: &str) -> bool {
    line.strip_prefix('/')
        .is_some_and(|name| name.starts_with(|character: char| character.is_ascii_alphabetic()))
}

#[cfg(test)]
#[path = "escape/escape_tests.rs"]
mod tests;
