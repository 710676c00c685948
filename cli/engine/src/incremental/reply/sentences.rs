//! The sentences of an answer, and their words.

use unicode_normalization::UnicodeNormalization as _;

use crate::untrusted::LEFT_OUT;

/// Stands for code and the like: a word that no person can write.
const CODE: &str = "\u{E000}";

/// Stands for a quotation mark: what follows may be another's words.
const QUOTE: &str = "\u{E001}";

const QUOTED: char = '\u{E001}';

/// Quotation marks, but for those that are apostrophes too.
const QUOTATION_MARKS: [char; 24] = [
    '"', '«', '»', '‚', '“', '”', '„', '‟', '‹', '›', '「', '」', '『', '』', '《', '》', '〝', '〞', '〟', '＂', '｢',
    '｣', '❝', '❞',
];

/// Marks of a question, in whatever script: Unicode's characters of that name that end a sentence, or stand for the mark.
pub(super) const QUESTION_MARKS: [char; 28] = [
    '?',
    '\u{37E}',
    '\u{55E}',
    '\u{61F}',
    '\u{1367}',
    '\u{1945}',
    '\u{203D}',
    '\u{2047}',
    '\u{2048}',
    '\u{2049}',
    '\u{2753}',
    '\u{2754}',
    '\u{2CFA}',
    '\u{2CFB}',
    '\u{2E2E}',
    '\u{2E54}',
    '\u{A60F}',
    '\u{A6F7}',
    '\u{FE16}',
    '\u{FE56}',
    '\u{FF1F}',
    '\u{11143}',
    '\u{1E95F}',
    '\u{1F679}',
    '\u{1F67A}',
    '\u{1F67B}',
    '\u{1FBC4}',
    '\u{E003F}',
];

/// Marks at a question's beginning.
const OPENING_QUESTION_MARKS: [char; 2] = ['\u{BF}', '\u{2E18}'];

/// Other characters that end a sentence.
const ENDS: [char; 14] = [
    '.', '!', '\n', ';', ':', '…', '。', '！', '；', '：', '｡', '．', '؛', '۔',
];

/// A sentence with at least one word.
pub(super) struct Sentence {
    pub(super) words: Vec<String>,
    pub(super) question: bool,
}

/// The sentences of a text. A line's end is also a sentence's, and a mark of a question that stands alone belongs to the sentence
/// in front of it: "won't fix...?" asks.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = Vec::new();
    for part in text.split_inclusive(|mark| QUESTION_MARKS.contains(&mark) || ENDS.contains(&mark)) {
        let question = holds_question_mark(part);
        let words = words(part);
        if !words.is_empty() {
            sentences.push(Sentence { words, question });
        } else if let Some(last) = sentences.last_mut() {
            last.question |= question;
        }
    }
    sentences
}

/// Returns whether a mark of a question stands in the text, with or without words.
pub(super) fn holds_question_mark(text: &str) -> bool {
    text.contains(QUESTION_MARKS) || text.contains(OPENING_QUESTION_MARKS)
}

/// Words in lower case, with one kind of apostrophe. A letter of another alphabet that looks like one of ours stays what
/// it is, so such a word is none of those that are known.
fn words(sentence: &str) -> Vec<String> {
    let plain: String = sentence
        .nfc()
        .map(|character| match character {
            '\u{2019}' | '\u{2018}' | '\u{02BC}' | '\u{00B4}' | '`' => '\'',
            other => other,
        })
        .collect();
    // A pause is a word of its own.
    let spaced = plain
        .replace([',', '(', ')', '–', '—', '、', '，', '،', '（', '）'], " , ")
        .replace(" - ", " , ");
    let spaced = spaced
        .replace(LEFT_OUT, &format!(" {CODE} "))
        .replace(QUOTATION_MARKS, &format!(" {QUOTE} "));
    let mut words = Vec::new();
    for raw in spaced.split(|character: char| {
        !(character.is_alphanumeric() || matches!(character, LEFT_OUT | QUOTED | '\'' | '@' | '_' | '-' | ','))
    }) {
        let word = raw.trim_matches(['\'', '-', '_']).to_lowercase();
        if raw.starts_with('\'') && !word.is_empty() {
            words.push(QUOTE.to_owned());
        }
        match word.as_str() {
            "" => {}
            "won't-fix" | "wont-fix" => words.extend(["won't".to_owned(), "fix".to_owned()]),
            _ => words.push(word),
        }
    }
    words
}

/// The words behind the first of these phrases, if they begin with one.
pub(super) fn behind<'w>(words: &'w [&'w str], phrases: &[&str]) -> Option<&'w [&'w str]> {
    phrases.iter().find_map(|phrase| {
        let length = phrase.split(' ').count();
        let begins = words.len() >= length && phrase.split(' ').eq(words[..length].iter().copied());
        begins.then(|| &words[length..])
    })
}
