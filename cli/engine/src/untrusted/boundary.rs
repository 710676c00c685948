//! Taking boundary tags out of a text.
//!
//! A tag is looked for in the text *as a model might read it*, not in its bytes: HTML entities decoded (also twice
//! encoded ones), compatibility forms and common look-alikes made equal, accents and invisible characters gone, case
//! folded. What is found there is cut from the source, and the result is looked at again: taking a tag out can join two
//! halves of another (`<mr_b<mr_body>ody>`). The passes are few, so that the work stays linear; a text that still
//! changes after [`MAX_PASSES`] is an attack and loses everything that could open a tag.

use std::sync::LazyLock;

use conclave_shared::invisible::is_invisible;
use regex::Regex;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::SECTIONS;

/// Nesting that is taken apart exactly.
const MAX_PASSES: usize = 12;
/// Longer than the name of any entity.
const MAX_ENTITY: usize = 64;
/// How far behind a tag's name its end is looked for.
const MAX_ATTRIBUTES: usize = 200;

/// The text without boundary tags, and how many passes it took.
pub(super) fn remove(mut text: String) -> (String, usize) {
    for pass in 1..=MAX_PASSES {
        if text.is_ascii() && !text.contains(['<', '&']) {
            return (text, pass);
        }
        match without_tags(&text) {
            None => return (text, pass),
            Some(shorter) => text = shorter,
        }
    }
    (without_openers(&text), MAX_PASSES + 1)
}

/// One pass; `None` if there was nothing to take out.
fn without_tags(text: &str) -> Option<String> {
    let units = read(text);
    let mut reading = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (index, unit) in units.iter().enumerate() {
        for lower in unit.character.to_lowercase() {
            reading.push(lower);
            origins.resize(reading.len(), index);
        }
    }
    let mut kept = String::new();
    let mut from = 0;
    let mut behind = 0;
    while let Some(tag) = TAG.find_at(&reading, behind) {
        behind = tag.end() + tail(&reading[tag.end()..]);
        let start = units[origins[tag.start()]].start;
        let end = units[origins[behind - 1]].end;
        // One unit can read as several characters, so the next tag may begin in a unit that is already gone.
        kept.push_str(text.get(from..start).unwrap_or_default());
        from = end.max(from);
    }
    (from > 0).then(|| kept + &text[from..])
}

/// The length of what follows a tag's name and belongs to it: the rest of the word, and attributes up to the tag's end.
fn tail(rest: &str) -> usize {
    let word = rest
        .find(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-')))
        .unwrap_or(rest.len());
    let end = rest[word..]
        .char_indices()
        .take(MAX_ATTRIBUTES)
        .take_while(|(_, character)| *character != '<')
        .find(|(_, character)| *character == '>');
    end.map_or(word, |(at, end)| word + at + end.len_utf8())
}

/// The text without anything that could open a tag.
fn without_openers(text: &str) -> String {
    let plain = |unit: &Unit| {
        let source = &text[unit.start..unit.end];
        source.chars().count() == 1 && !matches!(unit.character, '<' | '&')
    };
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for unit in read(text) {
        // A character that reads as several, or as part of one before it, is taken once.
        if unit.start >= end && plain(&unit) {
            kept.push_str(&text[unit.start..unit.end]);
        }
        end = unit.end.max(end);
    }
    kept
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by every test")]
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let spaced = |name: &str| {
        let letters: Vec<String> = name.split('_').flat_map(str::chars).map(String::from).collect();
        letters.join(r"[\s_-]*")
    };
    let names: Vec<String> = SECTIONS.iter().copied().map(spaced).collect();
    let names = names.join("|");
    // The tag's end is no part of this: the opening alone is enough to confuse a model.
    Regex::new(&format!(r"<[\s/\\!?;_-]*(?:{names})")).unwrap()
});

/// A character that a reader sees, and the part of the source that it is written as.
#[derive(Debug, Clone, Copy)]
struct Unit {
    character: char,
    start: usize,
    end: usize,
}

/// The text as a model might read it.
fn read(text: &str) -> Vec<Unit> {
    let mut reader = Reader {
        units: Vec::with_capacity(text.len()),
        entity: None,
    };
    for (start, character) in text.char_indices() {
        reader.take(character, start, start + character.len_utf8());
    }
    reader.close(None);
    reader.units
}

struct Reader {
    units: Vec<Unit>,
    /// Where an entity may have begun: an ampersand with nothing but letters, digits and `#` behind it.
    entity: Option<usize>,
}

