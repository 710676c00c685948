//! The events.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FailureKind, FindingEvent, FindingOutcome, InconclusiveCause, Metrics, RunFailed, RunSkipped};
use crate::{model::ModelId, named_enum, pricing::TokenUsage, risk::RiskTier, sandbox::SandboxLevel, verdict::Verdict};

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
    /// The kind, with its fields.
    pub event: EventBody,
}

/// The kinds of events, told apart by `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A review began.
    RunStarted(RunStarted),
    /// A review ended with a verdict.
    RunCompleted(RunCompleted),
    /// A review ended without a verdict because something failed.
    RunFailed(RunFailed),
    /// A review ended without a verdict because there was nothing to review.
    RunSkipped(RunSkipped),
    /// A reviewer or the coordinator ended.
    ReviewerCompleted(ReviewerCompleted),
    /// A finding was judged.
    Finding(FindingEvent),
    /// A later review, or a person, settled what an earlier review found.
    FindingOutcome(FindingOutcome),
    /// A model was left alone after failures, was tried again, or is in use again.
    CircuitChanged(CircuitChanged),
    /// Another model took over.
    Failback(Failback),
    /// A verdict asked a state of the forge, and the one that it shows was read back.
    VerdictApplied(VerdictApplied),
    /// A person skipped the review.
    BreakGlass(BreakGlass),
    /// Events were dropped before they could be sent.
    TelemetryDropped(TelemetryDropped),
    /// Figures of the run itself.
    Metrics(Metrics),
}

impl EventBody {
    /// The kind's name, as in `type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunCompleted(_) => "run_completed",
            Self::RunFailed(_) => "run_failed",
            Self::RunSkipped(_) => "run_skipped",
            Self::ReviewerCompleted(_) => "reviewer_completed",
            Self::Finding(_) => "finding",
            Self::FindingOutcome(_) => "finding_outcome",
            Self::CircuitChanged(_) => "circuit_changed",
            Self::Failback(_) => "failback",
            Self::VerdictApplied(_) => "verdict_applied",
            Self::BreakGlass(_) => "break_glass",
            Self::TelemetryDropped(_) => "telemetry_dropped",
            Self::Metrics(_) => "metrics",
        }
    }
}

/// A review began.
///
/// A client sends it first of all, before the plan and therefore without a tier and a panel, and once more with
/// [`planned`](Self::planned) when these are known. A tracker that requires a tier refuses the first one by name and takes the
/// second one as the start, as it always did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The tier; absent before the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<RiskTier>,
    /// `gitlab`, `github` or `local`.
    pub forge: String,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// The version of the CLI.
    pub client_version: String,
    /// The panel, without the coordinator; empty before the plan.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// The author of the change, as a keyed hash of 16 to 64 hexadecimal digits: never a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The run's time limit in seconds: a run that has not ended after it counts as lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<u64>,
    /// The start was sent before without what the plan decides; this event adds it and counts no second start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
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
    /// Set if the verdict was given without the coordinator.
    pub degraded: bool,
    /// The merge request's number, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_request: Option<u64>,
    /// Gaps between what had to be reviewed and what was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<RunCoverage>,
    /// Why the verdict is inconclusive, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive_cause: Option<InconclusiveCause>,
    /// The operating system's sandbox around the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// Why the review could not be posted, if it could not. The run then counts as failed at [`RunStage::Publish`], and not as
    /// completed; a [`RunFailed`] says the same to a tracker that does not know this field.
    ///
    /// [`RunStage::Publish`]: super::RunStage::Publish
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpublished: Option<FailureKind>,
}

impl RunCompleted {
    /// Why the verdict is inconclusive; of an older client as far as its counts tell. `None` for every other verdict.
    pub fn cause(&self) -> Option<InconclusiveCause> {
        if self.verdict != Verdict::Inconclusive {
            return None;
        }
        let of_coverage = |coverage: RunCoverage| {
            [
                (coverage.not_read, InconclusiveCause::FilesNotRead),
                (coverage.cut, InconclusiveCause::FilesCut),
                (coverage.gaps, InconclusiveCause::Gaps),
            ]
            .into_iter()
            .find_map(|(count, cause)| (count > 0).then_some(cause))
        };
        let told = self.inconclusive_cause;
        let judgment = || self.degraded.then_some(InconclusiveCause::NoJudgment);
        let counted = || self.coverage.and_then(of_coverage);
        Some(
            told.or_else(judgment)
                .or_else(counted)
                .unwrap_or(InconclusiveCause::Other),
        )
    }
}

