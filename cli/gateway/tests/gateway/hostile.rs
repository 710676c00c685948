//! Answers that are too much, or not what the protocol says: bounded, counted, told, survived.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, http::Response};
use bytes::Bytes;
use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, GatewayEvent, Rejection, Wire};
use conclave_resilience::classify::ProviderFault;
use futures_util::{StreamExt, stream};

use crate::{
    client::{Outcome, RUN_KEY, body, call, read},
    raw::{Raw, WHOLE, in_pieces, streaming},
    rig::{FORMATS, LONG, OPUS_NEW, config, model, session, until, wire_of},
};

async fn gateway(url: &str) -> Gateway {
    gateway_of(url, OPUS_NEW).await
}

fn request(gateway: &Gateway, text: &str) -> reqwest::RequestBuilder {
    let body = body(Wire::Anthropic, "claude-opus-4-7", text).to_string();
    call(&gateway.base_url("anthropic"), Wire::Anthropic, RUN_KEY, "ses_a", body)
}

async fn ask(gateway: &Gateway, text: &str) -> Outcome {
    read(request(gateway, text).send().await.unwrap()).await
}

/// The beginning of an answer, and its end.
fn halves() -> (Bytes, Bytes) {
    let at = WHOLE.find("data: {\"type\":\"content_block_delta\"").unwrap();
    (
        Bytes::from(&WHOLE.as_bytes()[..at]),
        Bytes::from(&WHOLE.as_bytes()[at..]),
    )
}

/// A delta of 64 KB.
fn delta() -> Bytes {
    let text = "x".repeat(64 * 1024);
    Bytes::from(format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
    ))
}

/// An answer of this many deltas; how many were taken is counted.
fn long(deltas: usize, taken: &Arc<AtomicUsize>) -> Response<Body> {
    let (start, end) = halves();
    let (piece, taken) = (delta(), Arc::clone(taken));
    let deltas = stream::iter(0..deltas).map(move |_| {
        taken.fetch_add(piece.len(), Ordering::SeqCst);
        piece.clone()
    });
    streaming(stream::iter([start]).chain(deltas).chain(stream::iter([end])))
}

const DELTAS: usize = 100 * 1024 / 64;

#[tokio::test]
async fn a_hundred_megabytes_pass_whole() {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let raw = Raw::start(move |_| long(DELTAS, &counted)).await;
    let gateway = gateway(&raw.url).await;
    let mut response = request(&gateway, "x").send().await.unwrap();
    let mut length = 0;
    while let Some(chunk) = response.chunk().await.unwrap() {
        length += chunk.len();
    }
    assert_eq!(length, taken.load(Ordering::SeqCst) + WHOLE.len());
    assert!(length > 100 * 1024 * 1024);
    assert_eq!(
        gateway.usage(&session("ses_a"))[0].tokens.output,
        42,
        "its end was read"
    );
}

#[tokio::test]
async fn what_the_runtime_does_not_read_is_not_fetched() {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let raw = Raw::start(move |_| long(DELTAS, &counted)).await;
    let gateway = gateway(&raw.url).await;
    let mut response = request(&gateway, "x").send().await.unwrap();
    response.chunk().await.unwrap().unwrap();
    // The runtime stops reading. Whatever is on the way fills the buffers of the sockets and of one chunk, and that is
    // all: once nothing was taken for a while, nothing more will be.
    let mut before = usize::MAX;
    until("a standstill", || taken.load(Ordering::SeqCst) > 0).await;
    while before != taken.load(Ordering::SeqCst) {
        before = taken.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    assert!(before < 40 * 1024 * 1024, "{before} bytes were fetched for nobody");
    drop(response);
    until("the end of the call", || gateway.idle_for(&session("ses_a")).is_none()).await;
}

#[tokio::test]
async fn an_endless_line_is_cut_off_early() {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let raw = Raw::start(move |_| {
        let (start, _) = halves();
        let counted = Arc::clone(&counted);
        let endless = stream::repeat(Bytes::from(vec![b'x'; 64 * 1024])).inspect(move |piece| {
            counted.fetch_add(piece.len(), Ordering::SeqCst);
        });
        streaming(stream::iter([start, Bytes::from_static(b"data: ")]).chain(endless))
    })
    .await;
    let gateway = gateway(&raw.url).await;
    let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it is cut");
    assert!(outcome.broken);
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken < 40 * 1024 * 1024, "{taken} bytes of one line");
    assert!(
        gateway
            .events()
            .iter()
            .any(|event| matches!(event, GatewayEvent::StreamCut { .. }))
    );
}

