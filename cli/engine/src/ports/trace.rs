//! What a trace of a run is made of, besides what telemetry and progress tell anyway.
//!
//! Typed, and without a field for a text of the merge request or of a model: what is not here cannot get into a trace.

use std::time::Duration;

use conclave_shared::{model::ModelId, pricing::TokenUsage};

use super::SessionId;

/// One request to a provider, from its sending to the end of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Whose session asked.
    pub session: SessionId,
    /// The session's reviewer, or the coordinator.
    pub reviewer: String,
    /// The model that the session asked for.
    pub asked: ModelId,
    /// The model that was called.
    pub model: ModelId,
    /// What it used, as far as the provider said so.
    pub tokens: TokenUsage,
    /// What that costs; nothing where no price is known.
    pub cost_usd: f64,
    /// Time that it took.
    pub duration: Duration,
    /// How it ended.
    pub outcome: CallOutcome,
}

/// How a request to a provider ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CallOutcome {
    /// With a whole answer.
    Complete,
    /// With a fault of this kind, in a few words of ours.
    Failed(String),
    /// Nobody wanted the answer any more.
    #[default]
    Cancelled,
}

/// Where a trace is told of what happens inside of a run. Never blocks and never fails.
pub trait RunTrace: Send + Sync {
    /// A stage of the run has ended.
    fn stage_ended(&self, stage: &str, duration: Duration);
    /// A request to a provider has ended.
    fn call_ended(&self, call: &ModelCall);
}
