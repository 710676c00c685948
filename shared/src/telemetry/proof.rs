//! Proof that an outcome comes from the installation itself.
//!
//! Outcomes teach a repository's memory, and the memory changes reviews. An ingest token alone proves nothing about a project,
//! so a client signs each outcome with the installation's secret. The code covers every field that is stored, the event's id
//! included: a copy with another project or merge request does not fit, and a repeated event counts once by its id.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Event, EventBody, FindingOutcome};

/// Comes before the code, so that a later way to make it can be recognized.
const VERSION: &str = "1:";
/// The purpose of the secret here and nowhere else.
const PURPOSE: &[u8] = b"conclave finding outcome 1\0";

impl Event {
    /// Signs an outcome with the installation's secret; other events stay as they are. What changes afterwards voids the
    /// signature.
    pub fn sign(&mut self, secret: &[u8]) {
        let code = match &self.event {
            EventBody::FindingOutcome(outcome) => self.mac(outcome, secret),
            _ => None,
        };
        if let (EventBody::FindingOutcome(outcome), Some(code)) = (&mut self.event, code) {
            outcome.proof = Some(format!("{VERSION}{}", hex::encode(code.finalize().into_bytes())));
        }
    }

    /// Returns whether this is an outcome that was signed with `secret`. Compared in constant time.
    pub fn is_signed_with(&self, secret: &[u8]) -> bool {
        let EventBody::FindingOutcome(outcome) = &self.event else {
            return false;
        };
        let code = outcome.proof.as_deref().and_then(|proof| proof.strip_prefix(VERSION));
        let code = code.and_then(|code| hex::decode(code).ok());
        match (code, self.mac(outcome, secret)) {
            (Some(code), Some(mac)) => !secret.trim_ascii().is_empty() && mac.verify_slice(&code).is_ok(),
            _ => false,
        }
    }

    /// The code before it is finished. Each field stands behind its length, so that no two events have the same text.
    fn mac(&self, outcome: &FindingOutcome, secret: &[u8]) -> Option<Hmac<Sha256>> {
        // HMAC takes keys of every length, so this is never `None`. A line's end that came with a secret is not part of it.
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.trim_ascii()).ok()?;
        mac.update(PURPOSE);
        let mut field = |value: Option<&[u8]>| {
            mac.update(&[u8::from(value.is_some())]);
            let value = value.unwrap_or_default();
            mac.update(&(value.len() as u64).to_be_bytes());
            mac.update(value);
        };
        field(Some(self.id.as_bytes()));
        field(Some(self.run_id.as_bytes()));
        field(Some(&self.at_ms.to_be_bytes()));
        field(Some(self.project.as_bytes()));
        field(
            outcome
                .merge_request
                .map(u64::to_be_bytes)
                .as_ref()
                .map(<[u8; 8]>::as_slice),
        );
        for text in [
            &outcome.reviewer,
            outcome.severity.as_str(),
            &outcome.category,
            &outcome.path,
            &outcome.fingerprint,
            outcome.outcome.as_str(),
        ] {
            field(Some(text.as_bytes()));
        }
        field(outcome.claim.as_deref().map(str::as_bytes));
        field(outcome.settled_by.map(|by| by.as_str().as_bytes()));
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        severity::Severity,
        telemetry::{SCHEMA_VERSION, SettledBy, Settlement, TelemetryDropped},
    };

    const SECRET: &[u8] = b"secret of the installation";

    fn event() -> Event {
        Event {
            id: Uuid::from_u128(1),
            schema: SCHEMA_VERSION,
            at_ms: 5,
            run_id: Uuid::from_u128(2),
            project: "group/project".to_owned(),
            event: EventBody::FindingOutcome(FindingOutcome {
                reviewer: "security".to_owned(),
                severity: Severity::Warning,
                category: "sql-injection".to_owned(),
                path: "src/a.py".to_owned(),
                fingerprint: "f1".to_owned(),
                claim: Some("c1".to_owned()),
                outcome: Settlement::Rejected,
                merge_request: Some(7),
                settled_by: Some(SettledBy::Member),
                proof: None,
            }),
        }
    }

    fn outcome(event: &mut Event) -> &mut FindingOutcome {
        match &mut event.event {
            EventBody::FindingOutcome(outcome) => outcome,
            _ => panic!("an outcome"),
        }
    }

    #[test]
    fn a_signed_outcome_is_known_by_the_secret_alone() {
        let mut signed = event();
        assert!(!signed.is_signed_with(SECRET));
        signed.sign(SECRET);
        assert!(signed.is_signed_with(SECRET));
        for wrong in [&b"another"[..], b"", b"secret of the installatio"] {
            assert!(!signed.is_signed_with(wrong));
        }
        let json = serde_json::to_string(&signed).expect("JSON");
        let back: Event = serde_json::from_str(&json).expect("an event");
        assert!(back.is_signed_with(SECRET), "it survives the wire");
        let mut empty = event();
        empty.sign(b"");
        assert!(!empty.is_signed_with(b""), "no secret proves nothing");
    }

    #[test]
    fn every_changed_field_voids_the_signature() {
        let edits: [fn(&mut Event); 13] = [
            |event| event.id = Uuid::from_u128(9),
            |event| event.run_id = Uuid::from_u128(9),
            |event| event.at_ms += 1,
            |event| event.project = "group/other".to_owned(),
            |event| outcome(event).merge_request = Some(8),
            |event| outcome(event).merge_request = None,
            |event| outcome(event).reviewer = "performance".to_owned(),
            |event| outcome(event).severity = Severity::Critical,
            |event| outcome(event).category = "naming".to_owned(),
            |event| outcome(event).fingerprint = "f2".to_owned(),
            |event| outcome(event).claim = None,
            |event| outcome(event).outcome = Settlement::Fixed,
            |event| outcome(event).settled_by = Some(SettledBy::Author),
        ];
        for (index, edit) in edits.into_iter().enumerate() {
            let mut changed = event();
            changed.sign(SECRET);
            edit(&mut changed);
            assert!(!changed.is_signed_with(SECRET), "change {index}");
        }
        let mut moved = event();
        moved.sign(SECRET);
        outcome(&mut moved).category = "sql-injections".to_owned();
        outcome(&mut moved).path = "rc/a.py".to_owned();
        assert!(!moved.is_signed_with(SECRET), "fields have their borders");
    }

    #[test]
    fn odd_proofs_and_other_events_prove_nothing() {
        let mut signed = event();
        signed.sign(SECRET);
        let proof = outcome(&mut signed).proof.clone().expect("a proof");
        for odd in [
            "",
            "1:",
            "2:00",
            proof.trim_start_matches("1:"),
            &format!("{proof}00"),
            &proof[..proof.len() - 2],
        ] {
            outcome(&mut signed).proof = Some(odd.to_owned());
            assert!(!signed.is_signed_with(SECRET), "{odd}");
        }
        let mut other = event();
        other.event = EventBody::TelemetryDropped(TelemetryDropped { events: 1 });
        other.sign(SECRET);
        assert!(!other.is_signed_with(SECRET));
    }

    #[test]
    fn who_settled_it_may_be_somebody_of_a_later_version() {
        let by: SettledBy = serde_json::from_str("\"of_tomorrow\"").expect("unknown kinds are taken");
        assert_eq!(by, SettledBy::Unknown);
    }
}
