//! From the panel's findings to a verdict.

mod agreement;
mod decisions;
mod deterministic;
mod hold;
mod rubric;
#[cfg(test)]
pub(crate) mod test_support;

pub use decisions::{Action, Decision, Submission, SubmissionFault, apply, submission_schema};
pub use deterministic::judge_without_model;
pub use hold::{ApprovalHold, HoldCause};
pub use rubric::{RubricInput, RubricSettings, VerdictReason, verdict};

use conclave_shared::{finding::Finding, reviewer::ReviewerName, telemetry::FindingFate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rereview::Anchor;

/// A finding after judging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedFinding {
    /// The finding; its severity is the judge's.
    pub finding: Finding,
    /// What became of it.
    pub fate: FindingFate,
    /// The section of the review that it stands in.
    pub section: ReviewerName,
    /// Whether it endangers production, by the judge's word.
    pub production_risk: bool,
    /// Why it was merged or dropped.
    pub reason_code: Option<String>,
    /// The same in a sentence.
    pub reason: Option<String>,
    /// The open thread of an earlier review that shows it: it is not posted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Where the forge shows it beside its lines, once it does; the summary then only names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<String>,
    /// The code that it stands on, for the next review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// The commit of the earlier review that it stands from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl JudgedFinding {
    /// A finding that stands as it is.
    pub fn kept(finding: Finding) -> Self {
        Self {
            section: finding.reviewer.clone(),
            finding,
            fate: FindingFate::Kept,
            production_risk: false,
            reason_code: None,
            reason: None,
            thread: None,
            posted: None,
            anchor: None,
            since: None,
        }
    }

    /// Whether it is part of the review.
    pub fn stands(&self) -> bool {
        self.fate == FindingFate::Kept
    }
}