/// What is no answer at all is repeated, counted, and in the end told in one final error.
async fn is_garbage(respond: impl Fn() -> Response<Body> + Send + Sync + 'static) {
    let raw = Raw::start(move |_| respond()).await;
    let gateway = gateway(&raw.url).await;
    let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it ends");
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, Rejection::NoHealthyModel.marker())
    );
    assert_eq!(raw.seen().len(), 3);
    let kept = gateway.broken_answers(&session("ses_a"));
    assert!(kept.is_empty() || kept == ["hello"], "{kept:?}");
    let told = gateway.events().into_iter().filter(|event| {
        let fault = match event {
            GatewayEvent::Retried { fault, .. } => *fault,
            _ => return false,
        };
        matches!(
            fault,
            ProviderFault::Garbage | ProviderFault::CutStream | ProviderFault::Network
        )
    });
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_called_one_that_does_not_stream() {
    let whole = r#"{"type":"message","content":[{"type":"text","text":"hello"}]}"#;
    let raw = Raw::start(move |_| typed("application/json", whole)).await;
    let gateway = gateway(&raw.url).await;
    let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it ends");
    assert_eq!(outcome.message().as_str(), Rejection::NoHealthyModel.marker());
    let cause = gateway.last_failure(&session("ses_a")).expect("a cause");
    assert!(
        cause.contains("without streaming") && cause.contains("docs/models.md"),
        "{cause}"
    );
    assert_eq!(raw.seen().len(), 1, "each answer is paid for");
    assert_eq!(gateway.broken_answers(&session("ses_a")), ["hello"]);
}

#[tokio::test]
async fn the_word_of_a_stop_that_is_neither_an_end_nor_a_limit_is_kept_for_people() {
    let raw = Raw::start(|number| match number {
        0 => in_pieces(&WHOLE.replace("end_turn", "SAFETY"), 64),
        _ => in_pieces(WHOLE, 64),
    })
    .await;
    let gateway = gateway(&raw.url).await;
    for word in [Some("SAFETY"), None] {
        assert!(ask(&gateway, word.unwrap_or("x")).await.is_whole());
        assert_eq!(gateway.odd_stop(&session("ses_a")).as_deref(), word);
    }
}

#[tokio::test]
async fn a_stream_is_one_under_any_type() {
    for kind in ["Text/Event-Stream", "application/json", "application/octet-stream"] {
        let raw = Raw::start(move |_| typed(kind, WHOLE)).await;
        let gateway = gateway(&raw.url).await;
        let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it ends");
        assert!(outcome.is_whole(), "{kind}: {outcome:?}");
        assert_eq!(gateway.usage(&session("ses_a"))[0].tokens.output, 42, "{kind}");
    }
}

fn typed(kind: &'static str, body: &'static str) -> Response<Body> {
    Response::builder()
        .header("content-type", kind)
        .body(Body::from(body))
        .unwrap()
}

