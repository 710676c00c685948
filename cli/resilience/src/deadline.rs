//! The end of the time for one request.

use std::time::{Duration, Instant};

/// A point in time that all attempts of one request share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline this long after `now`.
    pub fn after(now: Instant, time: Duration) -> Self {
        // A time beyond what the clock can say is as good as a century.
        Self(
            now.checked_add(time)
                .unwrap_or_else(|| now + Duration::from_hours(876_600)),
        )
    }

    /// The time that is left; zero when the deadline has passed.
    pub fn left(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Returns whether the deadline has passed.
    pub fn passed(self, now: Instant) -> bool {
        now >= self.0
    }

    /// The shorter of a limit and the time that is left.
    pub fn clamp(self, now: Instant, limit: Duration) -> Duration {
        limit.min(self.left(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "an `Instant` cannot be made in another way")]
    fn time_runs_out() {
        let start = Instant::now();
        let deadline = Deadline::after(start, Duration::from_secs(10));
        let later = start + Duration::from_secs(7);
        assert_eq!(deadline.left(later), Duration::from_secs(3));
        assert_eq!(deadline.clamp(later, Duration::from_secs(5)), Duration::from_secs(3));
        assert!(!deadline.passed(later));
        assert!(deadline.passed(start + Duration::from_secs(10)));
        assert_eq!(deadline.left(start + Duration::from_mins(1)), Duration::ZERO);
        assert!(!Deadline::after(start, Duration::MAX).passed(later));
    }
}