/// Gaps between what had to be reviewed and what was. A review that has no gap and no unread file is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCoverage {
    /// Files that were given to the panel and that no reviewer opened.
    pub not_read: u64,
    /// Files of which reviewers got a part only.
    pub cut: u64,
    /// Other things that had to be reviewed and were not.
    pub gaps: u64,
}

named_enum! {
    /// The end of a session.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum ReviewerOutcome {
        /// It answered, and the answer could be read.
        Ok = "ok",
        /// It ended in an error, or its answer could not be read.
        Failed = "failed",
        /// It ran out of time.
        TimedOut = "timed_out",
        /// It was never started.
        Skipped = "skipped",
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
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unpriced: bool,
    /// Answers of which the provider did not say what they used. Their tokens and cost come on top.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub uncounted: u64,
    /// Upper estimate of the cost of those, by the length of request and answer. It counts for budgets, and is not part of the
    /// cost.
    #[serde(default, skip_serializing_if = "is_free")]
    pub estimated_usd: f64,
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")
)]
fn is_free(value: &f64) -> bool {
    *value <= 0.0
}

/// A reviewer or the coordinator ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewerCompleted {
    /// The reviewer, or the coordinator.
    pub reviewer: String,
    /// The outcome.
    pub outcome: ReviewerOutcome,
    /// From its first prompt to its end.
    pub duration_ms: u64,
    /// Number of starts.
    pub attempts: u32,
    /// Findings that it reported, before judging.
    pub findings: u64,
    /// Its usage by model.
    pub usage: Vec<TokensByModel>,
    /// The models that it was started with, in that order; the same one twice if it was started twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models_tried: Vec<ModelId>,
    /// Number of turns in which it was asked once more: its answer could not be read, its quotes did not stand, …
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub repair_turns: u64,
}

/// The state that a verdict asked of the forge, and the one that it shows, read back.
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
    /// Set if they differ.
    pub mismatch: bool,
}

/// A person skipped the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakGlass {
    /// The merge request's number.
    pub merge_request: u64,
    /// The person, as a keyed hash of 16 to 64 hexadecimal digits. The tracker keeps nothing else: what is not such a hash, which
    /// is what clients sent before there was one, is replaced by `unknown` before it is stored.
    pub user: String,
    /// The note that says so.
    pub note: u64,
    /// The newest commit then.
    pub head_sha: String,
}

/// Events were dropped before they could be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelemetryDropped {
    /// Number of events.
    pub events: u64,
}

/// The treatment of a model's calls by its circuit.
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
    /// The new state of its circuit.
    pub state: CircuitState,
}

/// The reason why a model was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailbackReason {
    /// It failed, and one of the same provider stood in without the session noticing.
    Failed,
    /// It was being left alone after failures; otherwise the same.
    CircuitOpen,
    /// The session was asked again with another model, because no model could take over or its provider was switched off.
    Reprompted,
}

/// Another model took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failback {
    /// The reviewer of the session.
    pub reviewer: String,
    /// The model that was replaced.
    pub from: ModelId,
    /// The model that took over.
    pub to: ModelId,
    /// The reason.
    pub reason: FailbackReason,
}

/// Returns whether a text is a pseudonym of a person: a keyed hash, in 16 to 64 lower-case hexadecimal digits.
pub fn is_keyed_hash(text: &str) -> bool {
    (16..=64).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::is_keyed_hash;

    #[test]
    fn a_name_is_no_keyed_hash() {
        assert!(is_keyed_hash("0123456789abcdef"));
        for name in ["alice", "", "0123456789ABCDEF", "0123456789abcde", &"a".repeat(65)] {
            assert!(!is_keyed_hash(name), "{name}");
        }
    }
}
