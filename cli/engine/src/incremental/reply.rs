//! What a person's answer in a thread of ours means, as far as a program may act on it.
//!
//! Acting on a misread answer hides a problem, and no list of words is complete that take a decision back ("acknowledged, do
//! not merge", "accepted risk: none"). So a decision is the whole answer: one of the phrases of `reply/english.rs`, after a
//! greeting and the like, with "this" or "it" behind it, and nothing else; no second sentence but thanks, no reason, no picture,
//! no question mark of any script. In the project's language, whole clauses count (`reply/languages.rs`). Only for a finding that is not
//! serious may a reason follow, behind a colon or a dash ([`declines_with_reason`]).
//!
//! Quotes in front of it (also between quotation marks), HTML and links are not the person's own words ([`OwnWords`]). Whatever
//! decides nothing is an argument: the coordinator reads it, and where it begins like a decision, the thread says how to make it one.

mod clause;
mod english;
mod languages;
mod sentences;

use unicode_normalization::UnicodeNormalization as _;

use self::sentences::{Sentence, holds_question_mark, sentences};
use crate::{language::Language, untrusted::OwnWords};

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyIntent {
    /// "Won't fix": the finding may be right, and stays.
    Declines,
    /// "Acknowledged": the risk is known and taken.
    Acknowledges,
    /// "I disagree": the coordinator reads the reason.
    Disagrees,
    /// A decision, and something else beside it, or in other words: the coordinator reads it.
    Mixed,
    /// Something is asked.
    Asks,
    /// Anything else.
    Other,
}

/// Reads an answer, in English or in the project's language.
pub fn intent(answer: &OwnWords, language: Option<Language>) -> ReplyIntent {
    let sentences = sentences(&text(answer));
    let Some(first) = sentences.first() else {
        return ReplyIntent::Other;
    };
    let asks = sentences.iter().any(|sentence| sentence.question);
    let is_plain = !answer.doubtful && answer.blocks.first().is_some_and(|block| block.paragraph);
    if !first.question && is_plain {
        let words: Vec<&str> = first.words.iter().map(String::as_str).collect();
        let is_alone = sentences.iter().skip(1).all(only_thanks) && holds_words_alone(answer);
        let local = || language.and_then(languages::words)?.clause(&words, is_alone);
        match english::intent(&words, is_alone).or_else(local) {
            Some(ReplyIntent::Mixed) if asks => {}
            Some(intent) => return intent,
            None => {}
        }
    }
    if asks { ReplyIntent::Asks } else { ReplyIntent::Other }
}

/// Returns whether the answer declines and says why, behind a colon or a dash: "won't fix: the API is going away". The reason may
/// hold anything but a question, so this is for findings that are not serious.
pub fn declines_with_reason(answer: &OwnWords, language: Option<Language>) -> bool {
    let [block] = &answer.blocks[..] else { return false };
    if answer.doubtful || answer.goes_on || !block.paragraph {
        return false;
    }
    let own = text(answer);
    let parts = [":", "：", "–", "—", " - "]
        .iter()
        .filter_map(|mark| own.split_once(mark));
    let Some((decision, reason)) = parts.min_by_key(|(decision, _)| decision.len()) else {
        return false;
    };
    let [decision] = &sentences(decision)[..] else {
        return false;
    };
    let words: Vec<&str> = decision.words.iter().map(String::as_str).collect();
    let local = || language.and_then(languages::words)?.clause(&words, true);
    let declines = english::intent(&words, true).or_else(local) == Some(ReplyIntent::Declines);
    let reasons = sentences(reason);
    declines && !decision.question && !reasons.is_empty() && !reasons.iter().any(|reason| reason.question)
}

/// Returns whether the answer holds a single line of words, commas and full stops, and nothing behind it: a sign, a link or a block of
/// code may say anything.
fn holds_words_alone(answer: &OwnWords) -> bool {
    const MARKS: [char; 21] = [
        '.', ',', '!', '\'', '’', '‘', 'ʼ', '´', '-', '–', '—', '@', '_', '。', '，', '、', '！', '｡', '．', '،', '۔',
    ];
    let is_word = |character: char| character.is_alphanumeric() || character == ' ' || MARKS.contains(&character);
    let [block] = &answer.blocks[..] else { return false };
    !answer.goes_on && block.text().trim().nfc().all(is_word)
}

