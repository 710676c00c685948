//! The plan of what is posted of a review, made from the review and from what stands on the merge request: the same for every forge, and
//! pure. The crate `conclave-forge` carries it out against a forge's API.
//!
//! - [`plan_openings`]: which findings get a thread of their own, and where on the diff that is tried.
//! - [`plan_thread_changes`]: which threads of earlier reviews are answered, resolved, or opened again.
//! - [`answer_note`]: an answer to a person's question.
//! - [`Summary`]: the one note that is kept up to date, and what it remembers in signed markers ([`Signer`]).
//! - [`OtherRuns`]: what other runs have posted since this one read the merge request.
//! - [`BreakGlassPolicy`]: whose word skips a review.

mod answer;
mod bot;
mod break_glass;
mod conversation;
mod inline;
mod length;
mod marker;
mod meanwhile;
mod people;
#[cfg(test)]
mod posted_tests;
mod summary;
mod summary_state;
mod thread_changes;
mod withdrawal;

pub use answer::{Answered, answer_note};
pub use bot::{BotIdentity, OwnThread};
pub use break_glass::{BreakGlass, BreakGlassPolicy, BreakGlassWord, break_glass_words, skipped_text};
pub use conversation::{Account, Conversation, Edited, Note, Thread};
pub use inline::{NoteForm, Openings, Place, Shown, ThreadDraft, plan_openings};
pub use marker::{Marker, Signer, installation_secret, text_hash, without_markers};
pub use meanwhile::{OrderUnknown, OtherRuns};
pub use people::reviewers_to_add;
pub use summary::{Summary, SummaryStep, spent_usd, spent_with, summary_within};
pub use summary_state::{Concluded, SummaryState};
pub use thread_changes::{CodeLink, NoteEdit, ThreadChanges, ThreadStep, ThreadSteps, plan_thread_changes};
pub use withdrawal::{dismissal_summary, nothing_summary, withdrawal_summary};
