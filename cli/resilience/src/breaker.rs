//! Circuit breakers: when a model is left alone, and how it comes back.
//!
//! A circuit is closed while its model does well. Failures in a row, or too many among the last calls, open it: nobody
//! is let through until its time is over. Then exactly one call, the probe, is let through, and what comes of it decides
//! for everybody: closed again, or open for another while.
//!
//! Why not a crate: those at hand count calls by themselves, with a clock of their own, and wrap a future. Here a call
//! is a stream whose end is known minutes later, may be given up by its caller at any moment, and counts only if it was
//! the provider's fault; and the tests need minutes to pass in no time.

mod registry;
mod settings;
mod state;
mod window;

pub use registry::{Breakers, NextProbe};
pub use settings::BreakerSettings;
pub use state::{Admission, Breaker, Change, Circuit, Outcome, Ticket};
pub use window::Cause;
