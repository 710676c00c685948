//! Identifiers that look like others.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use unicode_security::skeleton;

/// The words of a line that can be identifiers, each with the place of its first character.
pub(super) fn words(line: &[char]) -> impl Iterator<Item = (usize, String)> + '_ {
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
pub(super) struct Known(BTreeMap<String, BTreeSet<String>>);

impl Known {
    /// Notes all words of a line.
    pub(super) fn note(&mut self, line: &[char]) {
        for (_, word) in words(line) {
            let look = look(&word);
            self.0.entry(look).or_default().insert(word);
        }
    }

    /// Another word that looks the same.
    pub(super) fn twin(&self, word: &str) -> Option<&str> {
        let alike = self.0.get(&look(word))?;
        alike.iter().map(String::as_str).find(|other| *other != word)
    }
}

fn look(word: &str) -> String {
    skeleton(word).collect()
}

/// Returns whether a word mixes Latin letters with letters of another script that look like Latin ones.
pub(super) fn is_mixed(word: &str) -> bool {
    word.split(['_', '$']).any(|part| {
        let is_latin = part.chars().any(|character| character.is_ascii_alphabetic());
        let mut foreign = part.chars().filter(|character| !character.is_ascii()).peekable();
        is_latin && foreign.peek().is_some() && foreign.all(is_disguised)
    })
}

/// Returns whether a word has the letters of one script only and looks like one in Latin letters.
pub(super) fn is_disguised_whole(word: &str) -> bool {
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
