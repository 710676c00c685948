//! The streaming model gateway between the agent runtime and the providers.
//!
//! The runtime's providers point at [`Gateway::base_url`] with a random key of the run. The gateway puts the real
//! credentials on, so that the runtime never holds one; repeats failed calls and lets another model of the same
//! provider take over before the runtime has seen a byte; keeps the only books that count; and shapes every error so
//! that the runtime does what it should: stop, or ask again after a pause, but never for ever.
//!
//! How a call goes: `server` lets it in, `exchange` decides which model is asked and how often, `attempt` asks it and
//! holds the answer back until its first content, `answer` cuts the stream into frames and reads the tokens from them
//! as they pass, `relay` hands it on. `sessions` is all that is remembered between calls of a session, `circuits` of a
//! model, `switches` of a provider. On the way out `adapt` makes a
//! body valid for the model that gets it, and `prefix` and `warming` keep the provider's prompt cache useful. `record`
//! writes calls down, and `replay` answers them without a provider.
//!
//! Why not a general proxy crate: they forward bytes. Here the answer has to be understood frame by frame, with bounded
//! memory, while it passes.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use conclave_engine::ports::{ModelLedger, SessionId};
//! use conclave_gateway::{Gateway, GatewayConfig, Upstream, Wire, random_run_key};
//!
//! let run_key = random_run_key()?;
//! let anthropic = Upstream {
//!     name: "anthropic".to_owned(),
//!     wire: Wire::Anthropic,
//!     base_url: "https://api.anthropic.com/v1".parse()?,
//!     credential: Some("the real key".to_owned().into()),
//!     extra_headers: Vec::new(),
//! };
//! let gateway = Gateway::start(GatewayConfig::new(vec![anthropic], run_key.clone())).await?;
//! let base_url = gateway.base_url("anthropic"); // for the runtime, together with the run's key
//! let session = SessionId("ses_1".to_owned());
//! gateway.assign(&session, "security", &["anthropic/claude-opus-4-7".parse()?]);
//! // ... the runtime works ...
//! let spent = gateway.usage(&session);
//! gateway.shutdown().await;
//! # let _ = (base_url, spent); Ok(())
//! # }
//! ```

mod adapt;
mod answer;
mod attempt;
mod call_report;
mod circuits;
mod config;
mod core;
mod credentials;
mod event;
mod examine;
mod exchange;
mod gateway;
mod loop_guard;
mod prefix;
mod record;
mod rejection;
mod relay;
mod replay;
mod request;
mod server;
mod sessions;
mod source;
mod sse;
mod switches;
mod tool_calls;
mod upstream;
mod warming;
mod wire;

pub use call_report::CallListener;
pub use conclave_resilience::{
    breaker::{BreakerSettings, Change, Circuit},
    budget::{Budget, Line, stricter},
    retry::RetryPolicy,
};
pub use config::{ConfigError, GatewayConfig, HttpSettings, Limits, Prices, TapeSettings, Upstream};
pub use credentials::random_run_key;
pub use event::{FailbackReason, GatewayEvent, Observer};
pub use examine::{KeyAnswer, examine};
pub use gateway::Gateway;
pub use record::{RecordSettings, RecordedProvider};
pub use rejection::Rejection;
pub use replay::Recording;
pub use wire::Wire;
