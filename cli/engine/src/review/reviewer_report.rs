//! How a reviewer, or the coordinator, did.

use conclave_shared::{
    model::ModelId,
    reviewer::ReviewerName,
    telemetry::{EventBody, ReviewerCompleted, ReviewerOutcome, TokensByModel},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ModelMove;

/// How a reviewer, or the coordinator, did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerReport {
    /// Who.
    pub name: ReviewerName,
    /// How it ended.
    pub outcome: ReviewerOutcome,
    /// Why, if not well.
    pub reason: Option<String>,
    /// Whether the review is inconclusive without it.
    pub required: bool,
    /// The models that it was prompted with, in order.
    pub models: Vec<ModelId>,
    /// What it used, by the model that really answered.
    pub usage: Vec<TokensByModel>,
    /// Seconds from its first prompt to its end.
    pub seconds: f64,
    /// Findings that passed the evidence check.
    pub findings: usize,
    /// Findings that did not.
    pub hallucinated: usize,
    /// Why it was asked once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<RepairKind>,
    /// Changes of its model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<ModelMove>,
}

impl ReviewerReport {
    /// Whether it did all that it was asked for.
    pub fn is_whole(&self) -> bool {
        self.outcome == ReviewerOutcome::Ok && self.reason.is_none()
    }

    /// The report of a session that has not run.
    pub fn skipped(name: ReviewerName) -> Self {
        Self {
            name,
            outcome: ReviewerOutcome::Skipped,
            reason: None,
            required: false,
            models: Vec::new(),
            usage: Vec::new(),
            seconds: 0.0,
            findings: 0,
            hallucinated: 0,
            repairs: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// The end of this session, for the tracker. Told when it happens, so that the tracker knows when that was.
    pub fn event(&self) -> EventBody {
        EventBody::ReviewerCompleted(ReviewerCompleted {
            reviewer: self.name.to_string(),
            outcome: self.outcome,
            duration_ms: milliseconds(self.seconds),
            attempts: u32::try_from(self.models.len()).unwrap_or(u32::MAX),
            findings: u64::try_from(self.findings).unwrap_or(u64::MAX),
            usage: self.usage.clone(),
            models_tried: self.models.clone(),
            repair_turns: u64::try_from(self.repairs.len()).unwrap_or(u64::MAX),
        })
    }
}

/// Seconds as whole milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a run's time, never negative"
)]
pub fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// Why a reviewer, or the coordinator, was asked once more. Each kind happens once at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// Its answer could not be read.
    Unreadable,
    /// Quotes of its findings do not stand in their files.
    Quotes,
    /// It answered without having read all of its patches.
    Unread,
    /// Its answer was cut off at the token limit.
    CutOff,
    /// A content filter of the provider stopped its answer.
    Filtered,
    /// It made the same call again and again, or came to no end.
    Loop,
    /// The coordinator ended without a submission.
    Unsubmitted,
    /// The coordinator decided on some of the findings only, or left questions out.
    Decisions,
    /// The coordinator's refutations were missing, or did not hold.
    Refutations,
}
