//! Sentences that assert a problem, and those that only open a plan or voice a suspicion.

use super::traces::is_clean;
use crate::findings::{
    remarks::not_harmless,
    severe::{is_alarming, is_in, is_negation, is_severe, last_words, words},
};

/// Words with which a sentence says that its writer does not know yet, wherever they stand in it.
pub(super) const WEIGHING: &str = "whether could may might maybe perhaps possibly possible potential potentially \
    suspect unless unclear vielleicht könnte quizás podría talvez forse misschien возможно";
/// Others that leave a sentence open. Some assert as well: "it crashes if the list is empty".
const OPEN: &str = "if would ob prüfe si peut czy może ли чи 可能 是否 かもしれ 確認します";
/// Phrases that open a plan: what stands behind them is what the writer is about to do.
const PLANS: &[&str] = &[
    "let me",
    "let us",
    "let's",
    "i'll",
    "we'll",
    "i will",
    "we will",
    "i shall",
    "i need to",
    "we need to",
    "i want to",
    "we want to",
    "i have to",
    "i should",
    "we should",
    "i'd like to",
    "i am going to",
    "i'm going to",
    "we are going to",
    "we're going to",
    "i plan to",
    "i am checking",
    "i'm checking",
    "i am looking",
    "i'm looking",
    "i am reading",
    "i'm reading",
    "i check",
    "i look",
    "i search",
    "i grep",
    "i investigate",
];
/// Phrases that open a plan at the beginning of a sentence, behind `LEADS`. "Check", "search" and "look" alone may be nouns.
const BEGINNINGS: &[&str] = &[
    "checking",
    "reading",
    "searching",
    "looking",
    "opening",
    "grepping",
    "verifying",
    "confirming",
    "investigating",
    "inspecting",
    "examining",
    "reviewing",
    "tracing",
    "scanning",
    "continuing",
    "moving on",
    "going to",
    "need to",
    "want to",
    "to check",
    "to verify",
    "to confirm",
    "to see",
    "to be sure",
    "verify that",
    "verify the",
    "confirm that",
    "confirm the",
    "ensure that",
    "check for",
    "check that",
    "check the",
    "look at",
    "look for",
    "look into",
    "search for",
    "search the",
    "grep",
    "investigate",
    "step",
    "the next step",
    "my next step",
    "the next step is to",
    "my next step is to",
    "the first step is to",
    "my first step is to",
    "the plan is to",
    "my plan is to",
    "i am now going to",
    "i'm now going to",
    "i still need to",
    "time to",
    "comparing",
    "compare with",
    "i first need to",
];
/// Words in front of a plan at the beginning of a sentence.
const LEADS: &[&str] = &[
    "now", "next", "then", "first", "so", "ok", "okay", "and", "also", "still", "finally", "just",
];
/// Words behind the beginning of a sentence that make it a statement: "reading is broken", "now I see".
const STATING: &str = "is was are were fails found find see saw know have think believe confirmed noticed understand \
    spotted conclude shows showed reveals revealed confirms proves means notice realize spot can am";
/// Words of a plan to report something, which is known then.
const REPORTING: &str = "report flag raise note list say point mention warn highlight stress emphasize record state \
    fix block reject";
/// Words for something wrong which a sentence takes as given where a word points at it: "whether others have the same hole".
/// "Problem", "bug" and "issue" are none: a change that mends one is read to understand it.
const PRESUPPOSED: &str = "injection injections vulnerability vulnerabilities hole holes mistake mistakes flaw flaws \
    exploit backdoor finding";
/// Words that point at something.
const POINTING: &[&str] = &["the", "this", "that", "these", "those", "same", "my"];
/// Words between one of them and what it points at.
const BETWEEN: &[&str] = &[
    "same", "first", "second", "third", "last", "other", "sql", "code", "command", "shell", "html", "critical",
    "security",
];
/// Words behind which it is only a part of a name: "the injection tests", "the finding format".
const OF_NAMES: &[&str] = &[
    "point", "points", "test", "tests", "check", "checks", "format", "block", "template", "list",
];
/// Words that a negation in front of them does not reach across.
const CONCLUDING: &[&str] = &["so", "thus", "therefore", "hence", "but"];
/// Phrases that assert that something is wrong.
const ASSERTING: &[&str] = &[
    "do not merge",
    "don't merge",
    "don’t merge",
    "must not be merged",
    "should not be merged",
    "cannot be merged",
    "nack",
    "is wrong",
    "is broken",
    "is vulnerable",
    "is unsafe",
    "is insecure",
    "is incorrect",
    "is exploitable",
    "are vulnerable",
    "is a bug",
    "is a problem",
    "there is a bug",
    "there's a bug",
    "there is a problem",
    "there is an issue",
    "there are bugs",
    "there are issues",
    "there are problems",
    "has a bug",
    "have a bug",
    "contains a bug",
    "found a bug",
    "found a problem",
    "found an issue",
    "found issues",
    "found problems",
    "found a defect",
    "found a flaw",
    "found a vulnerability",
    "backdoor",
    "anyone can",
    "any user can",
    "an attacker can",
    "attackers can",
    "allows an attacker",
    "lets an attacker",
    "leaks",
    "is leaked",
    "in plain text",
    "in plaintext",
    "data loss",
    "loses data",
    "deadlock",
    "race condition",
    "use after free",
    "use-after-free",
    "buffer overflow",
    "memory leak",
    "unsanitized",
    "not sanitized",
    "unescaped",
    "not escaped",
    "without validation",
    "not validated",
    "unvalidated",
    "not checked",
    "unchecked",
    "never checked",
    "is concatenated",
    "concatenates",
    "hardcoded",
    "hard-coded",
    "crashes",
    "will crash",
    "fails open",
    "rce",
    "xss",
    "ssrf",
];

