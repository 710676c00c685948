//! Circuit breakers: calls of a failing model stop for a while, and one call tries it again.
//!
//! A circuit is closed while its model does well. Failures in a row, or too many among the last calls, open it: no
//! call is let through until its time is over. Then exactly one call, the probe, is let through, and its end decides for
//! all: closed again, or open for another while.
//!
//! Why not a crate: those at hand count calls by themselves, with a clock of their own, and wrap a future. Here a call
//! is a stream whose end is known minutes later, may be given up by its caller at any moment, and counts only if it was
//! the provider's fault; and the tests need minutes to pass in no time.

mod registry;
mod state;
mod window;

pub use registry::{Breakers, NextProbe};
pub use state::{Admission, Breaker, Change, Circuit, Outcome, Ticket};
pub use window::{BreakerSettings, Cause};
