//! An upstream that does exactly what a test says, and keeps every header.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Response},
};
use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::{net::TcpListener, task::JoinHandle};

type Respond = dyn Fn(usize) -> Response<Body> + Send + Sync;

/// A request with everything in it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

struct Shared {
    seen: Mutex<Vec<Seen>>,
    respond: Box<Respond>,
}

/// The upstream; it ends when it is dropped.
pub(crate) struct Raw {
    pub(crate) url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Raw {
    /// Starts one; the function gets the number of the request, from 0.
    pub(crate) async fn start(respond: impl Fn(usize) -> Response<Body> + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            respond: Box::new(respond),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, server }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let mut seen = shared.seen.lock().unwrap();
    let number = seen.len();
    seen.push(Seen {
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body,
    });
    drop(seen);
    (shared.respond)(number)
}

/// A streaming answer of these pieces.
pub(crate) fn streaming(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    use futures_util::StreamExt;
    let mut response = Response::new(Body::from_stream(pieces.map(Ok::<_, std::io::Error>)));
    let kind = "text/event-stream".parse().unwrap();
    response.headers_mut().insert("content-type", kind);
    response
}

/// A streaming answer that comes in pieces of this size.
pub(crate) fn in_pieces(text: &str, size: usize) -> Response<Body> {
    let pieces: Vec<Bytes> = text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
    streaming(stream::iter(pieces))
}

/// A whole answer in the Anthropic format.
pub(crate) const WHOLE: &str = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":100,\
    \"cache_creation_input_tokens\":300,\"cache_read_input_tokens\":700,\"output_tokens\":1}}}\n\n\
    : keep-alive\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"näive ✓\"}}\n\n\
    data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";
