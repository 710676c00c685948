//! A server that answers OpenCode with exactly what a row of the tables says.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::Response,
};
use bytes::Bytes;
use conclave_engine::plugin::ProviderWire;
use futures_util::{StreamExt, stream};
use tokio::{net::TcpListener, task::JoinHandle};

/// Number of times that a row is answered.
const MOST: usize = 6;

/// How a row answers.
#[derive(Debug, Clone)]
pub(crate) enum Emission {
    /// With this status, content type and body.
    Status(u16, &'static str, String),
    /// With a stream of these frames, then this end.
    Stream(String, Ending),
    /// Not at all.
    Silence,
    /// With a stream of nothing but this, again and again for a while, and then a whole answer.
    Waits(ProviderWire, String),
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Cleanly.
    Clean,
    /// The connection is dropped inside the body.
    Dropped,
    /// Nothing more comes.
    Silent,
}

#[derive(Default)]
struct Rows {
    emissions: Vec<Emission>,
    requests: HashMap<usize, usize>,
}

/// The server; it ends when it is dropped.
pub(crate) struct Emitter {
    pub(crate) url: String,
    rows: Arc<Mutex<Rows>>,
    server: JoinHandle<()>,
}

impl Emitter {
    pub(crate) async fn start() -> Self {
        let rows = Arc::new(Mutex::new(Rows::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&rows));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, rows, server }
    }

    /// Adds a row; its number stands in the prompt of the session that gets it.
    pub(crate) fn add(&self, emission: Emission) -> usize {
        let mut rows = self.rows.lock().unwrap();
        rows.emissions.push(emission);
        rows.emissions.len() - 1
    }

    /// How often a row was asked for.
    pub(crate) fn requests(&self, row: usize) -> usize {
        self.rows
            .lock()
            .unwrap()
            .requests
            .get(&row)
            .copied()
            .unwrap_or_default()
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The prompt of a row.
pub(crate) fn prompt(row: usize) -> String {
    format!("This is row-{row:04}-of the table.")
}

fn row_of(body: &str) -> usize {
    let from = body.find("row-").expect("every request is of a row") + 4;
    body[from..from + 4].parse().unwrap()
}

async fn answer(State(rows): State<Arc<Mutex<Rows>>>, request: Request) -> Response<Body> {
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let row = row_of(std::str::from_utf8(&body).unwrap());
    let emission = {
        let mut rows = rows.lock().unwrap();
        let asked = rows.requests.entry(row).or_default();
        *asked += 1;
        // A loop is seen by now; going on with it would only keep OpenCode busy.
        if *asked > MOST {
            Emission::Silence
        } else {
            rows.emissions[row].clone()
        }
    };
    match emission {
        Emission::Silence => std::future::pending().await,
        Emission::Status(status, kind, body) => Response::builder()
            .status(status)
            .header("content-type", kind)
            .body(Body::from(body))
            .unwrap(),
        Emission::Stream(frames, ending) => {
            let end = match ending {
                Ending::Clean => stream::empty().boxed(),
                Ending::Silent => stream::pending().boxed(),
                // What was written has to leave before the connection is dropped.
                Ending::Dropped => stream::once(async {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    Err(io::Error::from(io::ErrorKind::ConnectionAborted))
                })
                .boxed(),
            };
            let frames = stream::iter((!frames.is_empty()).then(|| Ok(Bytes::from(frames))));
            events(Body::from_stream(frames.chain(end)))
        }
        Emission::Waits(wire, filler) => {
            let waiting = stream::iter(0..16).then(move |_| {
                let filler = Bytes::from(filler.clone());
                async move {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    Ok::<_, io::Error>(filler)
                }
            });
            let whole = Bytes::from(format!(
                "{}{}{}",
                frames::start(wire),
                frames::text(wire),
                frames::stop(wire)
            ));
            events(Body::from_stream(waiting.chain(stream::iter([Ok(whole)]))))
        }
    }
}

fn events(body: Body) -> Response<Body> {
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(body)
        .unwrap()
}

/// The frames of the three formats.
pub(crate) mod frames {
    use conclave_engine::plugin::ProviderWire::{self, Anthropic, OpenAiChat, OpenAiResponses};

    fn all(data: &[&str]) -> String {
        data.iter()
            .fold(String::new(), |frames, data| frames + "data: " + data + "\n\n")
    }

    /// The beginning of an answer.
    pub(crate) fn start(wire: ProviderWire) -> String {
        all(&[match wire {
            Anthropic => {
                r#"{"type":"message_start","message":{"id":"msg_a","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#
            }
            OpenAiChat => {
                r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#
            }
            OpenAiResponses => {
                r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_a","object":"response","created_at":1,"status":"in_progress","model":"m","output":[],"usage":null}}"#
            }
        }])
    }

    /// A text that is not over.
    pub(crate) fn half_text(wire: ProviderWire) -> String {
        let whole = text(wire);
        let frames: Vec<&str> = whole.split_inclusive("\n\n").collect();
        // Chat Completions does not say when a text is over.
        let open = if frames.len() > 1 { frames.len() - 1 } else { 1 };
        frames[..open].concat()
    }

    /// A text.
    pub(crate) fn text(wire: ProviderWire) -> String {
        match wire {
            Anthropic => all(&[
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"calling read"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
            ]),
            OpenAiChat => all(&[
                r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"calling read"},"finish_reason":null}]}"#,
            ]),
            OpenAiResponses => all(&[
                r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_0","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
                r#"{"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":"calling read"}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"calling read","annotations":[]}]}}"#,
            ]),
        }
    }

    /// A whole call of a tool.
    pub(crate) fn call(wire: ProviderWire) -> String {
        match wire {
            Anthropic => all(&[
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_a","name":"read","input":{}}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"filePath\":\"main.rs\"}"}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
            ]),
            OpenAiChat => all(&[
                r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}"#,
                r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"filePath\":\"main.rs\"}"}}]},"finish_reason":null}]}"#,
            ]),
            OpenAiResponses => all(&[
                r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_a","type":"function_call","status":"in_progress","call_id":"call_a","name":"read","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","item_id":"fc_a","output_index":1,"delta":"{\"filePath\":\"main.rs\"}"}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_a","type":"function_call","status":"completed","call_id":"call_a","name":"read","arguments":"{\"filePath\":\"main.rs\"}"}}"#,
            ]),
        }
    }

    /// The reason of the stop, without the terminal event where that is another one.
    pub(crate) fn reason(wire: ProviderWire) -> String {
        match wire {
            Anthropic => all(&[
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}"#,
            ]),
            OpenAiChat => all(&[
                r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            ]),
            OpenAiResponses => String::new(),
        }
    }

    /// The end of an answer.
    pub(crate) fn stop(wire: ProviderWire) -> String {
        let terminal = match wire {
            Anthropic => r#"{"type":"message_stop"}"#,
            OpenAiChat => "[DONE]",
            OpenAiResponses => {
                r#"{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":4}}}"#
            }
        };
        reason(wire) + &all(&[terminal])
    }
}
