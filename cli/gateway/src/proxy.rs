//! The proxy: a request of the runtime from the door to its answer.

mod answer;
mod attempt;
mod call;
mod concessions;
mod core;
mod door;
mod exchange;
mod in_flight;
mod loop_guard;
mod relay;
mod run_key;
mod session;
mod switches;

pub(crate) use self::core::Core;
pub(crate) use door::{call_in_process, router};
pub use relay::AnswerCut;
pub(crate) use relay::Relay;
pub use run_key::random_run_key;
