//! The exchange for a call: asks models, in their order, until one answers.

use std::time::{Duration, Instant};

use conclave_resilience::{
    breaker::NextProbe,
    classify::{Concession, FailureClass, ProviderFault},
    fallback::fallbacks,
};
use conclave_shared::model::ModelId;

use super::{
    attempt::{Attempt, Opened},
    call::Call,
};
use crate::{
    accounting::Reservation,
    clock::now,
    errors::{CallFailure, Rejection, shown_address},
    event::{FallbackReason, GatewayEvent},
    lock::locked,
};

/// Interval at which a call that waits for a probe shows that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

impl Call<'_> {
    /// Finds a model that answers.
    pub(crate) async fn run(&self) -> Result<Opened, Rejection> {
        let began = now();
        let session = &self.request.session;
        let chain = session.models();
        let mut model = session.fallback(&self.asked).unwrap_or_else(|| self.asked.clone());
        loop {
            let reason = match self.ask(&model, began).await? {
                Ok(opened) => {
                    session.keep_fallback(&self.asked, &model, self.core.limits().keep_fallback);
                    return Ok(opened);
                }
                Err(reason) => reason,
            };
            if let FallbackReason::Failed(class) = reason {
                self.check_that_another_model_helps(&model, class)?;
            }
            let next = fallbacks(&chain, &model, ModelId::provider).next();
            let Some(next) = next.filter(|_| !self.core.hold(began).passed(now())) else {
                // The next call begins with the assigned model again.
                session.forget_fallback(&self.asked);
                self.wait_for_a_chance(&chain, began).await?;
                model = self.asked.clone();
                continue;
            };
            self.request.touch();
            self.core.events.record(GatewayEvent::FallbackUsed {
                session: session.id.clone(),
                reviewer: session.reviewer(),
                from: model,
                to: next.clone(),
                reason,
            });
            model = next.clone();
        }
    }

    fn check_that_another_model_helps(&self, model: &ModelId, class: FailureClass) -> Result<(), Rejection> {
        match class {
            FailureClass::Auth => Err(Rejection::CredentialsRejected),
            FailureClass::QuotaExhausted => Err(Rejection::NoHealthyModel),
            FailureClass::ContextOverflow => Err(Rejection::PromptTooLong),
            // What a fallback model refuses in the request may be what was written for another model.
            FailureClass::BadRequest if *model == self.asked => Err(Rejection::RequestRejected),
            FailureClass::BadRequest | FailureClass::ModelUnavailable | FailureClass::Retryable(_) => Ok(()),
        }
    }

    /// Asks one model, again if it makes sense, and as long as its circuit lets calls through.
    async fn ask(&self, model: &ModelId, mut began: Instant) -> Result<Result<Opened, FallbackReason>, Rejection> {
        let session = &self.request.session;
        let mut failed = 0;
        let mut last = FallbackReason::CircuitOpen;
        // The concessions that are made for this call, and the words in which the model has refused it.
        let mut made: Vec<(Concession, String)> = Vec::new();
        loop {
            if self.core.circuits.breakers().refuses(model, now()) {
                return Ok(Err(last));
            }
            let mut concessions = self.core.concessions.of(model);
            concessions.extend(made.iter().map(|(concession, _)| *concession));
            let attempt = Attempt {
                call: self,
                model,
                concessions,
            };
            // A call may have to wait for its turn. What is found out meanwhile counts for it too.
            let ready = self.unless_called_off(attempt.prepare()).await?;
            let before = now();
            let reservation = self
                .unless_called_off(self.room(model, ready.request_bytes()))
                .await??;
            // It is not the model that took this time.
            began += now().saturating_duration_since(before);
            let Some(mut permit) = self.core.circuits.enter(model) else {
                return Ok(Err(last));
            };
            let mut entry = self
                .core
                .accounting
                .begin(&session.id, session.reviewer(), &self.asked, model)?;
            entry.keep(reservation);
            let making = attempt.make(ready, entry, began);
            let failure = match self.unless_called_off(making).await? {
                Ok(opened) => {
                    permit.began();
                    self.request.keep(permit);
                    self.answered_with(model, made);
                    return Ok(Ok(opened));
                }
                Err(failure) => failure,
            };
            locked(&self.refusal).clone_from(&failure.refusal);
            self.request.touch();
            if failure.unrecorded {
                return Err(Rejection::NotRecorded);
            }
            // A model that ran out of our time has not shown that it takes too long.
            let took_long = matches!(
                failure.class,
                FailureClass::Retryable(ProviderFault::Timeout | ProviderFault::Stalled)
            );
            if !took_long || !self.core.hold(began).passed(now()) {
                permit.failed(failure.class);
            }
            session.failed(failure.class, self.words_of(&failure));
            last = FallbackReason::Failed(failure.class);
            let FailureClass::Retryable(fault) = failure.class else {
                if let Some(concession) = self.next_concession(&attempt, &failure) {
                    made.push((concession, failure.said));
                    continue;
                }
                self.refused_with(model, &made, failure.class);
                return Ok(Err(last));
            };
            failed += 1;
            let wait = self.core.limits().retry.next_wait_within(
                self.core.hold(began).left(now()),
                failed,
                fault,
                failure.retry_after,
                random_fraction(),
            );
            let Some(wait) = wait.filter(|_| self.core.circuits.is_closed(model)) else {
                return Ok(Err(last));
            };
            self.core.events.record(GatewayEvent::Retried {
                session: session.id.clone(),
                model: model.clone(),
                fault,
                failed,
            });
            let waiting = session.wait_until(now() + wait);
            self.unless_called_off(self.rest(wait)).await?;
            drop(waiting);
            self.request.touch();
        }
    }

    /// The provider's words about a failure. That a model is not there may be due to the address.
    fn words_of(&self, failure: &CallFailure) -> String {
        let words = failure.words();
        if failure.class != FailureClass::ModelUnavailable || words.is_empty() {
            return words;
        }
        format!("{words}, at {}", shown_address(&self.provider.endpoint))
    }

    /// The change with which a refused call is made once more.
    fn next_concession(&self, attempt: &Attempt<'_>, failure: &CallFailure) -> Option<Concession> {
        let known = &self.core.concessions;
        let mut suggested = failure.concessions.iter().copied();
        suggested.find(|concession| known.may_help(attempt.model, *concession) && attempt.changes_with(*concession))
    }

    /// Notes that a model has refused a call in spite of the concessions that were made for it.
    fn refused_with(&self, model: &ModelId, made: &[(Concession, String)], class: FailureClass) {
        if class == FailureClass::BadRequest {
            for (concession, _) in made {
                self.core.concessions.tried(model, *concession, false);
            }
        }
    }

    /// Notes that a model has answered with the concessions that were made for a call.
    fn answered_with(&self, model: &ModelId, made: Vec<(Concession, String)>) {
        for (concession, said) in made {
            if self.core.concessions.tried(model, concession, true) {
                self.core.events.record(GatewayEvent::ConcessionMade {
                    model: model.clone(),
                    concession,
                    effort: self.request.session.effort(),
                    said,
                });
            }
        }
    }

    /// Waits until the budget has room for the call beside those in flight. Each of them ends, and the last one leaves it alone.
    async fn room(&self, model: &ModelId, request_bytes: usize) -> Result<Reservation, Rejection> {
        let (accounting, session) = (&self.core.accounting, &self.request.session);
        let mut released = accounting.released();
        loop {
            if let Some(reservation) = accounting.reserve(&session.id, model, request_bytes)? {
                return Ok(reservation);
            }
            tokio::select! {
                _ = released.changed() => {}
                () = self.rest(SIGN_OF_LIFE) => {}
            }
            if self.core.closing.is_cancelled() {
                return Err(Rejection::ShuttingDown);
            }
            self.request.touch();
        }
    }

    /// Waits, for as long as new calls are taken.
    async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.core.closing.cancelled() => {}
        }
    }

    /// Does something, unless the run is over or the provider is switched off meanwhile.
    async fn unless_called_off<T>(&self, work: impl Future<Output = T>) -> Result<T, Rejection> {
        tokio::select! {
            biased;
            () = self.core.killed.cancelled() => Err(Rejection::ShuttingDown),
            () = self.core.switches.off(self.asked.provider()) => Err(Rejection::SwitchedOff),
            done = work => Ok(done),
        }
    }

    /// Waits until one of the models that could answer this call may be tried: their circuits are open, and no other model
    /// is left. Where there is another provider, the session is sent there instead; and to wait for one that was never reached
    /// in this run would only delay its end.
    async fn wait_for_a_chance(&self, chain: &[ModelId], began: Instant) -> Result<(), Rejection> {
        let none = Rejection::NoHealthyModel;
        let mut behind = chain.iter().skip_while(|model| **model != self.asked);
        let elsewhere =
            |model: &ModelId| model.provider() != self.asked.provider() && !self.core.switches.is_off(model.provider());
        if behind.any(elsewhere) || self.provider.is_out_of_reach() {
            return Err(none);
        }
        let mut changes = self.core.circuits.changes();
        let family = std::iter::once(&self.asked).chain(fallbacks(chain, &self.asked, ModelId::provider));
        let not_closed: Vec<&ModelId> = family.filter(|model| !self.core.circuits.is_closed(model)).collect();
        if not_closed.is_empty() {
            return Err(none);
        }
        loop {
            if not_closed.iter().any(|model| self.core.circuits.is_closed(model)) {
                return Ok(());
            }
            let now = now();
            let deadline = self.core.hold(began);
            let next = self
                .core
                .circuits
                .breakers()
                .next_probe(not_closed.iter().copied(), now);
            let wait = match next {
                Some(NextProbe::At(at)) => at.saturating_duration_since(now),
                Some(NextProbe::InHand) | None => deadline.left(now),
            };
            if wait.is_zero() && !deadline.passed(now) {
                return Ok(());
            }
            // A chance that comes too late is none; with another call's probe under way all the time that is left counts.
            if deadline.passed(now) || wait > deadline.left(now) {
                return Err(none);
            }
            if let Some(NextProbe::At(at)) = next {
                self.core.circuits.record_waiting(&self.asked, at, now);
            }
            let _waiting = self.request.session.wait_until(now + wait);
            tokio::select! {
                done = self.unless_called_off(self.rest(wait.min(SIGN_OF_LIFE))) => done?,
                _ = changes.changed() => {}
            }
            if self.core.closing.is_cancelled() {
                return Err(Rejection::ShuttingDown);
            }
            self.request.touch();
        }
    }
}

/// A number from 0 to 1. Without randomness all sessions would wait equally long, which is no reason to fail.
fn random_fraction() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
