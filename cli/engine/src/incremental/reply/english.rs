//! Plain decisions in English, which are in force in every project.

use super::{ReplyIntent, sentences::behind};

/// Beginnings of answers that decline.
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

/// So many of them are said by people of themselves.
const PERSONAL: usize = 5;

/// Beginnings of answers that take the risk.
const ACKNOWLEDGES: [&str; 6] = [
    "acknowledged",
    "ack",
    "accepted risk",
    "risk accepted",
    "accepting the risk",
    "known and accepted",
];

/// Beginnings of answers that contradict.
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

/// Beginnings of answers that may mean a decision, and are not one.
const MEANS_ONE: [&str; 10] = [
    "accept the risk",
    "accept this risk",
    "accept that risk",
    "intended",
    "intentional",
    "by design",
    "works as intended",
    "works as designed",
    "working as intended",
    "expected behavior",
];

/// Whole answers that may mean a decision, and as often something else.
const MEANS_ONE_ALONE: [&str; 6] = ["accepted", "acceptable", "accept", "fine", "won't do", "will not do"];

/// Words that may follow those of a decision: what it is about, and thanks.
const CONTINUATIONS: [&str; 9] = [",", "this", "it", "that", "these", "them", "here", "either", "thanks"];

/// Words that may stand in front of a decision.
const GREETINGS: [&str; 14] = [
    ",", "hi", "hello", "hey", "ok", "okay", "yes", "yep", "yeah", "thanks", "sorry", "good", "catch", "well",
];

/// Words that agree, be it with the finding or with who wants to leave it: a decision behind them may be meant.
const CONSENTS: [&str; 3] = ["agreed", "agree", "1"];

/// Words that deny what they stand in front of without a pause.
const DENIALS: [&str; 2] = ["no", "nope"];

/// Beginnings of a sentence of which the writer is the subject.
const WRITERS: [&[&str]; 7] = [&[], &["i"], &["we"], &["i'm"], &["we're"], &["i", "am"], &["we", "are"]];

/// Beginnings of a sentence of which the finding is the subject.
const FINDINGS: [&[&str]; 7] = [
    &["this"],
    &["it"],
    &["that"],
    &["this", "is"],
    &["it", "is"],
    &["that", "is"],
    &["that's"],
];

/// Words that may stand in front of a contradiction, which decides nothing by itself.
const OPENERS: &str = ", hi hello hey ok okay yes yep yeah no nope thanks thank you sorry well fine right good catch \
    i i'm we we're am are this that it is that's a respectfully strongly agreed agree 1";

/// The intent of the English words at the beginning of the answer, if they have one: [`ReplyIntent::Mixed`] for a decision
/// beside which something else is said, and for other words that may mean one.
pub(super) fn intent(words: &[&str], is_alone: bool) -> Option<ReplyIntent> {
    let opener = words.iter().take_while(|word| is_opener(word)).count();
    // An opener may also be the beginning of the phrase itself, as in "not a bug": the longest one that fits counts.
    (0..=opener).rev().find_map(|skipped| {
        let (front, rest) = words.split_at(skipped);
        let continues = |behind: &[&str]| is_alone && behind.iter().all(|word| CONTINUATIONS.contains(word));
        let decided = |behind: &[&str], intent, subjects: &[&[&[&str]]]| {
            let (subject, is_own) = without_greetings(front)?;
            if !subjects.iter().any(|known| known.contains(&subject)) {
                return None;
            }
            let decides = is_own && continues(behind);
            Some(if decides { intent } else { ReplyIntent::Mixed })
        };
        // "It won't fix this" speaks of our proposal, "you won't fix this" of another's.
        if let Some(behind) = behind(rest, &DECLINES[..PERSONAL]) {
            return decided(behind, ReplyIntent::Declines, &[&WRITERS]);
        }
        if let Some(behind) = behind(rest, &DECLINES[PERSONAL..]) {
            return decided(behind, ReplyIntent::Declines, &[&WRITERS, &FINDINGS]);
        }
        if let Some(behind) = behind(rest, &ACKNOWLEDGES) {
            return decided(behind, ReplyIntent::Acknowledges, &[&WRITERS, &FINDINGS]);
        }
        if behind(rest, &MEANS_ONE).is_some() || behind(rest, &MEANS_ONE_ALONE).is_some_and(continues) {
            return Some(ReplyIntent::Mixed);
        }
        // The coordinator reads it, whatever follows. Who agrees first contradicts another.
        let agrees = front.iter().any(|word| CONSENTS.contains(word));
        behind(rest, &DISAGREES)
            .filter(|_| !agrees)
            .map(|_| ReplyIntent::Disagrees)
    })
}

/// The words behind greetings and the like, and whether what follows is a decision of the writer's own: "@ann won't fix this" may
/// speak of Ann or to the bot, and "agreed" may agree with either side. None behind a denial.
fn without_greetings<'w>(front: &'w [&'w str]) -> Option<(&'w [&'w str], bool)> {
    let greets = |word: &str| {
        GREETINGS.contains(&word) || CONSENTS.contains(&word) || word.starts_with('@') || DENIALS.contains(&word)
    };
    let count = front.iter().take_while(|word| greets(word)).count();
    let (greetings, subject) = front.split_at(count);
    let last = greetings.last();
    let is_own =
        last.is_none_or(|last| !last.starts_with('@')) && !greetings.iter().any(|word| CONSENTS.contains(word));
    last.is_none_or(|last| !DENIALS.contains(last))
        .then_some((subject, is_own))
}

/// A word that may stand in front, a mention of an account among them.
fn is_opener(word: &str) -> bool {
    word.starts_with('@') || OPENERS.split_ascii_whitespace().any(|opener| opener == word)
}