/// Returns whether a sentence asserts a problem, as a thing that is known.
pub(super) fn asserts(sentence: &str, paths: &[&str]) -> bool {
    let lower = without_names(sentence).to_lowercase().replace('’', "'");
    let stated = before_plan(&lower);
    let is_open = sentence.contains(['?', '？'])
        || words(stated).any(|word| is_in(WEIGHING, word) || is_in(OPEN, word))
        || OPEN
            .split_ascii_whitespace()
            .any(|open| !open.is_ascii() && open.chars().count() > 1 && is_unparted(open) && stated.contains(open));
    !is_open
        && (is_severe(stated) || is_alarming(stated) || asserts_phrase(stated))
        && !is_clean(sentence)
        && not_harmless(sentence, paths).is_some()
}

/// The part of a sentence in lower case that stands in front of a plan: all of it, if none is opened.
pub(super) fn before_plan(lower: &str) -> &str {
    let mut starts = Vec::new();
    let mut names = Vec::new();
    let mut position = 0;
    for word in words(lower) {
        // Only what is between words stands in front of it.
        let start = lower[position..].find(word).map_or(position, |at| position + at);
        position = start + word.len();
        starts.push(start);
        names.push(word);
    }
    let is_of = |at: usize, list: &str| names.get(at).is_some_and(|word| is_in(list, word));
    let opens = |at: usize, phrase: &str| {
        let length = phrase.split(' ').count();
        let is_there = phrase
            .split(' ')
            .enumerate()
            .all(|(next, word)| names.get(at + next) == Some(&word));
        is_there && !is_of(at + length, REPORTING)
    };
    let begins_at = |at: usize, phrase: &str| opens(at, phrase) && !is_of(at + phrase.split(' ').count(), STATING);
    let lead = names.iter().take_while(|word| LEADS.contains(word)).count();
    let begins =
        BEGINNINGS.iter().any(|phrase| begins_at(lead, phrase)) || is_of(0, "now next") && begins_at(lead, "i");
    if begins {
        return "";
    }
    let plan = (0..names.len()).find(|at| PLANS.iter().any(|phrase| opens(*at, phrase)));
    plan.map_or(lower, |at| &lower[..starts[at]])
}

/// Returns whether a sentence in lower case takes a problem as given, also in a plan or a question: "the injection", "the same mistake",
/// "isn't that a …?".
pub(super) fn presupposes(lower: &str) -> bool {
    let plain = without_names(lower);
    let words: Vec<&str> = words(&plain).collect();
    let is_of = |word: Option<&&str>, table: &[&str]| word.is_some_and(|word| table.contains(word));
    let is_given = |at: usize| {
        let mut before = words[..at].iter().rev().skip_while(|word| BETWEEN.contains(*word));
        let is_pointed_at = is_of(before.next(), POINTING) || at > 0 && words[at - 1] == "same";
        is_pointed_at && !is_of(words.get(at + 1), OF_NAMES)
    };
    let is_known = |at: usize| is_in(PRESUPPOSED, words[at]) && is_given(at);
    let asks_back = |three: &[&str]| {
        ["isn't", "aren't", "wasn't", "weren't"].contains(&three[0])
            && ["this", "that", "it", "these", "those"].contains(&three[1])
            && ["a", "an", "the"].contains(&three[2])
    };
    words.windows(3).any(asks_back) || (0..words.len()).any(is_known)
}

/// Returns whether a word is of a script that parts no words.
fn is_unparted(word: &str) -> bool {
    word.chars().all(|sign| ('\u{3040}'..='\u{9fff}').contains(&sign))
}

/// Returns whether a sentence in lower case asserts that something is wrong, and no word in front denies it.
pub(super) fn asserts_phrase(lower: &str) -> bool {
    ASSERTING.iter().any(|phrase| {
        lower.match_indices(phrase).any(|(at, _)| {
            let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
            let is_whole =
                !is_part(lower[..at].chars().next_back()) && !is_part(lower[at + phrase.len()..].chars().next());
            let mut before = last_words(&lower[..at])
                .take(4)
                .take_while(|word| !CONCLUDING.contains(word));
            is_whole && !before.any(is_negation)
        })
    })
}

/// The sentence without paths and names of code: `dependency_injection.rs` is none.
pub(super) fn without_names(sentence: &str) -> String {
    let mut text = String::new();
    for (at, part) in sentence.split('`').enumerate() {
        text.push_str(if at % 2 == 0 { part } else { " " });
    }
    let is_name = |word: &&str| {
        let inner = word.trim_matches(|character: char| !character.is_alphanumeric());
        inner.contains(['/', '_', '.', '\\'])
    };
    text.split_whitespace()
        .filter(|word| !is_name(word))
        .collect::<Vec<_>>()
        .join(" ")
}
