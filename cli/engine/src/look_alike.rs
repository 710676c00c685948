//! Names that look like others: letters of one script in the place of those of another.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use unicode_security::skeleton;

/// The words of a line that can be identifiers, each with the place of its first character.
pub(crate) fn words(line: &[char]) -> impl Iterator<Item = (usize, String)> + '_ {
    let is_part = |character: &char| character.is_alphanumeric() || *character == '_' || *character == '$';
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + line[at..].iter().position(is_part)?;
        let length = line[begin..].iter().take_while(|character| is_part(character)).count();
        at = begin + length;
        Some((begin, line[begin..at].iter().collect()))
    })
}

/// The words of a text by what they look like.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<String, BTreeSet<String>>);

impl Known {
    /// Notes all words of a line.
    pub(crate) fn note(&mut self, line: &[char]) {
        for (_, word) in words(line) {
            let look = look(&word);
            self.0.entry(look).or_default().insert(word);
        }
    }

    /// Another word that looks the same.
    pub(crate) fn twin(&self, word: &str) -> Option<&str> {
        let alike = self.0.get(&look(word))?;
        alike.iter().map(String::as_str).find(|other| *other != word)
    }
}

fn look(word: &str) -> String {
    skeleton(word).collect()
}

/// Returns whether a word mixes Latin letters with letters of another script that look like Latin ones.
pub(crate) fn is_mixed(word: &str) -> bool {
    word.split(['_', '$']).any(|part| {
        let is_latin = part.chars().any(|character| character.is_ascii_alphabetic());
        let mut foreign = part.chars().filter(|character| !character.is_ascii()).peekable();
        is_latin && foreign.peek().is_some() && foreign.all(is_disguised)
    })
}

/// Returns whether a word has the letters of one script only and looks like one in Latin letters.
pub(crate) fn is_disguised_whole(word: &str) -> bool {
    word.chars().count() > 1
        && !word.is_ascii()
        && word
            .chars()
            .all(|character| character.is_ascii() || is_foreign(character))
        && look(word).is_ascii()
}

/// Whether a letter of another script looks like one in Latin. Small Greek letters are read as what they are: formulas
/// are full of them; the omicron is not.
fn is_disguised(character: char) -> bool {
    let greek_symbol = character.script() == Script::Greek && character.is_lowercase() && character != '\u{3bf}';
    is_foreign(character) && !greek_symbol && look(&character.to_string()).is_ascii()
}

fn is_foreign(character: char) -> bool {
    let compatible = || {
        std::iter::once(character)
            .nfkc()
            .all(|plain| plain.is_ascii_alphabetic())
    };
    match character.script() {
        Script::Latin | Script::Common | Script::Inherited => compatible(),
        _ => character.is_alphabetic(),
    }
}

/// Returns whether a name is made to look like another one.
pub(crate) fn is_look_alike(word: &str) -> bool {
    is_mixed(word) || is_disguised_whole(word)
}

/// The name of a file or an account as people are shown it: behind each letter that only looks like a Latin one stands its code
/// point.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let characters: Vec<char> = name.chars().collect();
    let mut shown = String::new();
    let mut done = 0;
    for (at, word) in words(&characters).filter(|(_, word)| is_look_alike(word)) {
        shown.extend(&characters[done..at]);
        for character in word.chars() {
            shown.push(character);
            if !character.is_ascii() {
                let _ = write!(shown, "<{}>", named_letter(character));
            }
        }
        done = at + word.chars().count();
    }
    shown.extend(&characters[done..]);
    Cow::Owned(shown)
}

/// The code point of a letter.
pub(crate) fn named_letter(letter: char) -> String {
    format!("U+{:04X}", u32::from(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_looks_like_another_is_shown_with_its_code_point() {
        for (name, shown) in [
            ("src/orders.py", "src/orders.py"),
            ("src/\u{43e}rders.py", "src/\u{43e}<U+043E>rders.py"),
            ("\u{1d5c6}ain.py:7", "\u{1d5c6}<U+1D5C6>ain.py:7"),
            ("docs/Привет.md", "docs/Привет.md"),
        ] {
            assert_eq!(shown_name(name), shown);
        }
    }
}
