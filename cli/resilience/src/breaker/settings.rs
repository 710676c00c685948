//! When circuits open.

use std::time::Duration;

/// When a circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// This many failures in a row open it.
    pub failures: u32,
    /// How many of the last calls are looked at.
    pub window: usize,
    /// This share of them, in percent, opens it too.
    pub failure_percent: u32,
    /// How long it stays open before a probe is let through.
    pub open: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            window: 20,
            failure_percent: 50,
            open: Duration::from_mins(2),
        }
    }
}