/// Returns whether a sentence behind a decision only thanks.
fn only_thanks(sentence: &Sentence) -> bool {
    let words: Vec<&str> = sentence.words.iter().map(String::as_str).collect();
    let thanks = matches!(
        words[..],
        ["thanks" | "thx" | "danke" | "merci" | "gracias" | "grazie"] | ["thank", "you"]
    );
    thanks && !sentence.question
}

/// Words of thanks and of consent that say nothing else.
const COURTESIES: [&str; 16] = [
    "thanks", "thank", "you", "thx", "ok", "okay", "great", "cool", "good", "perfect", "nice", "cheers", "danke",
    "merci", "gracias", "grazie",
];

/// Words with which a thread is kept open, in the languages that decisions are understood in. Who says it in other words opens the
/// thread again, which is respected.
const KEPT_OPEN: &str = "reopen unresolved offen ouvert ouverte abierto abierta aberto aberta aperto aperta otwarte otwarty открытым \
    открытой відкритим відкритою";

/// The same where words have no spaces between them, or endings.
const KEPT_OPEN_WITHIN: [&str; 6] = ["開いたまま", "オープンのまま", "保持打开", "不要关闭", "열어", "مفتوح"];

/// Returns whether an answer is nothing but words of thanks and of consent.
pub(super) fn is_courtesy(answer: &OwnWords) -> bool {
    let sentences = sentences(&text(answer));
    let is_plain = !answer.doubtful && !answer.goes_on && answer.blocks.iter().all(|block| block.paragraph);
    let is_one = |word: &String| COURTESIES.contains(&word.as_str());
    is_plain
        && !sentences.is_empty()
        && sentences
            .iter()
            .all(|sentence| !sentence.question && sentence.words.iter().all(is_one))
}

/// Returns whether an answer asks for its thread to stay open, or may do so: some of its words cannot be read.
pub(super) fn keeps_open(answer: &OwnWords) -> bool {
    let is_one = |word: &str| {
        KEPT_OPEN.split_whitespace().any(|known| known == word)
            || KEPT_OPEN_WITHIN.iter().any(|known| word.contains(known))
    };
    let asks = |sentence: &Sentence| {
        let words: Vec<&str> = sentence.words.iter().map(String::as_str).collect();
        // An open redirect is not an open thread.
        let keeps = words
            .iter()
            .any(|word| matches!(*word, "keep" | "leave" | "stay" | "remain"));
        let forbids = |pair: &[&str]| matches!(pair, ["not" | "don't" | "dont" | "never", "resolve" | "close"]);
        (keeps && words.contains(&"open")) || words.windows(2).any(forbids) || words.iter().any(|word| is_one(word))
    };
    answer.doubtful || sentences(&text(answer)).iter().any(asks)
}

/// Returns whether a mark of a question, of any script, stands among an answer's own words, also alone.
pub(super) fn holds_question(answer: &OwnWords) -> bool {
    holds_question_mark(&text(answer))
}

/// Returns whether an answer asks something, and mentions an account that is not the bot's.
pub(super) fn asks_another(answer: &OwnWords, bot: &str) -> bool {
    let bot = bot.to_lowercase();
    let is_another = |word: &String| word.strip_prefix('@').is_some_and(|name| !bot.starts_with(name));
    holds_question(answer)
        && sentences(&text(answer))
            .iter()
            .any(|sentence| sentence.words.iter().any(is_another))
}

/// Returns whether a person asks something in their own words.
pub(crate) fn asks(comment: &OwnWords) -> bool {
    sentences(&text(comment)).iter().any(|sentence| sentence.question)
}

/// The person's own words without links, a line each.
fn text(answer: &OwnWords) -> String {
    let mut own = String::new();
    for line in answer.blocks.iter().flat_map(|block| &block.lines) {
        let words = line.text.split(' ').filter(|word| !word.contains("://"));
        own.push_str(&words.collect::<Vec<_>>().join(" "));
        own.push('\n');
    }
    own
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