#[tokio::test]
async fn an_error_in_place_of_a_stream_is_told_in_its_words() {
    for (body, cause, calls) in [
        (
            r#"{"error":{"code":404,"message":"no such model"}}"#,
            "model unavailable, 404: \"no such model\"",
            1,
        ),
        (
            r#"{"error":{"code":429,"message":"free models per day"}}"#,
            "rate limited, 429: \"free models per day\"",
            3,
        ),
        (
            r#"{"detail":"Not Found"}"#,
            "garbage: what came is not a model's answer, \"Not Found\"",
            3,
        ),
    ] {
        let raw = Raw::start(move |_| typed("application/json", body)).await;
        let gateway = gateway(&raw.url).await;
        let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it ends");
        assert_eq!(outcome.message().as_str(), Rejection::NoHealthyModel.marker());
        let last = gateway.last_failure(&session("ses_a")).expect("a cause");
        assert!(last.starts_with(cause), "{last}");
        assert_eq!(raw.seen().len(), calls, "{body}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_told_in_its_words_and_a_sign_of_life_is_none() {
    let name = FORMATS[1];
    let wire = wire_of(model(name).provider());
    for error in [
        "event: error\ndata: {\"message\":\"engine dead\"}\n\n",
        "event: error\ndata: engine dead\n\n",
        "error: {\"code\":500,\"message\":\"engine dead\"}\n\n",
        "{\"error\":\"engine dead\"}\n\n",
        "<html>engine dead</html>\n\n",
    ] {
        let raw = Raw::start(move |_| in_pieces(&(error.to_owned() + &whole(wire, "first")), 4096)).await;
        let gateway = gateway_of(&raw.url, name).await;
        let outcome = ask_model(&gateway, name).await;
        assert!(!outcome.is_whole(), "{error}: {outcome:?}");
        let cause = gateway.last_failure(&session("ses_a")).expect("a cause");
        assert!(cause.contains("engine dead"), "{error}: {cause}");
    }
    for alive in [
        ": OPENROUTER PROCESSING\n\n",
        "event: ping\ndata: {}\n\n",
        "event: ping\ndata: now\n\n",
    ] {
        let raw = Raw::start(move |_| in_pieces(&(alive.to_owned() + &whole(wire, "first")), 4096)).await;
        let gateway = gateway_of(&raw.url, name).await;
        let outcome = ask_model(&gateway, name).await;
        assert!(outcome.is_whole() && raw.seen().len() == 1, "{alive}: {outcome:?}");
    }
}

#[tokio::test]
async fn other_content_types_are_no_answers() {
    is_garbage(|| typed("text/html", "<html><body>502</body></html>")).await;
    is_garbage(|| typed("application/json", r#"{"detail":"Not Found"}"#)).await;
    is_garbage(|| typed("application/octet-stream", "\u{1f}\u{8b}")).await;
}

#[tokio::test]
async fn half_json_and_other_streams_are_no_answers() {
    for text in [
        "",
        "data: {\"type\":\"content_blo\n\n",
        "data: \u{fffd}\u{1}\n\n",
        "data: [1,2\n\ndata: null\n\n",
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":-5}}}\n\n",
        "event: message_start\n\n: nothing\n\n",
    ] {
        is_garbage(move || typed("text/event-stream", text)).await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_no_answer() {
    is_garbage(|| {
        let bytes: Vec<u8> = (0..=255u8)
            .cycle()
            .take(3_000)
            .chain(*b"\n\ndata: \xff\xfe\n\n")
            .collect();
        streaming(stream::iter([Bytes::from(bytes)]))
    })
    .await;
}

#[tokio::test]
async fn huge_headers_of_a_provider_are_survived() {
    is_garbage(|| {
        let mut response = in_pieces(WHOLE, 64);
        for number in 0..40 {
            let name: axum::http::HeaderName = format!("x-huge-{number}").parse().unwrap();
            response.headers_mut().insert(name, "h".repeat(30_000).parse().unwrap());
        }
        response
    })
    .await;
}

#[tokio::test]
async fn huge_headers_of_a_client_are_refused_and_the_next_call_goes_on() {
    let raw = Raw::start(|_| in_pieces(WHOLE, 64)).await;
    let gateway = gateway(&raw.url).await;
    let sent = request(&gateway, "x")
        .header("x-huge", "h".repeat(900_000))
        .send()
        .await;
    assert!(sent.is_err() || sent.is_ok_and(|response| response.status() == 431));
    assert!(raw.seen().is_empty());
    assert!(ask(&gateway, "x").await.is_whole());
}

#[tokio::test]
async fn words_behind_a_whole_call_that_cannot_be_read_are_asked_for_again() {
    const CALL: &str = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let after_call = |last: &'static str| async move {
        let raw = Raw::start(move |number| {
            if number == 0 {
                streaming(stream::iter([CALL, last].map(Bytes::from)))
            } else {
                in_pieces(WHOLE, 64)
            }
        })
        .await;
        let gateway = gateway(&raw.url).await;
        ask(&gateway, "x").await
    };
    for lost in [
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"rich_text\",\"spans\":[\"a finding\"]}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":[7]}}\n\n",
    ] {
        let outcome = after_call(lost).await;
        // Whether the gateway or the runtime asks again depends on how the pieces arrive.
        assert!(outcome.broken || outcome.body.contains("näive"), "{lost}: {outcome:?}");
    }
    let outcome = after_call("data: <html>\n\n").await;
    assert!(outcome.is_whole() && outcome.body.contains("tool_use"), "{outcome:?}");
}

/// A whole answer of this text in a format.
fn whole(wire: Wire, text: &str) -> String {
    let answer = match wire {
        Wire::Anthropic => WHOLE,
        Wire::OpenAiChat => concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"näive ✓\"},\"finish_reason\":null}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n",
            "data: [DONE]\n\n"
        ),
        Wire::OpenAiResponses => concat!(
            "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"content\":[]}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"delta\":\"näive ✓\"}\n\n",
            "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"content\":[]}}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":4}}}\n\n"
        ),
    };
    answer.replace("näive ✓", text)
}

/// A gateway before this upstream, with a session for one model.
async fn gateway_of(url: &str, name: &str) -> Gateway {
    let gateway = Gateway::start(config(url)).await.unwrap();
    gateway.assign(&session("ses_a"), "security", &[model(name)]);
    gateway
}

