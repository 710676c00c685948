//! Places in a text that a forge would make a reference of.
//!
//! A reference links, and what it names is told of it: people, issues, merge requests, commits, labels, vulnerabilities, the
//! issues of Jira. A forge looks for references in the text as it is shown, so an escape in the Markdown does not stop all of
//! them; a character in the middle that nobody sees does. The patterns are those of GitLab with its trackers outside, and of
//! GitHub, a bit wider than they are.

/// The character that nobody sees and that no reference has: a word joiner.
pub(super) const JOINER: char = '\u{2060}';

/// So many hexadecimal digits in a row are no commit yet.
const MAX_HEX: usize = 6;

/// Words in front of the number of an item, as a tracker outside reads them.
const NUMBERED: [&str; 6] = ["bug", "task", "work item", "workitem", "rtcwi", "defect"];

/// Returns the offsets in `text` where a [`JOINER`] has to go so that no reference is left, in their order.
pub(super) fn joints(text: &str) -> Vec<usize> {
    let mut joints = Vec::new();
    let mut before = None;
    let mut digits = 0;
    for (at, character) in text.char_indices() {
        if character.is_ascii_hexdigit() {
            digits += 1;
            if digits > MAX_HEX {
                joints.push(at);
                digits = 1;
            }
        } else {
            digits = 0;
        }
        if before.is_some_and(|before| is_joint(&text[..at], before, character, &text[at..])) {
            joints.push(at);
            // A joiner ends a run of digits, too.
            digits = usize::from(character.is_ascii_hexdigit());
        }
        before = Some(character);
    }
    if text.ends_with(is_at) {
        joints.push(text.len());
    }
    joints.dedup();
    joints
}

/// Returns whether a reference would go from `before`, the end of `head`, to `character`, the beginning of `rest`.
fn is_joint(head: &str, before: char, character: char, rest: &str) -> bool {
    let in_front = &head[..head.len() - before.len_utf8()];
    let by_sign = match before {
        '@' | '＠' | '﹫' => is_word(character) || matches!(character, '-' | '.'),
        // These take numbers only: `${name}`, `#include` and `&value` are code.
        '#' | '$' | '&' | '＃' | '＄' | '＆' => is_digit(character),
        // Or the beginning of a comment in HTML.
        '!' | '！' => is_digit(character) || character == '-',
        '~' | '%' | '^' | '～' | '％' | '＾' => {
            is_word(character) || matches!(character, '"' | '\'' | '{' | '-' | '.')
        }
        '[' => character == '[' || names_a_kind(rest),
        '*' => begins_with(rest, "iteration"),
        '-' => is_word(character) && is_key(in_front, character),
        // A task of Phorge. A letter outside of ASCII in front of it is a boundary to some readers.
        'T' => is_digit(character) && !in_front.ends_with(|last: char| last.is_ascii() && is_word(last)),
        ':' => rest.starts_with("//"),
        _ => is_digit(character) && before.is_whitespace() && is_numbered(head.trim_end()),
    };
    by_sign
        || (character == '>' && ends_with_path(head))
        // A web address without its protocol.
        || (character == '.' && begins_with(last(head, "www".len()), "www"))
}

/// Returns whether the text ends with what may be the path of a project, whose mark is a `>` behind it. None begins with a hyphen, so
/// that an arrow is not one.
fn ends_with_path(head: &str) -> bool {
    let is_of_path = |character: char| is_word(character) || matches!(character, '-' | '.');
    let path = &head[head.trim_end_matches(is_of_path).len()..];
    path.contains(|character: char| character != '-')
}

/// Returns whether `character` is what begins a mention, also to readers that make characters plain first.
fn is_at(character: char) -> bool {
    matches!(character, '@' | '＠' | '﹫')
}

/// Returns whether some reader may take `character` for a part of a word. Outside of ASCII they decide by different versions of
/// Unicode what is a letter, a digit or a mark.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !(character.is_ascii() || character.is_whitespace())
}

/// Returns whether a forge may read `character` as a digit. Outside of ASCII, every character but a letter counts.
pub(super) fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
        || character.is_numeric()
        || !(character.is_ascii() || character.is_whitespace() || character.is_alphabetic())
}

/// Returns whether the text behind a bracket is a kind and its colon, as in `[vulnerability:1]`, or a table of
/// contents.
fn names_a_kind(text: &str) -> bool {
    let behind = text.trim_start_matches(|character: char| is_word(character) || character == '-');
    (behind.len() < text.len() && behind.starts_with(':')) || begins_with(text, "toc]") || begins_with(text, "_toc_")
}

/// Returns whether the text in front of a hyphen and the character behind it make the key of an issue: `ABC-1`, `GL-1`,
/// `CU-a1`.
fn is_key(head: &str, behind: char) -> bool {
    let word = word(head);
    if is_digit(behind) {
        word.contains(|character: char| !character.is_ascii_digit() && character != '_')
    } else {
        word.ends_with("CU")
    }
}

/// Returns whether the text ends with a word that a number of an item follows.
pub(super) fn is_numbered(head: &str) -> bool {
    // Also inside of a longer word: a joiner in front of it would make it one of its own.
    NUMBERED.iter().any(|name| begins_with(last(head, name.len()), name))
}

/// The last characters of a text.
fn last(text: &str, characters: usize) -> &str {
    let start = text.char_indices().rev().take(characters).last();
    start.map_or("", |(start, _)| &text[start..])
}

/// The word that the text ends with; empty if it ends with something else.
fn word(text: &str) -> &str {
    &text[text.trim_end_matches(is_word).len()..]
}

/// Returns whether the text begins with these lower-case ASCII letters, in any case that a reader may know: two characters
/// outside of ASCII have a letter of ASCII as their lower case.
fn begins_with(text: &str, letters: &str) -> bool {
    let mut characters = text.chars().map(|character| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    letters.chars().all(|letter| characters.next() == Some(letter))
}

#[cfg(test)]
#[path = "references_tests.rs"]
mod tests;
