//! The gateway over real HTTP, between a plain client and scripted providers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken fixture must stop the test"
)]

mod accounting;
mod ai_gateway;
mod budgets;
mod calls;
mod circuits;
mod client;
mod cuts;
mod door;
mod failures;
mod fallback;
mod hostile;
mod prefixes;
mod raw;
mod recording;
mod refused_parameters;
mod rig;
mod streaming;
mod switches;
mod waiting;
