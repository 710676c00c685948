//! Batches of events and the tracker's answer.

use serde::{Deserialize, Serialize};

use super::Event;

/// The largest body that the tracker takes, in bytes.
pub const MAX_BATCH_BYTES: usize = 256 * 1024;
/// The most events in one batch.
pub const MAX_BATCH_EVENTS: usize = 500;

/// The body of a client's request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventBatch {
    /// Up to [`MAX_BATCH_EVENTS`] events.
    pub events: Vec<Event>,
}

/// The tracker's answer to a batch: every event is either accepted, and then durable, or named with its fault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchAnswer {
    /// Events that are stored, also those that had been stored before.
    pub accepted: u64,
    /// Events that were not taken.
    #[serde(default)]
    pub rejected: Vec<RejectedEvent>,
    /// Accepted outcomes of findings that count in figures only: neither the job's token nor a signature proves them, so the
    /// repository's memory learns nothing from them.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unproven: u64,
    /// Why the job's token was not good that came beside a good token of the list, if that was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_refused: Option<String>,
    /// Why the token of the list was not good that came beside a good token of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_refused: Option<String>,
    /// The size of the tracker's database: in the answer to a batch without events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseSize>,
}

/// The used and the allowed size of the tracker's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatabaseSize {
    /// Bytes that it has.
    pub used_bytes: u64,
    /// Bytes that it may have.
    pub max_bytes: u64,
}

impl DatabaseSize {
    /// From this share on, in percent, the tracker warns.
    pub const WARN_PERCENT: u64 = 80;

    /// The share that is used, in whole percent.
    pub const fn percent(self) -> u64 {
        if self.max_bytes == 0 {
            return 0;
        }
        self.used_bytes.saturating_mul(100) / self.max_bytes
    }

    /// Returns whether the tracker stores nothing new.
    pub const fn is_full(self) -> bool {
        self.percent() >= 100
    }

    /// Returns whether it is time to make room or to raise the limit now.
    pub const fn is_nearly_full(self) -> bool {
        self.percent() >= Self::WARN_PERCENT
    }
}

/// An event that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedEvent {
    /// Its position in the batch, from 0.
    pub index: usize,
    /// The fault.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use crate::telemetry::{DatabaseSize, Event, EventBody, RunStarted, SCHEMA_VERSION};
    use uuid::Uuid;

    #[test]
    fn a_database_warns_from_four_fifths_on() {
        let of = |used_bytes, max_bytes| DatabaseSize { used_bytes, max_bytes };
        assert!(!of(799, 1000).is_nearly_full());
        assert!(of(800, 1000).is_nearly_full() && !of(999, 1000).is_full());
        assert!(of(1000, 1000).is_full());
        assert!(of(u64::MAX, 1000).is_nearly_full());
        assert!(!of(5, 0).is_nearly_full(), "without a limit nothing is full");
    }

    #[test]
    fn an_event_reads_back_and_a_newer_clients_extra_field_is_ignored() {
        let event = Event {
            id: Uuid::nil(),
            schema: SCHEMA_VERSION,
            at_ms: 1,
            run_id: Uuid::nil(),
            project: "group/project".into(),
            event: EventBody::RunStarted(RunStarted {
                tier: Some(crate::risk::RiskTier::Full),
                forge: "gitlab".into(),
                merge_request: Some(7),
                client_version: "0.1.0".into(),
                reviewers: vec!["security".into()],
                author: None,
                limit_seconds: None,
                planned: false,
            }),
        };
        let mut json = serde_json::to_value(&event).expect("serialises");
        assert_eq!(json["event"]["type"], "run_started");
        json["event"]["added_later"] = serde_json::json!(true);
        json["schema"] = serde_json::json!(2);
        let back: Event = serde_json::from_value(json).expect("unknown fields are ignored");
        assert_eq!(back.event, event.event);
    }
}
