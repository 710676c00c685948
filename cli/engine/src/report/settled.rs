//! What has become of findings of earlier reviews.

use conclave_shared::{
    finding::Fingerprint,
    reviewer::ReviewerName,
    severity::Severity,
    telemetry::{SettledBy, Settlement},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FindingRecord;
use crate::memory::claim_key;

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

impl SettledFinding {
    /// What is remembered of a finding, and how it was settled.
    pub fn new(record: &FindingRecord, outcome: Settlement, by: SettledBy) -> Self {
        Self {
            fingerprint: record.fingerprint.clone(),
            section: record.section.clone(),
            severity: record.severity,
            category: record.category.clone(),
            file: record.file.clone(),
            claim: claim_key(&record.category, &record.claim),
            outcome,
            by: Some(by),
        }
    }
}
