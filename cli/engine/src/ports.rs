//! What the engine needs from the outside, as traits; and the data that crosses.

mod forge;
mod runtime;
mod tools;

pub use forge::{Comment, Forge, ForgeError, PublishOutcome, ReviewSubject};
pub use runtime::{AgentRuntime, Remedy, RuntimeError, SessionAnswer, SessionEvent, SessionId, SessionPrompt};
pub use tools::{CoordinatorTools, ToolError};

use conclave_shared::{model::ModelId, telemetry::EventBody, telemetry::TokensByModel};

/// Where telemetry goes. Never blocks and never fails.
pub trait TelemetrySink: Send + Sync {
    /// Takes one event.
    fn record(&self, event: EventBody);
}

/// The model gateway's books and its word on models.
pub trait ModelLedger: Send + Sync {
    /// What a session has used so far, by the model that really answered.
    fn usage(&self, session: &SessionId) -> Vec<TokensByModel>;
    /// How long ago a request of this session last made progress, while one is being held; `None` when none is held.
    /// The runtime shows nothing while the gateway waits for a provider.
    fn idle_for(&self, session: &SessionId) -> Option<std::time::Duration>;
    /// What the whole run has cost so far.
    fn cost_usd(&self) -> f64;
    /// How close the run is to the end of its budget.
    fn budget(&self) -> BudgetStanding;
    /// Tells the gateway which sessions belong to which reviewer and which models may stand in, best first.
    fn assign(&self, session: &SessionId, reviewer: &str, models: &[ModelId]);
}

/// How close a run is to the end of its budget. The texts name the budget, as in `$2 for the run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetStanding {
    /// Far enough, or there is none.
    Free,
    /// Four fifths of this one are used: nothing optional begins.
    Tight(String),
    /// This one is used up: models are not asked any more.
    Spent(String),
}

impl BudgetStanding {
    /// Why a session must not begin, if so.
    pub fn forbids(&self, required: bool) -> Option<String> {
        match self {
            Self::Spent(budget) => Some(format!("not started: the budget of {budget} is spent")),
            Self::Tight(budget) if !required => {
                Some(format!("not started: four fifths of the budget of {budget} are spent"))
            }
            Self::Free | Self::Tight(_) => None,
        }
    }
}

/// Signs of life for the person who waits.
pub trait Progress: Send + Sync {
    /// Something happened.
    fn report(&self, event: ProgressEvent<'_>);
}

/// What [`Progress`] is told.
#[derive(Debug, Clone, Copy)]
pub enum ProgressEvent<'a> {
    /// A stage of the run began.
    Stage(&'a str),
    /// A session was prompted.
    SessionStarted {
        /// Whose session.
        reviewer: &'a str,
        /// The model that it was prompted with.
        model: &'a ModelId,
        /// From 1.
        attempt: u32,
    },
    /// A session goes on, without anything to show for it since then.
    Thinking {
        /// Whose session.
        reviewer: &'a str,
        /// Seconds since the last output.
        seconds: u64,
    },
    /// A reviewer ended.
    ReviewerDone {
        /// Who.
        reviewer: &'a str,
        /// `ok`, `failed`, …
        outcome: &'a str,
        /// Findings after the evidence check.
        findings: usize,
        /// Seconds since its first prompt.
        seconds: f64,
        /// Why it did not end well.
        reason: Option<&'a str>,
    },
    /// Something that the person should know.
    Warning(&'a str),
}
