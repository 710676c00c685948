//! The times of one attempt: its limit, silence, and when the log says that it still thinks.

use std::time::Duration;

use conclave_shared::config::{Limits, seconds};
use tokio::time::Instant;

/// Number of times that a quiet session is asked about: events can be lost.
const POLL: Duration = Duration::from_secs(3);
/// Time that a session may be quiet before the log says that it still thinks.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Why an attempt is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Its own time, or that of all together.
    TimeOver(&'static str),
    /// Nothing is heard of it; another model may do better.
    Silent(String),
}

/// The limits of one attempt as they are now: a configuration that changes changes them.
#[derive(Debug, Clone)]
pub(super) struct AttemptLimits {
    /// Of the attempt.
    pub(super) attempt: Duration,
    /// When all attempts together are over.
    pub(super) deadline: Option<Instant>,
    /// Of silence.
    pub(super) limits: Limits,
}

/// The times of one attempt.
#[derive(Debug)]
pub(super) struct AttemptClock {
    began: Instant,
    last_sign: Instant,
    said: Instant,
    polled: Instant,
    alive: bool,
}

impl AttemptClock {
    /// Starts an attempt.
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            last_sign: now,
            said: now,
            polled: now,
            alive: false,
        }
    }

    pub(super) fn sign_of_life(&mut self) {
        self.last_sign = Instant::now();
        self.said = self.last_sign;
        self.alive = true;
    }

    /// When to look at the session again: at the next poll, or when one of its times is over.
    pub(super) fn next_look(&self, now: &AttemptLimits) -> Instant {
        let poll = self.polled + POLL;
        // A request that the gateway holds can outlast the silence; then the poll asks again.
        let silence = Some(self.last_sign + self.patience(&now.limits)).filter(|at| *at > self.polled);
        let times = [Some(self.began + now.attempt), now.deadline, silence];
        times.into_iter().flatten().fold(poll, Instant::min)
    }

    /// Notes that the session was looked at.
    pub(super) fn looked(&mut self) {
        self.polled = Instant::now();
    }

    /// Whether the attempt has to end. `held` is the time since the last progress of a request that the gateway holds:
    /// such a session is alive as long as the gateway makes progress with it.
    pub(super) fn overdue(&self, limits: &AttemptLimits, held: Option<Duration>) -> Option<Overdue> {
        let now = Instant::now();
        if limits.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Overdue::TimeOver("the time of the whole panel is over"));
        }
        if now >= self.began + limits.attempt {
            return Some(Overdue::TimeOver("its time is over"));
        }
        let quiet = (now - self.last_sign).min(held.unwrap_or(Duration::MAX));
        let limit = self.patience(&limits.limits);
        let what = if self.alive {
            "it went silent"
        } else {
            "it gave no sign of life"
        };
        (quiet >= limit).then(|| Overdue::Silent(format!("{what} for {} s", limit.as_secs())))
    }

    fn patience(&self, limits: &Limits) -> Duration {
        seconds(if self.alive {
            limits.stall_seconds
        } else {
            limits.first_sign_seconds
        })
    }

    /// The seconds since the last output, once every half a minute without any.
    pub(super) fn heartbeat(&mut self) -> Option<u64> {
        let now = Instant::now();
        if now - self.said < HEARTBEAT {
            return None;
        }
        self.said = now;
        Some((now - self.last_sign).as_secs())
    }
}
