//! Answers to the question about words beside an empty list: a repetition that ends in a denial is one.
//!
//! Words that no grammar knows are asked about. A model that meant them as its reason for the empty list says them again, and with them
//! that it found nothing. That denies the problem, as long as the words are the ones that were asked about, none of them asserts one,
//! and the denial comes last: what follows it could take it back.

use std::collections::HashSet;

use super::{
    asserting::asserts,
    traces::{is_clean, sentences},
    visible,
};
use crate::findings::{
    remarks::{not_harmless, texts},
    severe::{is_in, is_negation, words},
};

/// Words of a harmless sentence that says that there is nothing, in the languages that reviews are written in.
const NOTHING: &str = "nothing none kein keine keinen keinerlei nichts aucun aucune rien ningún ninguna nada nenhum nenhuma \
    nessun nessuna niente geen niets brak нет ничего немає нічого";
/// Words of a harmless clause that says that what was weighed is right.
const GOOD: &str = "safe fine correct right ok okay sound good impossible";
/// Beginnings of a conclusion from what stands in front of it.
const CONCLUDING: [&str; 5] = [" so ", " therefore ", " hence ", " thus ", " which means "];
/// Signs and words in front of the last clause of a sentence.
const JOINTS: [&str; 6] = [", ", ": ", " - ", "– ", "— ", " and "];

/// Returns whether an answer with an empty list denies what its reviewer was asked about. `before` is the answer that was asked about.
pub(super) fn denies_again(answer: &str, before: &str, paths: &[&str]) -> bool {
    let told: HashSet<String> = said(before).into_iter().collect();
    let said = said(answer);
    let is_answered = |sentence: &String| {
        let is_known = not_harmless(sentence, paths).is_none();
        is_known || told.contains(sentence) && (concludes(sentence, paths) || !asserts(sentence, paths))
    };
    said.last().is_some_and(|last| denies(last, paths)) && said.iter().all(is_answered)
}

/// The sentences of an answer besides its list.
fn said(answer: &str) -> Vec<String> {
    let texts = texts(&visible::visible(answer).text);
    let all = texts.iter().flat_map(|text| sentences(text));
    let told = all.filter(|sentence| sentence.contains(char::is_alphanumeric));
    told.map(|sentence| sentence.trim().to_owned()).collect()
}

/// Returns whether a sentence, or its last clause, says that there is no problem.
fn denies(sentence: &str, paths: &[&str]) -> bool {
    let is_denial = |clause: &str| {
        let lower = clause.to_lowercase();
        let denies = |word: &str| is_negation(word) && word != "any";
        let says_nothing = words(&lower).any(|word| is_in(NOTHING, word));
        let is_denied = says_nothing || is_clean(clause) && words(&lower).any(denies);
        is_denied && not_harmless(clause, paths).is_none()
    };
    let mut clauses = JOINTS.iter().filter_map(|joint| Some(sentence.rsplit_once(*joint)?.1));
    is_denial(sentence) || clauses.any(is_denial) || concludes(sentence, paths)
}

/// Returns whether a sentence ends in the conclusion that all is well: "…, so it is safe".
fn concludes(sentence: &str, paths: &[&str]) -> bool {
    let mut conclusions = CONCLUDING
        .iter()
        .filter_map(|joint| Some(sentence.rsplit_once(*joint)?.1));
    conclusions.any(|clause| {
        let lower = clause.to_lowercase();
        let is_good = || words(&lower).any(|word| is_in(GOOD, word) || is_in(NOTHING, word));
        not_harmless(clause, paths).is_none() && (is_clean(clause) || is_good())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 2] = ["src/db.py", "src/auth.rs"];
    const NO_LIST: &str = "\n<findings>\n</findings>";

    fn again(words: &str) -> bool {
        let answer = format!("{words}{NO_LIST}");
        denies_again(&answer, &answer, &PATHS)
    }

    #[test]
    fn who_says_the_same_again_and_that_it_is_nothing_has_answered() {
        for words in [
            "The removed file `legacy.py` is not imported anywhere anymore. No findings.",
            "This bumps a library that the service needs; nothing to report.",
            "I checked whether `order.id` can be null: the schema forbids that, so there is no problem here.",
            "I considered a race condition in `warm()`, but the cache takes its own lock, so it is safe.",
            "The handle is closed in `finally` now.\n\nI have no findings.",
            "The token is written to the log. No findings.",
        ] {
            assert!(again(words), "{words}");
        }
    }

    #[test]
    fn what_asserts_a_problem_or_takes_the_denial_back_is_no_answer() {
        for words in [
            "The token is written to the log.",
            "No findings. Just kidding: the key is in the log.",
            "No findings, but the token is written to the log.",
            "Do not merge this. No findings.",
            "There is a deadlock in the cache. No findings.",
            "NACK\nNo findings.",
            "The change looks good. The token is written to the log.",
            "The token is written to the log. The change looks good.",
            "",
        ] {
            assert!(!again(words), "{words}");
        }
        let before = format!("The key is read once. No findings.{NO_LIST}");
        let other = format!("The token is written to the log. No findings.{NO_LIST}");
        assert!(
            !denies_again(&other, &before, &PATHS),
            "nobody has asked about these words"
        );
        let bare = format!("No findings.{NO_LIST}");
        assert!(denies_again(&bare, &before, &PATHS));
    }
}
