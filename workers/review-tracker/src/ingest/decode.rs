//! A batch's bytes, taken apart event by event.

use conclave_shared::{
    problem::Problem,
    telemetry::{Event, EventBatch, MAX_BATCH_EVENTS, RejectedEvent},
};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{events, texts};

/// The longest explanation that is sent back, in characters. A fault quotes what the client sent.
const MAX_DETAIL: usize = 300;

/// A batch, sorted into what is taken and what is not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded {
    /// Good events, in the order of the batch.
    pub events: Vec<Event>,
    /// Those of them whose clock was ahead: their time is that of their arrival.
    pub skewed: Vec<Uuid>,
    /// The places of the good events in the batch.
    pub places: Vec<usize>,
    /// The places of outcomes that carry the signature of the installation's secret, looked at before anything of them is changed.
    /// Places and not ids: a copy with the same id is not signed.
    pub signed: Vec<usize>,
    /// The others, each with its fault.
    pub rejected: Vec<RejectedEvent>,
}

/// The moments and the secret that a batch is checked with.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Now.
    pub now_ms: i64,
    /// The oldest time that is taken.
    pub oldest_ms: i64,
    /// The installation's secret, which proves outcomes; empty if there is none.
    pub secret: &'a [u8],
}

#[derive(Deserialize)]
struct RawBatch {
    events: Vec<Value>,
}

/// Reads a batch. Only a body that is not a batch at all is refused as a whole: a newer client's unknown event must not
/// cost the ones that are understood.
pub fn batch(body: &[u8], terms: Terms<'_>) -> Result<Decoded, Problem> {
    let mut decoded = Decoded::default();
    // Nearly every batch is good as a whole, and is read at once.
    if let Ok(whole) = serde_json::from_slice::<EventBatch>(body) {
        limit(whole.events.len())?;
        for (index, event) in whole.events.into_iter().enumerate() {
            decoded.take(index, Ok(event), terms);
        }
        return Ok(decoded);
    }
    let raw: RawBatch = serde_json::from_slice(body).map_err(|error| texts::not_a_batch(&short(&error.to_string())))?;
    limit(raw.events.len())?;
    for (index, value) in raw.events.into_iter().enumerate() {
        let event = serde_json::from_value::<Event>(value).map_err(|error| error.to_string());
        decoded.take(index, event, terms);
    }
    Ok(decoded)
}

fn limit(events: usize) -> Result<(), Problem> {
    if events > MAX_BATCH_EVENTS {
        return Err(texts::too_many_events(events, MAX_BATCH_EVENTS));
    }
    Ok(())
}

impl Decoded {
    fn take(&mut self, index: usize, event: Result<Event, String>, terms: Terms<'_>) {
        let Terms {
            now_ms,
            oldest_ms,
            secret,
        } = terms;
        match event.and_then(|event| events::check(&event, now_ms, oldest_ms).map(|()| event)) {
            Ok(mut event) => {
                if event.is_signed_with(secret) {
                    self.signed.push(index);
                }
                if events::correct(&mut event, now_ms) {
                    self.skewed.push(event.id);
                }
                self.events.push(event);
                self.places.push(index);
            }
            Err(detail) => self.rejected.push(RejectedEvent {
                index,
                detail: short(&detail),
            }),
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000_000;
    const TERMS: Terms<'_> = Terms {
        now_ms: NOW,
        oldest_ms: 0,
        secret: b"",
    };

    fn dropped(events: u64) -> Value {
        json!({
            "id": "01900000-0000-7000-8000-000000000001", "schema": 1, "at_ms": NOW, "project": "group/project",
            "run_id": "01900000-0000-7000-8000-000000000002",
            "event": { "type": "telemetry_dropped", "events": events },
        })
    }

    fn read(events: &[Value]) -> Decoded {
        batch(json!({ "events": events }).to_string().as_bytes(), TERMS).expect("a batch")
    }

    #[test]
    fn bad_events_are_named_and_good_ones_are_kept() {
        let mut unknown = dropped(1);
        unknown["event"]["type"] = json!("from_the_future");
        let decoded = read(&[dropped(1), json!(7), unknown, dropped(2)]);
        assert_eq!(decoded.events.len(), 2);
        let positions: Vec<usize> = decoded.rejected.iter().map(|rejected| rejected.index).collect();
        assert_eq!(positions, [1, 2]);
        assert!(
            decoded.rejected[1].detail.contains("from_the_future"),
            "{:?}",
            decoded.rejected
        );
    }

    #[test]
    fn a_newer_clients_extra_fields_are_ignored() {
        let mut newer = dropped(1);
        newer["schema"] = json!(9);
        newer["added"] = json!({});
        newer["event"]["added"] = json!([1]);
        assert_eq!(read(&[newer]).rejected, []);
    }

    #[test]
    fn a_clock_that_is_ahead_becomes_the_time_of_arrival_and_names_of_people_are_not_kept() {
        let mut ahead = dropped(1);
        ahead["at_ms"] = json!(NOW + 3_600_000);
        let mut glass = dropped(1);
        glass["event"] =
            json!({ "type": "break_glass", "merge_request": 7, "user": "alice", "note": 1, "head_sha": "0a" });
        let decoded = read(&[ahead, glass]);
        assert_eq!(decoded.events[0].at_ms, NOW);
        assert_eq!(decoded.skewed, [decoded.events[0].id]);
        assert!(!format!("{:?}", decoded.events).contains("alice"));
    }

    #[test]
    fn faults_are_short_whatever_was_sent() {
        let mut long = dropped(1);
        long["event"]["type"] = json!("ü".repeat(10_000));
        assert!(read(&[long]).rejected[0].detail.chars().count() <= MAX_DETAIL + 1);
    }

    #[test]
    fn what_is_no_batch_is_refused_as_a_whole() {
        for body in ["", "[]", "{}", "{\"events\":{}}", "{\"events\":[]} x"] {
            assert_eq!(
                batch(body.as_bytes(), TERMS).expect_err("no batch").status,
                400,
                "{body}"
            );
        }
        let many = json!({ "events": vec![0; MAX_BATCH_EVENTS + 1] }).to_string();
        assert_eq!(batch(many.as_bytes(), TERMS).expect_err("too many").status, 413);
        assert_eq!(read(&[]), Decoded::default());
    }
}