impl Reader {
    fn take(&mut self, character: char, start: usize, end: usize) {
        if character.is_ascii() {
            return self.push(character, start, end);
        }
        for part in std::iter::once(character).nfkd() {
            if is_combining_mark(part) || is_invisible(part) {
                self.interrupt();
            } else {
                self.push(look_alike(part), start, end);
            }
        }
    }

    /// Something unseen stands here. It ends an entity that is complete without a semicolon, and is nothing in the
    /// middle of another: a reader may decode before or after dropping it.
    fn interrupt(&mut self) {
        let Some(at) = self.entity else { return };
        if self.units.len() - at > MAX_ENTITY {
            // Looking at it again and again would cost time that grows with its square.
            self.close(None);
            return;
        }
        let name: String = self.units[at + 1..].iter().map(|unit| unit.character).collect();
        if matches!(decode(&name, false), Some((characters, _)) if characters == "<" || characters == "&") {
            self.close(None);
        }
    }

    fn push(&mut self, character: char, start: usize, end: usize) {
        if self.entity.is_some() {
            let in_name = character.is_ascii_alphanumeric() || character == '#';
            if in_name {
                self.units.push(Unit { character, start, end });
                return;
            }
            if character == ';' {
                if self.close(Some(end)) {
                    return;
                }
            } else {
                self.close(None);
            }
        }
        self.entity = (character == '&').then_some(self.units.len());
        self.units.push(Unit { character, start, end });
    }

    /// The name behind an ampersand has ended: puts in its place what it stands for. Says whether the semicolon, whose
    /// end is given if there is one, was part of it.
    fn close(&mut self, semicolon: Option<usize>) -> bool {
        while let Some(at) = self.entity.take() {
            let name: String = self.units[at + 1..].iter().map(|unit| unit.character).collect();
            let Some((characters, used)) = decode(&name, semicolon.is_some()) else {
                return false;
            };
            let rest = self.units.split_off(at + 1 + used);
            let start = self.units[at].start;
            let end = match semicolon {
                Some(end) if rest.is_empty() => end,
                _ => self.units[at + used].end,
            };
            self.units.truncate(at);
            for character in characters.chars().nfkd() {
                if !is_combining_mark(character) && !is_invisible(character) {
                    let character = look_alike(character);
                    self.units.push(Unit { character, start, end });
                }
            }
            // `&amp;lt;`: what was decoded can be the beginning of the next one.
            self.entity = (characters == "&").then_some(at);
            if rest.is_empty() {
                return semicolon.is_some();
            }
            self.units.extend(rest);
        }
        false
    }
}

/// What an entity's name stands for, and how much of the name it is: without a semicolon a beginning is enough.
fn decode(name: &str, semicolon: bool) -> Option<(String, usize)> {
    if let Some(number) = name.strip_prefix('#') {
        let (digits, radix) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16),
            None => (number, 10),
        };
        let length = digits
            .find(|digit: char| !digit.is_digit(radix))
            .unwrap_or(digits.len());
        let code = u32::from_str_radix(&digits[..length], radix).ok()?;
        let used = name.len() - digits.len() + length;
        return Some((char::from_u32(code)?.to_string(), used));
    }
    if semicolon && let Some(characters) = htmlize::ENTITIES.get(format!("&{name};").as_bytes()) {
        return Some((String::from_utf8_lossy(characters).into_owned(), name.len()));
    }
    // Browsers take these without a semicolon, and people in any case.
    [("lt", "<"), ("gt", ">"), ("amp", "&")]
        .into_iter()
        .find(|(entity, _)| {
            name.get(..entity.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(entity))
        })
        .map(|(entity, character)| (character.to_owned(), entity.len()))
}

/// The plain character that this one is easily taken for. Compatibility forms (full width, mathematical, …) are no
/// matter of this list: normalisation has made them plain.
fn look_alike(character: char) -> char {
    match character {
        '\u{2039}' | '\u{2329}' | '\u{27E8}' | '\u{3008}' | '\u{276E}' | '\u{2770}' | '\u{02C2}' | '\u{1438}' => '<',
        '\u{203A}' | '\u{232A}' | '\u{27E9}' | '\u{3009}' | '\u{276F}' | '\u{2771}' | '\u{02C3}' | '\u{1433}' => '>',
        '\u{2215}' | '\u{2044}' | '\u{29F8}' => '/',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' => 'e',
        'һ' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'м' => 'm',
        'ո' => 'n',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        other => other,
    }
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
