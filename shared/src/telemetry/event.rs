//! The events.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{model::ModelId, pricing::TokenUsage, risk::RiskTier, severity::Severity, verdict::Verdict};

/// The version of the events' shape. A tracker takes events of its own and of older versions, and of newer ones what
/// it can read: unknown fields are ignored, an unknown kind is named in the answer.
pub const SCHEMA_VERSION: u32 = 1;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// UUID version 7. The same event sent twice has the same id and counts once.
    pub id: Uuid,
    /// See [`SCHEMA_VERSION`].
    pub schema: u32,
    /// When, in milliseconds since 1970 by the client's clock.
    pub at_ms: i64,
    /// The run that it belongs to.
    pub run_id: Uuid,
    /// The project's path on the forge, or the directory's name for a local review.
    pub project: String,
    /// What happened.
    pub event: EventBody,
}

/// What happened, told apart by `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A review began.
    RunStarted(RunStarted),
    /// A review ended, however it ended.
    RunCompleted(RunCompleted),
    /// A reviewer or the coordinator ended.
    ReviewerCompleted(ReviewerCompleted),
    /// A finding was judged.
    Finding(FindingEvent),
    /// A model was left alone after failures, was tried again, or is in use again.
    CircuitChanged(CircuitChanged),
    /// Another model took over.
    Failback(Failback),
    /// What a verdict asked of the forge, and what that shows.
    VerdictApplied(VerdictApplied),
    /// A person skipped the review.
    BreakGlass(BreakGlass),
    /// Events were dropped before they could be sent.
    TelemetryDropped(TelemetryDropped),
}

impl EventBody {
    /// The kind's name, as in `type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunCompleted(_) => "run_completed",
            Self::ReviewerCompleted(_) => "reviewer_completed",
            Self::Finding(_) => "finding",
            Self::CircuitChanged(_) => "circuit_changed",
            Self::Failback(_) => "failback",
            Self::VerdictApplied(_) => "verdict_applied",
            Self::BreakGlass(_) => "break_glass",
            Self::TelemetryDropped(_) => "telemetry_dropped",
        }
    }
}

/// A review began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The tier that was decided.
    pub tier: RiskTier,
    /// `gitlab` or `local`.
    pub forge: String,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// The version of the CLI.
    pub client_version: String,
    /// The panel, without the coordinator.
    pub reviewers: Vec<String>,
}

/// A review ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCompleted {
    /// The tier.
    pub tier: RiskTier,
    /// The verdict.
    pub verdict: Verdict,
    /// From the start of the command to the verdict.
    pub duration_ms: u64,
    /// All model calls of the run.
    pub cost_usd: f64,
    /// All tokens of the run.
    pub tokens: TokenUsage,
    /// Files that were reviewed.
    pub files: u64,
    /// Changed lines in those files.
    pub lines: u64,
    /// Files that were filtered out.
    pub filtered_files: u64,
    /// Findings that stand, by severity.
    pub critical: u64,
    /// See `critical`.
    pub warning: u64,
    /// See `critical`.
    pub suggestion: u64,
    /// Whether the verdict was given without the coordinator.
    pub degraded: bool,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum ReviewerOutcome {
    /// It answered, and the answer could be read.
    Ok,
    /// It ended in an error, or its answer could not be read.
    Failed,
    /// It ran out of time.
    TimedOut,
    /// It was never started.
    Skipped,
}

impl ReviewerOutcome {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Skipped => "skipped",
        }
    }
}

/// Tokens and cost of one model in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokensByModel {
    /// The model that really answered.
    pub model: ModelId,
    /// Its tokens.
    pub tokens: TokenUsage,
    /// Their price; 0 where none is known.
    pub cost_usd: f64,
    /// Requests that were sent to it.
    pub calls: u64,
    /// No price of the model is known, so what it cost is not known either.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unpriced: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A reviewer or the coordinator ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewerCompleted {
    /// Who.
    pub reviewer: String,
    /// How.
    pub outcome: ReviewerOutcome,
    /// From its first prompt to its end.
    pub duration_ms: u64,
    /// How often it was started.
    pub attempts: u32,
    /// What it reported, before judging.
    pub findings: u64,
    /// What it used, by model.
    pub usage: Vec<TokensByModel>,
}

/// What the judge did with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum FindingFate {
    /// It stands in the review.
    Kept,
    /// It was another report of a finding that stands.
    Merged,
    /// It was taken out, with a reason code.
    Dropped,
}

impl FindingFate {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Merged => "merged",
            Self::Dropped => "dropped",
        }
    }
}

/// A finding was judged. Its text never leaves the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingEvent {
    /// Who reported it first.
    pub reviewer: String,
    /// The severity that it was given in the end.
    pub severity: Severity,
    /// Its category.
    pub category: String,
    /// The file.
    pub path: String,
    /// Its stable identity.
    pub fingerprint: String,
    /// What became of it.
    pub fate: FindingFate,
    /// Why it was merged or dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
}

/// What a verdict asked of the forge, and what that shows, read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictApplied {
    /// The merge request's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// `approved`, `requested_changes` or `none`.
    pub wanted: String,
    /// The same as it is shown; absent where the forge does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Whether they differ.
    pub mismatch: bool,
}

/// A person skipped the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakGlass {
    /// The merge request's number.
    pub merge_request: u64,
    /// Who.
    pub user: String,
    /// The note that says so.
    pub note: u64,
    /// The newest commit then.
    pub head_sha: String,
}

/// Events were dropped before they could be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelemetryDropped {
    /// How many.
    pub events: u64,
}

/// What a circuit does with calls of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// It lets them through.
    Closed,
    /// It refuses them.
    Open,
    /// It lets one through, to see.
    HalfOpen,
}

/// A model was left alone after failures, was tried again, or is in use again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitChanged {
    /// The model.
    pub model: ModelId,
    /// What its circuit does now.
    pub state: CircuitState,
}

/// How a model came to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailbackReason {
    /// It failed, and one of the same provider stood in without the session noticing.
    Failed,
    /// It was being left alone after failures; otherwise the same.
    CircuitOpen,
    /// The session was asked again with another model, because nobody could stand in or its provider was switched off.
    Reprompted,
}

/// Another model took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failback {
    /// Whose session.
    pub reviewer: String,
    /// The model that was replaced.
    pub from: ModelId,
    /// The model that took over.
    pub to: ModelId,
    /// How that came.
    pub reason: FailbackReason,
}
