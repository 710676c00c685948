//! One call of the runtime: which models are asked for it, how often, and in which order.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, Response},
};
use bytes::Bytes;
use conclave_resilience::{classify::FailureClass, deadline::Deadline, failback::stand_ins};
use conclave_shared::model::ModelId;

use crate::{
    attempt::{Attempt, Failure, Opened},
    core::Core,
    event::GatewayEvent,
    rejection::Rejection,
    relay,
    sessions::{Flight, now},
    upstream::Provider,
};

/// One call of the runtime that was let in.
pub(crate) struct Exchange<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) provider: &'a Provider,
    pub(crate) flight: Arc<Flight>,
    /// The model that the runtime asks for.
    pub(crate) asked: ModelId,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Exchange<'_> {
    /// Finds a model that answers.
    pub(crate) async fn run(&self) -> Result<Response<Body>, Rejection> {
        let deadline = Deadline::after(now(), self.core.limits.hold);
        let session = &self.flight.session;
        let chain = session.models();
        let mut model = session.stand_in(&self.asked).unwrap_or_else(|| self.asked.clone());
        loop {
            let class = match self.ask(&model, deadline).await? {
                Ok(opened) => {
                    session.keep_stand_in(&self.asked, &model, self.core.limits.stand_in);
                    return Ok(relay::response(Arc::clone(self.core), opened));
                }
                Err(class) => class,
            };
            match class {
                FailureClass::Auth => return Err(Rejection::CredentialsRejected),
                FailureClass::QuotaExhausted => return Err(Rejection::NoHealthyModel),
                FailureClass::ContextOverflow => return Err(Rejection::PromptTooLong),
                // What a stand-in does not like about the request may be what was written for another model.
                FailureClass::BadRequest if model == self.asked => return Err(Rejection::RequestRejected),
                FailureClass::BadRequest | FailureClass::ModelUnavailable | FailureClass::Retryable(_) => {}
            }
            let next = stand_ins(&chain, &model, |model| model.provider().to_owned()).next();
            let Some(next) = next.filter(|_| !deadline.passed(now())) else {
                // The next call begins with the assigned model again.
                session.forget_stand_in(&self.asked);
                return Err(Rejection::NoHealthyModel);
            };
            self.flight.touch();
            self.core.events.record(GatewayEvent::FailedBack {
                session: session.id.clone(),
                from: model,
                to: next.clone(),
                reason: class,
            });
            model = next.clone();
        }
    }

    /// Asks one model, again if it makes sense.
    async fn ask(&self, model: &ModelId, deadline: Deadline) -> Result<Result<Opened, FailureClass>, Rejection> {
        let mut failed = 0;
        loop {
            if self.core.is_spent() {
                return Err(Rejection::BudgetSpent);
            }
            let failure = tokio::select! {
                attempt = self.attempt(model, deadline) => match attempt {
                    Ok(opened) => return Ok(Ok(opened)),
                    Err(failure) => failure,
                },
                () = self.core.killed.cancelled() => return Err(Rejection::ShuttingDown),
            };
            self.flight.touch();
            if failure.unrecorded {
                return Err(Rejection::NotRecorded);
            }
            let FailureClass::Retryable(fault) = failure.class else {
                return Ok(Err(failure.class));
            };
            failed += 1;
            let wait = self
                .core
                .limits
                .retry
                .next_wait(failed, fault, failure.asked, random_fraction());
            let Some(wait) = wait.filter(|wait| deadline.allows(now(), *wait)) else {
                return Ok(Err(failure.class));
            };
            self.core.events.record(GatewayEvent::Retried {
                session: self.flight.session.id.clone(),
                model: model.clone(),
                fault,
                failed,
            });
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.core.closing.cancelled() => return Err(Rejection::ShuttingDown),
            }
            self.flight.touch();
        }
    }

    async fn attempt(&self, model: &ModelId, deadline: Deadline) -> Result<Opened, Failure> {
        let attempt = Attempt {
            provider: self.provider,
            flight: &self.flight,
            asked: &self.asked,
            model,
            headers: &self.headers,
            body: &self.body,
        };
        attempt.make(self.core, deadline).await
    }
}

/// A number from 0 to 1. Without randomness all sessions would wait equally long, which is no reason to fail.
fn random_fraction() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
