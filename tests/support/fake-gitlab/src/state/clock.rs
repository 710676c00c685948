//! A clock that moves one second with every event, so that runs of a test agree to the byte.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

#[derive(Debug)]
pub(crate) struct Clock {
    now: DateTime<Utc>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            now: DateTime::from_timestamp(1_767_225_600, 0).expect("2026-01-01 is a date"),
        }
    }
}

impl Clock {
    pub(crate) fn tick(&mut self) -> DateTime<Utc> {
        self.now += TimeDelta::seconds(1);
        self.now
    }
}

/// The form in which GitLab prints a point in time.
pub(crate) fn print(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
