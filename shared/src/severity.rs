//! How bad a finding is.

use serde::{Deserialize, Serialize};

/// The three severities of a finding, least to most severe, so that `max` and sorting mean what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum Severity {
    /// An improvement worth considering.
    Suggestion,
    /// A measurable regression or a concrete risk.
    Warning,
    /// Will cause an outage, or is exploitable.
    Critical,
}

impl Severity {
    /// The name on the wire, in prompts and in the review.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suggestion => "suggestion",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    /// Reads a severity as models write it: any case, surrounding space ignored.
    pub fn parse_lenient(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "critical" => Some(Self::Critical),
            "warning" => Some(Self::Warning),
            "suggestion" => Some(Self::Suggestion),
            _ => None,
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}
