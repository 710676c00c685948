//! The monotonic clock, which tests can pause.

use std::time::Instant;

/// The time of now.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
