//! The last outcomes of a model's calls.

use std::{collections::VecDeque, fmt, time::Duration};

/// The conditions under which a circuit opens, and the time that it stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// This many failures in a row open it.
    pub failures: u32,
    /// Number of the last calls that are looked at.
    pub window: usize,
    /// This share of them, in percent, opens it too.
    pub failure_percent: u32,
    /// Time that it stays open before a probe is let through.
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

/// The cause of an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// So many calls failed one after the other.
    InARow(u32),
    /// So many of the last calls failed.
    Share {
        /// The calls that failed.
        failed: usize,
        /// The calls that were looked at.
        of: usize,
    },
    /// The probe failed.
    Probe,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InARow(1) => formatter.write_str("a call failed"),
            Self::InARow(failed) => write!(formatter, "{failed} calls in a row failed"),
            Self::Share { failed, of } => write!(formatter, "{failed} of the last {of} calls failed"),
            Self::Probe => formatter.write_str("the probe failed"),
        }
    }
}

/// The last outcomes, at most as many as the settings look at.
#[derive(Debug, Default)]
pub(super) struct Window {
    failed: VecDeque<bool>,
    in_a_row: u32,
}

impl Window {
    /// Takes an outcome; tells if that is too much.
    pub(super) fn record(&mut self, failed: bool, settings: &BreakerSettings) -> Option<Cause> {
        self.in_a_row = if failed { self.in_a_row.saturating_add(1) } else { 0 };
        self.failed.push_back(failed);
        while self.failed.len() > settings.window {
            self.failed.pop_front();
        }
        if !failed {
            return None;
        }
        if self.in_a_row >= settings.failures.max(1) {
            return Some(Cause::InARow(self.in_a_row));
        }
        // The share of few calls says nothing.
        let of = self.failed.len();
        let bad = self.failed.iter().filter(|failed| **failed).count();
        let percent = usize::try_from(settings.failure_percent).unwrap_or(usize::MAX);
        (of >= settings.window && bad.saturating_mul(100) >= percent.saturating_mul(of))
            .then_some(Cause::Share { failed: bad, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause_of(outcomes: &str, settings: &BreakerSettings) -> Option<Cause> {
        let mut window = Window::default();
        let mut cause = None;
        for outcome in outcomes.chars() {
            assert_eq!(cause, None, "opened too early in {outcomes}");
            cause = window.record(outcome == 'x', settings);
        }
        cause
    }

    #[test]
    fn five_failures_in_a_row_or_half_of_the_last_twenty_are_too_much() {
        let settings = BreakerSettings::default();
        for (outcomes, expected) in [
            ("xxxx", None),
            ("xxxxx", Some(Cause::InARow(5))),
            ("xxxx.xxxx.xxxx", None),
            ("......xxxxx", Some(Cause::InARow(5))),
            // Every second call of twenty, and not before there are twenty.
            (".x.x.x.x.x.x.x.x.x.", None),
            (".x.x.x.x.x.x.x.x.x.x", Some(Cause::Share { failed: 10, of: 20 })),
            // Nine of twenty are few enough, however long it goes on.
            ("..x.x.x.x.x.x.x.x.x...x.x.x.x.x.x.x.x.x.", None),
        ] {
            assert_eq!(cause_of(outcomes, &settings), expected, "{outcomes}");
        }
    }

    #[test]
    fn the_borders_can_be_set() {
        let settings = BreakerSettings {
            failures: 3,
            window: 4,
            failure_percent: 25,
            ..BreakerSettings::default()
        };
        assert_eq!(cause_of("xx", &settings), None);
        assert_eq!(cause_of("xx.x", &settings), Some(Cause::Share { failed: 3, of: 4 }));
        assert_eq!(cause_of("xxx", &settings), Some(Cause::InARow(3)));
    }
}
