//! Letting one call warm a provider's prompt cache before those that share its prefix follow.
//!
//! A cache can be read only once the answer to the request that fills it has begun. Seven reviewers that are sent at
//! once would all pay for writing the same prefix; held back until the first of them has its first byte, six of them
//! read it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::{clock::now, lock::locked};

/// Time that a prefix is taken to be cached after its last use. Providers keep it for five minutes at least.
const WARM: Duration = Duration::from_mins(4);

/// The prefixes that are known, each with its model.
#[derive(Debug, Default)]
pub(crate) struct Warming(Mutex<HashMap<String, State>>);

#[derive(Debug)]
enum State {
    /// A call is filling the cache; the token is cancelled when its answer begins, or fails.
    Filling(CancellationToken),
    /// The cache was used at this time.
    Warm(Instant),
}

impl Warming {
    /// Waits until a call with this prefix may be sent: at once if it is the first or the cache is warm, else when the
    /// first one's answer begins, and at most this long.
    pub(crate) async fn enter(self: &Arc<Self>, prefix: &str, max_wait: Duration) -> WarmingPermit {
        let until = tokio::time::Instant::now() + max_wait;
        loop {
            let filling = {
                let mut known = locked(&self.0);
                match known.get_mut(prefix) {
                    Some(State::Filling(filling)) => filling.clone(),
                    Some(State::Warm(used)) if now().saturating_duration_since(*used) < WARM => {
                        *used = now();
                        return WarmingPermit::default();
                    }
                    _ => {
                        let filling = CancellationToken::new();
                        known.insert(prefix.to_owned(), State::Filling(filling.clone()));
                        return WarmingPermit(Some((Arc::clone(self), prefix.to_owned(), filling)));
                    }
                }
            };
            if timeout_at(until, filling.cancelled()).await.is_err() {
                return WarmingPermit::default();
            }
        }
    }
}

/// A call's permit to go out. The call that fills the cache lets the others go when its answer begins; if it fails, one of them
/// is next.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct WarmingPermit(Option<(Arc<Warming>, String, CancellationToken)>);

impl WarmingPermit {
    /// The answer has begun.
    pub(crate) fn answered(mut self) {
        if let Some((warming, prefix, filling)) = self.0.take() {
            locked(&warming.0).insert(prefix, State::Warm(now()));
            filling.cancel();
        }
    }
}

impl Drop for WarmingPermit {
    fn drop(&mut self) {
        if let Some((warming, prefix, filling)) = self.0.take() {
            locked(&warming.0).remove(&prefix);
            filling.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn the_others_follow_when_the_first_answer_begins() {
        let warming = Arc::new(Warming::default());
        let started = now();
        let first = warming.enter("a", HOLD).await;
        let other = warming.enter("b", HOLD).await;
        assert_eq!(now(), started, "neither waits: they share nothing");
        let followers: Vec<_> = (0..6)
            .map(|_| {
                let warming = Arc::clone(&warming);
                tokio::spawn(async move {
                    warming.enter("a", HOLD).await.answered();
                    now()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(700)).await;
        first.answered();
        for follower in followers {
            let at = follower.await.expect("no panic");
            assert_eq!(at.duration_since(started), Duration::from_millis(700));
        }
        warming.enter("a", HOLD).await.answered();
        assert_eq!(now().duration_since(started), Duration::from_millis(700), "it is warm");
        drop(other);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_the_limit() {
        let warming = Arc::new(Warming::default());
        let started = now();
        let _first = warming.enter("a", HOLD).await;
        warming.enter("a", HOLD).await.answered();
        assert_eq!(now().duration_since(started), HOLD);
        let waited = now();
        warming.enter("a", Duration::ZERO).await.answered();
        assert_eq!(now(), waited, "no limit, no wait");
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_first_fails_the_next_one_leads() {
        let warming = Arc::new(Warming::default());
        let started = now();
        let first = warming.enter("a", HOLD).await;
        let second = {
            let warming = Arc::clone(&warming);
            tokio::spawn(async move { warming.enter("a", HOLD).await })
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(first);
        let second = second.await.expect("no panic");
        assert_eq!(now().duration_since(started), Duration::from_millis(100));
        assert!(second.0.is_some(), "it fills the cache now");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_goes_cold() {
        let warming = Arc::new(Warming::default());
        warming.enter("a", HOLD).await.answered();
        tokio::time::advance(WARM).await;
        assert!(warming.enter("a", HOLD).await.0.is_some());
    }
}
