//! Levels of the organization's engineering rules, and consequences of a breach.

use serde::{Deserialize, Serialize};

use crate::{named_enum, severity::Severity};

named_enum! {
    /// The level of a rule, as RFC 2119 uses these words.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum RuleLevel {
        /// An offer: a breach is worth a remark at most.
        May = "may",
        /// A recommendation that has exceptions.
        Should = "should",
        /// An obligation.
        Must = "must",
    }
}

impl RuleLevel {
    /// The consequence of a breach where the rule names none.
    pub const fn on_breach(self) -> OnBreach {
        match self {
            Self::May | Self::Should => OnBreach::Comment,
            Self::Must => OnBreach::Warn,
        }
    }
}

named_enum! {
    /// The consequence of a breach of a rule, from the mildest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum OnBreach {
        /// A suggestion.
        Comment = "comment",
        /// A warning.
        Warn = "warn",
        /// A warning, and a person has to approve: the bot does not.
        Review = "review",
        /// A critical finding, which blocks.
        Block = "block",
    }
}

impl OnBreach {
    /// The severity of a breach, whatever its reviewer or the judge calls it.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Comment => Severity::Suggestion,
            Self::Warn | Self::Review => Severity::Warning,
            Self::Block => Severity::Critical,
        }
    }

    /// Returns whether a breach becomes milder only by code that refutes it, or by a person other than the author.
    pub const fn is_serious(self) -> bool {
        matches!(self, Self::Review | Self::Block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_never_blocks_and_a_consequence_decides_the_severity() {
        assert_eq!(
            RuleLevel::ALL.map(|level| level.on_breach().severity()),
            [Severity::Suggestion, Severity::Suggestion, Severity::Warning]
        );
        assert_eq!(
            OnBreach::ALL.map(|consequence| (consequence.severity(), consequence.is_serious())),
            [
                (Severity::Suggestion, false),
                (Severity::Warning, false),
                (Severity::Warning, true),
                (Severity::Critical, true)
            ]
        );
    }
}
