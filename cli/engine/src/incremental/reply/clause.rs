//! Reads a plain decision in the project's language.

use super::{ReplyIntent, languages::Words, sentences::behind};

/// Openers that say no: what they stand in front of without a pause, they may deny.
const DENIALS: [&str; 9] = ["nein", "non", "no", "nee", "нет", "ні", "いいえ", "아니요", "لا"];

impl Words {
    /// The decision of the clause at the beginning of the answer, if it is one: [`ReplyIntent::Mixed`] if other words follow.
    pub(super) fn clause(&self, words: &[&str], is_alone: bool) -> Option<ReplyIntent> {
        let is_opener = |word: &&&str| **word == "," || word.starts_with('@') || self.openers.contains(*word);
        let opener = words.iter().take_while(is_opener).count();
        let decisions = [
            (ReplyIntent::Declines, self.declines),
            (ReplyIntent::Acknowledges, self.acknowledges),
        ];
        (0..=opener).rev().find_map(|skipped| {
            let is_denied = skipped > 0 && DENIALS.contains(&words[skipped - 1]);
            let (intent, behind) = decisions.into_iter().find_map(|(intent, phrases)| {
                // Of the same clause nothing may follow.
                let whole = |phrase: &&str| {
                    let behind = behind(&words[skipped..], &[phrase])?;
                    behind.first().is_none_or(|next| *next == ",").then_some(behind)
                };
                Some((intent, phrases.iter().find_map(whole)?))
            })?;
            let decides = is_alone && !is_denied && behind.iter().all(|word| *word == ",");
            Some(if decides { intent } else { ReplyIntent::Mixed })
        })
    }
}
