//! Catching a session that asks the same thing over and over.
//!
//! `OpenCode` was seen to send the same request ten times a second for ever when an answer does not suit it. The rules
//! about terminal events keep that from happening; this is the net below them.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The span in which equal requests are counted.
const SPAN: Duration = Duration::from_secs(2);

/// Maximum number of equal requests in a span. `OpenCode`'s own retries wait longer than two seconds.
const MAX_EQUAL: usize = 3;

/// The last requests of a session, each by the hash of its last message.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard(VecDeque<(Instant, u64)>);

impl LoopGuard {
    /// Notes a request; `false` if it is one too many.
    pub(crate) fn admits(&mut self, now: Instant, last_message: u64) -> bool {
        while self
            .0
            .front()
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= SPAN)
        {
            self.0.pop_front();
        }
        self.0.push_back((now, last_message));
        // Many different requests in no time are a loop as well, but not one of `OpenCode`; this bounds the memory.
        if self.0.len() > 64 {
            self.0.pop_front();
        }
        self.0.iter().filter(|(_, other)| *other == last_message).count() <= MAX_EQUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_equal_request_in_two_seconds_is_too_many() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut guard = LoopGuard::default();
        assert!(guard.admits(at(0), 1));
        assert!(guard.admits(at(500), 1));
        assert!(guard.admits(at(600), 2), "another message");
        assert!(guard.admits(at(1000), 1));
        assert!(!guard.admits(at(1900), 1));
        assert!(guard.admits(at(5000), 1), "calm again");
    }
}
