//! Every fault of a provider, through our gateway, as the real OpenCode shows it: silent where it can be healed, one
//! clear error where not, and never an endless loop.

use std::time::Duration;

use conclave_engine::{
    plugin::ProviderWire::{Anthropic, OpenAiChat, OpenAiResponses},
    ports::UsageLedger,
};
use conclave_gateway::{BreakerSettings, Gateway, GatewayConfig, HttpSettings, Limits, RetryPolicy, Upstream, Wire};
use conclave_scripted_provider::{Answer, Fault, Position, Scripted, ScriptedProvider};
use conclave_shared::model::ModelId;
use serde_json::json;

use super::runtime::{FORMATS, KEY, Place, Reaction, Runtime, all};

const TEXT: &str = "The first sentence of an answer. The second sentence of it. The third one.";

/// What a session is to end with, and how many calls of the provider that takes.
struct Row {
    what: &'static str,
    fault: Option<Fault>,
    answer: Answer,
    /// More models for the session, so that the one it asks is not the last.
    others: &'static [&'static str],
    expected: Reaction,
    calls: usize,
}

fn failed(name: &str, marker: &str) -> Reaction {
    Reaction::Final {
        name: name.to_owned(),
        message: marker.to_owned(),
    }
}

fn done(reason: &str) -> Reaction {
    Reaction::Done(reason.to_owned())
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows(wire: conclave_engine::plugin::ProviderWire) -> Vec<Row> {
    let text = || Answer::text(TEXT);
    let call = || Answer::call("read", json!({"filePath": "main.rs"})).with_text("I will read it.");
    let row = |what, fault: Fault, expected, calls| Row {
        what,
        fault: Some(fault),
        answer: text(),
        others: &[],
        expected,
        calls,
    };
    // After content an error can only be a frame; in two of the formats that is an error without a name of its own.
    let late = match wire {
        Anthropic | OpenAiChat => "UnknownError",
        OpenAiResponses => "APIError",
    };
    let none = "conclave: no healthy model";
    vec![
        Row {
            fault: None,
            ..row("nothing", Fault::empty(), done("stop"), 1)
        },
        row(
            "always overloaded",
            Fault::status(529).retry_after(3600),
            failed("APIError", none),
            3,
        ),
        row("overloaded for a moment", Fault::status(503).times(1), done("stop"), 2),
        row("no such model", Fault::status(404), failed("APIError", none), 1),
        row(
            "a bad request, with digits in its error",
            Fault::status(400),
            failed("APIError", "conclave: provider rejected the request"),
            1,
        ),
        row(
            "no access",
            Fault::status(403),
            failed("APIError", "conclave: provider rejected credentials"),
            1,
        ),
        row(
            "too long",
            Fault::context_overflow(),
            failed("ContextOverflowError", "prompt is too long"),
            1,
        ),
        row(
            "cut before any frame",
            Fault::cut().at(Position::BeforeFirstFrame).times(1),
            done("stop"),
            2,
        ),
        row(
            "cut after the start",
            Fault::cut().at(Position::AfterStart).times(2),
            done("stop"),
            3,
        ),
        row(
            "garbage after the start",
            Fault::garbage().at(Position::AfterStart).times(1),
            done("stop"),
            2,
        ),
        row(
            "overloaded after the start",
            Fault::error_frame("overloaded_error", "Overloaded")
                .at(Position::AfterStart)
                .times(1),
            done("stop"),
            2,
        ),
        row("cut in its text once", Fault::cut().times(1), done("stop"), 2),
        row(
            "ended cleanly in its text once",
            Fault::clean_end().times(1),
            done("stop"),
            2,
        ),
        row(
            "only the last event missing",
            Fault::clean_end().at(Position::BeforeTerminal).times(1),
            done("stop"),
            // In Responses nothing but that event says why a text stopped.
            if wire == OpenAiResponses { 2 } else { 1 },
        ),
        row("the output limit", Fault::max_tokens(), done("length"), 1),
        Row {
            others: &["other/one"],
            ..row("always cut in its text", Fault::cut(), failed(late, none), 3)
        },
        row("always cut, and nobody left", Fault::cut(), done("length"), 3),
        Row {
            answer: call(),
            ..row(
                "cut after a whole tool call",
                Fault::cut().at(Position::AfterToolCall).turn(1),
                done("stop"),
                2,
            )
        },
        Row {
            answer: call(),
            ..row(
                "ended cleanly after a whole tool call",
                Fault::clean_end().at(Position::AfterToolCall).turn(1),
                done("stop"),
                2,
            )
        },
        Row {
            answer: call(),
            ..row(
                "overloaded after a whole tool call",
                Fault::error_frame("overloaded_error", "Overloaded")
                    .at(Position::AfterToolCall)
                    .turn(1),
                done("stop"),
                2,
            )
        },
        Row {
            answer: call(),
            ..row(
                "cut before a tool call's last event",
                Fault::cut().at(Position::BeforeTerminal).turn(1),
                done("stop"),
                2,
            )
        },
    ]
}

/// The gateway, with short waits before it asks again.
async fn gateway(provider: &ScriptedProvider) -> Gateway {
    let upstreams = FORMATS.map(|(name, wire)| Upstream {
        name: name.to_owned(),
        wire: match wire {
            Anthropic => Wire::Anthropic,
            OpenAiChat => Wire::OpenAiChat,
            OpenAiResponses => Wire::OpenAiResponses,
        },
        base_url: format!("{}/{name}/v1", provider.url()).parse().unwrap(),
        credential: Some("the-real-credential".to_owned().into()),
        extra_headers: Vec::new(),
    });
    let moment = Duration::from_millis(5);
    Gateway::start(GatewayConfig {
        limits: Limits {
            // Every row is about a call of its own: no circuit that another row has opened may hold one back.
            breaker: BreakerSettings {
                failures: u32::MAX,
                failure_percent: 101,
                ..BreakerSettings::default()
            },
            retry: RetryPolicy {
                retries: 2,
                base: moment,
                longest: moment,
                longest_asked: moment,
            },
            ..Limits::default()
        },
        http: HttpSettings {
            system_proxy: false,
            extra_ca_file: None,
        },
        ..GatewayConfig::new(upstreams.to_vec(), KEY.to_owned().into())
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn through_the_gateway_every_fault_ends_as_it_should() {
    let script = Scripted::new().otherwise(Answer::text(TEXT));
    let provider = ScriptedProvider::builder()
        .api_key("the-real-credential")
        .model(script)
        .start()
        .await
        .unwrap();
    let gateway = gateway(&provider).await;
    let places = FORMATS.map(|(name, wire)| Place {
        name: name.to_owned(),
        wire,
        base_url: gateway.base_url(name),
        model: "some-model",
        patience: None,
    });
    let runtime = Runtime::start(&places).await;
    let numbered = FORMATS.into_iter().flat_map(|(name, wire)| {
        let rows = rows(wire).into_iter().enumerate();
        rows.map(move |(number, row)| (name, format!("row_{name}_{}", letters(number)), row))
    });
    all(numbered, |(provider_name, agent, row)| {
        let (runtime, gateway, provider) = (&runtime, &gateway, &provider);
        async move {
            // The stand-in knows a row by the agent that its prompt names.
            provider.set(&agent, 1, row.answer);
            if let Some(fault) = row.fault {
                provider.inject(fault.agent(&agent));
            }
            let model = ModelId::from_parts(provider_name, "some-model").unwrap();
            let mut models = vec![model.clone()];
            models.extend(row.others.iter().map(|other| other.parse::<ModelId>().unwrap()));
            let text = format!("# Reviewer: {agent}");
            let assign = |session: &_| gateway.assign(session, &agent, &models);
            let reaction = runtime.outcome(&model, &text, assign).await;
            let requests = provider.requests();
            let calls = requests.iter().filter(|request| request.agent == agent).count();
            let right = match (&row.expected, &reaction) {
                (
                    Reaction::Final { name, message },
                    Reaction::Final {
                        name: seen,
                        message: said,
                    },
                ) => name == seen && said.contains(message),
                (expected, seen) => expected == seen,
            };
            (!right || calls != row.calls).then(|| {
                format!(
                    "{provider_name}: {}: {reaction:?} after {calls} calls, not {:?} after {}",
                    row.what, row.expected, row.calls
                )
            })
        }
    })
    .await;
    assert_eq!(provider.violations(), [], "every request was one that a provider takes");
    runtime.stop().await;
    gateway.shutdown().await;
}

/// A number in letters: agents have no digits in their names.
fn letters(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit).unwrap());
    [letter(number / 26), letter(number % 26)].iter().collect()
}
