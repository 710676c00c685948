//! Pure failure policies: failure classes, retries, fallback models, deadlines, budgets.
//!
//! Nothing here has a clock, a source of randomness or I/O: `now` and the dice are arguments, so minutes of policy are
//! tested in microseconds. What happened ([`classify`]) is apart from what to do about it ([`retry`], [`fallback`],
//! [`breaker`], [`deadline`], [`budget`]).

pub mod breaker;
pub mod budget;
pub mod classify;
pub mod deadline;
pub mod fallback;
pub mod retry;
