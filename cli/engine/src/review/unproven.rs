//! Serious findings without proof.

use conclave_shared::{reviewer::ReviewerName, severity::Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A serious finding without code that shows it. It is neither posted nor dropped in silence: a person has to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnprovenFinding {
    /// Who reported it.
    pub reviewer: ReviewerName,
    /// The severity that the reviewer gave it, as written.
    pub severity: String,
    /// Its category.
    pub category: String,
    /// The file that it names.
    pub file: String,
    /// The line that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it says.
    pub claim: String,
    /// What is wrong with its evidence.
    pub reason: String,
}

impl UnprovenFinding {
    /// Its severity; `None` if that could not be read, in which case it may be critical.
    pub fn known_severity(&self) -> Option<Severity> {
        Severity::parse_lenient(&self.severity)
    }

    /// Its place, as `path:line`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}
