//! A rule of the organisation.

use conclave_shared::{
    engineering_rule::{OnBreach, RuleLevel},
    path_globs::PathGlobs,
    severity::Severity,
};

/// A rule: "if you need X, use Y", with the place where that was decided.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its id, as findings cite it.
    pub id: String,
    /// What somebody needs or does, for the rule to be about it.
    pub when: String,
    /// What to use or do then. A rule that only asks for a person's look has none.
    pub instead: Option<String>,
    /// Where it is explained.
    pub link: String,
    /// The files that it is for.
    pub paths: PathGlobs,
    /// Scope, exceptions, reasons.
    pub text: Option<String>,
    /// The highest severity of a breach.
    pub severity: Option<Severity>,
    /// Its level.
    pub level: Option<RuleLevel>,
    /// The consequence of a breach, by its own word or by its level.
    pub on_breach: Option<OnBreach>,
    /// The people who have to approve a breach, each with `@`.
    pub approvers: Vec<String>,
    /// Who has to look at every change of these files.
    pub manual_review: Option<Demand>,
}

/// A rule's demand for a person's look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// Users and groups, each with `@`.
    pub who: Vec<String>,
    /// True if they are to be made reviewers of the merge request.
    pub add_as_reviewers: bool,
}

/// Something that is wrong with the rules, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1; a file as a whole has none.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub text: String,
    /// True if a rule is left out because of it, or may be.
    pub leaves_out: bool,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{} line {line}: {}", self.file, self.text),
            None => write!(formatter, "{}: {}", self.file, self.text),
        }
    }
}
