//! Words beside an empty answer: which of them are a report, and which are none.
//!
//! An empty list approves. What a model writes beside it may be its review of a clean change, or a problem that it did not put into
//! the list.

use super::{
    TOLD_BESIDE, shorten,
    traces::{
        PROBLEMS, REACH, is_clean, is_negation, is_report, is_severe, is_structured, names_line, names_number,
        names_path, sentences, words,
    },
};

/// Words beside an empty answer that may tell a problem.
pub(super) struct Told<'a> {
    clause: &'a str,
    /// They tell one: something severe, a line, or a problem in a file of the change.
    pub(super) is_report: bool,
}

impl Told<'_> {
    /// The fault, with the words.
    pub(super) fn fault(&self) -> String {
        format!("{TOLD_BESIDE}\"{}\"", shorten(self.clause.trim()))
    }
}

/// The words beside an empty answer that may tell a problem: those that are a report, if there are any.
///
/// No rule separates claims from praise in every language. So words count, but for those that only say what was read, or that there
/// is nothing, and for exclamations of a few words.
pub(super) fn told_beside<'a>(text: &'a str, paths: &[&str]) -> Option<Told<'a>> {
    let says = || clauses(text).filter(|clause| !is_clean(clause) && !is_reading(clause, paths));
    let is_report = |clause: &&str| {
        let in_file = || names_number(clause) || names_problem(clause);
        is_severe(clause) || names_line(clause) || (names_path(clause, paths) && in_file())
    };
    let report = is_structured(text).then_some(text).or_else(|| says().find(is_report));
    let told = |clause, is_report| Told { clause, is_report };
    let words = || says().find(|clause| names_path(clause, paths) || is_sentence(clause));
    report
        .map(|clause| told(clause, true))
        .or_else(|| words().map(|clause| told(clause, false)))
}

/// Returns whether a text that is not an answer by its form may tell a problem all the same.
pub fn may_tell(text: &str, paths: &[&str]) -> bool {
    is_report(text, paths)
        || clauses(text).any(|clause| is_sentence(clause) && !is_clean(clause) && !is_reading(clause, paths))
}

/// Returns whether a text only says what was read, or that there is nothing.
pub(super) fn says_nothing(text: &str) -> bool {
    clauses(text).all(|clause| is_clean(clause) || is_reading(clause, &[]))
}

/// The clauses of a text, without the tags of a block.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let parts = sentences(text).flat_map(|sentence| sentence.split([',', '，', '、']));
    let parts = parts.flat_map(|part| part.split("<findings>"));
    let parts = parts.flat_map(|part| part.split("</findings>"));
    parts.filter(|part| part.contains(char::is_alphanumeric))
}

/// Number of words, or of signs that are words, from which on a clause can make a claim.
const MIN_SENTENCE: usize = 5;

fn is_sentence(clause: &str) -> bool {
    let signs = clause.chars().filter(|sign| ('\u{3040}'..='\u{9fff}').contains(sign));
    words(clause).count() + signs.count() >= MIN_SENTENCE
}

/// Words for the act of reading.
const READING: &[&str] = &[
    "read",
    "reading",
    "reviewed",
    "reviewing",
    "checked",
    "checking",
    "examined",
    "inspected",
    "opened",
    "looked",
    "went",
    "viewed",
    "studied",
    "analyzed",
    "analysed",
    "scanned",
    "walked",
    "completed",
    "finished",
];
/// Words with which a sentence about reading says what was read, and by whom. None of them claims anything of the code.
const READ_WHAT: &[&str] = &[
    "i",
    "i've",
    "we",
    "we've",
    "have",
    "the",
    "a",
    "all",
    "both",
    "each",
    "every",
    "of",
    "in",
    "at",
    "on",
    "to",
    "through",
    "over",
    "and",
    "also",
    "then",
    "after",
    "now",
    "file",
    "files",
    "patch",
    "patches",
    "change",
    "changes",
    "changed",
    "diff",
    "diffs",
    "code",
    "whole",
    "full",
    "fully",
    "entire",
    "entirely",
    "complete",
    "completely",
    "carefully",
    "thoroughly",
    "line",
    "lines",
    "new",
    "this",
    "that",
    "these",
    "it",
    "them",
    "from",
    "with",
    "its",
    "my",
    "review",
    "answer",
    "final",
    "result",
    "here",
    "is",
    "are",
    "merge",
    "pull",
    "request",
    "xml",
    "json",
];

/// Returns whether a clause says no more than what was read: it has no word that could claim anything.
fn is_reading(clause: &str, paths: &[&str]) -> bool {
    let is_path = |token: &str| {
        let token = token.trim_matches(|character: char| !character.is_alphanumeric());
        let inner = token.find(['.', '/']).is_some_and(|at| at > 0);
        inner || paths.contains(&token)
    };
    let mut reads = false;
    let tokens = clause.split_whitespace().filter(|token| !is_path(token));
    let known = tokens.flat_map(words).all(|word| {
        let word = word.to_lowercase().replace('’', "'");
        let is_verb = READING.contains(&word.as_str());
        reads |= is_verb;
        is_verb || READ_WHAT.contains(&word.as_str()) || word.chars().all(|digit| digit.is_ascii_digit())
    });
    known && (reads || !(names_line(clause) || names_number(clause)))
}

/// Returns whether a clause has a word for a problem that no word in front of it denies.
fn names_problem(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    let is_problem = |word: &str| PROBLEMS.iter().any(|stem| word.starts_with(stem));
    let denied = |at: usize| words[at.saturating_sub(REACH)..at].iter().any(|word| is_negation(word));
    (0..words.len()).any(|at| is_problem(words[at]) && !denied(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 3] = ["src/db.py", "src/calc.py", "Makefile"];

    #[test]
    fn words_are_a_report_or_a_question_or_say_nothing() {
        let weight = |text: &str| told_beside(text, &PATHS).map(|told| told.is_report);
        for text in [
            "I found a critical SQL injection in src/db.py line 4: input is concatenated.",
            "Eine kritische Lücke in db.py.",
            "| severity | file |\n|---|---|\n| critical | src/db.py |",
            "In Zeile 4 wird die Eingabe verkettet.",
            "第4行直接拼接了用户输入。",
            "There is an exploit.",
            "src/db.py has a bug.",
            "No issues, but src/db.py:4 concatenates its input.",
            "I read both files, lines 3-9 leak the key.",
        ] {
            assert_eq!(weight(text), Some(true), "{text}");
        }
        for text in [
            "The query in src/db.py is concatenated from user input.",
            "The query in db.py is concatenated.",
            "src/db.py has no issues except that the input is concatenated.",
            "Anyone can read all rows.",
            "No issues, the query in src/db.py is concatenated from user input.",
            "Not everything in here looks good.",
            "直接拼接了用户输入",
            "In src/db.py wird die Eingabe verkettet.",
            "The change adds a helper and its tests.",
        ] {
            assert_eq!(weight(text), Some(false), "{text}");
        }
        for text in [
            "I have reviewed all files and found no issues.",
            "I read src/db.py and found no problems.",
            "I read src/db.py and src/calc.py.",
            "I've read the Makefile, src/db.py, and src/calc.py in full.",
            "I read lines 1-20 of src/db.py.",
            "After reading src/db.py, I found no issues.",
            "Nothing is wrong with `x`.",
            "The code in src/db.py is correct.",
            "Here is my answer:",
            "Done.",
        ] {
            assert_eq!(weight(text), None, "{text}");
        }
    }
}
