//! The result of a session.

use std::time::Duration;

use conclave_shared::{
    model::ModelId,
    telemetry::{ReviewerOutcome, TokensByModel},
};

use crate::{
    ports::FileRead,
    review::{ModelMove, RepairKind, ReviewerReport},
};

/// The result of a session.
#[derive(Debug, Clone)]
pub struct SessionResult {
    /// How it ended.
    pub outcome: ReviewerOutcome,
    /// Why, if not well.
    pub reason: Option<String>,
    /// The last message, if there is one.
    pub text: Option<String>,
    /// The models that were prompted, in order.
    pub models: Vec<ModelId>,
    /// The changes from one model to another.
    pub moves: Vec<ModelMove>,
    /// From the first prompt to the end.
    pub duration: Duration,
    /// What was used.
    pub usage: Vec<TokensByModel>,
    /// Reasons why it was asked once more, whatever its answers held.
    pub repairs: Vec<RepairKind>,
    /// What was read for the answer; nothing without one.
    pub reads: Vec<FileRead>,
    /// Whether the answer is that to the smaller message.
    pub smaller: bool,
    /// Whether the session read more than fits into its model's context.
    pub(super) overflowed: bool,
}

impl SessionResult {
    /// One that ended before anything was said.
    pub(super) fn ended(outcome: ReviewerOutcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: Some(reason.into()),
            text: None,
            models: Vec::new(),
            moves: Vec::new(),
            duration: Duration::ZERO,
            usage: Vec::new(),
            repairs: Vec::new(),
            reads: Vec::new(),
            smaller: false,
            overflowed: false,
        }
    }

    /// Writes into the report how the session went. Returns what was read.
    pub(super) fn into_report(self, report: &mut ReviewerReport) -> Vec<FileRead> {
        report.outcome = self.outcome;
        report.reason = self.reason;
        report.models = self.models;
        report.moves = self.moves;
        report.usage = self.usage;
        report.repairs = self.repairs;
        report.seconds = self.duration.as_secs_f64();
        self.reads
    }
}

/// The second of two sessions, with what the first one cost.
pub(super) fn merge(first: SessionResult, mut second: SessionResult) -> SessionResult {
    second.models.splice(0..0, first.models);
    second.moves.splice(0..0, first.moves);
    second.usage.splice(0..0, first.usage);
    second.duration += first.duration;
    second
}
