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
        '@' | '＠' | '﹫' => true,
        '#' | '!' | '$' | '~' | '%' | '&' | '^' | '＃' | '！' | '＄' | '～' | '％' | '＆' | '＾' => {
            character.is_alphanumeric() || matches!(character, '"' | '\'' | '_' | '{' | '-' | '.')
        }
        '[' => character == '[' || names_a_kind(rest),
        '*' => begins_with(rest, "iteration"),
        '-' => (character.is_alphanumeric() || character == '_') && is_key(in_front, character),
        // A task of Phorge. What is a letter outside of ASCII, readers decide by different versions of Unicode.
        'T' => {
            character.is_ascii_digit() && !in_front.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_')
        }
        ':' => rest.starts_with("//"),
        _ => character.is_ascii_digit() && before.is_whitespace() && is_numbered(head.trim_end()),
    };
    by_sign
        // The path of a project.
        || (character == '>' && !before.is_whitespace())
        // A web address without its protocol.
        || (character == '.' && begins_with(last(head, "www".len()), "www"))
}

/// Returns whether `character` is what begins a mention, also to readers that make characters plain first.
fn is_at(character: char) -> bool {
    matches!(character, '@' | '＠' | '﹫')
}

/// Returns whether the text behind a bracket is a kind and its colon, as in `[vulnerability:1]`, or a table of
/// contents.
fn names_a_kind(text: &str) -> bool {
    let behind =
        text.trim_start_matches(|character: char| character.is_alphanumeric() || matches!(character, '_' | '-'));
    (behind.len() < text.len() && behind.starts_with(':')) || begins_with(text, "toc]") || begins_with(text, "_toc_")
}

/// Returns whether the text in front of a hyphen and the character behind it make the key of an issue: `ABC-1`, `GL-1`,
/// `CU-a1`.
fn is_key(head: &str, behind: char) -> bool {
    let word = word(head);
    if behind.is_ascii_digit() {
        word.contains(char::is_alphabetic)
    } else {
        word.ends_with("CU")
    }
}

/// Returns whether the text ends with a word that a number of an item follows.
pub(super) fn is_numbered(head: &str) -> bool {
    // Also inside of a longer word: a joiner in front of it would make it one of its own.
    NUMBERED.iter().any(|name| begins_with(last(head, name.len()), name))
}

/// The last bytes of a text; fewer if they would begin inside of a character.
fn last(text: &str, bytes: usize) -> &str {
    (text.len().saturating_sub(bytes)..=text.len())
        .find_map(|start| text.get(start..))
        .unwrap_or_default()
}

/// The word that the text ends with; empty if it ends with something else.
fn word(text: &str) -> &str {
    let part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    &text[text.trim_end_matches(part_of_word).len()..]
}

/// Returns whether the text begins with these ASCII letters, in any case.
fn begins_with(text: &str, letters: &str) -> bool {
    text.get(..letters.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(letters))
}

#[cfg(test)]
#[path = "references_tests.rs"]
mod tests;
