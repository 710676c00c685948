//! A request of the runtime while it is in flight.

use std::sync::{Arc, Mutex};

use conclave_resilience::classify::FailureClass;

use super::session::Session;
use crate::{breaker::BreakerPermit, lock::locked};

/// A request in flight, until it is dropped.
pub(crate) struct InFlightRequest {
    pub(crate) session: Arc<Session>,
    number: u64,
    /// The permit of the call whose answer is passing through.
    permit: Mutex<Option<BreakerPermit>>,
}

impl InFlightRequest {
    pub(crate) fn begin(session: Arc<Session>) -> Self {
        Self {
            number: session.request_began(),
            session,
            permit: Mutex::default(),
        }
    }

    /// An answer has begun. If its end is never reported, it says nothing about the provider.
    pub(crate) fn keep(&self, permit: BreakerPermit) {
        *locked(&self.permit) = Some(permit);
    }

    /// The answer came to its end.
    pub(crate) fn completed(&self) {
        if let Some(permit) = locked(&self.permit).take() {
            permit.succeeded();
        }
        self.session.completed();
    }

    /// The answer broke off. Returns how many in a row that makes for the session.
    pub(crate) fn cut(&self, class: FailureClass) -> u32 {
        if let Some(permit) = locked(&self.permit).take() {
            permit.failed(class);
        }
        self.session.cut()
    }

    /// Notes progress.
    pub(crate) fn touch(&self) {
        self.session.request_progressed(self.number);
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.session.request_ended(self.number);
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