async fn ask_model(gateway: &Gateway, name: &str) -> Outcome {
    let model = model(name);
    let wire = wire_of(model.provider());
    let body = body(wire, model.model(), "x").to_string();
    let base = gateway.base_url(model.provider());
    read(call(&base, wire, RUN_KEY, "ses_a", body).send().await.unwrap()).await
}

#[tokio::test]
async fn an_answer_behind_the_end_of_another_one_is_asked_for_again() {
    for name in FORMATS {
        let wire = wire_of(model(name).provider());
        let raw = Raw::start(move |number| match number {
            0 => streaming(stream::iter(
                ["first", "second"].map(|text| Bytes::from(whole(wire, text))),
            )),
            _ => in_pieces(&whole(wire, "third"), 64),
        })
        .await;
        let gateway = gateway_of(&raw.url, name).await;
        let mut outcome = ask_model(&gateway, name).await;
        // Whether the gateway or the runtime asks again depends on how the pieces arrive.
        if outcome.broken {
            assert!(!outcome.body.contains("second"), "{name}: {outcome:?}");
            outcome = ask_model(&gateway, name).await;
        }
        assert!(
            outcome.is_whole() && outcome.body.contains("third"),
            "{name}: {outcome:?}"
        );
        let told = |event: &GatewayEvent| match event {
            GatewayEvent::Retried { fault, .. } => *fault == ProviderFault::Garbage,
            GatewayEvent::StreamCut { reason, .. } => *reason == ProviderFault::Garbage.into(),
            _ => false,
        };
        assert!(gateway.events().iter().any(told), "{name}: {:?}", gateway.events());
        let kept = gateway.broken_answers(&session("ses_a"));
        assert!(
            kept.len() == 1 && kept[0].contains("first") && kept[0].contains("second"),
            "{name}: {kept:?}"
        );
    }
}

#[tokio::test]
async fn what_endpoints_send_behind_an_answer_leaves_it_whole() {
    let again = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let completed =
        "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":4}}}\n\n";
    for (name, last) in FORMATS.into_iter().zip([again, usage, completed]) {
        let wire = wire_of(model(name).provider());
        for behind in [
            last,
            "\n\n: end of the stream\n\n",
            "data: [DONE]\n\n",
            "data:\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        ] {
            let raw = Raw::start(move |_| in_pieces(&(whole(wire, "first") + behind), 4096)).await;
            let gateway = gateway_of(&raw.url, name).await;
            let outcome = ask_model(&gateway, name).await;
            assert!(outcome.is_whole(), "{name} {behind}: {outcome:?}");
            assert_eq!(raw.seen().len(), 1, "{name} {behind}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_does_not_end_with_its_answer_holds_it_up_for_a_moment() {
    let raw = Raw::start(|_| streaming(stream::iter([Bytes::from(WHOLE)]).chain(stream::pending()))).await;
    let gateway = gateway(&raw.url).await;
    let outcome = tokio::time::timeout(LONG, ask(&gateway, "x")).await.expect("it ends");
    assert!(outcome.is_whole(), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_that_is_compressed_unasked_is_told_as_such() {
    let encoded = |encoding: &'static str, body: &'static [u8]| {
        Raw::start(move |_| {
            let mut response = streaming(stream::iter([Bytes::from_static(body)]));
            let encoding = encoding.parse().unwrap();
            response.headers_mut().insert("content-encoding", encoding);
            response
        })
    };
    let raw = encoded("gzip", b"\x1f\x8b\x08\x00").await;
    let gateway_of_it = gateway(&raw.url).await;
    assert_eq!(ask(&gateway_of_it, "x").await.status, 400);
    let cause = gateway_of_it.last_failure(&session("ses_a")).expect("a cause");
    assert!(cause.contains("compressed with gzip"), "{cause}");
    for encoding in ["identity", "br"] {
        let raw = encoded(encoding, WHOLE.as_bytes()).await;
        assert!(ask(&gateway(&raw.url).await, "x").await.is_whole(), "{encoding}");
    }
}

#[tokio::test]
async fn unknown_events_pass_and_are_counted() {
    let (start, end) = halves();
    let raw = Raw::start(move |_| {
        let unknown = "event: new\ndata: {\"type\":\"something_of_next_year\",\"x\":[1,{\"y\":null}]}\n\n";
        let pieces = [start.clone(), Bytes::from(unknown.repeat(3)), end.clone()];
        streaming(stream::iter(pieces))
    })
    .await;
    let gateway = gateway(&raw.url).await;
    let outcome = ask(&gateway, "x").await;
    assert!(outcome.is_whole());
    assert_eq!(outcome.body.matches("something_of_next_year").count(), 3);
    let told = GatewayEvent::UnknownEvents {
        model: model(OPUS_NEW),
        events: 3,
    };
    assert_eq!(gateway.events(), [told]);
}
