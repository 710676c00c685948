//! The names of the panel's members.

use serde::{Deserialize, Serialize};

/// A member of the panel, or the coordinator. A name rather than an enum: a team may add reviewers of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[derive(schemars::JsonSchema)]
pub struct ReviewerName(String);

/// A reviewer's name that is not `[a-z][a-z0-9_]{0,39}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a reviewer's name: it starts with a letter and has at most 40 of a-z, 0-9 and _")]
pub struct InvalidReviewerName(String);

impl ReviewerName {
    /// The judge of the panel.
    pub const COORDINATOR: &'static str = "coordinator";
    /// Every reviewer that ships with Conclave, in the order in which reviews list them.
    pub const STANDING: [&'static str; 11] = [
        "security",
        "correctness",
        "performance",
        "code_quality",
        "documentation",
        "release",
        "codex",
        "agents_md",
        "generalist",
        "tests",
        "types",
    ];

    /// Checks and wraps a name.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidReviewerName> {
        let name = name.into();
        let valid = name.len() <= 40
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if valid {
            Ok(Self(name))
        } else {
            Err(InvalidReviewerName(name))
        }
    }

    /// The coordinator's name.
    pub fn coordinator() -> Self {
        Self(Self::COORDINATOR.to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of what rules find in lock files, where a reviewer's name stands otherwise.
    pub const LOCK_FILES: &'static str = "lock_files";

    /// The name of what rules find in the characters of added code.
    pub const TROJAN_SOURCE: &'static str = "trojan_source";

    /// The name of what rules find where somebody else wrote the mark of the prompts' sections.
    pub const SECTION_MARK: &'static str = "section_mark";

    /// The names that rules report under, where a reviewer's name stands otherwise.
    pub const RULES: [&'static str; 3] = [Self::LOCK_FILES, Self::TROJAN_SOURCE, Self::SECTION_MARK];

    /// Returns whether it is one that a project has added.
    pub fn is_own(&self) -> bool {
        let name = self.0.as_str();
        !Self::STANDING.contains(&name) && name != Self::COORDINATOR && !Self::RULES.contains(&name)
    }

    /// The name as a person reads it: `code_quality` is "code quality". One that a project has added says so.
    pub fn display_name(&self) -> String {
        match self.0.as_str() {
            "agents_md" => "AGENTS.md".to_owned(),
            name if self.is_own() => format!("{} (project's own)", name.replace('_', " ")),
            name => name.replace('_', " "),
        }
    }
}

impl std::fmt::Display for ReviewerName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_own_reviewers_are_labelled_and_nobody_else() {
        let shown = |name: &str| ReviewerName::new(name).expect("a name").display_name();
        assert_eq!(shown("code_quality"), "code quality");
        assert_eq!(shown("lock_files"), "lock files");
        assert_eq!(shown("coordinator"), "coordinator");
        assert_eq!(shown("screen_readers"), "screen readers (project's own)");
    }

    #[test]
    fn standing_names_are_valid_and_odd_ones_are_refused() {
        for name in ReviewerName::STANDING {
            assert!(ReviewerName::new(name).is_ok(), "{name}");
        }
        for name in ["", "Security", "../x", "1st", "a b", &"a".repeat(41)] {
            assert!(ReviewerName::new(name).is_err(), "{name}");
        }
    }
}
