//! Retries of a failed attempt.

use std::time::{Duration, SystemTime};

use crate::classify::ProviderFault;

/// Number and pace of repetitions with the same model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Repetitions after the first attempt.
    pub retries: u32,
    /// The wait before the first repetition, doubled before each further one.
    pub base: Duration,
    /// The longest wait of our own making.
    pub longest: Duration,
    /// The longest wait that a provider can make us take with `Retry-After`. One may say an hour; a review has minutes.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 2,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(4),
            longest_asked: Duration::from_secs(5),
        }
    }
}

impl RetryPolicy {
    /// The wait before the next attempt, or `None` when this model has had its attempts.
    ///
    /// `failed` counts the attempts that failed so far (from 1), `asked` is the provider's `Retry-After`, and `dice` a
    /// number from 0 to 1 that spreads the sessions of a panel: they fail together, and should not come back together.
    /// A time-out is repeated only once, as each costs the whole time limit.
    pub fn next_wait(&self, failed: u32, fault: ProviderFault, asked: Option<Duration>, dice: f64) -> Option<Duration> {
        let retries = match fault {
            ProviderFault::Timeout | ProviderFault::Stalled => self.retries.min(1),
            _ => self.retries,
        };
        if failed == 0 || failed > retries {
            return None;
        }
        let doubled = self.base.saturating_mul(1 << (failed - 1).min(16)).min(self.longest);
        let own = doubled.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0);
        Some(asked.map_or(own, |asked| asked.min(self.longest_asked).max(own)))
    }

    /// The same where only so much time is left. A wait takes at most half of it, as the attempt after it needs some too:
    /// what the provider asks for is cut down to that, and where even our own wait does not fit, another model is the
    /// better use of the time.
    pub fn next_wait_within(
        &self,
        left: Duration,
        failed: u32,
        fault: ProviderFault,
        asked: Option<Duration>,
        dice: f64,
    ) -> Option<Duration> {
        let own = self.next_wait(failed, fault, None, dice)?;
        let wait = self.next_wait(failed, fault, asked, dice)?;
        (own <= left / 2).then(|| wait.min(left / 2))
    }
}

/// The longest wait that is read, in seconds: as good as for ever, and within what clocks can add.
const MAX_SECONDS: f64 = 1e9;

/// Reads a `Retry-After` or `retry-after-ms` pair of header values: a number, however large, or a date, from which the time of
/// `now` is taken; best that of the server's own clock. Without it a date counts as absent.
pub fn retry_after(seconds: Option<&str>, milliseconds: Option<&str>, now: Option<SystemTime>) -> Option<Duration> {
    let number = |text: &str| {
        let text = text.trim();
        // More digits than a number can have are a large number, and a word for one is none.
        let is_number = |number: &f64| number.is_finite() || text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<f64>().ok().filter(is_number);
        number
            .filter(|number| *number >= 0.0)
            .map(|number| number.min(MAX_SECONDS))
    };
    let until = || {
        let until = http_date(seconds?)?;
        let wait = until.duration_since(now?).unwrap_or_default();
        Some(wait.min(Duration::from_secs_f64(MAX_SECONDS)))
    };
    milliseconds
        .and_then(number)
        .map(|n| n / 1000.0)
        .or_else(|| seconds.and_then(number))
        .map(Duration::from_secs_f64)
        .or_else(until)
}

/// The time of a date as HTTP writes it, as in `Date` and `Retry-After`.
pub fn http_date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAULT: ProviderFault = ProviderFault::Overloaded;

    #[test]
    fn there_are_as_many_retries_as_the_policy_says() {
        let policy = RetryPolicy::default();
        let waits: Vec<_> = (1..=4)
            .map(|failed| policy.next_wait(failed, FAULT, None, 1.0))
            .collect();
        assert_eq!(
            waits,
            [
                Some(Duration::from_millis(500)),
                Some(Duration::from_secs(1)),
                None,
                None
            ]
        );
        assert!(policy.next_wait(1, ProviderFault::Timeout, None, 0.0).is_some());
        assert_eq!(policy.next_wait(2, ProviderFault::Timeout, None, 0.0), None);
    }

    #[test]
    fn an_hour_asked_for_becomes_seconds() {
        let policy = RetryPolicy::default();
        let hour = retry_after(Some("3600"), None, None);
        assert_eq!(hour, Some(Duration::from_hours(1)));
        assert_eq!(policy.next_wait(1, FAULT, hour, 0.5), Some(policy.longest_asked));
    }

    #[test]
    fn a_wait_fits_into_the_time_that_is_left() {
        let policy = RetryPolicy::default();
        let seconds = Duration::from_secs;
        let wait = |left, asked| policy.next_wait_within(left, 1, FAULT, asked, 1.0);
        for (left, asked, expected) in [
            (seconds(200), None, Some(Duration::from_millis(500))),
            (seconds(200), Some(seconds(3)), Some(seconds(3))),
            (seconds(200), Some(seconds(3600)), Some(seconds(5))),
            // Half of what is left is for the attempt.
            (seconds(6), Some(seconds(3600)), Some(seconds(3))),
            (seconds(1), Some(seconds(3600)), Some(Duration::from_millis(500))),
            (Duration::from_millis(999), Some(seconds(3600)), None),
            (Duration::from_millis(999), None, None),
            (Duration::ZERO, None, None),
        ] {
            assert_eq!(wait(left, asked), expected, "{left:?} left, {asked:?} asked");
        }
        assert_eq!(policy.next_wait_within(seconds(200), 3, FAULT, None, 1.0), None);
    }

    #[test]
    fn numbers_and_dates_are_read() {
        let now = http_date("Fri, 20 Nov 2026 00:00:00 GMT");
        let read = |text: &str| retry_after(Some(text), None, now);
        assert_eq!(
            retry_after(Some("2"), Some("300"), now),
            Some(Duration::from_millis(300))
        );
        let most = Some(Duration::from_secs_f64(MAX_SECONDS));
        let digits = "9".repeat(400);
        for (text, wait) in [
            ("0", Some(Duration::ZERO)),
            ("99999999999999999999", most),
            ("1e300", most),
            (digits.as_str(), most),
            ("Fri, 20 Nov 2026 00:00:07 GMT", Some(Duration::from_secs(7))),
            (" Friday, 20-Nov-26 00:01:00 GMT ", Some(Duration::from_mins(1))),
            ("Thu, 19 Nov 2026 00:00:00 GMT", Some(Duration::ZERO)),
            ("soon", None),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(read(text), wait, "{text:?}");
        }
        assert_eq!(retry_after(Some("Fri, 20 Nov 2026 00:00:07 GMT"), None, None), None);
    }

    proptest! {
        #[test]
        fn a_wait_is_never_longer_than_allowed(failed in 0u32..100, dice in -1.0f64..2.0, asked in proptest::option::of(0u64..1_000_000)) {
            let policy = RetryPolicy { retries: 50, ..RetryPolicy::default() };
            if let Some(wait) = policy.next_wait(failed, FAULT, asked.map(Duration::from_secs), dice) {
                prop_assert!(wait <= policy.longest.max(policy.longest_asked));
                prop_assert!(wait >= policy.base / 2);
            }
        }
    }
}
