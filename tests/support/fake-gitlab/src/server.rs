//! Starting and stopping the server, and the step from HTTP to the pipeline.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Extracted};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::auth::Credentials;
use crate::fault::truncated;
use crate::incoming::Incoming;
use crate::options::{Options, Tier};
use crate::pipeline::{Ending, Server};
use crate::reply::{Reply, ReplyBody};
use crate::spec::IncomingBody;
use crate::state::State;

/// The longest request body that is read.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// The longest path with its query; GitLab's front end refuses longer ones with 414.
const ADDRESS_LIMIT: usize = 8 * 1024;

/// A running fake GitLab. It stops when it is dropped.
#[derive(Debug)]
pub struct FakeGitlab {
    pub(crate) server: Arc<Server>,
    url: String,
    stop: watch::Sender<bool>,
    _directory: TempDir,
}

/// Settings of a server that is not running yet.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    options: Options,
    sub_path: String,
    port: u16,
}

impl Builder {
    /// The licence tier; Free by default.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.options.tier = tier;
        self
    }

    /// All switches at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Serves below a path such as `/gitlab`, as some self-managed instances do.
    #[must_use]
    pub fn sub_path(mut self, path: &str) -> Self {
        let path = path.trim_matches('/');
        self.sub_path = if path.is_empty() {
            String::new()
        } else {
            format!("/{path}")
        };
        self
    }

    /// A fixed port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts the server on the loopback interface.
    pub async fn start(self) -> FakeGitlab {
        let listener = TcpListener::bind(("127.0.0.1", self.port))
            .await
            .expect("the port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let url = format!("http://{address}{}", self.sub_path);
        let directory = TempDir::with_prefix("fake-gitlab-").expect("a temporary directory can be created");
        let state = State::new(self.options, url.clone(), directory.path().to_owned());
        let server = Arc::new(Server::new(state, self.sub_path));
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
        FakeGitlab {
            server,
            url,
            stop,
            _directory: directory,
        }
    }
}

impl FakeGitlab {
    /// Settings for a new server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The address of the instance with its sub-path, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of the REST API.
    pub fn api_url(&self) -> String {
        format!("{}/api/v4", self.url)
    }
}

impl Drop for FakeGitlab {
    fn drop(&mut self) {
        // The receivers are gone when the runtime already is: then there is nobody left to tell.
        self.stop.send(true).ok();
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
    if parts.uri.to_string().len() > ADDRESS_LIMIT {
        return Ok(response(&Reply::raw(
            414,
            "text/html",
            b"414 Request-URI Too Large".to_vec(),
        )));
    }
    let Ok(bytes) = to_bytes(body, BODY_LIMIT).await else {
        return Ok(response(&Reply::raw(
            413,
            "text/html",
            b"413 Request Entity Too Large".to_vec(),
        )));
    };
    let incoming = Incoming {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        credentials: credentials(&parts.headers),
        body: IncomingBody {
            content_type: text(&parts.headers, "content-type"),
            bytes: bytes.to_vec(),
        },
    };
    let latency = shared.server.core().state.options.latency;
    if !latency.is_zero() {
        // Outside of the lock: requests that run beside each other wait beside each other.
        tokio::time::sleep(latency).await;
    }
    let server = Arc::clone(&shared.server);
    let ending = tokio::task::spawn_blocking(move || server.process(&incoming)).await;
    let date = shared.server.core().state.options.date.clone();
    Ok(match ending.expect("a handler does not panic") {
        Ending::Answer(reply) => response(&match date {
            Some(date) => reply.header("date", &date),
            None => reply,
        }),
        Ending::Truncated(reply) => break_off(&reply),
        Ending::Hang => {
            until_stopped(shared.stopped).await;
            response(&Reply::empty(503))
        }
    })
}

fn credentials(headers: &HeaderMap) -> Credentials {
    let bearer = text(headers, "authorization").and_then(|value| value.strip_prefix("Bearer ").map(str::to_owned));
    Credentials {
        access: text(headers, "private-token").or(bearer),
        job: text(headers, "job-token"),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

fn response(reply: &Reply) -> Response {
    let (content_type, bytes) = match &reply.body {
        ReplyBody::Empty => return build(reply, None, Body::empty()),
        ReplyBody::Json(value) => ("application/json", escape(value).into_bytes()),
        ReplyBody::List(rows) => ("application/json", escape(&Value::Array(rows.clone())).into_bytes()),
        ReplyBody::Raw { content_type, bytes } => (content_type.as_str(), bytes.clone()),
    };
    build(reply, Some(content_type), Body::from(bytes))
}

/// Announces the whole body, sends half of it and breaks the connection.
fn break_off(reply: &Reply) -> Response {
    let half = truncated(reply);
    let announced = half.len() * 2 + 2;
    let first = stream::iter([Ok(Bytes::from(half))]);
    let broken = stream::once(async {
        // What comes before the break is only sent when the body has to be waited for.
        tokio::task::yield_now().await;
        Err(std::io::Error::other("the connection breaks"))
    });
    let mut response = build(reply, Some("application/json"), Body::from_stream(first.chain(broken)));
    response.headers_mut().insert(header::CONTENT_LENGTH, announced.into());
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

/// JSON as Rails prints it: `<`, `>` and `&` are escaped. They occur inside strings only.
fn escape(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
