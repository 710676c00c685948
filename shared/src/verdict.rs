//! The result of a review in one word.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// What the review concludes; computed by the rubric from typed findings, never taken from a model.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum Verdict {
        /// Nothing stands.
        Approved = "approved",
        /// Only suggestions, or warnings without production risk.
        ApprovedWithComments = "approved_with_comments",
        /// Several warnings that form a risk pattern.
        MinorIssues = "minor_issues",
        /// A critical finding or a production-safety risk.
        SignificantConcerns = "significant_concerns",
        /// Something that had to be reviewed was not: no approval, nothing blocked.
        Inconclusive = "inconclusive",
    }
}

impl Verdict {
    /// Returns whether this verdict approves the merge request.
    pub const fn approves(self) -> bool {
        matches!(self, Self::Approved | Self::ApprovedWithComments)
    }
}
