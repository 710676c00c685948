//! From ended spans to the collector, with a count of what did not get there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use conclave_certificates::ExtraCertificates;
use opentelemetry::{Context, KeyValue, trace::TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, Span, SpanData,
        SpanExporter as ExportSpans, SpanProcessor,
    },
};
use reqwest::{Client, blocking, redirect::Policy};
use secrecy::ExposeSecret;
use url::Url;

use crate::{TracingError, TracingSettings};

/// Time for one request, and for the last flush.
pub const FLUSH: Duration = Duration::from_secs(2);
/// How many spans may wait. A large run has a few hundred.
const MAX_PENDING: usize = 2_048;
/// How many spans are sent at once.
const BATCH: usize = 256;
/// How long a span waits for company.
const GATHER: Duration = Duration::from_secs(1);

/// Spans that ended, and those of them that the collector has taken.
#[derive(Debug, Default)]
struct Count {
    ended: AtomicU64,
    taken: AtomicU64,
}

/// The way to the collector.
pub(crate) struct Export {
    provider: SdkTracerProvider,
    count: Arc<Count>,
}

impl Export {
    pub(crate) fn start(settings: &TracingSettings) -> Result<Self, TracingError> {
        let headers = settings
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client(&settings.endpoint, &settings.certificates)?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!(
                "{}/v1/traces",
                settings.endpoint.as_str().trim_end_matches('/')
            ))
            .with_timeout(FLUSH)
            .with_headers(headers.collect())
            .build()
            // The library's own words may quote a header.
            .map_err(|_| TracingError("traces cannot be sent to this address, or with these headers".to_owned()))?;
        let count = Arc::<Count>::default();
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_PENDING)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(GATHER)
            .build();
        let counted = CountTaken {
            exporter,
            count: Arc::clone(&count),
        };
        let processor = CountEnded {
            queue: BatchSpanProcessor::builder(counted).with_batch_config(config).build(),
            count: Arc::clone(&count),
        };
        let resource = Resource::builder_empty().with_attributes([
            KeyValue::new("service.name", "conclave"),
            KeyValue::new("service.version", settings.version),
        ]);
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_span_processor(processor)
            .build();
        Ok(Self { provider, count })
    }

    pub(crate) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("conclave")
    }

    /// Sends what is left, for at most two seconds; how many spans were lost.
    pub(crate) async fn flush(&self) -> u64 {
        let provider = self.provider.clone();
        // The library waits by blocking.
        let waiting = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH));
        match tokio::time::timeout(FLUSH + Duration::from_millis(200), waiting).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::info!(%error, "the collector did not take everything"),
            Ok(Err(_)) | Err(_) => tracing::info!("the collector did not take everything in time"),
        }
        let ended = self.count.ended.load(Ordering::SeqCst);
        ended.saturating_sub(self.count.taken.load(Ordering::SeqCst))
    }
}

/// The client. The batch processor sends on a thread of its own and waits there, so it is a blocking one, which must not be made
/// where a runtime is.
fn client(endpoint: &Url, certificates: &ExtraCertificates) -> Result<blocking::Client, TracingError> {
    let unusable = |why: &dyn std::fmt::Display| TracingError(format!("traces cannot be sent: {why}"));
    // The collector's secret headers are for it alone.
    let settings = Client::builder().redirect(Policy::none());
    let settings = certificates
        .trusted_by(settings, [endpoint])
        .map_err(|error| unusable(&error))?;
    let making = std::thread::spawn(move || blocking::ClientBuilder::from(settings).timeout(FLUSH).build());
    let made = making.join().ok().and_then(Result::ok);
    made.ok_or_else(|| unusable(&"the HTTPS client cannot be set up"))
}

/// Counts the spans that ended, before the queue may drop one.
#[derive(Debug)]
struct CountEnded {
    queue: BatchSpanProcessor,
    count: Arc<Count>,
}

impl SpanProcessor for CountEnded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.queue.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        self.count.ended.fetch_add(1, Ordering::SeqCst);
        self.queue.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.queue.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.queue.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.queue.set_resource(resource);
    }
}

/// Counts the spans that the collector has taken.
#[derive(Debug)]
struct CountTaken {
    exporter: SpanExporter,
    count: Arc<Count>,
}

impl ExportSpans for CountTaken {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let result = self.exporter.export(batch).await;
        if result.is_ok() {
            self.count.taken.fetch_add(spans, Ordering::SeqCst);
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn a_redirect_is_not_followed() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
        elsewhere.set_nonblocking(true).expect("set");
        let target = elsewhere.local_addr().expect("an address");
        let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = collector.local_addr().expect("an address");
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = collector.accept().expect("a connection");
            let mut request = Vec::new();
            let mut piece = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece).expect("a request");
                request.extend_from_slice(&piece[..count]);
            }
            let answer = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{target}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(answer.as_bytes()).expect("sent");
        });
        let endpoint: Url = format!("http://{address}/v1/traces").parse().expect("a URL");
        let client = client(&endpoint, &ExtraCertificates::default()).expect("a client");
        let response = client
            .post(endpoint)
            .header("x-team", "the-team-key")
            .send()
            .expect("an answer");
        answering.join().expect("no panic");
        assert_eq!(response.status().as_u16(), 307);
        let other = elsewhere.accept().expect_err("nobody connects to the other address");
        assert_eq!(other.kind(), ErrorKind::WouldBlock);
    }
}
