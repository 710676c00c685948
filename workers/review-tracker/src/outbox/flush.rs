//! When what waits is written, how much of it at once, and when it is tried again.

use std::time::Duration;

/// The variable that says how soon after its arrival a batch is written, in milliseconds. Batches of that time are written
/// together.
pub(super) const FLUSH_MS: &str = "OUTBOX_FLUSH_MS";
const DEFAULT_FLUSH_MS: u64 = 2000;

/// The most bytes and events that are written in one transaction; one batch may be more.
pub(super) const FLUSH_BYTES: u64 = 1_000_000;
/// The variable that says how many events are written in one transaction. A write keeps the object's thread from requests, so this
/// is what an answer waits for at most; fewer make each event dearer.
pub(super) const FLUSH_EVENTS: &str = "OUTBOX_FLUSH_EVENTS";
const DEFAULT_FLUSH_EVENTS: u64 = 300;
const MIN_FLUSH_EVENTS: u64 = 50;
const MAX_FLUSH_EVENTS: u64 = 5_000;

/// Transactions in one alarm: the next alarm goes on.
pub(super) const FLUSHES: usize = 20;

/// The pause between two transactions.
pub(super) const TURN: Duration = Duration::from_millis(1);

/// Attempts at a batch by itself before it is given up.
pub(super) const ATTEMPTS: u32 = 5;

/// The variable that says how long the first wait after a failure is, in milliseconds.
pub(super) const RETRY_MS: &str = "OUTBOX_RETRY_MS";
const DEFAULT_RETRY_MS: u64 = 1000;
const MAX_WAIT_MS: u64 = 60_000;

/// Maximum bytes that wait in one object: as much as half of what an object may hold on the free plan. What comes then is
/// refused, and clients are asked to come again.
pub(super) const MAX_BYTES: usize = 512 * 1024 * 1024;

/// Returns the time until a batch is written.
pub(super) fn flush_after(set: Option<u64>) -> Duration {
    Duration::from_millis(set.unwrap_or(DEFAULT_FLUSH_MS).min(MAX_WAIT_MS))
}

/// Returns the number of events that are written in one transaction.
pub(super) fn flush_events(set: Option<u64>) -> u64 {
    set.unwrap_or(DEFAULT_FLUSH_EVENTS)
        .clamp(MIN_FLUSH_EVENTS, MAX_FLUSH_EVENTS)
}

/// The first wait after a failure.
pub(super) fn retry_ms(set: Option<u64>) -> u64 {
    set.unwrap_or(DEFAULT_RETRY_MS).clamp(1, MAX_WAIT_MS)
}

/// Returns the wait after so many failures: twice as long each time, up to a minute.
pub(super) fn wait_ms(retry_ms: u64, failures: u32) -> u64 {
    let factor = 1_u64 << failures.saturating_sub(1).min(20);
    retry_ms.saturating_mul(factor).min(MAX_WAIT_MS)
}

/// Returns how many of the waiting batches, by their sizes and numbers of events, are written together.
pub(super) fn together(sizes: impl Iterator<Item = (u64, u64)>, max_events: u64) -> usize {
    let (mut bytes, mut events) = (0, 0);
    sizes
        .take_while(|(more_bytes, more_events)| {
            let first = bytes == 0;
            bytes += more_bytes;
            events += more_events;
            first || (bytes <= FLUSH_BYTES && events <= max_events)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let waits: Vec<u64> = (1..9).map(|failures| wait_ms(1000, failures)).collect();
        assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(wait_ms(1000, u32::MAX), MAX_WAIT_MS);
        assert_eq!([None, Some(0), Some(5)].map(retry_ms), [1000, 1, 5]);
    }

    #[test]
    fn a_flush_is_bounded_by_bytes_and_events_and_takes_at_least_one_batch() {
        assert_eq!(together([].into_iter(), 2000), 0);
        assert_eq!(together([(2_000_000, 500), (1, 1)].into_iter(), 2000), 1);
        assert_eq!(together([(400_000, 1); 5].into_iter(), 2000), 2);
        assert_eq!(together([(1, 500); 9].into_iter(), 2000), 4);
        assert_eq!(together([(1, 500); 9].into_iter(), 100), 1);
        let set = [None, Some(1), Some(300), Some(99_999)].map(flush_events);
        assert_eq!(set, [DEFAULT_FLUSH_EVENTS, 50, 300, 5000]);
    }
}
