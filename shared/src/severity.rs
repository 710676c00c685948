//! How bad a finding is.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// The three severities of a finding, least to most severe, so that `max` and sorting mean what they say.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum Severity {
        /// An improvement worth considering.
        Suggestion = "suggestion",
        /// A measurable regression or a concrete risk.
        Warning = "warning",
        /// Will cause an outage, or is exploitable.
        Critical = "critical",
    }
}

impl Severity {
    /// Reads a severity as models write it: any case, surrounding space ignored.
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL
            .into_iter()
            .find(|severity| text.eq_ignore_ascii_case(severity.as_str()))
    }
}
