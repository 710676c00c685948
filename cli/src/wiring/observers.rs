//! Who listens to a run: the person, the tracker, the collector of traces.

use std::sync::Arc;

use conclave_engine::ports::{Progress, ProgressEvent, RunTrace, TelemetrySink};
use conclave_plugin_telemetry::Telemetry;
use conclave_shared::telemetry::EventBody;

/// Who listens to a run, besides the person.
#[derive(Clone, Default)]
pub(crate) struct Observers {
    telemetry: Option<Arc<Telemetry>>,
    #[cfg(feature = "otlp")]
    tracer: Option<Arc<conclave_plugin_tracing::RunTracer>>,
}

impl Observers {
    pub(super) fn new(telemetry: Option<Arc<Telemetry>>) -> Self {
        Self {
            telemetry,
            ..Self::default()
        }
    }

    /// Adds a trace.
    #[cfg(feature = "otlp")]
    pub(super) fn trace_with(self, tracer: Option<Arc<conclave_plugin_tracing::RunTracer>>) -> Self {
        Self { tracer, ..self }
    }

    /// Where events go.
    pub(super) fn sink(&self) -> Arc<dyn TelemetrySink> {
        let mut sinks: Vec<Arc<dyn TelemetrySink>> = Vec::new();
        sinks.extend(self.telemetry.clone().map(|telemetry| telemetry as _));
        #[cfg(feature = "otlp")]
        sinks.extend(self.tracer.clone().map(|tracer| tracer as _));
        Arc::new(All(sinks))
    }

    /// Where signs of life go: to the person, and to whoever else wants them.
    pub(super) fn progress(&self, person: Arc<dyn Progress>) -> Arc<dyn Progress> {
        #[cfg(feature = "otlp")]
        if let Some(tracer) = &self.tracer {
            return Arc::new(All(vec![person, Arc::clone(tracer) as _]));
        }
        person
    }

    /// Who is told of stages and model calls.
    pub(super) fn trace(&self) -> Option<Arc<dyn RunTrace>> {
        #[cfg(feature = "otlp")]
        if let Some(tracer) = &self.tracer {
            return Some(Arc::clone(tracer) as _);
        }
        None
    }

    /// Sends what has not been sent yet, everywhere at once, and says what was lost.
    pub(super) async fn flush(&self, progress: &dyn Progress) {
        let (events, spans) = tokio::join!(
            async {
                match &self.telemetry {
                    Some(telemetry) => telemetry.flush().await,
                    None => 0,
                }
            },
            async {
                #[cfg(feature = "otlp")]
                if let Some(tracer) = &self.tracer {
                    return tracer.finish().await;
                }
                0_u64
            }
        );
        if events > 0 {
            progress.report(ProgressEvent::Warning(&format!(
                "{events} telemetry events did not reach the tracker"
            )));
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
