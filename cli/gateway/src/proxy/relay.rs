//! Handing an answer on to the runtime.

use std::{io, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
};
use bytes::Bytes;
use conclave_resilience::classify::FailureClass;
use futures_util::stream;

use super::{
    answer::{Answer, End},
    attempt::Opened,
    core::Core,
};
use crate::{errors::Rejection, event::GatewayEvent};

/// The response that streams this answer.
pub(crate) fn response(core: Arc<Core>, opened: Opened) -> Response<Body> {
    let relay = Relay {
        core,
        answer: opened.answer,
        ready: Some(opened.held).filter(|held| !held.is_empty()),
        begun: false,
        end: opened.end,
        over: false,
    };
    let body = Body::from_stream(stream::unfold(relay, |mut relay| async move {
        let item = relay.next().await?;
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

struct Relay {
    core: Arc<Core>,
    answer: Answer,
    ready: Option<Bytes>,
    /// Something was sent.
    begun: bool,
    end: Option<End>,
    over: bool,
}

impl Relay {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
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
                    return None;
                }
                Some(End::Broken(class)) => return self.broken(class).await,
                None => self.read().await,
            }
        }
    }

    async fn read(&mut self) {
        let idle = self.core.limits().idle;
        let piece = tokio::select! {
            piece = self.answer.next(idle) => piece,
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
    async fn broken(&mut self, class: FailureClass) -> Option<io::Result<Bytes>> {
        self.over = true;
        let dropped = || io::Error::new(io::ErrorKind::ConnectionAborted, "the answer broke off");
        // Gives the server a chance to send what it has before it drops the connection.
        tokio::task::yield_now().await;
        if self.core.killed.is_cancelled() {
            return Some(Err(dropped()));
        }
        let session = &self.answer.request().session;
        let model = self.answer.model().clone();
        self.core.events.record(GatewayEvent::StreamCut {
            session: session.id.clone(),
            model: model.clone(),
            reason: class,
        });
        if self.answer.request().cut(class) <= self.core.limits().cuts {
            return Some(Err(dropped()));
        }
        // Without another model to ask, what there is of a text is worth more than an error.
        let is_last = session.models().last().is_none_or(|last| *last == model);
        if let Some(end) = self.answer.shortened_end().filter(|_| is_last) {
            self.core.events.record(GatewayEvent::Shortened {
                session: session.id.clone(),
                model,
            });
            return Some(Ok(end.into()));
        }
        let reason = Rejection::NoHealthyModel;
        self.core.events.record(GatewayEvent::Rejected {
            session: Some(session.id.clone()),
            model: Some(model),
            reason,
        });
        let wire = self.answer.wire();
        let opening = if self.begun { "" } else { wire.opening() };
        Some(Ok(format!("{opening}{}", wire.error_frame(reason.marker())).into()))
    }
}
