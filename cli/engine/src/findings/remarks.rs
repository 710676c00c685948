//! Words beside an empty list that are harmless.
//!
//! An empty list approves, so what a model writes beside it has to be no problem that it left out. No list of alarming words is
//! complete, in any language. So it is the other way round: a sentence is harmless if it is derived from a closed grammar of
//! sentences that say that nothing was found, what was read, or, in plain words, what the change is (`remarks/english.txt`, and
//! `remarks/languages.txt` for the other languages that a project may be in). Everything else is asked about once, and withholds the
//! approval if it is still there then.

mod grammar;
mod tokens;

use std::sync::LazyLock;

use conclave_shared::reviewer::ReviewerName;
use serde_json::{Deserializer, Value};

use self::{
    grammar::Grammar,
    tokens::{Piece, Token, is_name, normalized, pieces},
};
use super::{
    severe::is_in,
    tags::{Name, attributes_of, tags},
};

/// Maximum length of the words beside an empty list that are looked at, in bytes. A clean review is shorter.
const MAX_WORDS: usize = 12_000;
/// Tokens of a sentence at most.
const MAX_SENTENCE: usize = 120;
/// Lines that may be one sentence.
const MAX_LINES: usize = 12;
/// Lines at most without an end of a sentence, a paragraph or an item between them. Each is tried with those in front of it.
const MAX_JOINED: usize = 100;
/// Names under which JSON may say something beside its empty list.
const KEYS: &str = "findings issues problems results result summary conclusion comment comments note notes message \
    status verdict review analysis explanation reasoning count total reviewer files";

/// The grammars, each of one language.
static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| {
    let others = include_str!("remarks/languages.txt").split("\n== ").skip(1);
    let others = others.filter_map(|language| language.split_once('\n'));
    let texts = std::iter::once(include_str!("remarks/english.txt")).chain(others.map(|(_, rules)| rules));
    texts.map(Grammar::new).collect()
});

/// The grammar of what a reviewer says of the code that it reads, in English.
static NARRATION: LazyLock<Grammar> = LazyLock::new(|| {
    Grammar::new(concat!(
        include_str!("remarks/narration.txt"),
        "\n",
        include_str!("remarks/english.txt")
    ))
});

/// Returns whether a clause only says what the code that is read calls, returns or holds, what is read next, or that all is read.
pub(super) fn narrates(clause: &str, paths: &[&str]) -> bool {
    let text = normalized(clause);
    let pieces = pieces(&text, paths).into_iter();
    let tokens: Vec<Token> = pieces
        .filter_map(|piece| match piece {
            // A name such as `list_orders` needs no backticks.
            Piece::Token(Token::Word(word), ..) if word.contains('_') && is_name(&word) => Some(Token::Code),
            Piece::Token(token, ..) => Some(token),
            Piece::End | Piece::Line | Piece::Paragraph => None,
        })
        .collect();
    tokens.len() <= MAX_SENTENCE && NARRATION.derives(&tokens)
}

/// The first words beside an empty list that are not harmless. `paths` are the paths of the changed files.
pub(super) fn not_harmless(text: &str, paths: &[&str]) -> Option<String> {
    if text.len() > MAX_WORDS {
        return Some(text.chars().take(MAX_SHOWN).collect());
    }
    let in_words = || {
        texts(text).iter().find_map(|text| {
            let text = normalized(text);
            let pieces = pieces(&text, paths);
            let mut paragraphs = pieces.split(|piece| *piece == Piece::Paragraph);
            paragraphs.find_map(|paragraph| {
                let mut sentences = paragraph.split(|piece| *piece == Piece::End);
                sentences.find_map(|sentence| first_odd(sentence, &text))
            })
        })
    };
    said_in_tags(text).or_else(in_words)
}

/// The first attribute of a block's tag that may say that an empty block is not all there is: `count="3"`, `status="truncated"`.
fn said_in_tags(text: &str) -> Option<String> {
    let blocks = tags(text).filter(|tag| tag.name == Name::Findings);
    let mut attributes = blocks.flat_map(|tag| attributes_of(&text[tag.start..tag.end]));
    let (name, value) = attributes.find(|(name, value)| !is_harmless_attribute(name, value))?;
    Some(format!("{name}: {value}").chars().take(MAX_SHOWN).collect())
}

