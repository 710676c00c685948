//! What has become of findings of earlier reviews.

use conclave_shared::{
    finding::Fingerprint,
    reviewer::ReviewerName,
    severity::Severity,
    telemetry::{SettledBy, Settlement},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding of an earlier review that this review found to be settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledFinding {
    /// The stable identity of the problem.
    pub fingerprint: Fingerprint,
    /// The section of the review that it stood in.
    pub section: ReviewerName,
    /// How bad it was.
    pub severity: Severity,
    /// What kind of problem.
    pub category: String,
    /// The file.
    pub file: String,
    /// The identity of what was claimed, wherever that was.
    pub claim: String,
    /// How it was settled.
    pub outcome: Settlement,
    /// Who settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SettledBy>,
}
