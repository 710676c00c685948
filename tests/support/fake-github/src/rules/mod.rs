//! What GitHub allows, refuses and does by itself; no HTTP.

pub(crate) mod merge_state;
pub(crate) mod permission;
pub(crate) mod placement;
pub(crate) mod posts;
pub(crate) mod reviews;
pub(crate) mod synchronize;
