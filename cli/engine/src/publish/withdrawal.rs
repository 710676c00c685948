//! The note of a run that takes an approval back without a review of its own.

use std::fmt::Write;

use super::{BotIdentity, Conversation, Summary, SummaryState, marker::text_hash};
use crate::{
    diff::FilteredFile,
    untrusted::{code_span, one_line},
};

/// The first words of our note when an approval was taken back without a new review.
const TITLE: &str = "## ⚪ The bot's approval was taken back";
/// The first words of our note when a person has dismissed the last review.
const DISMISSED: &str = "## ⚪ The bot's review was dismissed";
/// The first words of our note when there was nothing to review.
const NOTHING: &str = "## ⚪ Nothing to review";
/// The fold around the last review, whose heading would be read as the state of now.
const LAST_REVIEW: (&str, &str) = (
    "\n\n<details><summary>The last review that was posted, which no longer counts as an approval</summary>\n\n",
    "\n\n</details>",
);
/// Maximum number of files that are named as left out.
const MAX_NAMED: usize = 50;
/// Maximum characters of a reason.
const MAX_REASON: usize = 400;

/// The summary with the reason above the last review. `left_out` are the files of a change that has none to review, `stays` is whether
/// a request for changes does.
pub fn withdrawal_summary(
    bot: &BotIdentity,
    conversation: &Conversation,
    reason: &str,
    left_out: &[FilteredFile],
    stays: bool,
    max_bytes: usize,
) -> Summary {
    let files = list(left_out);
    let words = (TITLE, format!("{}{files}", shown(reason)));
    let conclusion = format!("withdrawn {reason}{files}");
    above_the_last(bot, conversation, words, &conclusion, (stays, max_bytes))
}

/// The summary with the word of the person who has dismissed the review of this commit above it. `stays` is whether its request for changes does.
pub fn dismissal_summary(
    bot: &BotIdentity,
    conversation: &Conversation,
    (user, head): (&str, &str),
    stays: bool,
    max_bytes: usize,
) -> Summary {
    let words = (DISMISSED, format!("{} has dismissed it.", code_span(user)));
    let conclusion = format!("dismissed {user}");
    let mut summary = above_the_last(bot, conversation, words, &conclusion, (stays, max_bytes));
    // A review that says the same again does not ask again for what a person has dismissed.
    if let Some(last) = bot.last_state(conversation) {
        summary.state.conclusion = last.conclusion;
    }
    summary.state.dismissed = Some(head.to_owned());
    summary.state.unexplained &= stays;
    summary
}

/// The summary of a change of which no file is left to review, for a merge request that has none of ours. It explains no request for
/// changes.
pub fn nothing_summary(left_out: &[FilteredFile], max_bytes: usize) -> Summary {
    let files = list(left_out);
    let text = format!(
        "{NOTHING}\n\nEvery changed file is noise by rule, so no reviewer read one, and the bot does not approve. Lock files are checked by \
         rules alone.{files}"
    );
    let mut summary = Summary::new(&text, text_hash(&text), max_bytes);
    summary.state.unexplained = true;
    summary
}

fn above_the_last(
    bot: &BotIdentity,
    conversation: &Conversation,
    (title, body): (&str, String),
    conclusion: &str,
    (requested_changes, max_bytes): (bool, usize),
) -> Summary {
    let last = bot.summary_text(conversation).unwrap_or_default();
    // Of several in a row the newest reason counts.
    let last = match [TITLE, DISMISSED].iter().find_map(|title| last.strip_prefix(title)) {
        Some(rest) => {
            let review = rest.split_once(LAST_REVIEW.0).map_or("", |(_, review)| review);
            review.trim_end().strip_suffix(LAST_REVIEW.1).unwrap_or(review)
        }
        None => &last,
    };
    let mut text = format!("{title}\n\n{body}");
    if requested_changes {
        text.push_str(" Its request for changes stays.");
    }
    if !last.is_empty() {
        text.push_str(LAST_REVIEW.0);
        text.push_str(last.trim_end());
        text.push_str(LAST_REVIEW.1);
    }
    let mut summary = Summary::new(&text, text_hash(conclusion), max_bytes);
    summary.carry_over = bot.remembered(conversation);
    summary.spent_micros = bot.spent_micros(conversation);
    summary.state.requested_changes = requested_changes;
    match bot.remembered::<SummaryState>(conversation) {
        Some(state) => {
            summary.state.concluded = state.concluded;
            summary.state.dismissed = state.dismissed;
            summary.state.unexplained = state.unexplained;
        }
        // There is a request, and the note with what it was for is gone: this one must not take its place.
        None => summary.state.unexplained = requested_changes,
    }
    summary
}

fn shown(reason: &str) -> String {
    one_line(reason).chars().take(MAX_REASON).collect()
}

fn list(files: &[FilteredFile]) -> String {
    let mut list = String::new();
    for file in files.iter().take(MAX_NAMED) {
        let (path, reason) = (code_span(&file.path), file.reason.describe());
        let _ = write!(list, "\n- {path} ({reason})");
    }
    if files.len() > MAX_NAMED {
        let _ = write!(list, "\n- {} more", files.len() - MAX_NAMED);
    }
    if list.is_empty() { list } else { format!("\n{list}\n\n") }
}
