//! From the panel's findings to a verdict.

mod account;
mod agreement;
mod apply;
mod decisions;
mod deterministic;
mod fixed_words;
mod quoted_code;
mod rubric;
#[cfg(test)]
pub(crate) mod test_support;

pub use account::{RemovedFindings, describe_removed, holds, no_judge, removed_by_judge};
pub(crate) use apply::not_repeated;
pub use apply::{Grounds, apply};
pub use decisions::{Action, Decision, Submission, SubmissionFault, submission_schema};
pub(crate) use decisions::{refuted_by_schema, some_of};
pub use deterministic::judge_without_model;
pub use fixed_words::{nothing_changed, nothing_found, only_noise};
pub(crate) use quoted_code::{NOTHING_QUOTED, ONLY_A_PERSON, QuotedCode};
pub use rubric::{RubricInput, VerdictReason, verdict};
