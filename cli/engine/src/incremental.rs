//! The second review of a merge request, and every one after it: what is reviewed again, what stands, and what becomes of
//! our threads.
//!
//! Everything here is a function of what was read before: the threads with their answers, what our last summary
//! remembers ([`crate::review::CarryOver`]), the diff, the text of the files, and the judge's word. The order:
//!
//! 1. [`narrow`]: a file whose patch was reviewed before, by everybody who is on the panel now and under the [`Instructions`]
//!    that are in force now, is not reviewed again.
//! 2. [`assess`]: where the earlier findings are at head, and whether their code has changed.
//! 3. [`take_earlier_verdicts`]: what the coordinator says of them, checked; and [`take_answers`], to people's questions, which decide
//!    nothing.
//! 4. [`reconcile`]: what stands. Carrying forward is no model's business: an earlier finding goes away only if its code has
//!    changed and the judge says that it is fixed, or if a person who may decide it said so.
//! 5. [`remember`]: the carry-over for the next review.

mod anchors;
mod assess;
mod authority;
mod carried;
mod carry_over;
mod earlier_verdicts;
mod identity;
mod inert;
mod instructions;
mod meanwhile;
mod moved;
mod normal;
mod parts;
mod questions;
mod reconcile;
mod refuted;
mod removed;
mod reply;
mod scope;
mod surroundings;
#[cfg(test)]
pub(crate) mod test_support;
mod texts;
mod unbroken;
mod unlisted;
mod unproven;
mod wording;

pub use anchors::{AnchorPlace, Lines};
pub use assess::{Texts, WhoseWords, assess, has_open, needs_judge, wanted};
pub(crate) use authority::heard_words;
pub(crate) use carried::carried;
pub use carry_over::{Done, MAX_CARRY_OVER_BYTES, remember};
pub use earlier_verdicts::{EarlierStatus, EarlierVerdict, EarlierVerdicts, add_to_schema, take_earlier_verdicts};
pub(crate) use identity::may_repeat;
pub use instructions::Instructions;
pub use moved::MovedCode;
pub use questions::{QuestionAnswer, open_questions, take_answers};
pub(crate) use questions::{answers, notes_on_questions, without_answer};
pub use reconcile::{ReconcileInput, Reconciled, reconcile};
pub use refuted::{StandingCode, judge_anew, refuting_files, still_refuted, uses_are_altered};
pub use reply::{ReplyIntent, declines_with_reason, intent};
pub use scope::{Narrowed, narrow, touched};
pub use surroundings::UsedAs;
pub(crate) use surroundings::{is_at_target, is_near};
pub(crate) use unlisted::hold as unlisted_hold;
pub use unlisted::still_unlisted;
pub use unproven::{Identities, Objects, objects, still_unproven, text_identity, written_texts};
pub(crate) use unproven::{joined, remember_unproven};
