//! The result of a review in one word.

use serde::{Deserialize, Serialize};

/// What the review concludes; computed by the rubric from typed findings, never taken from a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum Verdict {
    /// Nothing stands.
    Approved,
    /// Only suggestions, or warnings without production risk.
    ApprovedWithComments,
    /// Several warnings that form a risk pattern.
    MinorIssues,
    /// A critical finding or a production-safety risk.
    SignificantConcerns,
    /// Something that had to be reviewed was not: no approval, nothing blocked.
    Inconclusive,
}

impl Verdict {
    /// The name on the wire and in machine-readable reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ApprovedWithComments => "approved_with_comments",
            Self::MinorIssues => "minor_issues",
            Self::SignificantConcerns => "significant_concerns",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Whether this verdict approves the merge request.
    pub const fn approves(self) -> bool {
        matches!(self, Self::Approved | Self::ApprovedWithComments)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}
