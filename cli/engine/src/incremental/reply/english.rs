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

/// Words that may follow those of a decision: what it is about, and thanks.
const CONTINUATIONS: [&str; 9] = [",", "this", "it", "that", "these", "them", "here", "either", "thanks"];

/// Words that may stand in front of a decision.
const GREETINGS: [&str; 14] = [
    ",", "hi", "hello", "hey", "ok", "okay", "yes", "yep", "yeah", "thanks", "sorry", "good", "catch", "well",
];

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
    i i'm we we're am are this that it is that's a respectfully strongly";

/// The intent of the English words at the beginning of the answer, if they have one: [`ReplyIntent::Mixed`] for a decision
/// beside which something else is said, and for other words that may mean one.
pub(super) fn intent(words: &[&str], is_alone: bool) -> Option<ReplyIntent> {
    let opener = words.iter().take_while(|word| is_opener(word)).count();
    // An opener may also be the beginning of the phrase itself, as in "not a bug": the longest one that fits counts.
    (0..=opener).rev().find_map(|skipped| {
        let (front, rest) = words.split_at(skipped);
        let decided = |behind: &[&str], intent, subjects: &[&[&[&str]]]| {
            let subject = without_greetings(front)?;
            if !subjects.iter().any(|known| known.contains(&subject)) {
                return None;
            }
            let decides = is_alone && behind.iter().all(|word| CONTINUATIONS.contains(word));
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
        if behind(rest, &MEANS_ONE).is_some() {
            return Some(ReplyIntent::Mixed);
        }
        // The coordinator reads it, whatever follows.
        behind(rest, &DISAGREES).map(|_| ReplyIntent::Disagrees)
    })
}

/// The words behind greetings and the like. An account's name, too, has to be parted from what follows: "@ann won't fix this"
/// speaks of Ann.
fn without_greetings<'w>(front: &'w [&'w str]) -> Option<&'w [&'w str]> {
    let greets = |word: &str| GREETINGS.contains(&word) || word.starts_with('@') || DENIALS.contains(&word);
    let count = front.iter().take_while(|word| greets(word)).count();
    let (greetings, subject) = front.split_at(count);
    let open = greetings
        .last()
        .is_some_and(|last| last.starts_with('@') || DENIALS.contains(last));
    (!open).then_some(subject)
}

/// A word that may stand in front, a mention of an account among them.
fn is_opener(word: &str) -> bool {
    word.starts_with('@') || OPENERS.split_ascii_whitespace().any(|opener| opener == word)
}
