//! The second review of a merge request, and every one after it: what is reviewed again, what stands, and what becomes of
//! our threads.
//!
//! Everything here is a function of what was read before: the threads with their answers, what our last summary
//! remembers ([`Ledger`]), the diff, the text of the files, and the judge's word. The order:
//!
//! 1. [`narrow`]: a file whose patch was reviewed before, by everybody who is on the panel now and under the [`Instructions`]
//!    that are in force now, is not reviewed again.
//! 2. [`assess`]: where the earlier findings are at head, and whether their code has changed.
//! 3. [`take_words`]: what the coordinator says of them, checked.
//! 4. [`settle`]: what stands. Carrying forward is no model's business: an earlier finding goes away only if its code has
//!    changed and the judge says that it is fixed, or if a person who may decide it said so.
//! 5. [`remember`]: the ledger for the next review.

mod anchor;
mod assess;
mod authority;
mod instructions;
mod ledger;
mod meanwhile;
mod patch_id;
mod refuted;
mod reply;
mod scope;
mod settle;
#[cfg(test)]
pub(crate) mod test_support;
mod texts;
mod words;

pub use anchor::{Anchor, AnchorPlace, AnchorState, Lines};
pub use assess::{Texts, assess, needs_judge, wanted};
pub use instructions::Instructions;
pub(crate) use ledger::MAX_CLAIM;
pub use ledger::{Done, Ledger, MOST_LEDGER_BYTES, Remembered, ReviewedFiles, remember};
pub use meanwhile::{FoundMeanwhile, Meanwhile, OtherConclusion};
pub use patch_id::PatchId;
pub use refuted::{RefutedFinding, still_refuted};
pub use reply::{Stance, stance};
pub use scope::{EarlierFiles, Narrowed, narrow};
pub(crate) use settle::carried;
pub use settle::{SettleInput, Settled, settle};
pub use words::{Status, Word, Words, add_to_schema, take_words};
