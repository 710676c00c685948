//! A claim as words: identifiers taken apart, endings taken off, words of one meaning made one.
//!
//! They identify a claim across runs (the memory keeps a hash of them), so that what they are stays as it is.

mod concepts;
mod stem;

use std::collections::BTreeSet;

use concepts::concept;
use stem::stem;

/// Words that every claim has.
const STOP: &str = " a an the and or of to in on at by for with from as is are was were be been being it its this that \
    these those which when while where if then than so such can could may might will would should must do does did has \
    have had only also both but into out up about after before between because via per there here they them their he \
    she we you your our i e g etc all any each other same more most some very just still even already one ";
/// The words of a claim, in order and each once: stems, with words of one meaning made one. Numbers have a `#` in front.
pub fn claim_words(claim: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for token in Tokens::new(claim) {
        let lower = token.text.to_lowercase();
        match token.kind {
            TokenKind::Number => {
                words.insert(format!("#{lower}"));
            }
            TokenKind::Operator => {
                words.insert(lower);
            }
            TokenKind::Word => {
                // `case-sensitive` and `no-op` are words of their own.
                if !token.is_code
                    && lower.contains('-')
                    && let Some(concept) = concept(&stem(&lower.replace('-', "")))
                {
                    words.insert(concept.to_owned());
                    continue;
                }
                let parts = parts(token.text).into_iter().filter(|part| part.chars().count() > 1);
                for part in parts.filter(|part| token.is_code || !STOP.contains(&format!(" {part} "))) {
                    let stem = stem(&part);
                    words.insert(concept(&stem).map_or(stem, str::to_owned));
                }
            }
        }
    }
    words
}

/// The words that an identifier is made of, in lower case: `isAccessTokenId` has four.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut current = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            parts.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            continue;
        }
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let begins = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if begins {
            parts.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
        }
        current.extend(character.to_lowercase());
    }
    parts.extend((!current.is_empty()).then_some(current));
    parts
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Word,
    Number,
    Operator,
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    kind: TokenKind,
    /// Whether it looks like an identifier, or stands in quotes by itself.
    is_code: bool,
}

/// The tokens of a text.
struct Tokens<'a> {
    text: &'a str,
    position: usize,
}

/// Operators, the longest first.
const OPERATORS: [&str; 16] = [
    "===", "!==", "&&", "||", "==", "!=", "<=", ">=", "=>", "??", "::", "<<", ">>", "->", "<", ">",
];

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    fn token(&mut self, length: usize, kind: TokenKind) -> Token<'a> {
        let start = self.position;
        let text = &self.text[start..start + length];
        self.position += length;
        let quoted =
            self.text[..start].ends_with(['`', '\'', '"']) && self.text[self.position..].starts_with(['`', '\'', '"']);
        Token {
            text,
            kind,
            is_code: kind == TokenKind::Word && (quoted || looks_like_code(text)),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.text[self.position..];
            let first = rest.chars().next()?;
            if is_word_start(first) {
                return Some(self.token(word_length(rest), TokenKind::Word));
            }
            if first.is_ascii_digit() {
                let length = rest
                    .find(|character: char| !character.is_ascii_alphanumeric() && character != '.' && character != '%')
                    .unwrap_or(rest.len());
                let length = rest[..length].trim_end_matches('.').len();
                return Some(self.token(length, TokenKind::Number));
            }
            if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
                return Some(self.token(operator.len(), TokenKind::Operator));
            }
            self.position += first.len_utf8();
        }
    }
}

fn is_word_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$' | '@')
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// The length of the word that the text begins with: `a.b`, `a::b`, `a->b`, `copy-paste` and `f()` are one.
fn word_length(text: &str) -> usize {
    let mut position = 0;
    loop {
        let rest = &text[position..];
        let skip = rest.chars().next().map_or(0, char::len_utf8);
        position += skip
            + rest[skip..]
                .find(|character| !is_word(character))
                .unwrap_or(rest.len() - skip);
        let rest = &text[position..];
        let joint = ["::", "->", ".", "-", "'"].iter().find(|joint| {
            rest.strip_prefix(**joint)
                .is_some_and(|after| after.starts_with(|character: char| character.is_alphabetic() || character == '_'))
        });
        match joint {
            // `don't` is a word; `it's` loses its end, as does a closing quote.
            Some(&"'") if !rest.starts_with("'t") => return position,
            Some(joint) => position += joint.len(),
            None => return position + if rest.starts_with("()") { 2 } else { 0 },
        }
    }
}

/// Returns whether the word is not written like that in prose.
fn looks_like_code(text: &str) -> bool {
    let inner_capital = text
        .chars()
        .zip(text.chars().skip(1))
        .any(|(one, two)| one.is_lowercase() && two.is_uppercase());
    inner_capital
        || text.contains(['_', '$', '@', ':', '>', '('])
        || text.split('.').filter(|part| !part.is_empty()).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_taken_apart() {
        let words = claim_words("`isAccessTokenId()` in AssertEvents.java calls Map.get, which isn't checked for nil.");
        for word in ["is", "access", "token", "id", "event", "java", "map", "check", "null"] {
            let word = concept(&stem(word)).map_or(stem(word), str::to_owned);
            assert!(words.contains(&word), "{word}: {words:?}");
        }
        assert!(!words.contains("in"), "{words:?}");
        assert_eq!(parts("HTTPServerURL_v2"), ["http", "server", "url", "v2"]);
    }

    #[test]
    fn numbers_and_operators_are_kept() {
        let words = claim_words("Line 42 uses && where || is meant; 30% of 3.5.");
        for word in ["#42", "#30%", "#3.5", "&&", "||"] {
            assert!(words.contains(word), "{word}: {words:?}");
        }
    }

    #[test]
    fn any_text_can_be_taken_apart() {
        for text in ["", "…", "'", "a'", "a-", "->", "日本語 x", "@", "$$$", "a::", "é.é()"] {
            let _ = claim_words(text);
        }
    }
}
