//! Pure failure policies: what a failure is, when to ask again, whom to ask instead, and how long to go on.
//!
//! Nothing here has a clock, a source of randomness or I/O: `now` and the dice are arguments, so minutes of policy are
//! tested in microseconds. What happened ([`classify`]) is apart from what to do about it ([`retry`], [`failback`],
//! [`breaker`], [`deadline`], [`budget`]).

pub mod breaker;
pub mod budget;
pub mod classify;
pub mod deadline;
pub mod failback;
pub mod retry;
