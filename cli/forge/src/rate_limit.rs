//! The rate limit of a forge: what the answer to one request says holds for all that run beside it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use chrono::{DateTime, Utc};
use conclave_resilience::retry::{http_date, retry_after};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, sleep_until};

/// When the next request may be sent.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    not_before: Mutex<Option<Instant>>,
    next_write: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Waits until a request may be sent.
    pub(crate) async fn wait(&self) {
        loop {
            let until = *self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
            match until.filter(|until| *until > Instant::now()) {
                // Another answer may have moved the time meanwhile, so it is looked at again.
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Waits for the turn of a write: so long after the one before.
    pub(crate) async fn pace(&self, gap: Duration) {
        let turn = {
            let mut next = self.next_write.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(turn + gap);
            turn
        };
        sleep_until(turn).await;
    }

    /// Waits until a write would be sent at once, and leaves the turn to the next one.
    pub(crate) async fn until_turn(&self) {
        let next = *self.next_write.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = next {
            sleep_until(next).await;
        }
    }

    /// Holds all requests for so long from now.
    pub(crate) fn hold(&self, wait: Duration) {
        let mut not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        *not_before = (*not_before).max(Some(Instant::now() + wait));
    }
}

/// The wait that the forge asks for, by the answer's headers: in seconds, or until a time, of which there are several spellings.
/// The server's own clock says what time it is, so that a wrong one here does no harm.
pub fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = text(RETRY_AFTER.as_str());
    let now = text(DATE.as_str()).and_then(http_date);
    if let Some(wait) = retry_after(asked, None, now) {
        return Some(wait);
    }
    let now = DateTime::<Utc>::from(now?);
    let date = text("ratelimit-resettime").and_then(http_date);
    let reset = text("ratelimit-reset")
        .or_else(|| text("x-ratelimit-reset"))
        .and_then(|seconds| seconds.parse().ok())
        .and_then(|seconds| DateTime::<Utc>::from_timestamp(seconds, 0));
    let until = date.map(DateTime::<Utc>::from).or(reset)?;
    Some(until.signed_duration_since(now).to_std().unwrap_or_default())
}

/// The wait after an answer that used up what may be asked in this span of time.
pub(crate) fn used_up(headers: &HeaderMap) -> Option<Duration> {
    let remaining = headers
        .get("ratelimit-remaining")
        .or_else(|| headers.get("x-ratelimit-remaining"));
    let remaining = remaining?.to_str().ok()?;
    if remaining.trim() == "0" {
        asked_wait(headers)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    const NOW: (&str, &str) = ("date", "Sun, 01 Mar 2026 12:00:00 GMT");

    #[test]
    fn the_wait_is_in_one_header_or_another() {
        for (headers, seconds) in [
            (vec![("retry-after", "7")], Some(7)),
            (vec![("retry-after", "Sun, 01 Mar 2026 12:00:09 GMT"), NOW], Some(9)),
            (vec![("ratelimit-reset", "1772366411"), NOW], Some(11)),
            (
                vec![("ratelimit-resettime", "Sun, 01 Mar 2026 12:00:13 GMT"), NOW],
                Some(13),
            ),
            (vec![("x-ratelimit-reset", "1772366412"), NOW], Some(12)),
            (vec![("ratelimit-reset", "1772366300"), NOW], Some(0)),
            (vec![("ratelimit-reset", "1772366411")], None),
            (vec![("ratelimit-reset", "soon"), NOW], None),
            (vec![NOW], None),
        ] {
            assert_eq!(
                asked_wait(&map(&headers)).map(|wait| wait.as_secs()),
                seconds,
                "{headers:?}"
            );
        }
        let reset = ("ratelimit-reset", "1772366411");
        assert!(used_up(&map(&[("ratelimit-remaining", "0"), reset, NOW])).is_some());
        assert!(used_up(&map(&[("x-ratelimit-remaining", "0"), reset, NOW])).is_some());
        assert!(used_up(&map(&[("ratelimit-remaining", "1"), reset, NOW])).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn writes_keep_their_distance() {
        let (limit, started) = (RateLimit::default(), Instant::now());
        let gap = Duration::from_secs(1);
        tokio::join!(limit.pace(gap), limit.pace(gap), limit.pace(gap));
        assert_eq!(started.elapsed().as_secs(), 2);
        // Who only waits for the turn leaves it to the next.
        limit.until_turn().await;
        limit.pace(gap).await;
        assert_eq!(started.elapsed().as_secs(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn all_wait_for_the_longest() {
        let (limit, started) = (RateLimit::default(), Instant::now());
        limit.wait().await;
        assert_eq!(started.elapsed(), Duration::ZERO);
        limit.hold(Duration::from_secs(30));
        limit.hold(Duration::from_secs(5));
        tokio::join!(limit.wait(), limit.wait());
        assert_eq!(started.elapsed().as_secs(), 30);
    }
}
