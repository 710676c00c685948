//! The streaming model gateway between the agent runtime and the providers.
//!
//! The runtime's providers point at [`Gateway::base_url`] with a random key of the run. The gateway puts the real
//! credentials on, so that the runtime never holds one; repeats failed calls and lets another model of the same
//! provider take over before the runtime has seen a byte; keeps the only accounts that count; and shapes every error so
//! that the runtime does what it should: stop, or ask again after a pause, but never for ever.
//!
//! The rooms: `proxy` has the way of a request, from the `door` over the `exchange` (which model is asked, and how often) and
//! the `attempt` (holds the answer back until its first content) to the `answer` (cut into frames, read as they pass) and the
//! `relay` (hands it on). `wire` knows the formats, `provider` calls the other side, `cache` keeps prompt caches useful,
//! `recording` writes calls down and answers them again, `accounting` counts tokens, cost and budget, `breaker` holds the
//! models' circuits.
//!
//! Why not a general proxy crate: they forward bytes. Here the answer has to be understood frame by frame, with bounded
//! memory, while it passes.

mod accounting;
mod breaker;
mod cache;
mod clock;
mod config;
mod errors;
mod event;
mod gateway;
mod lock;
mod model_answer;
mod provider;
mod proxy;
mod recording;
mod wire;

pub use accounting::Prices;
pub use conclave_resilience::{
    breaker::{BreakerSettings, Change, Circuit},
    budget::{Budget, Line, stricter},
    classify::{FailureClass, ProviderFault},
    retry::RetryPolicy,
};
pub use config::{CapabilitySource, GatewayConfig, Limits};
pub use errors::{ConfigError, Refusal, RefusalAnswer, Rejection};
pub use event::{FallbackReason, GatewayEvent, Observer};
pub use gateway::Gateway;
pub use model_answer::ModelAnswer;
pub use provider::{HttpSettings, KeyAnswer, Upstream, examine, is_base_url};
pub use proxy::{AnswerCut, random_run_key};
pub use recording::{RecordedProvider, Recording, RecordingMode};
pub use wire::Wire;
