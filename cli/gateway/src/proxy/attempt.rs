//! One call of one model, up to the first content of its answer.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::{Bytes, BytesMut};
use conclave_engine::ports::CallOutcome;
use conclave_resilience::{
    classify::{Concession, FailureClass, ProviderFault},
    retry::{http_date, retry_after},
};
use conclave_shared::{error_chain::with_sources, model::ModelId};
use reqwest::{
    Response,
    header::{self, HeaderName},
};
use tokio::time::timeout;

use super::{
    answer::{Answer, AnswerBody, End},
    call::Call,
    core::Core,
};
use crate::{
    accounting::UsageEntry,
    cache::{Canonical, WarmingPermit, canonical},
    clock::now,
    config::Limits,
    errors::{CallFailure, RefusalAnswer, short, shown_address},
    event::GatewayEvent,
    provider::Provider,
    recording::{CallRecording, CallSource},
    wire::{Adaptation, begins_with_event, is_whole_answer, text_of_body},
};

/// Maximum length of what is held back of an answer for a silent change of the model; more than that is forwarded.
const MAX_HELD: usize = 64 * 1024;

/// Maximum length of a provider's error body.
const MAX_ERROR: usize = 16 * 1024;

/// Maximum length of an answer that does not come as a stream.
const MAX_WHOLE: usize = 1024 * 1024;

/// The time for a body that is not a stream.
const OTHER_BODY: Duration = Duration::from_secs(3);

/// An answer that has begun.
pub(crate) struct Opened {
    /// The beginning that is held back.
    pub(crate) held: Bytes,
    /// True if that was already the end.
    pub(crate) end: Option<End>,
    /// The rest.
    pub(crate) answer: Answer,
}

/// One call of one model.
pub(crate) struct Attempt<'a> {
    pub(crate) call: &'a Call<'a>,
    /// The model that is asked.
    pub(crate) model: &'a ModelId,
    /// The changes of the request that the model needs.
    pub(crate) concessions: BTreeSet<Concession>,
}

/// A call whose turn has come.
pub(crate) struct Ready {
    sent: Canonical,
    permit: WarmingPermit,
}

impl Ready {
    /// Length of the request.
    pub(crate) fn request_bytes(&self) -> usize {
        self.sent.body.len()
    }
}

