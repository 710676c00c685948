//! Starting and stopping the server, and the step from HTTP to the pipeline.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Extracted};
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::git_http;
use crate::incoming::Incoming;
use crate::options::Options;
use crate::pipeline::{Ending, Server};
use crate::reply::{Refusal, Reply, ReplyBody};
use crate::state::State;

/// The longest request body that is read.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// A running stand-in. It stops when its last clone is dropped.
#[derive(Clone)]
pub struct FakeGithub {
    pub(crate) server: Arc<Server>,
    running: Arc<Running>,
}

impl std::fmt::Debug for FakeGithub {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("FakeGithub").field(&self.running.url).finish()
    }
}

struct Running {
    url: String,
    stop: watch::Sender<bool>,
    directory: Mutex<Option<TempDir>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The receivers are gone when the runtime already is: then there is no one left to tell.
        self.stop.send(true).ok();
    }
}

/// Settings of a server that is not running yet.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    options: Options,
    port: u16,
}

impl Builder {
    /// All switches at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// An Enterprise Server of this version.
    #[must_use]
    pub fn enterprise(mut self, version: &str) -> Self {
        self.options.enterprise = Some(version.to_owned());
        self
    }

    /// A fixed port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts the server on the loopback interface.
    pub async fn start(self) -> FakeGithub {
        let listener = TcpListener::bind(("127.0.0.1", self.port))
            .await
            .expect("the port is free");
        let url = format!(
            "http://{}",
            listener.local_addr().expect("a bound listener has an address")
        );
        let directory = TempDir::with_prefix("fake-github-").expect("a temporary directory can be created");
        let state = State::new(self.options, url.clone(), directory.path().to_owned());
        let server = Arc::new(Server::new(state));
        let (stop, stopped) = watch::channel(false);
        let shared = Shared {
            server: Arc::clone(&server),
            stopped: stopped.clone(),
        };
        let router = Router::new().fallback(handle).with_state(shared);
        tokio::spawn(async move {
            let serve = axum::serve(listener, router).with_graceful_shutdown(until_stopped(stopped));
            serve.await.expect("the server runs until it is stopped");
        });
        let running = Running {
            url,
            stop,
            directory: Mutex::new(Some(directory)),
        };
        FakeGithub {
            server,
            running: Arc::new(running),
        }
    }
}

impl FakeGithub {
    /// Settings for a new server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a github.com.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Stops the server and removes its repositories, however many clones there are.
    pub fn shut_down(&self) {
        self.running.stop.send(true).ok();
        self.running
            .directory
            .lock()
            .expect("nothing panics while it holds the directory")
            .take();
    }

    /// The address of the server: `GITHUB_SERVER_URL`.
    pub fn url(&self) -> &str {
        &self.running.url
    }

    /// The address of the REST API: `GITHUB_API_URL`.
    pub fn api_url(&self) -> String {
        self.server.core().state.api_url.clone()
    }

    /// The address of the GraphQL API: `GITHUB_GRAPHQL_URL`.
    pub fn graphql_url(&self) -> String {
        let is_enterprise = self.server.core().state.options.enterprise.is_some();
        format!(
            "{}{}",
            self.url(),
            if is_enterprise { "/api/graphql" } else { "/graphql" }
        )
    }
}

#[derive(Clone)]
struct Shared {
    server: Arc<Server>,
    stopped: watch::Receiver<bool>,
}

async fn until_stopped(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender is gone, which also means stop.
    stopped.wait_for(|stopped| *stopped).await.ok();
}

async fn handle(Extracted(shared): Extracted<Shared>, request: Request) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_LIMIT).await else {
        return Ok(response(&Refusal::new(413, "Payload Too Large").reply()));
    };
    let headers = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let incoming = Incoming {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect::<BTreeMap<_, _>>(),
        body: bytes.to_vec(),
    };
    let server = Arc::clone(&shared.server);
    let work = tokio::task::spawn_blocking(move || match git_http::answer(&server, &incoming) {
        Some(reply) => (Ending::Answer(reply), Duration::ZERO),
        None => server.process(&incoming),
    });
    let (ending, delay) = work.await.expect("a handler does not panic");
    if !delay.is_zero() {
        // Outside of the lock: requests beside this one are not held up.
        tokio::time::sleep(delay).await;
    }
    Ok(match ending {
        Ending::Answer(reply) => response(&reply),
        Ending::Truncated(reply) => break_off(&reply, true),
        Ending::Cut => break_off(&Reply::empty(200), false),
        Ending::Hang => {
            until_stopped(shared.stopped).await;
            response(&Reply::empty(503))
        }
    })
}

fn response(reply: &Reply) -> Response {
    match &reply.body {
        ReplyBody::Empty => build(reply, None, Body::empty()),
        ReplyBody::Raw { content_type, bytes } => build(reply, Some(content_type), Body::from(bytes.clone())),
        _ => build(
            reply,
            Some("application/json; charset=utf-8"),
            Body::from(json_text(reply)),
        ),
    }
}

fn json_text(reply: &Reply) -> String {
    if let ReplyBody::Json(value) = &reply.body {
        value.to_string()
    } else {
        String::new()
    }
}

/// Breaks the connection: after half of the body, or before the first byte.
fn break_off(reply: &Reply, is_late: bool) -> Response {
    let text = json_text(reply);
    let half = Bytes::from(text.as_bytes()[..text.len() / 2].to_vec());
    let first = stream::iter(is_late.then_some(Ok(half)));
    let broken = stream::once(async move {
        if is_late {
            // What comes before the break is only sent when the body has to be waited for.
            tokio::task::yield_now().await;
        }
        Err(std::io::Error::other("the connection breaks"))
    });
    let mut response = build(reply, Some("application/json"), Body::from_stream(first.chain(broken)));
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, (text.len() + 2).into());
    response
}

fn build(reply: &Reply, content_type: Option<&str>, body: Body) -> Response {
    let status = StatusCode::from_u16(reply.status).expect("the status is a valid code");
    let mut builder = Response::builder().status(status);
    if let Some(content_type) = content_type {
        builder = builder.header(header::CONTENT_TYPE, content_type);
    }
    for (name, value) in &reply.headers {
        builder = builder.header(name, value);
    }
    builder.body(body).expect("the headers are valid")
}
