//! One call of one model, up to the first content of its answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use bytes::{Bytes, BytesMut};
use conclave_engine::ports::CallOutcome;
use conclave_resilience::{
    classify::{FailureClass, ProviderFault, classify},
    deadline::Deadline,
    retry::retry_after,
};
use conclave_shared::model::ModelId;
use reqwest::{Response, StatusCode, header};
use tokio::time::timeout;

use super::{
    answer::{Answer, AnswerBody, End},
    core::Core,
    in_flight::InFlightRequest,
};
use crate::{
    accounting::UsageEntry,
    cache::{Canonical, Turn, canonical},
    clock::now,
    errors::CallFailure,
    event::GatewayEvent,
    provider::Provider,
    recording::{CallRecording, CallSource},
    wire::Adaptation,
};

/// Maximum length of what is held back of an answer for a silent change of the model; more than that is forwarded.
const MAX_HELD: usize = 64 * 1024;

/// Maximum length of a provider's error body.
const MAX_ERROR: usize = 16 * 1024;

/// The time for a provider's error body.
const ERROR_BODY: Duration = Duration::from_secs(3);

/// An answer that has begun.
pub(crate) struct Opened {
    /// What came so far.
    pub(crate) held: Bytes,
    /// Whether that was already the end.
    pub(crate) end: Option<End>,
    /// The rest.
    pub(crate) answer: Answer,
}

/// One call of one model.
pub(crate) struct Attempt<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) request: &'a Arc<InFlightRequest>,
    /// The model that the runtime wrote the body for.
    pub(crate) written_for: &'a ModelId,
    /// The model that is asked.
    pub(crate) model: &'a ModelId,
    pub(crate) headers: &'a HeaderMap,
    /// The body as the runtime wrote it.
    pub(crate) body: &'a Bytes,
}

/// A call whose turn has come.
pub(crate) struct Ready {
    sent: Canonical,
    turn: Turn,
}

impl Attempt<'_> {
    /// Writes the body for this model and waits for the turn of its prefix.
    pub(crate) async fn prepare(&self, core: &Core) -> Ready {
        let adapted = Adaptation {
            wire: self.provider.wire,
            asked: self.written_for,
            target: self.model,
            facts: core.accounting.facts(self.model),
            signatures: &self.request.session.signatures,
        }
        .apply(self.body);
        let sent = canonical(self.provider.wire, &adapted, self.written_for, self.model);
        let turn = core.warming.enter(&sent.prefix, core.limits().hold_back).await;
        self.request.touch();
        Ready { sent, turn }
    }

    /// Makes the call, up to the first content of its answer.
    pub(crate) async fn make(
        &self,
        core: &Core,
        ready: Ready,
        mut entry: UsageEntry,
        deadline: Deadline,
    ) -> Result<Opened, CallFailure> {
        let Ready { sent, turn } = ready;
        let (body, recording) = match self.ask(core, sent, deadline).await {
            Ok(asked) => asked,
            Err(failure) => {
                entry.ended(CallOutcome::Failed(failure.class.to_string()));
                return Err(failure);
            }
        };
        self.request.touch();
        let answer = Answer::new(body, self.provider.wire, entry, Arc::clone(self.request), recording);
        let opened = until_content(answer, core.limits().idle, deadline).await?;
        turn.answered();
        Ok(opened)
    }

    /// Asks the provider, or the recording.
    async fn ask(
        &self,
        core: &Core,
        sent: Canonical,
        deadline: Deadline,
    ) -> Result<(AnswerBody, Option<CallRecording>), CallFailure> {
        let session = &self.request.session;
        match &core.source {
            CallSource::Recording(recording, cleaner) => {
                let found = recording.find(cleaner, &session.reviewer(), &sent.body);
                let playback = found.map_err(|difference| {
                    core.events.record(GatewayEvent::NotRecorded {
                        session: session.id.clone(),
                        model: self.model.clone(),
                        difference,
                    });
                    CallFailure {
                        unrecorded: true,
                        ..FailureClass::BadRequest.into()
                    }
                })?;
                Ok((AnswerBody::Recording(playback.begin()?), None))
            }
            CallSource::RecordedProvider(recorder) => {
                let mut recording = recorder.call(session.reviewer(), &session.id.0, self.model, &sent.body);
                let response = self.send(core, sent.body, Some(&mut recording), deadline).await?;
                Ok((AnswerBody::Network(response), Some(recording)))
            }
            CallSource::Provider => {
                let response = self.send(core, sent.body, None, deadline).await?;
                Ok((AnswerBody::Network(response), None))
            }
        }
    }

    /// Sends the request and waits for the response's headers.
    async fn send(
        &self,
        core: &Core,
        body: Bytes,
        mut recording: Option<&mut CallRecording>,
        deadline: Deadline,
    ) -> Result<Response, CallFailure> {
        let request = core
            .client
            .post(self.provider.endpoint.clone())
            .headers(self.headers.clone())
            .headers(self.provider.headers.clone())
            .body(body);
        let sent = send(core, request, recording.as_deref_mut(), deadline).await;
        if let (Err(failure), Some(recording)) = (&sent, recording) {
            recording.ended(Some(failure.class));
        }
        sent
    }
}

