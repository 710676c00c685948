//! The tables of errors: what OpenCode does with what it is answered. The gateway is built on every one of these rows.

use conclave_engine::plugin::ProviderWire::{self, Anthropic, OpenAiChat, OpenAiResponses};
use conclave_shared::model::ModelId;

use super::{
    emitter::{Emission, Emitter, Ending, frames, prompt},
    runtime::{FORMATS, Place, Reaction, Runtime, all},
};

const MARKER: &str = "conclave: no healthy model";
/// Time that OpenCode waits at the providers that are called `quick-…`.
const PATIENCE: u64 = 4_000;

/// What a row is to lead to.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// An error of this name whose message has this in it, after a single request.
    Final(&'static str, &'static str),
    Retries,
    Loops,
    Done(&'static str),
}

struct Row {
    what: String,
    provider: String,
    emission: Emission,
    expected: Expected,
}

fn row(what: impl Into<String>, provider: &str, emission: Emission, expected: Expected) -> Row {
    Row {
        what: what.into(),
        provider: provider.to_owned(),
        emission,
        expected,
    }
}

fn error_body(wire: ProviderWire, message: &str) -> String {
    match wire {
        Anthropic => format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#),
        OpenAiChat | OpenAiResponses => format!(
            r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":null,"code":"conclave_final"}}}}"#
        ),
    }
}

/// Before the first byte: statuses.
fn statuses() -> Vec<Row> {
    let mut rows = Vec::new();
    for (provider, wire) in FORMATS {
        let json = |status: u16, message: &str| Emission::Status(status, "application/json", error_body(wire, message));
        let mut add = |what: String, emission, expected| rows.push(row(what, provider, emission, expected));
        for status in [400, 401, 402, 403, 410, 418, 422, 424, 451] {
            add(
                format!("{status}"),
                json(status, MARKER),
                Expected::Final("APIError", MARKER),
            );
        }
        let of_404 = if wire == OpenAiResponses {
            Expected::Retries
        } else {
            Expected::Final("APIError", MARKER)
        };
        add("404".into(), json(404, MARKER), of_404);
        add(
            "413".into(),
            json(413, MARKER),
            Expected::Final("ContextOverflowError", ""),
        );
        for status in [408, 409, 429, 500, 501, 503, 529] {
            add(format!("{status}"), json(status, MARKER), Expected::Retries);
        }
        for text in [
            "it took 1500 ms",
            "server error",
            "Overloaded",
            "request id req_01150442",
        ] {
            add(format!("400 that says {text}"), json(400, text), Expected::Retries);
        }
        let too_long = Expected::Final("ContextOverflowError", "");
        add(
            "400 about the length".into(),
            json(400, "conclave: prompt is too long"),
            too_long,
        );
        let plain = Emission::Status(400, "text/plain", MARKER.to_owned());
        add("400 in plain text".into(), plain, Expected::Final("APIError", MARKER));
        let html = Emission::Status(400, "text/html", format!("<html><body>{MARKER}</body></html>"));
        add("400 in HTML".into(), html, Expected::Final("APIError", "Bad Request"));
        let empty = Emission::Status(400, "application/json", String::new());
        add(
            "400 without a body".into(),
            empty,
            Expected::Final("APIError", "Bad Request"),
        );
    }
    rows
}

/// Holding a request.
fn waits() -> Vec<Row> {
    let mut rows = Vec::new();
    for (provider, wire) in FORMATS {
        let provider = &format!("quick-{provider}");
        rows.push(row("no headers", provider, Emission::Silence, Expected::Retries));
        let silent = Emission::Stream(": wait\n\n".into(), Ending::Silent);
        rows.push(row("headers and silence", provider, silent, Expected::Retries));
        let comments = Emission::Waits(wire, ": keep-alive\n\n".into());
        rows.push(row("comments", provider, comments, Expected::Done("stop")));
        let filler = match wire {
            Anthropic => "data: {\"type\":\"ping\"}\n\n".to_owned(),
            OpenAiChat => frames::start(wire),
            OpenAiResponses => frames::start(wire).replace("response.created", "response.in_progress"),
        };
        rows.push(row(
            "frames that say nothing",
            provider,
            Emission::Waits(wire, filler),
            Expected::Done("stop"),
        ));
    }
    rows
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    AfterStart,
    InText,
    AfterText,
    AfterCall,
}

