//! Who listens to a run: the person, the tracker, the collector of traces.

use std::sync::Arc;

use async_trait::async_trait;
use conclave_engine::ports::{Progress, ProgressEvent, RunTrace, TelemetrySink};
use conclave_plugin_telemetry::{Lost, Telemetry};
use conclave_shared::telemetry::EventBody;

/// Whoever makes a trace of a run: it listens to everything.
#[async_trait]
pub(crate) trait Trace: TelemetrySink + Progress + RunTrace {
    /// Sends what has not been sent yet, within a limit of its own; how much was lost in the whole run.
    async fn finish(&self) -> u64;
}

#[cfg(feature = "otlp")]
#[async_trait]
impl Trace for conclave_plugin_tracing::RunTracer {
    async fn finish(&self) -> u64 {
        self.finish().await
    }
}

/// Who listens to a run, besides the person.
#[derive(Clone)]
pub(crate) struct Observers {
    telemetry: Option<Arc<Telemetry>>,
    trace: Option<Arc<dyn Trace>>,
}

impl Observers {
    pub(crate) fn new(telemetry: Option<Arc<Telemetry>>, trace: Option<Arc<dyn Trace>>) -> Self {
        Self { telemetry, trace }
    }

    /// Where events go.
    pub(crate) fn sink(&self) -> Arc<dyn TelemetrySink> {
        let mut sinks: Vec<Arc<dyn TelemetrySink>> = Vec::new();
        sinks.extend(self.telemetry.clone().map(|telemetry| telemetry as _));
        sinks.extend(self.trace.clone().map(|trace| trace as _));
        Arc::new(All(sinks))
    }

    /// Where signs of life go: to the person, and to whoever else wants them.
    pub(crate) fn progress(&self, person: Arc<dyn Progress>) -> Arc<dyn Progress> {
        match &self.trace {
            Some(trace) => Arc::new(All(vec![person, Arc::clone(trace) as _])),
            None => person,
        }
    }

    /// Who is told of stages and model calls.
    pub(crate) fn trace(&self) -> Option<Arc<dyn RunTrace>> {
        self.trace.clone().map(|trace| trace as _)
    }

    /// Sends what has not been sent yet, everywhere at once, and says what was lost.
    pub(crate) async fn flush(&self, progress: &dyn Progress) {
        let (lost, spans) = tokio::join!(
            async {
                match &self.telemetry {
                    Some(telemetry) => telemetry.flush().await,
                    None => Lost::default(),
                }
            },
            async {
                match &self.trace {
                    Some(trace) => trace.finish().await,
                    None => 0,
                }
            }
        );
        for sentence in lost.sentences() {
            progress.report(ProgressEvent::Warning(&sentence));
        }
        if spans > 0 {
            progress.report(ProgressEvent::Warning(&format!(
                "{spans} spans of the trace did not reach the collector"
            )));
        }
    }
}

/// Tells several the same.
struct All<T: ?Sized>(Vec<Arc<T>>);

impl TelemetrySink for All<dyn TelemetrySink> {
    fn record(&self, event: EventBody) {
        for sink in &self.0 {
            sink.record(event.clone());
        }
    }
}

impl Progress for All<dyn Progress> {
    fn report(&self, event: ProgressEvent<'_>) {
        for progress in &self.0 {
            progress.report(event);
        }
    }
}