async fn send(
    core: &Core,
    request: reqwest::RequestBuilder,
    recording: Option<&mut CallRecording>,
    deadline: Deadline,
) -> Result<Response, CallFailure> {
    let limit = deadline.clamp(now(), core.limits().first_byte);
    let response = match timeout(limit, request.send()).await {
        Err(_) => return Err(ProviderFault::Timeout.into()),
        Ok(Err(error)) => {
            let fault = if error.is_timeout() {
                ProviderFault::Timeout
            } else {
                ProviderFault::Network
            };
            let error = error.without_url();
            tracing::info!(error = core.redactor.redact(&format!("{error:?}")), "no response");
            return Err(fault.into());
        }
        Ok(Ok(response)) => response,
    };
    if !response.status().is_success() {
        return Err(refusal(core, response, recording).await);
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // Some providers leave the type out; what says to be something else is something else.
    if !kind.is_empty() && !kind.starts_with("text/event-stream") {
        tracing::info!(kind = core.redactor.redact(kind), "the answer is not an event stream");
        return Err(ProviderFault::Garbage.into());
    }
    Ok(response)
}

/// Reads an error response. Its text is for our log and our classification, never for the runtime.
async fn refusal(core: &Core, mut response: Response, recording: Option<&mut CallRecording>) -> CallFailure {
    let status = response.status();
    let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after = retry_after(value("retry-after"), value("retry-after-ms"));
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= MAX_ERROR {
                break;
            }
        }
    };
    // Half of an explanation is still one.
    let _ = timeout(ERROR_BODY, reading).await;
    body.truncate(MAX_ERROR);
    let text = String::from_utf8_lossy(&body);
    let class = classify(status.as_u16(), &text);
    log_refusal(core, status, class, &text);
    if let Some(recording) = recording {
        recording.refused(status.as_u16(), retry_after, &text);
    }
    CallFailure {
        retry_after,
        ..class.into()
    }
}

fn log_refusal(core: &Core, status: StatusCode, class: FailureClass, text: &str) {
    let said: String = core
        .redactor
        .redact(text)
        .chars()
        .filter(|c| !c.is_control())
        .take(500)
        .collect();
    tracing::info!(status = status.as_u16(), %class, said, "the provider refused");
}

/// Reads an answer up to its first content.
///
/// What comes before is held back: as long as the runtime has seen nothing, another attempt or another model can take
/// over without its notice.
pub(crate) async fn until_content(
    mut answer: Answer,
    idle: Duration,
    deadline: Deadline,
) -> Result<Opened, CallFailure> {
    let mut held = BytesMut::new();
    loop {
        let piece = answer.next(idle).await;
        held.extend_from_slice(&piece.bytes);
        let past = |now: Instant| deadline.passed(now) || held.len() > MAX_HELD;
        match piece.end {
            // Even with content: the runtime has not seen it.
            Some(End::Broken(class)) => return Err(class.into()),
            end => {
                if end.is_some() || piece.content || past(now()) {
                    return Ok(Opened {
                        held: held.freeze(),
                        end,
                        answer,
                    });
                }
            }
        }
    }
}
