//! What a verdict may do on the forge, and what the forge then shows.

use conclave_shared::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Review;

conclave_shared::named_enum! {
    /// What the verdict may do on the forge.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum ReviewMode {
        /// The review only comments: it neither approves nor blocks.
        Comment = "comment",
        /// It approves, and never blocks.
        #[default]
        Approve = "approve",
        /// It approves, and requests changes, which blocks the merge.
        Gate = "gate",
    }
}

/// What the bot wants the merge request to show of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// It approves.
    Approved,
    /// It requests changes.
    RequestedChanges,
    /// Neither.
    None,
}

impl ReviewState {
    /// What a review asks for in this mode. An earlier review state is taken back by every other one.
    pub fn of(review: &Review, mode: ReviewMode) -> Self {
        match mode {
            ReviewMode::Approve | ReviewMode::Gate if review.may_approve() => Self::Approved,
            ReviewMode::Gate if review.verdict == Verdict::SignificantConcerns => Self::RequestedChanges,
            _ => Self::None,
        }
    }

    /// The word in logs and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::RequestedChanges => "requested_changes",
            Self::None => "none",
        }
    }
}
