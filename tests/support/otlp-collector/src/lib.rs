//! A strict stand-in for a collector of traces over OTLP (HTTP, protobuf).
//!
//! It decodes with OpenTelemetry's own definition of the protocol and holds every span against the specification: ids,
//! times, names; and, once a run is over, that every parent was sent too. What a real collector would drop or show broken
//! is a [`OtlpCollector::violations`].

mod check;
mod span;

pub use span::CollectedSpan;

use std::{
    fmt::Write,
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State as Extract},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use prost::Message;

/// A running collector; it ends with the last clone.
#[derive(Clone)]
pub struct OtlpCollector(Arc<Running>);

struct Running {
    address: String,
    state: Arc<State>,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.abort();
    }
}

struct State {
    header: Option<(String, String)>,
    spans: Mutex<Vec<CollectedSpan>>,
    violations: Mutex<Vec<String>>,
    /// Everything that was received, decoded and printed, to look for what must not be in it.
    received: Mutex<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OtlpCollector {
    /// A collector on any free port, which asks for this header with this value, if one is given.
    pub async fn start(header: Option<(&str, &str)>) -> std::io::Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State {
            header: header.map(|(name, value)| (name.to_owned(), value.to_owned())),
            spans: Mutex::default(),
            violations: Mutex::default(),
            received: Mutex::default(),
        });
        let router = Router::new()
            .fallback(handle)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&state));
        let server = tokio::spawn(axum::serve(listener, router).into_future());
        Ok(Self(Arc::new(Running { address, state, server })))
    }

    /// `http://127.0.0.1:PORT`, for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn url(&self) -> String {
        self.0.address.clone()
    }

    /// Every span, in the order of arrival.
    pub fn spans(&self) -> Vec<CollectedSpan> {
        locked(&self.0.state.spans).clone()
    }

    /// Everything that was received, as text.
    pub fn received(&self) -> String {
        locked(&self.0.state.received).clone()
    }

    /// What is wrong with what was received, taken as a whole: to be asked once the sender is done.
    pub fn violations(&self) -> Vec<String> {
        let mut violations = locked(&self.0.state.violations).clone();
        violations.extend(check::whole(&locked(&self.0.state.spans)));
        violations
    }
}

async fn handle(
    Extract(state): Extract<Arc<State>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match state.take(&method, &uri, &headers, &body) {
        Ok(()) => {
            let answer = ExportTraceServiceResponse::default().encode_to_vec();
            ([(header::CONTENT_TYPE, "application/x-protobuf")], answer).into_response()
        }
        Err((status, problem)) => {
            locked(&state.violations).push(format!("{method} {uri}: {problem}"));
            (status, problem).into_response()
        }
    }
}

impl State {
    fn take(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Result<(), (StatusCode, String)> {
        let bad = |problem: String| (StatusCode::BAD_REQUEST, problem);
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if method != Method::POST || uri.path() != "/v1/traces" || uri.query().is_some() {
            return Err((StatusCode::NOT_FOUND, "traces are posted to /v1/traces".to_owned()));
        }
        if let Some((name, expected)) = &self.header
            && value(name) != Some(expected)
        {
            return Err((
                StatusCode::UNAUTHORIZED,
                format!("the header {name} is missing or wrong"),
            ));
        }
        if value("content-type") != Some("application/x-protobuf") {
            return Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "only application/x-protobuf".to_owned(),
            ));
        }
        let request = ExportTraceServiceRequest::decode(body.clone()).map_err(|error| bad(error.to_string()))?;
        let spans = span::read(&request).map_err(bad)?;
        for span in &spans {
            check::alone(span).map_err(bad)?;
        }
        // Writing to a text cannot fail.
        let _ = writeln!(locked(&self.received), "{request:?}");
        locked(&self.spans).extend(spans);
        Ok(())
    }
}