const POSITIONS: [Position; 5] = [
    Position::First,
    Position::AfterStart,
    Position::InText,
    Position::AfterText,
    Position::AfterCall,
];

fn until(wire: ProviderWire, position: Position) -> String {
    match position {
        Position::First => String::new(),
        Position::AfterStart => frames::start(wire),
        Position::InText => frames::start(wire) + &frames::half_text(wire),
        Position::AfterText => frames::start(wire) + &frames::text(wire),
        Position::AfterCall => frames::start(wire) + &frames::text(wire) + &frames::call(wire),
    }
}

/// An error frame, and what it leads to at each position.
fn error_frames(wire: ProviderWire) -> Vec<(&'static str, String, [Expected; 5])> {
    use Expected::{Final, Retries};
    let frame = |data: &str| format!("data: {data}\n\n");
    let neutral = Final("UnknownError", "neutral");
    let unknown = Final("UnknownError", MARKER);
    let api = Final("APIError", MARKER);
    match wire {
        Anthropic => vec![
            (
                "overloaded",
                frame(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
                [Retries; 5],
            ),
            (
                "neutral",
                frame(r#"{"type":"error","error":{"type":"api_error","message":"something neutral"}}"#),
                [Retries, neutral, neutral, neutral, neutral],
            ),
            (
                "final",
                frame(&error_body(wire, MARKER)),
                [Retries, unknown, unknown, unknown, unknown],
            ),
        ],
        OpenAiChat => vec![
            (
                "overloaded",
                frame(r#"{"error":{"code":"server_error","message":"Overloaded"}}"#),
                [Retries; 5],
            ),
            (
                "neutral",
                frame(r#"{"error":{"type":"api_error","message":"something neutral"}}"#),
                [neutral; 5],
            ),
            (
                "final",
                frame(&format!(
                    r#"{{"error":{{"message":"{MARKER}","type":"invalid_request_error","code":"invalid_prompt"}}}}"#
                )),
                [unknown; 5],
            ),
            (
                "an error with a type beside it",
                frame(&format!(
                    r#"{{"type":"error","error":{{"message":"{MARKER}","type":"invalid_request_error"}}}}"#
                )),
                [unknown; 5],
            ),
        ],
        OpenAiResponses => vec![
            (
                "overloaded",
                frame(
                    r#"{"type":"response.failed","sequence_number":1,"response":{"error":{"code":"server_error","message":"Overloaded"}}}"#,
                ),
                [Retries; 5],
            ),
            (
                "flat and neutral",
                frame(r#"{"type":"error","code":null,"message":"something neutral","param":null,"sequence_number":1}"#),
                [Retries; 5],
            ),
            (
                "final",
                frame(&format!(
                    r#"{{"type":"error","sequence_number":1,"error":{{"type":"invalid_request_error","code":"invalid_prompt","message":"{MARKER}","param":null}}}}"#
                )),
                [api; 5],
            ),
            (
                "final, but without its number",
                frame(&format!(
                    r#"{{"type":"error","error":{{"type":"invalid_request_error","code":"invalid_prompt","message":"{MARKER}","param":null}}}}"#
                )),
                [Expected::Loops; 5],
            ),
            (
                "flat",
                frame(&format!(
                    r#"{{"type":"error","code":"invalid_prompt","message":"{MARKER}","param":null,"sequence_number":1}}"#
                )),
                [api, api, Retries, Retries, Retries],
            ),
            (
                "response.failed",
                frame(&format!(
                    r#"{{"type":"response.failed","sequence_number":1,"response":{{"error":{{"code":"invalid_prompt","message":"{MARKER}"}}}}}}"#
                )),
                [api, api, unknown, unknown, unknown],
            ),
        ],
    }
}

/// After the first byte: streams that break, and error frames, at every position.
fn streams(wire: ProviderWire) -> Vec<Row> {
    let mut rows = Vec::new();
    for (provider, wire) in FORMATS.into_iter().filter(|(_, format)| *format == wire) {
        for (at, position) in POSITIONS.into_iter().enumerate() {
            let before = until(wire, position);
            let mut add = |what: &str, frames: String, ending, expected| {
                let what = format!("{what}, {position:?}");
                rows.push(row(what, provider, Emission::Stream(frames, ending), expected));
            };
            add(
                "a clean end without the terminal event",
                before.clone(),
                Ending::Clean,
                Expected::Loops,
            );
            add(
                "a dropped connection",
                before.clone(),
                Ending::Dropped,
                Expected::Retries,
            );
            for (what, frame, expected) in error_frames(wire) {
                add(what, format!("{before}{frame}"), Ending::Clean, expected[at]);
            }
        }
        let said = until(wire, Position::AfterText) + &frames::reason(wire);
        let expected = match wire {
            OpenAiChat => Expected::Done("stop"),
            Anthropic | OpenAiResponses => Expected::Loops,
        };
        rows.push(row(
            "a clean end after the reason",
            provider,
            Emission::Stream(said, Ending::Clean),
            expected,
        ));
    }
    if wire != OpenAiResponses {
        return rows;
    }
    let uncounted = frames::stop(OpenAiResponses).replace("{\"input_tokens\":9,\"output_tokens\":4}", "null");
    assert!(uncounted.contains("\"usage\":null"));
    rows.push(row(
        "an end without counts",
        "openai",
        Emission::Stream(until(OpenAiResponses, Position::AfterText) + &uncounted, Ending::Clean),
        Expected::Loops,
    ));
    rows
}

async fn check(rows: Vec<Row>) {
    let emitter = Emitter::start().await;
    let mut places = Vec::new();
    for (name, wire) in FORMATS {
        for (name, patience) in [(name.to_owned(), None), (format!("quick-{name}"), Some(PATIENCE))] {
            places.push(Place {
                base_url: format!("{}/{name}/v1", emitter.url),
                name,
                wire,
                model: "some-model",
                patience,
            });
        }
    }
    let runtime = Runtime::start(&places).await;
    all(rows, |row| {
        let (runtime, emitter) = (&runtime, &emitter);
        async move {
            let number = emitter.add(row.emission.clone());
            let model = ModelId::from_parts(&row.provider, "some-model").unwrap();
            let reaction = runtime
                .react(&model, &prompt(number), || emitter.requests(number))
                .await;
            let asked = emitter.requests(number);
            let right = match (row.expected, &reaction) {
                (Expected::Final(expected, part), Reaction::Final { name, message }) => {
                    // Looked at as soon as it is told: nothing is asked again.
                    name == expected && message.contains(part) && asked == 1
                }
                (Expected::Retries, Reaction::Retries) | (Expected::Loops, Reaction::Loops) => true,
                (Expected::Done(expected), Reaction::Done(reason)) => reason == expected && asked == 1,
                _ => false,
            };
            let Row {
                what,
                provider,
                expected,
                ..
            } = row;
            (!right).then(|| format!("{provider}: {what}: {reaction:?} after {asked} requests, not {expected:?}"))
        }
    })
    .await;
    runtime.stop().await;
}

#[tokio::test]
async fn opencode_reacts_to_statuses_and_waits_as_the_gateway_expects() {
    let mut rows = statuses();
    rows.extend(waits());
    check(rows).await;
}

#[tokio::test]
async fn opencode_reacts_to_streams_of_messages_as_the_gateway_expects() {
    check(streams(Anthropic)).await;
}

#[tokio::test]
async fn opencode_reacts_to_streams_of_chat_completions_as_the_gateway_expects() {
    check(streams(OpenAiChat)).await;
}

#[tokio::test]
async fn opencode_reacts_to_streams_of_responses_as_the_gateway_expects() {
    check(streams(OpenAiResponses)).await;
}
