//! OpenCode's HTTP API and its events, as far as a review needs them.

mod bounded;
mod client;
mod connector;
mod events;

pub(crate) use bounded::{MAX_EVENT, bounded_events};
pub(crate) use client::Client;
pub(crate) use events::interpret;
