//! What a person's answer in a thread of ours means, as far as a program may act on it.
//!
//! Only plain words at the beginning of an answer count, because acting on a misread answer hides a problem, and leaving
//! a clear one to a person costs a click. The words are in [`DECLINES`], [`ACKNOWLEDGES`] and [`DISAGREES`]; an answer
//! counts if its first sentence begins with one of them, after greetings and the like ([`OPENERS`]), and
//!
//! - is no question,
//! - goes on with nothing, a comma, or one of [`CONTINUATIONS`]: "won't fix this" declines, "won't fix itself" does not,
//! - has no word that takes it back or makes it depend on something ([`CONDITIONS`]), and
//! - nothing in the whole answer promises a fix ([`PROMISES`]): "acknowledged, will fix" asks for an open thread.
//!
//! What is quoted, code, HTML, and links are not the person's own words ([`OwnWords`]), and what does not begin with a plain
//! paragraph of them decides nothing. Whatever decides nothing is an argument: the coordinator reads it.

use crate::untrusted::{LEFT_OUT, OwnWords};

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyIntent {
    /// "Won't fix": the finding may be right, and stays.
    Declines,
    /// "Acknowledged": the risk is known and taken.
    Acknowledges,
    /// "I disagree": the coordinator reads the reason.
    Disagrees,
    /// Something is asked.
    Asks,
    /// Anything else.
    Other,
}

/// How an answer begins that declines.
const DECLINES: [&str; 8] = [
    "won't fix",
    "wont fix",
    "will not fix",
    "not going to fix",
    "not fixing",
    "wontfix",
    "won't be fixed",
    "will not be fixed",
];

/// So many of them are said by somebody of themselves.
const PERSONAL: usize = 5;

/// What is no somebody.
const THINGS: [&str; 5] = ["it", "this", "that", "that's", "is"];

/// How an answer begins that takes the risk.
const ACKNOWLEDGES: [&str; 6] = [
    "acknowledged",
    "ack",
    "accepted risk",
    "risk accepted",
    "accepting the risk",
    "known and accepted",
];

/// How an answer begins that contradicts.
const DISAGREES: [&str; 10] = [
    "disagree",
    "disagreed",
    "don't agree",
    "do not agree",
    "false positive",
    "not a bug",
    "not a problem",
    "not an issue",
    "not correct",
    "wrong",
];

/// What may follow the words of a decision in the same clause.
const CONTINUATIONS: [&str; 18] = [
    ",", "this", "it", "that", "these", "them", "here", "now", "because", "as", "since", "for", "in", "by", "due",
    "thanks", "and", "either",
];

/// What may stand in front of these words.
const OPENERS: [&str; 34] = [
    ",",
    "hi",
    "hello",
    "hey",
    "ok",
    "okay",
    "yes",
    "yep",
    "yeah",
    "no",
    "nope",
    "thanks",
    "thank",
    "you",
    "sorry",
    "well",
    "fine",
    "right",
    "good",
    "catch",
    "i",
    "i'm",
    "we",
    "we're",
    "am",
    "are",
    "this",
    "that",
    "it",
    "is",
    "that's",
    "a",
    "respectfully",
    "strongly",
];

/// Words that take the beginning back, or make it depend on something.
const CONDITIONS: [&str; 11] = [
    "unless", "if", "but", "until", "though", "although", "however", "except", "or", "yet", "whether",
];

/// Words that promise a fix, wherever they stand.
const PROMISES: [&str; 17] = [
    "will fix",
    "i'll fix",
    "we'll fix",
    "going to fix",
    "about to fix",
    "want to fix",
    "have to fix",
    "need to fix",
    "should fix",
    "fix it",
    "fix this",
    "fix coming",
    "fixing it",
    "fixing this",
    "working on it",
    "on it",
    "kidding",
];

/// Stands for code and the like: a word that nobody can write.
const CODE: &str = "\u{E000}";