impl Attempt<'_> {
    /// Writes the body for this model and waits for the turn of its prefix.
    pub(crate) async fn prepare(&self) -> Ready {
        let (call, core) = (self.call, self.call.core);
        let sent = self.written(&self.concessions);
        let permit = core.warming.enter(&sent.prefix, core.limits().hold_back).await;
        call.request.touch();
        Ready { sent, permit }
    }

    /// Returns whether the request would be another one with this concession, too.
    pub(crate) fn changes_with(&self, concession: Concession) -> bool {
        let mut more = self.concessions.clone();
        more.insert(concession) && self.written(&more).body != self.written(&self.concessions).body
    }

    fn written(&self, concessions: &BTreeSet<Concession>) -> Canonical {
        let (call, session) = (self.call, &self.call.request.session);
        let adaptation = Adaptation {
            wire: call.provider.wire,
            asked: &call.written_for,
            target: self.model,
            capabilities: (call.core.capabilities)(self.model),
            effort: session.effort(),
            concessions,
            signatures: &session.signatures,
            carried: &session.carried,
        };
        let keyed = adaptation.keys_its_cache();
        let adapted = adaptation.apply(&call.body);
        canonical(call.provider.wire, &adapted, &call.written_for, self.model, keyed)
    }

    /// Makes the call, up to the first content of its answer.
    pub(crate) async fn make(
        &self,
        Ready { sent, permit }: Ready,
        mut entry: UsageEntry,
        began: Instant,
    ) -> Result<Opened, CallFailure> {
        let call = self.call;
        entry.asks(sent.body.len());
        let asked = self.ask(sent.body, &mut entry, began).await;
        let (body, recording) = asked.inspect_err(|failure| {
            entry.ended(CallOutcome::Failed(failure.class.to_string()));
        })?;
        call.request.touch();
        let answer = Answer::new(body, call.provider.wire, entry, Arc::clone(&call.request), recording);
        let opened = until_content(answer, call.core, began).await?;
        permit.answered();
        Ok(opened)
    }

    /// Asks the provider, or the recording.
    async fn ask(
        &self,
        body: Bytes,
        entry: &mut UsageEntry,
        began: Instant,
    ) -> Result<(AnswerBody, Option<CallRecording>), CallFailure> {
        let (core, session) = (self.call.core, &self.call.request.session);
        let mut recording = match &core.source {
            CallSource::Recording(recording, cleaner) => {
                let found = recording.find(cleaner, &session.reviewer(), &body);
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
                return Ok((AnswerBody::Recording(playback.begin()?), None));
            }
            CallSource::RecordedProvider(recorder) => {
                Some(recorder.call(session.reviewer(), &session.id.0, self.model, &body))
            }
            CallSource::Provider => None,
        };
        let opened = match self.send(body, recording.as_mut(), began).await {
            Ok(response) => self.stream(response, entry, began).await,
            Err(failure) => Err(failure),
        };
        if let (Err(failure), Some(recording)) = (&opened, &mut recording) {
            recording.ended(Some(failure.class));
        }
        Ok((opened?, recording))
    }

    /// Sends the request and waits for the response's headers.
    async fn send(
        &self,
        body: Bytes,
        recording: Option<&mut CallRecording>,
        began: Instant,
    ) -> Result<Response, CallFailure> {
        let (core, provider) = (self.call.core, self.call.provider);
        self.call.request.session.set_unstreamed(false);
        let request = core
            .client
            .post(provider.endpoint.clone())
            .headers(self.call.headers.clone())
            .headers(provider.headers.clone())
            .body(body);
        let sent = core.within(first_byte(began), request.send()).await;
        // A server that is asked and does not answer in time is there.
        if !matches!(&sent, Some(Err(error)) if error.is_connect()) {
            provider.connected();
        } else if provider.not_connected() {
            let name = self.model.provider();
            let problem = sent.as_ref().and_then(|sent| sent.as_ref().err());
            let step = problem.and_then(|problem| conclave_certificates::remedy(&with_sources(problem)));
            let step = step
                .as_deref()
                .unwrap_or("check its address, the network and the proxy (`conclave doctor`)");
            tracing::warn!("no connection to the provider {name} can be made: {step}");
        }
        let response = sent.ok_or(ProviderFault::Timeout)?.map_err(|error| {
            let is_late = error.is_timeout();
            let error = error.without_url();
            tracing::info!(error = core.redactor.redact(&format!("{error:?}")), "no response");
            if is_late {
                ProviderFault::Timeout
            } else {
                ProviderFault::Network
            }
        })?;
        if !response.status().is_success() {
            return Err(refusal(core, provider, response, recording).await);
        }
        Ok(response)
    }

    /// The body of an answer that is a stream of events.
    async fn stream(
        &self,
        mut response: Response,
        entry: &mut UsageEntry,
        began: Instant,
    ) -> Result<AnswerBody, CallFailure> {
        let (core, session) = (self.call.core, &self.call.request.session);
        let value = |name: HeaderName| {
            let text = response.headers().get(name).and_then(|value| value.to_str().ok());
            text.unwrap_or_default().to_ascii_lowercase()
        };
        let (kind, encoding) = (value(header::CONTENT_TYPE), value(header::CONTENT_ENCODING));
        let is_plain = matches!(encoding.as_str(), "" | "identity");
        // Some providers leave the type out.
        if is_plain && (kind.is_empty() || kind.starts_with("text/event-stream")) {
            return Ok(AnswerBody::Network(Bytes::new(), response));
        }
        let chunk = core.within(first_byte(began), response.chunk()).await;
        let chunk = chunk
            .ok_or(ProviderFault::Timeout)?
            .map_err(|_| ProviderFault::Network)?;
        let chunk = chunk.unwrap_or_default();
        // Others give it the type of an answer in one piece.
        if begins_with_event(&chunk) {
            return Ok(AnswerBody::Network(chunk, response));
        }
        tracing::info!(kind = core.redactor.redact(&kind), "the answer is not an event stream");
        if !is_plain {
            let encoding = core.redactor.redact(&encoding);
            return Err(CallFailure {
                said: short(&format!("compressed with {encoding}, which was not asked for")),
                ..ProviderFault::Garbage.into()
            });
        }
        if !kind.starts_with("application/json") {
            return Err(ProviderFault::Garbage.into());
        }
        // It cannot be handed on, and its findings are not lost all the same.
        let body = body_of(&mut response, chunk, MAX_WHOLE).await;
        session.add_broken_answer(text_of_body(&body));
        if let Some(seen) = self.call.provider.wire.whole_answer(&body) {
            entry.set(seen.usage, seen.counted, seen.written, 0);
        }
        if !is_whole_answer(&body) {
            let masked = core.redactor.redact(&String::from_utf8_lossy(&body));
            return Err(CallFailure::in_place_of_an_answer(&masked));
        }
        // To ask this model again would be to pay for the same once more.
        session.set_unstreamed(true);
        Err(FailureClass::ModelUnavailable.into())
    }
}

