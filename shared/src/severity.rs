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

/// Words of models for severities, ours and those of other scales. A word that may be two of ours is the worse one.
const CALLED: [(Severity, &[&str]); 3] = [
    (
        Severity::Suggestion,
        &[
            "suggestion",
            "suggestions",
            "nit",
            "nits",
            "nitpick",
            "low",
            "minor",
            "info",
            "informational",
            "information",
            "trivial",
            "style",
            "stylistic",
            "cosmetic",
            "hint",
            "note",
            "notice",
        ],
    ),
    (
        Severity::Warning,
        &[
            "warning",
            "warnings",
            "warn",
            "medium",
            "moderate",
            "major",
            "important",
        ],
    ),
    (
        Severity::Critical,
        &["critical", "high", "severe", "blocker", "blocking", "fatal", "error"],
    ),
];
/// Words beside a severity that say what it is.
const NOUNS: [&str; 3] = ["severity", "level", "priority"];
/// A range has two ends; with more words it is the list of all severities, or a sentence.
const MAX_WORDS: usize = 2;

impl Severity {
    /// Reads a severity as models write it: in any case, with marks around it, in the words of another scale. Of two the worse
    /// one counts.
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let words = lower.split(|character: char| !character.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty() && !NOUNS.contains(word)).collect();
        let called = |word: &&str| {
            CALLED
                .iter()
                .find(|(_, names)| names.contains(word))
                .map(|(severity, _)| *severity)
        };
        let severities: Option<Vec<Self>> = words.iter().map(called).collect();
        severities?.into_iter().max().filter(|_| words.len() <= MAX_WORDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_severity_is_known_in_the_words_of_other_scales_and_the_worse_one_counts() {
        for (severity, names) in CALLED {
            for name in names {
                assert_eq!(Severity::parse_lenient(name), Some(severity), "{name}");
            }
        }
        for severity in Severity::ALL {
            assert_eq!(Severity::parse_lenient(severity.as_str()), Some(severity));
        }
        for (written, severity) in [
            (" Warning\n", Severity::Warning),
            ("**HIGH**", Severity::Critical),
            ("`Low`", Severity::Suggestion),
            ("[medium]", Severity::Warning),
            ("🔴 Critical", Severity::Critical),
            ("Severity: high", Severity::Critical),
            ("medium/high", Severity::Critical),
            ("low-medium", Severity::Warning),
        ] {
            assert_eq!(Severity::parse_lenient(written), Some(severity), "{written}");
        }
        for written in [
            "",
            "severity",
            "horrible",
            "not critical",
            "non-critical",
            "no warning",
            "7",
            "critical|warning|suggestion",
        ] {
            assert_eq!(Severity::parse_lenient(written), None, "{written}");
        }
    }
}
