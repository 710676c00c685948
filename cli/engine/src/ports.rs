//! What the engine needs from the outside, as traits; and the data that crosses.

mod budget;
mod forge;
mod progress;
mod runtime;
mod source;
mod stop;
mod tools;
mod trace;

pub use budget::BudgetState;
pub use forge::{
    AppliedState, Forge, ForgeError, NoSettings, Publication, PublishOutcome, PublishSettings, SettingsWatch,
};
pub use progress::{Progress, ProgressEvent};
pub use runtime::{
    AgentRuntime, EarlierMessage, FileRead, Remedy, RuntimeError, SessionAnswer, SessionEvent, SessionFault, SessionId,
    SessionPrompt, StrayCall, WORKSPACE_TOOLS, text_of_blocks, text_or_reasoning,
};
pub use source::{AtTarget, SourceTree};
pub use stop::{StopSignal, stop_channel};
pub use tools::{CoordinatorTools, ToolError};
pub use trace::{CallOutcome, ModelCall, RunTrace};

use conclave_shared::{effort::Effort, model::ModelId, telemetry::EventBody, telemetry::TokensByModel};

/// The model that every provider has in the runtime's configuration beside its own: it stands for whichever model a session
/// uses that was named after the runtime had started.
pub const SPARE_MODEL: &str = "named-later";

/// Where telemetry goes. Never blocks and never fails.
pub trait TelemetrySink: Send + Sync {
    /// Takes one event.
    fn record(&self, event: EventBody);
}

/// The model gateway's books and its word on models.
pub trait UsageLedger: Send + Sync {
    /// What a session has used so far, by the model that really answered.
    fn usage(&self, session: &SessionId) -> Vec<TokensByModel>;
    /// How long ago a request of this session last made progress, while one is being held; `None` when none is held.
    /// The runtime shows nothing while the gateway waits for a provider.
    fn idle_for(&self, session: &SessionId) -> Option<std::time::Duration>;
    /// The time until a model is asked for a request of this session, while its circuit is open or it failed a moment ago;
    /// `None` when no request waits.
    fn waits_for(&self, _session: &SessionId) -> Option<std::time::Duration> {
        None
    }
    /// What the whole run has cost so far.
    fn cost_usd(&self) -> f64;
    /// How close the run is to the end of its budget.
    fn budget(&self) -> BudgetState;
    /// The name under which the runtime asks for this model in this session: its own, or, for a model that was named after the
    /// runtime had started, a spare one that the gateway translates.
    fn name_in_runtime(&self, _session: &SessionId, model: &ModelId) -> ModelId {
        model.clone()
    }
    /// Tells the gateway which sessions belong to which reviewer and which models may stand in, best first.
    fn assign(&self, session: &SessionId, reviewer: &str, models: &[ModelId]);
    /// Calls that may tell what no tool takes, as the models of this session made them, whatever the runtime made of them.
    fn stray_calls(&self, _session: &SessionId) -> Vec<StrayCall> {
        Vec::new()
    }
    /// The texts of this session's answers that broke off, each as far as it came. The runtime asks again for such an answer, and
    /// may know nothing of it.
    fn broken_answers(&self, _session: &SessionId) -> Vec<String> {
        Vec::new()
    }
    /// The cause of this session's last failed call in words, unless a whole answer has come since.
    fn last_failure(&self, _session: &SessionId) -> Option<String> {
        None
    }
    /// The provider's word for the stop of this session's last answer, where that is neither an end nor the limit of an answer.
    fn odd_stop(&self, _session: &SessionId) -> Option<String> {
        None
    }
    /// Sets the effort of a session's models. Without it they are asked as the runtime asks them.
    fn set_effort(&self, _session: &SessionId, _effort: Effort) {}
}
