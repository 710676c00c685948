//! The words of a line of code.

use std::ops::Range;

/// Maximum length of a line that is taken apart: of each place of a name all that stands before it is read. A longer one that has the name
/// counts as one that gives it another meaning.
pub(crate) const MAX_LINE: usize = 1_000;

/// The text before each place of a name in a line, and behind it.
pub(crate) fn places<'a>(line: &'a str, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    line.match_indices(name)
        .map(move |(at, found)| (&line[..at], &line[at + found.len()..]))
        .filter(|(before, behind)| !before.ends_with(is_of_word) && !behind.starts_with(is_of_word))
}

/// The place of the first word from here on.
pub(crate) fn word_at(line: &str, from: usize) -> Option<Range<usize>> {
    let start = from + line[from..].find(is_of_word)?;
    let length = line[start..].find(|next| !is_of_word(next));
    Some(start..length.map_or(line.len(), |length| start + length))
}

/// The first word of a line, wherever it begins.
pub(crate) fn first_word(line: &str) -> &str {
    word_at(line, 0).map(|word| &line[word]).unwrap_or_default()
}

/// The word with which a text ends; an empty one where it ends otherwise.
pub(crate) fn last_word(text: &str) -> &str {
    &text[text.trim_end_matches(is_of_word).len()..]
}

/// Returns whether code uses a name as a whole word.
pub(crate) fn has_word(code: &str, name: &str) -> bool {
    code.contains(name) && places(code, name).next().is_some()
}

/// Returns whether a character can be one of a name.
pub(crate) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns whether a list of words between blanks has this one.
pub(crate) fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
