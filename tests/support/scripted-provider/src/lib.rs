//! A scripted model provider that speaks the real wire protocols.
//!
//! It stands in for a paid model behind real HTTP on 127.0.0.1: Anthropic Messages, `OpenAI` Chat Completions and
//! `OpenAI` Responses, all streaming. Three layers decide what it says:
//!
//! 1. [`Scripted`]: a table (agent, turn) → [`Answer`], which tests fill at run time.
//! 2. [`DemoModel`]: rules (no language model) that work on the real patches of a merge request.
//! 3. [`Fault`]: what goes wrong on the way: statuses, hangs, cut streams, garbage.
//!
//! It is strict about requests, like the real thing: a malformed one gets a provider-like 4xx and is remembered in
//! [`ScriptedProvider::violations`]. It keeps [`Books`] with a prefix cache, so that a ledger can be compared to the
//! token, and every request body as it came ([`ScriptedProvider::requests`]).
//!
//! Why not a mocking library: answers depend on the conversation so far, streams must break at chosen frames, and the
//! token counts must follow from the prompts.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use conclave_scripted_provider::{Answer, DemoModel, Fault, ScriptedProvider};
//!
//! let provider = ScriptedProvider::builder().api_key("key").model(DemoModel::new()).start().await?;
//! provider.set("security", 1, Answer::text("<findings></findings>"));
//! provider.inject(Fault::status(529).model("claude-opus-4-7").times(2));
//! // ... point a gateway at provider.url() ...
//! assert!(provider.violations().is_empty());
//! let spent = provider.books().model("claude-opus-4-7");
//! # let _ = spent; Ok(())
//! # }
//! ```

mod agent;
mod ai_gateway;
mod books;
mod cache;
mod degraded;
mod demo;
mod fault;
mod model;
mod provider;
mod scripted;
mod server;
mod state;
mod stream;
mod wire;

pub use agent::{COORDINATOR, UNKNOWN};
pub use ai_gateway::AiGateway;
pub use books::{Books, Entry, ModelTotals, Usage};
pub use degraded::{Degraded, Misbehavior};
pub use demo::{DemoModel, LABEL};
pub use fault::{Break, Fault, FaultKind, Position};
pub use model::{Answer, Format, Message, Model, ModelRequest, Part, Role, Stop, ToolCall};
pub use provider::{Builder, ScriptedProvider};
pub use scripted::Scripted;
pub use state::{RequestRecord, Violation};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, and goes on after a panic elsewhere: the state is test bookkeeping.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of tokens of a text of this many characters.
const fn tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}
