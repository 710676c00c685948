//! The circuits of all models, and the permit for a call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use conclave_resilience::{
    breaker::{BreakerSettings, Breakers, Change, Circuit, Outcome, Ticket},
    classify::FailureClass,
};
use conclave_shared::model::ModelId;
use tokio::sync::watch;

use crate::{
    clock::now,
    event::{Events, GatewayEvent},
    lock::locked,
};

/// The circuits of all models.
pub(crate) struct Circuits {
    breakers: Mutex<Breakers<ModelId>>,
    /// Counts the changes, for calls that wait for one.
    changes: watch::Sender<u64>,
    events: Arc<Events>,
    /// The times until which calls are known to wait, by the model that they ask for.
    waiting: Mutex<HashMap<ModelId, Instant>>,
}

impl Circuits {
    pub(crate) fn new(settings: BreakerSettings, events: Arc<Events>) -> Self {
        Self {
            breakers: Mutex::new(Breakers::new(settings)),
            changes: watch::Sender::new(0),
            events,
            waiting: Mutex::default(),
        }
    }

    /// The breakers as they stand.
    pub(crate) fn breakers(&self) -> MutexGuard<'_, Breakers<ModelId>> {
        locked(&self.breakers)
    }

    /// The permit to call this model, or nothing if its circuit is open.
    pub(crate) fn enter(self: &Arc<Self>, model: &ModelId) -> Option<BreakerPermit> {
        let (admission, change) = self.breakers().admit(model, now());
        if let Some(change) = change {
            self.record(model, change);
        }
        admission.ok().map(|ticket| BreakerPermit {
            circuits: Arc::clone(self),
            model: model.clone(),
            ticket: Some(ticket),
        })
    }

    /// Returns whether all calls of this model are let through.
    pub(crate) fn is_closed(&self, model: &ModelId) -> bool {
        self.breakers().circuit(model) == Circuit::Closed
    }

    /// Records that calls for this model wait until then. Seven reviewers need not say it seven times.
    pub(crate) fn record_waiting(&self, model: &ModelId, until: Instant, now: Instant) {
        if locked(&self.waiting).insert(model.clone(), until) != Some(until) {
            self.events.record(GatewayEvent::Waiting {
                model: model.clone(),
                wait: until.saturating_duration_since(now),
            });
        }
    }

    /// Notifies of each change from now on, whichever circuit it is.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn record(&self, model: &ModelId, change: Change) {
        self.events.record(GatewayEvent::CircuitChanged {
            model: model.clone(),
            change,
        });
    }

    fn report(&self, model: &ModelId, ticket: Ticket, outcome: Outcome) {
        let change = self.breakers().report(model, ticket, outcome, now());
        if let Some(change) = change {
            self.record(model, change);
        }
        // Also when nothing seems to have changed: a probe that was given up leaves its place to another call.
        self.changes.send_modify(|count| *count += 1);
    }
}

/// The permit for one call. Dropped without a report it says nothing about the provider, so that a caller that goes away
/// leaves no circuit waiting for a probe that never ends.
pub(crate) struct BreakerPermit {
    circuits: Arc<Circuits>,
    model: ModelId,
    ticket: Option<Ticket>,
}

impl BreakerPermit {
    /// The answer has begun. For a probe that is enough: the others need not wait for minutes until it has ended.
    pub(crate) fn began(&mut self) {
        if self.ticket.is_some_and(Ticket::is_probe) {
            self.report(Outcome::Success);
            // How it ends counts as that of any other call.
            if let Some(mut permit) = self.circuits.enter(&self.model) {
                self.ticket = permit.ticket.take();
            }
        }
    }

    /// The answer came to its end.
    pub(crate) fn succeeded(mut self) {
        self.report(Outcome::Success);
    }

    /// There was no answer, or it broke off.
    pub(crate) fn failed(mut self, class: FailureClass) {
        if class.is_provider_fault() {
            self.report(Outcome::Fault);
        }
    }

    fn report(&mut self, outcome: Outcome) {
        if let Some(ticket) = self.ticket.take() {
            self.circuits.report(&self.model, ticket, outcome);
        }
    }
}

impl Drop for BreakerPermit {
    fn drop(&mut self) {
        self.report(Outcome::Neutral);
    }
}
