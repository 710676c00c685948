//! Handing an answer on to the runtime.

use std::{io, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
};
use bytes::Bytes;
use conclave_resilience::{classify::FailureClass, fallback::fallbacks};
use conclave_shared::model::ModelId;
use futures_util::stream;

use super::{
    answer::{Answer, End},
    attempt::Opened,
    core::Core,
};
use crate::{
    clock::now,
    errors::{CallFailure, Rejection},
    event::{FallbackReason, GatewayEvent},
};

/// The end of an answer that came without its terminal event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerCut {
    /// It broke off. Asking again may help.
    Dropped,
    /// It broke off once too often.
    Final(Rejection),
}

/// The response that streams this answer.
pub(crate) fn response(relay: Relay) -> Response<Body> {
    let body = Body::from_stream(stream::unfold(relay, |mut relay| async move {
        let item = match relay.next().await? {
            Ok(bytes) => Ok(bytes),
            Err(AnswerCut::Dropped) => {
                // Gives the server a chance to send what it has before it drops the connection.
                tokio::task::yield_now().await;
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the answer broke off"))
            }
            Err(AnswerCut::Final(reason)) => Ok(relay.error(reason)),
        };
        Some((item, relay))
    }));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// An answer on its way to the runtime, whole frames at a time.
pub(crate) struct Relay {
    core: Arc<Core>,
    answer: Answer,
    ready: Option<Bytes>,
    /// Something was sent.
    begun: bool,
    end: Option<End>,
    over: bool,
}

impl Relay {
    pub(crate) fn new(core: Arc<Core>, opened: Opened) -> Self {
        Self {
            core,
            answer: opened.answer,
            ready: Some(opened.held).filter(|held| !held.is_empty()),
            begun: false,
            end: opened.end,
            over: false,
        }
    }

    /// The next frames; nothing after the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, AnswerCut>> {
        loop {
            if let Some(bytes) = self.ready.take() {
                self.begun = true;
                return Some(Ok(bytes));
            }
            if self.over {
                return None;
            }
            match self.end {
                Some(End::Complete) => {
                    self.answer.request().completed();
                    self.over = true;
                    return None;
                }
                Some(End::Broken(class)) => return Some(self.broken(class)),
                None => self.read().await,
            }
        }
    }

    /// The frame that ends the stream for good.
    fn error(&self, reason: Rejection) -> Bytes {
        let wire = self.answer.wire();
        let opening = if self.begun { "" } else { wire.opening() };
        format!("{opening}{}", wire.error_frame(reason.marker())).into()
    }

    async fn read(&mut self) {
        let piece = tokio::select! {
            piece = self.answer.next(&self.core) => piece,
            () = self.core.killed.cancelled() => {
                self.end = Some(End::Broken(FailureClass::BadRequest));
                return;
            }
        };
        self.ready = Some(piece.bytes).filter(|bytes| !bytes.is_empty());
        self.end = piece.end;
    }

    /// Ends a stream that has no terminal event. Ended cleanly it would make `OpenCode` ask again for ever; dropped, it
    /// makes it ask again after a pause; and when that did not help, the final frame makes it stop.
    fn broken(&mut self, class: FailureClass) -> Result<Bytes, AnswerCut> {
        self.over = true;
        if self.core.killed.is_cancelled() {
            return Err(AnswerCut::Dropped);
        }
        let failure = CallFailure {
            said: self.answer.words_of_failure(&self.core),
            ..class.into()
        };
        let session = &self.answer.request().session;
        session.failed(class, failure.words());
        let model = self.answer.model().clone();
        self.core.events.record(GatewayEvent::StreamCut {
            session: session.id.clone(),
            model: model.clone(),
            reason: class,
        });
        let (cuts, most) = (self.answer.request().cut(class), self.core.limits().cuts);
        if cuts == most && class.is_provider_fault() {
            self.fall_back(&model, class);
        }
        if cuts <= most {
            return Err(AnswerCut::Dropped);
        }
        // Without another model to ask, what there is of a text is worth more than an error.
        let is_last = session.models().last().is_none_or(|last| *last == model);
        if let Some(end) = self.answer.shortened_end().filter(|_| is_last) {
            self.core.events.record(GatewayEvent::Shortened {
                session: session.id.clone(),
                model,
            });
            return Ok(end.into());
        }
        let reason = Rejection::NoHealthyModel;
        self.core.events.record(GatewayEvent::Rejected {
            session: Some(session.id.clone()),
            model: Some(model),
            reason,
            refusal: None,
        });
        Err(AnswerCut::Final(reason))
    }

    /// Leaves the last attempt to the next model of the same provider, if there is one: what breaks off again and again may do so
    /// for ever, and the runtime that asks again does not know of other models.
    fn fall_back(&self, model: &ModelId, class: FailureClass) {
        let (core, session) = (&self.core, &self.answer.request().session);
        let chain = session.models();
        let mut later = fallbacks(&chain, model, ModelId::provider);
        let Some(next) = later.find(|next| !core.circuits.breakers().refuses(next, now())) else {
            return;
        };
        session.keep_fallback(self.answer.asked(), next, core.limits().keep_fallback);
        core.events.record(GatewayEvent::FallbackUsed {
            session: session.id.clone(),
            reviewer: session.reviewer(),
            from: model.clone(),
            to: next.clone(),
            reason: FallbackReason::Failed(class),
        });
    }
}
