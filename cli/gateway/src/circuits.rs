//! The circuits of all models, and the right to a call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use conclave_resilience::{
    breaker::{Admission, BreakerSettings, Breakers, Change, Circuit, NextProbe, Outcome, Ticket},
    classify::FailureClass,
};
use conclave_shared::model::ModelId;
use tokio::sync::watch;

use crate::{
    event::{Events, GatewayEvent},
    sessions::now,
};

/// The circuits of all models. Clones are the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Circuits(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    breakers: Mutex<Breakers<ModelId>>,
    /// Counts the changes, for those who wait for one.
    changes: watch::Sender<u64>,
    events: Arc<Events>,
    /// Until when calls are known to wait, by the model that they ask for.
    waiting: Mutex<HashMap<ModelId, Instant>>,
}

impl Shared {
    fn breakers(&self) -> MutexGuard<'_, Breakers<ModelId>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, model: &ModelId, change: Change) {
        self.events.record(GatewayEvent::CircuitChanged {
            model: model.clone(),
            change,
        });
    }
}

impl Circuits {
    pub(crate) fn new(settings: BreakerSettings, events: Arc<Events>) -> Self {
        Self(Arc::new(Shared {
            breakers: Mutex::new(Breakers::new(settings)),
            changes: watch::Sender::new(0),
            events,
            waiting: Mutex::default(),
        }))
    }

    /// Takes other settings.
    pub(crate) fn set(&self, settings: BreakerSettings) {
        self.0.breakers().set(settings);
    }

    /// The right to call this model, or nothing if its circuit is open.
    pub(crate) fn enter(&self, model: &ModelId) -> Option<Pass> {
        let (admission, change) = self.0.breakers().admit(model, now());
        if let Some(change) = change {
            self.0.tell(model, change);
        }
        match admission {
            Admission::Admitted(ticket) => Some(Pass {
                circuits: self.clone(),
                model: model.clone(),
                ticket: Some(ticket),
            }),
            Admission::Refused(_) => None,
        }
    }

    /// Whether a call of this model would be refused now.
    pub(crate) fn refuses(&self, model: &ModelId) -> bool {
        self.0.breakers().refuses(model, now())
    }

    /// Whether all calls of this model are let through.
    pub(crate) fn is_closed(&self, model: &ModelId) -> bool {
        self.0.breakers().circuit(model) == Circuit::Closed
    }

    /// When one of these models may be tried; nothing if not one of them is left alone.
    pub(crate) fn next_probe<'m>(
        &self,
        models: impl IntoIterator<Item = &'m ModelId>,
        now: Instant,
    ) -> Option<NextProbe> {
        self.0.breakers().next_probe(models, now)
    }

    /// Tells that calls for this model wait until then. Seven reviewers need not say it seven times.
    pub(crate) fn tell_of_waiting(&self, model: &ModelId, until: Instant, now: Instant) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.insert(model.clone(), until) != Some(until) {
            drop(waiting);
            self.0.events.record(GatewayEvent::Waiting {
                model: model.clone(),
                wait: until.saturating_duration_since(now),
            });
        }
    }

    /// Tells of each change from now on, whichever circuit it is.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    fn report(&self, model: &ModelId, ticket: Ticket, outcome: Outcome) {
        let change = self.0.breakers().report(model, ticket, outcome, now());
        if let Some(change) = change {
            self.0.tell(model, change);
        }
        // Also when nothing seems to have changed: a probe that was given up leaves its place to somebody else.
        self.0.changes.send_modify(|count| *count += 1);
    }
}

/// The right to one call. Dropped without a word it says nothing about the provider, so that a caller who goes away
/// leaves no circuit waiting for a probe that never ends.
#[derive(Debug)]
pub(crate) struct Pass {
    circuits: Circuits,
    model: ModelId,
    ticket: Option<Ticket>,
}

impl Pass {
    /// The answer has begun. For a probe that is enough: the others need not wait for minutes until it has ended.
    pub(crate) fn began(&mut self) {
        if self.ticket.is_some_and(Ticket::is_probe) {
            self.tell(Outcome::Success);
            // How it ends counts as that of any other call.
            if let Some(mut pass) = self.circuits.enter(&self.model) {
                self.ticket = pass.ticket.take();
            }
        }
    }

    /// The answer came to its end.
    pub(crate) fn succeeded(mut self) {
        self.tell(Outcome::Success);
    }

    /// There was no answer, or it broke off.
    pub(crate) fn failed(mut self, class: FailureClass) {
        if class.is_provider_fault() {
            self.tell(Outcome::Fault);
        }
    }

    fn tell(&mut self, outcome: Outcome) {
        if let Some(ticket) = self.ticket.take() {
            self.circuits.report(&self.model, ticket, outcome);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.tell(Outcome::Neutral);
    }
}
