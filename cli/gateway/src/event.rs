//! What the gateway did on its own, for the review's account of itself.

use std::sync::{Mutex, PoisonError};

use conclave_engine::ports::SessionId;
use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_shared::model::ModelId;

use crate::rejection::Rejection;

/// One thing that the gateway did on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayEvent {
    /// A call failed before its answer began and was repeated.
    Retried {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// What went wrong.
        fault: ProviderFault,
        /// How often it has failed.
        failed: u32,
    },
    /// Another model of the same provider took over.
    FailedBack {
        /// Whose call.
        session: SessionId,
        /// The model that failed.
        from: ModelId,
        /// The model that took over.
        to: ModelId,
        /// Why.
        reason: FailureClass,
    },
    /// An answer broke off after it had begun.
    StreamCut {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// Why.
        reason: FailureClass,
    },
    /// An answer that broke off was handed on as one that reached its limit, because no other model is left.
    Shortened {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
    },
    /// A model was asked whose price is not known: its calls count as free.
    Unpriced {
        /// The model.
        model: ModelId,
        /// How often it was asked.
        calls: u64,
    },
    /// Answers broke off before their provider had said what they use: those tokens are not in the books.
    Uncounted {
        /// The model.
        model: ModelId,
        /// How many answers.
        answers: u64,
    },
    /// Events came of a kind that is not known. They were passed on.
    UnknownEvents {
        /// The model.
        model: ModelId,
        /// How many events.
        events: u64,
    },
    /// A replayed run asked for something that was not recorded.
    NotRecorded {
        /// Whose call.
        session: SessionId,
        /// The model.
        model: ModelId,
        /// What differs.
        difference: String,
    },
    /// The recording could not be written.
    RecordingFailed {
        /// Why.
        problem: String,
    },
    /// A call was refused for good.
    Rejected {
        /// Whose call, if it said so.
        session: Option<SessionId>,
        /// The model that was asked for, if the call got that far.
        model: Option<ModelId>,
        /// Why.
        reason: Rejection,
    },
}

/// The most events that are kept. A run has dozens.
const MOST_EVENTS: usize = 10_000;

/// The events so far.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<GatewayEvent>>);

impl Events {
    pub(crate) fn record(&self, event: GatewayEvent) {
        match &event {
            GatewayEvent::Retried {
                session,
                model,
                fault,
                failed,
            } => tracing::info!(%session, %model, %fault, failed, "model call repeated"),
            GatewayEvent::FailedBack {
                session,
                from,
                to,
                reason,
            } => tracing::warn!(%session, %from, %to, %reason, "another model takes over"),
            GatewayEvent::StreamCut { session, model, reason } => {
                tracing::warn!(%session, %model, %reason, "answer broke off");
            }
            GatewayEvent::Shortened { session, model } => {
                tracing::warn!(%session, %model, "the answer that broke off was shortened");
            }
            GatewayEvent::NotRecorded {
                session,
                model,
                difference,
            } => tracing::warn!(%session, %model, difference, "not in the recording"),
            GatewayEvent::Unpriced { .. }
            | GatewayEvent::Uncounted { .. }
            | GatewayEvent::UnknownEvents { .. }
            | GatewayEvent::RecordingFailed { .. } => {}
            GatewayEvent::Rejected { session, model, reason } => tracing::warn!(
                session = session.as_ref().map(|session| session.0.as_str()),
                model = model.as_ref().map(ModelId::as_str),
                reason = reason.marker(),
                "model call refused"
            ),
        }
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MOST_EVENTS {
            events.push(event);
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<GatewayEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
