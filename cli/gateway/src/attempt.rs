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

use crate::{
    adapt::Adaptation,
    answer::{Answer, End},
    core::{Core, Tape},
    event::GatewayEvent,
    prefix::{self, Canonical},
    record::Take,
    sessions::{Booking, Flight, now},
    source::Source,
    upstream::Provider,
    warming::Turn,
};

/// The most of an answer that is held back for a silent failback; more than that is forwarded.
const MOST_HELD: usize = 64 * 1024;

/// The most of a provider's error body that is read.
const MOST_OF_ERROR: usize = 16 * 1024;

/// The time for a provider's error body.
const ERROR_BODY: Duration = Duration::from_secs(3);

/// An attempt that gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: FailureClass,
    /// The wait that the provider asked for.
    pub(crate) asked: Option<Duration>,
    /// The answer was to come from a recording, which does not have it.
    pub(crate) unrecorded: bool,
}

impl From<FailureClass> for Failure {
    fn from(class: FailureClass) -> Self {
        Self {
            class,
            asked: None,
            unrecorded: false,
        }
    }
}

impl From<ProviderFault> for Failure {
    fn from(fault: ProviderFault) -> Self {
        FailureClass::Retryable(fault).into()
    }
}

/// An answer that has begun.
#[derive(Debug)]
pub(crate) struct Opened {
    /// What came so far.
    pub(crate) held: Bytes,
    /// Whether that was already the end.
    pub(crate) end: Option<End>,
    /// The rest.
    pub(crate) answer: Answer,
}

/// One call of one model.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) flight: &'a Arc<Flight>,
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
            facts: core.prices.facts(self.model),
            session: &self.flight.session,
        }
        .apply(self.body);
        let sent = prefix::canonical(self.provider.wire, &adapted, self.written_for, self.model);
        let turn = core.warming.enter(&sent.prefix, core.limits().hold_back).await;
        self.flight.touch();
        Ready { sent, turn }
    }

    /// Makes the call, up to the first content of its answer.
    pub(crate) async fn make(
        &self,
        core: &Core,
        ready: Ready,
        mut booking: Booking,
        deadline: Deadline,
    ) -> Result<Opened, Failure> {
        let Ready { sent, turn } = ready;
        let (source, take) = match self.ask(core, sent, deadline).await {
            Ok(asked) => asked,
            Err(failure) => {
                booking.ended(CallOutcome::Failed(failure.class.to_string()));
                return Err(failure);
            }
        };
        self.flight.touch();
        let answer = Answer::new(source, self.provider.wire, booking, Arc::clone(self.flight), take);
        let opened = until_content(answer, core.limits().idle, deadline).await?;
        turn.answered();
        Ok(opened)
    }

    /// Asks the provider, or the recording.
    async fn ask(&self, core: &Core, sent: Canonical, deadline: Deadline) -> Result<(Source, Option<Take>), Failure> {
        let session = &self.flight.session;
        match &core.tape {
            Tape::Replay(recording, cleaner) => {
                let playing = recording.find(cleaner, &session.reviewer(), &sent.body);
                let playing = playing.map_err(|difference| {
                    core.events.record(GatewayEvent::NotRecorded {
                        session: session.id.clone(),
                        model: self.model.clone(),
                        difference,
                    });
                    Failure {
                        unrecorded: true,
                        ..FailureClass::BadRequest.into()
                    }
                })?;
                Ok((Source::Recording(playing.begin()?), None))
            }
            Tape::Record(recorder) => {
                let mut take = recorder.call(session.reviewer(), &session.id.0, self.model, &sent.body);
                let response = self.send(core, sent.body, Some(&mut take), deadline).await?;
                Ok((Source::Network(response), Some(take)))
            }
            Tape::Off => {
                let response = self.send(core, sent.body, None, deadline).await?;
                Ok((Source::Network(response), None))
            }
        }
    }

    /// Sends the request and waits for the response's headers.
    async fn send(
        &self,
        core: &Core,
        body: Bytes,
        mut take: Option<&mut Take>,
        deadline: Deadline,
    ) -> Result<Response, Failure> {
        let request = core
            .client
            .post(self.provider.endpoint.clone())
            .headers(self.headers.clone())
            .headers(self.provider.headers.clone())
            .body(body);
        let sent = send(core, request, take.as_deref_mut(), deadline).await;
        if let (Err(failure), Some(take)) = (&sent, take) {
            take.failed(failure);
        }
        sent
    }
}

async fn send(
    core: &Core,
    request: reqwest::RequestBuilder,
    take: Option<&mut Take>,
    deadline: Deadline,
) -> Result<Response, Failure> {
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
        return Err(refusal(core, response, take).await);
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // Some providers leave the type out; what says to be something else is something else.
    if !kind.is_empty() && !kind.starts_with("text/event-stream") {
        tracing::info!(kind = core.redactor.redact(kind), "the answer is no event stream");
        return Err(ProviderFault::Garbage.into());
    }
    Ok(response)
}

/// Reads an error response. Its text is for our log and our classification, never for the runtime.
async fn refusal(core: &Core, mut response: Response, take: Option<&mut Take>) -> Failure {
    let status = response.status();
    let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let asked = retry_after(value("retry-after"), value("retry-after-ms"));
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= MOST_OF_ERROR {
                break;
            }
        }
    };
    // Half of an explanation is still one.
    let _ = timeout(ERROR_BODY, reading).await;
    body.truncate(MOST_OF_ERROR);
    let text = String::from_utf8_lossy(&body);
    let class = classify(status.as_u16(), &text);
    log_refusal(core, status, class, &text);
    if let Some(take) = take {
        take.refused(status.as_u16(), asked, &text);
    }
    Failure { asked, ..class.into() }
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
pub(crate) async fn until_content(mut answer: Answer, idle: Duration, deadline: Deadline) -> Result<Opened, Failure> {
    let mut held = BytesMut::new();
    loop {
        let piece = answer.next(idle).await;
        held.extend_from_slice(&piece.bytes);
        let past = |now: Instant| deadline.passed(now) || held.len() > MOST_HELD;
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