fn is_harmless_attribute(name: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    match name {
        "count" | "total" | "number" | "findings" | "issues" | "problems" | "critical" | "warning" | "warnings"
        | "suggestion" | "suggestions" => value == "0",
        "empty" | "none" | "complete" | "done" | "final" => matches!(value.as_str(), "true" | "yes"),
        "status" | "state" => {
            let says_done = ["complete", "completed", "done", "final", "none", "empty", "clean", "ok"];
            says_done.contains(&value.as_str())
        }
        "version" => value
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.'),
        // `en`, `en-us`
        "lang" | "language" => value.len() <= 2 || (value.len() == 5 && value.as_bytes().get(2) == Some(&b'-')),
        "format" | "type" => matches!(value.as_str(), "xml" | "list"),
        "reviewer" | "agent" | "role" => ReviewerName::STANDING.contains(&value.as_str()),
        _ => false,
    }
}

/// Maximum length of words that are shown.
const MAX_SHOWN: usize = 200;

/// The first words of a sentence that is not harmless. New lines may be in it, or between several.
fn first_odd(sentence: &[Piece], text: &str) -> Option<String> {
    let lines: Vec<Vec<(&Token, usize, usize)>> = sentence
        .split(|piece| *piece == Piece::Line)
        .map(|line| {
            let tokens = line.iter().filter_map(|piece| match piece {
                Piece::Token(token, start, end) => Some((token, *start, *end)),
                _ => None,
            });
            tokens.collect()
        })
        .filter(|line: &Vec<_>| !line.is_empty())
        .collect();
    if lines.len() > MAX_JOINED {
        let (start, end) = (lines.first()?.first()?.1, lines.last()?.last()?.2);
        return Some(text.get(start..end)?.chars().take(MAX_SHOWN).collect());
    }
    // Up to which line everything is harmless, by the sentences that lines can be put together to.
    let mut is_reached = vec![false; lines.len() + 1];
    is_reached[0] = true;
    for end in 1..=lines.len() {
        is_reached[end] =
            (end.saturating_sub(MAX_LINES)..end).any(|start| is_reached[start] && is_harmless(&lines[start..end]));
    }
    if is_reached[lines.len()] {
        return None;
    }
    let last = is_reached
        .iter()
        .rposition(|is_reached| *is_reached)
        .unwrap_or_default();
    let (start, end) = (lines.get(last)?.first()?.1, lines.last()?.last()?.2);
    Some(text.get(start..end)?.chars().take(MAX_SHOWN).collect())
}

fn is_harmless(lines: &[Vec<(&Token, usize, usize)>]) -> bool {
    let tokens: Vec<Token> = lines.iter().flatten().map(|(token, ..)| (*token).clone()).collect();
    tokens.len() <= MAX_SENTENCE && GRAMMARS.iter().any(|grammar| grammar.derives(&tokens))
}

/// The texts of an answer: what stands around its block or its JSON, and what the JSON says.
pub(super) fn texts(answer: &str) -> Vec<String> {
    let mut around = String::new();
    let mut said = Vec::new();
    let mut rest = answer;
    while let Some(at) = rest.find(['{', '[']) {
        let (before, json) = rest.split_at(at);
        around.push_str(before);
        let mut values = Deserializer::from_str(json).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            let length = values.byte_offset().max(1);
            say(&value, &mut said);
            around.push('\n');
            rest = &json[length..];
        } else {
            around.push_str(&json[..1]);
            rest = &json[1..];
        }
    }
    around.push_str(rest);
    let mut outside = String::new();
    let mut position = 0;
    for tag in tags(&around) {
        outside.push_str(&around[position..tag.start.max(position)]);
        outside.push('\n');
        position = tag.end.max(position);
    }
    outside.push_str(&around[position..]);
    said.push(outside);
    said
}

/// Collects what JSON says: its texts, and every name and value that is not of an empty answer.
fn say(value: &Value, said: &mut Vec<String>) {
    match value {
        Value::String(text) => said.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| say(item, said)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if is_in(KEYS, name) {
                    say(field, said);
                } else {
                    said.push(format!("{name}: {field}"));
                }
            }
        }
        Value::Null => {}
        Value::Number(number) if number.as_u64() == Some(0) => {}
        Value::Number(_) | Value::Bool(_) => said.push(format!("= {value}")),
    }
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
