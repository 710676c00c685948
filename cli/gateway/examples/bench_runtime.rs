//! Measures what the gateway costs, against the same provider reached directly, in one run: the time to the first byte,
//! the speed of a stream, and the memory that streams take. Prints the result as JSON and fails if a bar is missed.
//!
//! `scripts/bench runtime` builds and runs it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program, of numbers far below 2^53"
)]

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderValue, Response},
    serve::ListenerExt,
};
use bytes::Bytes;
use conclave_engine::ports::{SessionId, UsageLedger};
use conclave_gateway::{Gateway, GatewayConfig, HttpSettings, Limits, Upstream, Wire};
use futures_util::{future::join_all, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The most that the gateway may add to the first byte, half of the time.
const MAX_ADDED: Duration = Duration::from_millis(1);
/// The least speed of a stream through the gateway, in megabytes a second.
const MIN_SPEED: f64 = 200.0;
/// The most memory that a stream may take, however long it is: buffers of the sockets and one frame.
const MAX_GROWTH: u64 = 8 * 1024 * 1024;

const CALLS: usize = 500;
const WARM_UP: usize = 50;
const ROUNDS: usize = 5;
const MEGABYTE: usize = 1_000_000;

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const END: &str = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Text deltas of a length each, as much of them as fits into one write of a socket.
fn write(text_length: usize) -> Bytes {
    let text = "The quick brown fox. ".repeat(text_length / 21 + 1);
    let data = json!({"type": "content_block_delta", "index": 0,
                      "delta": {"type": "text_delta", "text": &text[..text_length]}});
    let frame = format!("event: content_block_delta\ndata: {data}\n\n");
    Bytes::from(frame.repeat((64 * 1024 / frame.len()).max(1)))
}

/// A provider whose stream is as long and made of such texts as the request says: `{"megabytes": …, "text": …}`.
async fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let listener = listener.tap_io(|socket| socket.set_nodelay(true).unwrap());
    let router = Router::new().fallback(async |request: Request| {
        let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let length = usize::try_from(body["metadata"]["megabytes"].as_u64().unwrap()).unwrap() * MEGABYTE;
        let write = write(usize::try_from(body["metadata"]["text"].as_u64().unwrap()).unwrap());
        let writes = length / write.len();
        let pieces = std::iter::once(Bytes::from_static(START.as_bytes()))
            .chain(std::iter::repeat_n(write, writes))
            .chain([Bytes::from_static(END.as_bytes())]);
        let mut response = Response::new(Body::from_stream(stream::iter(pieces.map(Ok::<_, std::io::Error>))));
        let kind = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert("content-type", kind);
        response
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// A way to the provider.
struct Way {
    url: String,
    client: reqwest::Client,
}

impl Way {
    fn to(url: &str) -> Self {
        Self {
            url: format!("{url}/messages"),
            client: reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap(),
        }
    }

    async fn ask(&self, number: usize, body: &Value) -> reqwest::Response {
        let mut body = body.clone();
        // The gateway stops a session that asks the same over and over.
        body["messages"][0]["content"][0]["text"] = json!(format!("{number} {}", "word ".repeat(4_000)));
        let request = self.client.post(&self.url).header("content-type", "application/json");
        let request = request.header("x-api-key", "key").header("x-session-id", "ses_a");
        let response = request.body(body.to_string()).send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        response
    }

    /// The time from the request to the first byte of the answer.
    async fn first_byte(&self, number: usize) -> Duration {
        let body = body(0, 40);
        let started = Instant::now();
        let mut response = self.ask(number, &body).await;
        response.chunk().await.unwrap().unwrap();
        let time = started.elapsed();
        while response.chunk().await.unwrap().is_some() {}
        time
    }

    /// Megabytes a second of one stream.
    async fn speed(&self, number: usize, megabytes: usize, text: usize) -> f64 {
        let mut response = self.ask(number, &body(megabytes, text)).await;
        let started = Instant::now();
        let mut length = 0;
        while let Some(chunk) = response.chunk().await.unwrap() {
            length += chunk.len();
        }
        assert!(length + MEGABYTE > megabytes * MEGABYTE, "{length}");
        length as f64 / 1e6 / started.elapsed().as_secs_f64()
    }
}

/// A request of about 20 KB.
fn body(megabytes: usize, text: usize) -> Value {
    json!({"model": "claude-opus-4-7", "max_tokens": 32000, "stream": true,
        "metadata": {"megabytes": megabytes, "text": text},
        "system": [{"type": "text", "text": "You review code.\nYou are powered by the model named claude-opus-4-7.\n<env>\n  Working directory: /tmp/x\n  Today's date: Fri Nov 20 2026\n</env>", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "# Reviewer: security"}]}]})
}

async fn gateway(provider: &str) -> Gateway {
    let upstream = Upstream {
        name: "anthropic".to_owned(),
        wire: Wire::Anthropic,
        base_url: provider.parse().unwrap(),
        credential: Some("key".to_owned().into()),
        extra_headers: Vec::new(),
    };
    let gateway = Gateway::start(GatewayConfig {
        limits: Limits {
            hold_back: Duration::ZERO,
            ..Limits::default()
        },
        http: HttpSettings {
            system_proxy: false,
            extra_ca_file: None,
        },
        ..GatewayConfig::new(vec![upstream], "key".to_owned().into())
    })
    .await
    .unwrap();
    let models = ["anthropic/claude-opus-4-7".parse().unwrap()];
    gateway.assign(&SessionId("ses_a".to_owned()), "security", &models);
    gateway
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The memory of this process that is in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap()
}

#[tokio::main]
async fn main() -> ExitCode {
    let provider = provider().await;
    let gateway = gateway(&provider).await;
    let (direct, through) = (Way::to(&provider), Way::to(&gateway.base_url("anthropic")));
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };

    let (mut plain, mut proxied) = (Vec::new(), Vec::new());
    for call in 0..CALLS + WARM_UP {
        let times = (direct.first_byte(next()).await, through.first_byte(next()).await);
        if call >= WARM_UP {
            plain.push(times.0);
            proxied.push(times.1);
        }
    }
    let [p50, p99] = [50, 99].map(|percent| (percentile(&mut plain, percent), percentile(&mut proxied, percent)));
    let added = p50.1.saturating_sub(p50.0);

    let mut speeds = Vec::new();
    let mut slowest = f64::INFINITY;
    for text in [80, 1_000, 8_000] {
        let (mut plain, mut proxied) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(direct.speed(next(), 200, text).await);
            proxied.push(through.speed(next(), 200, text).await);
        }
        let (plain, proxied) = (median(&mut plain), median(&mut proxied));
        slowest = slowest.min(proxied);
        speeds.push(
            json!({"text_bytes_per_frame": text, "direct_mb_s": plain.round(), "gateway_mb_s": proxied.round(),
                           "ratio": (proxied / plain * 100.0).round() / 100.0}),
        );
    }

    // Two at once first, so that what every stream needs is there; then long ones may add nothing.
    let many = async |megabytes: usize, from: usize| {
        join_all((0..2).map(|stream| through.speed(from + stream, megabytes, 1_000))).await;
    };
    many(50, 1_000_000).await;
    let before = resident();
    many(500, 2_000_000).await;
    let growth = resident().saturating_sub(before);

    let bars = [
        ("added to the first byte, median", added < MAX_ADDED),
        ("speed of a stream", slowest > MIN_SPEED),
        ("memory of long streams", growth < MAX_GROWTH),
    ];
    let result = json!({
        "first_byte": {"calls": CALLS, "direct_us": {"p50": micros(p50.0), "p99": micros(p99.0)},
                       "gateway_us": {"p50": micros(p50.1), "p99": micros(p99.1)},
                       "added_us": {"p50": micros(added), "p99": micros(p99.1.saturating_sub(p99.0))}},
        "stream": speeds,
        "memory": {"streams": 2, "megabytes_each": 500, "growth_bytes": growth},
        "bars": bars.iter().map(|(name, held)| json!({"bar": name, "held": held})).collect::<Vec<_>>(),
    });
    println!("{result:#}");
    gateway.shutdown().await;
    if bars.iter().all(|(_, held)| *held) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
