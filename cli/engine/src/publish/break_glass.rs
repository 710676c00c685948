//! Break glass: a person with the right to decide says that there is no time for a review.
//!
//! A comment with the paragraph `break glass` skips the review before it starts, and the merge request is approved. It is valid for
//! the commit that it was written on and for later ones, until a comment with `break glass off`. The paragraph has to be
//! the writer's own plain text ([`OwnWords`]), in a comment that nobody has edited. Who wrote it is asked of GitLab. For a
//! merge request from a fork there is none: its code is reviewed, or a person merges it without us.

use super::{Conversation, Note};
use crate::{
    review::{AuthorRole, ReviewMode},
    untrusted::{OwnBlock, OwnWords},
};

/// The people whose word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakGlassPolicy {
    /// Everybody with the role Developer or a higher one.
    #[default]
    Developers,
    /// The same, but neither the author of the merge request nor who committed to it.
    NotAuthor,
    /// Nobody's.
    Off,
}

impl BreakGlassPolicy {
    /// Returns whether such a word counts from an account of this role. Asking for a review is the right of every member.
    pub fn counts(self, role: AuthorRole, word: BreakGlassWord) -> bool {
        match role {
            AuthorRole::Member => true,
            AuthorRole::Author => word == BreakGlassWord::Off || self == Self::Developers,
            AuthorRole::Us | AuthorRole::Contributor | AuthorRole::Outsider | AuthorRole::Machine => false,
        }
    }
}

/// A person's word that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakGlass {
    /// The account's name.
    pub user: String,
    /// Its number.
    pub user_id: u64,
    /// The note.
    pub note: u64,
    /// The newest commit when it was acted on.
    pub head_sha: String,
    /// The merge request's number.
    pub merge_request: u64,
}

/// The word in a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakGlassWord {
    /// `break glass`.
    On,
    /// `break glass off`.
    Off,
}

/// The notes for everyone to read that hold such a word, newest first.
pub fn break_glass_words(conversation: &Conversation) -> impl Iterator<Item = (&Note, BreakGlassWord)> {
    let notes = conversation.notes().into_iter().rev();
    notes
        .filter(|note| note.is_public_comment())
        .filter_map(|note| Some((note, word(&note.text)?)))
}

/// The last word of a text that stands in a paragraph of its writer's own plain text, beside nothing else: a line of a wrapped
/// sentence may speak of the word.
fn word(text: &str) -> Option<BreakGlassWord> {
    let own = OwnWords::of(text);
    let last_of = |block: &OwnBlock| {
        let words: Option<Vec<_>> = block.lines.iter().map(|line| word_of(&line.text)).collect();
        words?.pop()
    };
    let said = own.unquoted_blocks().filter(|block| block.is_plain_paragraph());
    said.filter_map(last_of).last()
}

/// The word that a line consists of.
fn word_of(line: &str) -> Option<BreakGlassWord> {
    let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["break", "glass"] => Some(BreakGlassWord::On),
        ["break", "glass", "off"] => Some(BreakGlassWord::Off),
        _ => None,
    }
}

/// The summary of a review that did not happen. `comment` is the address of the comment, `noun` the forge's word for a merge
/// request, `decider` who may take the word back.
pub fn skipped_text(
    glass: &BreakGlass,
    mode: ReviewMode,
    comment: Option<&str>,
    (noun, decider): (&str, &str),
) -> String {
    let user: String = glass
        .user
        .chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        .collect();
    let approval = match mode {
        ReviewMode::Comment => " The bot does not approve it.",
        ReviewMode::Approve | ReviewMode::Gate => "",
    };
    let comment = comment.map_or_else(|| "comment".to_owned(), |url| format!("[comment]({url})"));
    format!(
        "## 🔨 Not reviewed: break glass\n\n`{user}` has broken the glass in this {comment}. The {noun} is not \
         reviewed, at this commit and later ones, until {decider} writes a comment with \
         `break glass off` in a paragraph of its own.{approval}"
    )
}

#[cfg(test)]
#[path = "break_glass_tests.rs"]
mod tests;
