//! The organisation's engineering rules, as far as a review depends on them.
//!
//! Where they come from is the business of the `codex` plugin. Here they are what its reviewer may cite, and who has to look
//! at the merge request besides it.

use std::{collections::BTreeSet, sync::Arc};

use conclave_shared::severity::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule that the `codex` reviewer was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInForce {
    /// Its id, as findings cite it.
    pub id: String,
    /// Where it is explained. Findings take the link from here, never from a model.
    pub link: String,
    /// What the reviewer is told of it, without the files.
    pub text: String,
    /// The highest severity that a breach of it can have.
    pub most: Option<Severity>,
    /// The changed files that it is for.
    pub files: BTreeSet<String>,
}

/// The rules that findings may cite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleBook {
    rules: Vec<RuleInForce>,
}

impl RuleBook {
    /// A book of these rules.
    pub fn new(rules: Vec<RuleInForce>) -> Self {
        Self { rules }
    }

    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules that are for this file.
    pub fn of_file(&self, path: &str) -> impl Iterator<Item = &RuleInForce> {
        self.rules.iter().filter(move |rule| rule.files.contains(path))
    }

    /// The rule of this id, however the reviewer spells it.
    pub fn find(&self, id: &str) -> Option<&RuleInForce> {
        let id = id.trim().trim_matches('`');
        self.rules.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
    }
}

/// A person has to look, because a rule says so. Decided by the rule's globs, not by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManualReview {
    /// The rule's id.
    pub rule: String,
    /// Where it is explained.
    pub link: String,
    /// What the rule is about, in its own words.
    pub when: String,
    /// Who has to look: names of users, and of groups with their path.
    pub who: Vec<String>,
    /// The changed files that the rule is for.
    pub files: Vec<String>,
    /// Whether they are to be made reviewers of the merge request.
    pub add_as_reviewers: bool,
}

/// What the organisation's rules mean for one merge request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedRules {
    /// The rules that are for a changed file. With none of them `codex` does not sit on the panel.
    pub book: Arc<RuleBook>,
    /// Who has to look besides the panel.
    pub manual_reviews: Vec<ManualReview>,
    /// What the reader should know: which rules apply, or why there are none.
    pub notes: Vec<String>,
    /// What is wrong with the rules, in words; they are used as far as they are good.
    pub warnings: Vec<String>,
    /// Rules that are configured and could not be had at all, in words: what they ask for was not reviewed.
    pub gaps: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_however_it_is_written_and_nothing_else_is() {
        let book = RuleBook::new(vec![RuleInForce {
            id: "NET-012".into(),
            link: "https://rules.example.com/net-012".into(),
            text: String::new(),
            most: None,
            files: BTreeSet::new(),
        }]);
        for id in ["NET-012", " net-012\n", "`NET-012`"] {
            assert_eq!(book.find(id).map(|rule| rule.id.as_str()), Some("NET-012"), "{id}");
        }
        for id in ["", "NET-01", "NET-0122", "NET-012, NET-013"] {
            assert_eq!(book.find(id), None, "{id}");
        }
    }
}
