//! The publisher over real HTTP, against a GitHub that keeps state.
#![expect(clippy::unwrap_used, reason = "a broken fixture must stop the test")]

#[path = "../../../../forge/tests/conformance/mod.rs"]
mod conformance;
mod gate;
mod publishing;
mod scenarios;
mod stage;
mod twenty;
mod unresolvable;
mod wiped;
