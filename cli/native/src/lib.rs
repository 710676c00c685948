//! The agent runtime of Conclave's own: the loop of messages and tool calls, in process.
//!
//! The same port that `OpenCode` has (`AgentRuntime`), over the same gateway, which is called without a socket. What a
//! session may do is this crate's code and nothing else: read, search and list the workspace, and for the coordinator
//! its two tools.
//!
//! The rooms: `runtime` has the sessions, `session` the state of one, `turn` the loop from a prompt to its end, `history`
//! what was said, `wire` writes requests and reads answers in each format, `tools` answers calls, `events` writes the record.

mod events;
mod history;
mod runtime;
mod session;
mod tools;
mod turn;
mod wire;

pub use runtime::{NativeRuntime, NativeSettings, StartError};
pub use tools::{ThreadsError, sandbox_here};
