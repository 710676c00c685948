//! Traces: one a run, a span a stage, session and model call, over OTLP.
//!
//! It listens where telemetry and progress listen, and to the gateway for the calls. All of these are typed and hold no
//! text of the merge request or of a model, so neither does a trace; names of people and projects are left out too. It
//! can neither block nor fail a review: ended spans go into a bounded queue, a thread of its own sends them, the end of a
//! run waits two seconds at most, and what was not taken is counted.
//!
//! Why not a layer for the `tracing` crate: that would send along every event and field that any part of the program ever
//! logs, and could not tell whose session a call through the gateway belongs to.

mod attributes;
mod export;
mod spans;

pub use export::FLUSH;

use std::time::Duration;

use conclave_certificates::ExtraCertificates;
use conclave_engine::ports::{ModelCall, Progress, ProgressEvent, RunTrace, TelemetrySink};
use conclave_shared::telemetry::EventBody;
use secrecy::SecretString;
use url::Url;
use uuid::Uuid;

use self::{export::Export, spans::Spans};

/// Where traces go, and what every one carries.
#[derive(Debug, Clone)]
pub struct TracingSettings {
    /// The collector's address before `/v1/traces`.
    pub endpoint: Url,
    /// Headers of every request, as in `x-api-key`.
    pub headers: Vec<(String, SecretString)>,
    /// The span of the pipeline that started the run, as W3C's `traceparent` names it.
    pub parent: Option<String>,
    /// The run.
    pub run_id: Uuid,
    /// The version of this program.
    pub version: &'static str,
    /// Certificates to trust besides the system's.
    pub certificates: ExtraCertificates,
}

/// Traces cannot be sent with these settings.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TracingError(String);

/// The trace of one run.
pub struct RunTracer {
    spans: Spans,
    export: Export,
}

impl RunTracer {
    /// Begins the trace.
    pub fn start(settings: &TracingSettings) -> Result<Self, TracingError> {
        let export = Export::start(settings)?;
        let spans = Spans::begin(export.tracer(), settings);
        Ok(Self { spans, export })
    }

    /// Ends what has not ended and sends the rest, for at most two seconds. Returns how many spans were lost in the whole
    /// run.
    pub async fn finish(&self) -> u64 {
        self.spans.finish();
        self.export.flush().await
    }
}

impl RunTrace for RunTracer {
    fn stage_ended(&self, stage: &str, duration: Duration) {
        self.spans.stage_ended(stage, duration);
    }

    fn call_ended(&self, call: &ModelCall) {
        self.spans.call_ended(call);
    }
}

impl TelemetrySink for RunTracer {
    fn record(&self, event: EventBody) {
        match event {
            EventBody::RunStarted(run) => self.spans.run_attributes(attributes::run_started(&run)),
            EventBody::RunCompleted(run) => self.spans.run_completed(&run),
            EventBody::ReviewerCompleted(session) => self.spans.session_ended(&session),
            _ => {}
        }
    }
}

impl Progress for RunTracer {
    fn report(&self, event: ProgressEvent<'_>) {
        if let ProgressEvent::SessionStarted {
            reviewer,
            model,
            attempt,
            ..
        } = event
        {
            self.spans.session_prompted(reviewer, model, attempt);
        }
    }
}

#[cfg(test)]
mod tests;