/// Reads an answer.
pub fn intent(answer: &OwnWords) -> ReplyIntent {
    let own = text(answer);
    let mut sentences = sentences(&own);
    let Some(first) = sentences.next() else {
        return ReplyIntent::Other;
    };
    let asks = first.question || sentences.any(|sentence| sentence.question);
    let is_plain = !answer.doubtful && answer.blocks.first().is_some_and(|block| block.paragraph);
    if !first.question && is_plain {
        let words: Vec<&str> = first.words.iter().map(String::as_str).collect();
        let opener = words.iter().take_while(|word| is_opener(word)).count();
        // An opener may also be the beginning of the phrase itself, as in "not a bug": the longest one that fits counts.
        for skipped in (0..=opener).rev() {
            let rest = &words[skipped..];
            let all = all_words(&own);
            // "It won't fix this" speaks of our proposal.
            let of_a_thing = skipped > 0 && THINGS.contains(&words[skipped - 1]);
            let declines = if of_a_thing { &DECLINES[PERSONAL..] } else { &DECLINES };
            if let Some(behind) = behind(rest, declines) {
                return decision(ReplyIntent::Declines, behind, &without(&all, &DECLINES));
            }
            if let Some(behind) = behind(rest, &ACKNOWLEDGES) {
                return decision(ReplyIntent::Acknowledges, behind, &all);
            }
            if behind(rest, &DISAGREES).is_some() {
                // The coordinator reads it, whatever follows.
                return ReplyIntent::Disagrees;
            }
        }
    }
    if asks { ReplyIntent::Asks } else { ReplyIntent::Other }
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

/// The intent, unless what follows takes it back.
fn decision(intent: ReplyIntent, behind: &[&str], all: &str) -> ReplyIntent {
    let goes_on = behind
        .iter()
        .find(|word| **word != CODE)
        .is_none_or(|next| next.starts_with('@') || CONTINUATIONS.contains(next));
    let depends = behind.iter().any(|word| CONDITIONS.contains(word));
    let promises = PROMISES.iter().any(|promise| has_phrase(all, promise));
    if goes_on && !depends && !promises {
        intent
    } else {
        ReplyIntent::Other
    }
}

/// A word that may stand in front, a mention of somebody among them.
fn is_opener(word: &str) -> bool {
    word.starts_with('@') || OPENERS.contains(&word)
}

/// What stands behind the first of these phrases, if the words begin with one.
fn behind<'w>(words: &'w [&'w str], phrases: &[&str]) -> Option<&'w [&'w str]> {
    phrases.iter().find_map(|phrase| {
        let length = phrase.split(' ').count();
        let begins = words.len() >= length && phrase.split(' ').eq(words[..length].iter().copied());
        begins.then(|| &words[length..])
    })
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.contains(&format!(" {phrase} "))
}

/// The text without these phrases: "will not fix this" promises nothing.
fn without(text: &str, phrases: &[&str]) -> String {
    phrases.iter().fold(text.to_owned(), |text, phrase| {
        // What is declined goes along: "won't fix this".
        let object = ["this", "it", "that"].iter().fold(text, |text, object| {
            text.replace(&format!(" {phrase} {object} "), " | ")
        });
        object.replace(&format!(" {phrase} "), " | ")
    })
}

fn all_words(text: &str) -> String {
    let words: Vec<String> = sentences(text).flat_map(|sentence| sentence.words).collect();
    format!(" {} ", words.join(" "))
}

struct Sentence {
    words: Vec<String>,
    question: bool,
}

/// Sentences with at least one word. A line's end is also a sentence's.
fn sentences(text: &str) -> impl Iterator<Item = Sentence> {
    text.split_inclusive(['.', '!', '?', '\n', ';', ':', '…'])
        .map(|sentence| Sentence {
            question: sentence.ends_with('?'),
            words: words(sentence),
        })
        .filter(|sentence| !sentence.words.is_empty())
}

/// Words in lower case, with one kind of apostrophe. A letter of another alphabet that looks like one of ours stays what
/// it is, so such a word is none of those that are known.
fn words(sentence: &str) -> Vec<String> {
    let plain: String = sentence
        .chars()
        .map(|character| match character {
            '\u{2019}' | '\u{2018}' | '\u{02BC}' | '\u{00B4}' | '`' => '\'',
            other => other,
        })
        .collect();
    // A pause is a word of its own.
    let spaced = plain.replace([',', '(', ')', '–', '—'], " , ").replace(" - ", " , ");
    let spaced = spaced.replace(LEFT_OUT, &format!(" {CODE} "));
    spaced
        .split(|character: char| {
            !(character.is_alphanumeric() || matches!(character, LEFT_OUT | '\'' | '@' | '_' | '-' | ','))
        })
        .map(|word| word.trim_matches(['\'', '-', '_']).to_lowercase())
        .flat_map(|word| match word.as_str() {
            "won't-fix" | "wont-fix" => vec!["won't".to_owned(), "fix".to_owned()],
            _ => vec![word],
        })
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
