//! The typed finding.

use serde::{Deserialize, Serialize};

use super::Fingerprint;
use crate::{reviewer::ReviewerName, severity::Severity};

/// Code quoted from a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The file, relative to the repository's root.
    pub file: String,
    /// The line of the first quoted line, from 1.
    pub line: u32,
    /// The code as it stands there.
    pub code: String,
}

/// The rule of the organisation that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCitation {
    /// The rule's id.
    pub id: String,
    /// Where the rule is explained, as the organisation wrote it.
    pub link: String,
}

/// What the evidence check found out about a finding's quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStatus {
    /// The quote stands where the reviewer said.
    Verified,
    /// The quote stands elsewhere in the file; the line was corrected to it.
    Moved,
}

/// One problem, as a reviewer reported it and the evidence check left it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The name that the coordinator uses: `F1`, `F2`, … in the order of the panel.
    pub id: String,
    /// Who reported it first.
    pub reviewer: ReviewerName,
    /// Everybody who reported it, the first included.
    pub found_by: Vec<ReviewerName>,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of problem, in kebab case.
    pub category: String,
    /// The rule that is broken, for a finding of `codex`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleCitation>,
    /// The file, relative to the repository's root.
    pub file: String,
    /// The line at head (at base for a deleted file), from 1.
    pub line: u32,
    /// The last line, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The problem in one sentence.
    pub claim: String,
    /// The code that shows it.
    pub evidence: String,
    /// A second place that the claim rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Quote>,
    /// Which input or state leads to which wrong result.
    pub scenario: String,
    /// What the reviewer opened to make sure.
    pub checked: String,
    /// From 0 to 1, as the reviewer puts it.
    pub confidence: f64,
    /// The smallest change that would solve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What the evidence check found.
    pub evidence_status: EvidenceStatus,
    /// The stable identity of the problem.
    pub fingerprint: Fingerprint,
}