/// The limit of a wait for an answer's first byte: the call may have less time left, when this attempt begins.
fn first_byte(began: Instant) -> impl Fn(&Limits) -> Duration {
    let before = now().saturating_duration_since(began);
    move |limits| limits.first_byte.min(limits.hold.saturating_sub(before))
}

/// Reads an error response. Its text is for our log and our classification, never for the runtime.
async fn refusal(
    core: &Core,
    provider: &Provider,
    mut response: Response,
    recording: Option<&mut CallRecording>,
) -> CallFailure {
    let status = response.status();
    let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    // The provider's own clock says how long it is until a date, so that a wrong one here does no harm.
    let theirs = value("date").and_then(http_date).unwrap_or_else(SystemTime::now);
    let retry_after = retry_after(value("retry-after"), value("retry-after-ms"), Some(theirs));
    let redirect = value("location").filter(|_| status.is_redirection());
    let redirect = redirect.and_then(|address| provider.endpoint.join(address).ok());
    // Half of an explanation is still one.
    let body = body_of(&mut response, Bytes::new(), MAX_ERROR).await;
    let text = String::from_utf8_lossy(&body);
    let masked = core.redactor.redact(&text);
    let mut failure = CallFailure::refused(status.as_u16(), retry_after, &masked);
    if let Some(refusal) = &mut failure.refusal {
        refusal.keyless = provider.keyless;
        if let Some(address) = redirect {
            refusal.answer = RefusalAnswer::Redirect(core.redactor.redact(&shown_address(&address)));
        }
    }
    let said: String = masked.chars().filter(|c| !c.is_control()).take(500).collect();
    tracing::info!(status = status.as_u16(), class = %failure.class, said, "the provider refused");
    if let Some(recording) = recording {
        recording.refused(status.as_u16(), retry_after, &text);
    }
    failure
}

/// Reads a body that is not an event stream and has begun so, as far as it comes in time.
async fn body_of(response: &mut Response, begun: Bytes, max: usize) -> BytesMut {
    let mut body = BytesMut::from(begun);
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= max {
                break;
            }
        }
    };
    let _ = timeout(OTHER_BODY, reading).await;
    body.truncate(max);
    body
}

/// Reads an answer up to its first content.
///
/// What comes before is held back: as long as the runtime has seen nothing, another attempt or another model can take
/// over without its notice.
async fn until_content(mut answer: Answer, core: &Core, began: Instant) -> Result<Opened, CallFailure> {
    let mut held = BytesMut::new();
    loop {
        let piece = answer.next(core).await;
        held.extend_from_slice(&piece.bytes);
        if let Some(End::Broken(class)) = piece.end {
            // Even with content: the runtime has not seen it.
            return Err(CallFailure {
                said: answer.words_of_failure(core),
                ..class.into()
            });
        }
        if piece.end.is_some() || piece.content || core.hold(began).passed(now()) || held.len() > MAX_HELD {
            return Ok(Opened {
                held: held.freeze(),
                end: piece.end,
                answer,
            });
        }
    }
}
