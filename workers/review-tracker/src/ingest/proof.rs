//! Which events of a batch are taken from its caller, and which outcomes are proved to come from their project.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::telemetry::{Event, EventBody, RejectedEvent};
use uuid::Uuid;

use super::decode::Decoded;
use crate::{caller::Caller, texts};

impl Decoded {
    /// Returns whether it matters of which project the caller is a job: for events that it may not send otherwise, for outcomes without
    /// a signature, and for a batch of nothing, which asks about the caller.
    pub(crate) fn needs_proof(&self, caller: &Caller) -> bool {
        let needs = |(event, place): (&Event, &usize)| {
            !caller.may_speak_for(&event.project)
                || (matches!(event.event, EventBody::FindingOutcome(_)) && !self.signed.contains(place))
        };
        (self.events.is_empty() && self.rejected.is_empty()) || self.events.iter().zip(&self.places).any(needs)
    }

    /// Refuses events of projects that the caller may not speak for, one by one.
    pub(crate) fn keep_allowed(&mut self, caller: &Caller) {
        self.refuse(|project| (!caller.may_speak_for(project)).then(|| texts::other_project(project)));
    }

    /// Refuses events of projects for which there is a reason.
    pub(crate) fn refuse(&mut self, reason: impl Fn(&str) -> Option<String>) {
        let events = std::mem::take(&mut self.events);
        let places = std::mem::take(&mut self.places);
        for (event, index) in events.into_iter().zip(places) {
            if let Some(detail) = reason(&event.project) {
                self.rejected.push(RejectedEvent { index, detail });
            } else {
                self.events.push(event);
                self.places.push(index);
            }
        }
        self.rejected.sort_by_key(|rejected| rejected.index);
    }

    /// The projects of what is taken.
    pub(crate) fn projects(&self) -> BTreeSet<String> {
        self.events.iter().map(|event| event.project.clone()).collect()
    }

    /// Outcomes that are proved: by the job's own token, or by their signature. Says how many are not. Signatures are not stored.
    pub(crate) fn prove(&mut self, caller: &Caller) -> (Vec<Uuid>, u64) {
        let mut times: BTreeMap<Uuid, usize> = BTreeMap::new();
        for event in &self.events {
            *times.entry(event.id).or_default() += 1;
        }
        let mut proven = Vec::new();
        let mut unproven = 0;
        for (event, place) in self.events.iter_mut().zip(&self.places) {
            let EventBody::FindingOutcome(outcome) = &mut event.event else {
                continue;
            };
            outcome.proof = None;
            // Of two events with one id only one is stored: which of them would be proved?
            let is_alone = times.get(&event.id) == Some(&1);
            if is_alone && (caller.has_proved(&event.project) || self.signed.contains(place)) {
                proven.push(event.id);
            } else {
                unproven += 1;
            }
        }
        (proven, unproven)
    }
}
