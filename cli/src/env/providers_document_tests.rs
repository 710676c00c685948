//! The endpoints of `docs/models.md`: each row as it stands there is accepted, and a call of its model arrives at its path, under
//! the model's own name, with the key where that format has it.

use conclave_engine::ports::{SessionId, UsageLedger};
use conclave_gateway::{Gateway, GatewayConfig, HttpSettings, Wire};
use conclave_scripted_provider::{Answer, Format, Scripted, ScriptedProvider};
use conclave_shared::model::ModelId;
use serde_json::{Value, json};
use url::Url;

use crate::env::{Environment, names, providers::upstream};

const KEY: &str = "the-key-of-the-endpoint";
const RUN_KEY: &str = "the-run-key";

/// A row of the table of endpoints.
struct Example {
    name: String,
    address: Url,
    keyless: bool,
    api: Option<String>,
    model: ModelId,
}

fn examples() -> Vec<Example> {
    let document = include_str!("../../../docs/models.md");
    let (_, table) = document
        .split_once("| endpoint | `CONCLAVE_COMPATIBLE_BASE_URL` |")
        .expect("the table of endpoints");
    let code = |cell: &str| cell.split('`').nth(1).map(str::to_owned);
    table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, address, key, api, model] = cells[..] else {
                panic!("five cells: {line}")
            };
            Example {
                name: name.to_owned(),
                address: code(address).expect(line).parse().expect(line),
                keyless: key == "none",
                api: code(api),
                model: code(model).expect(line).parse().expect(line),
            }
        })
        .collect()
}

/// The least that a runtime sends, and where.
fn call(wire: Wire, model: &str) -> (&'static str, Value) {
    let messages = json!([{"role": "user", "content": "x"}]);
    match wire {
        Wire::Anthropic => (
            "messages",
            json!({"model": model, "max_tokens": 9, "messages": messages, "stream": true}),
        ),
        Wire::OpenAiChat => (
            "chat/completions",
            json!({"model": model, "messages": messages, "stream": true, "stream_options": {"include_usage": true}}),
        ),
        Wire::OpenAiResponses => ("responses", json!({"model": model, "input": messages, "stream": true})),
    }
}

#[tokio::test]
async fn every_endpoint_of_the_document_is_accepted_and_reached_as_it_says() {
    let examples = examples();
    let text = examples.iter().map(|example| example.name.as_str()).collect::<String>();
    for name in ["Ollama", "vLLM", "LiteLLM", "OpenRouter", "Bedrock", "Vertex"] {
        assert!(text.contains(name), "{name}");
    }
    for example in examples {
        let name = example.name.as_str();
        let provider = ScriptedProvider::builder().model(Scripted::new().otherwise(Answer::text("Fine.")));
        let provider = provider.api_key(KEY);
        let provider = if example.keyless { provider.keyless() } else { provider };
        let provider = provider.start().await.expect("a provider");
        let variables = [
            (names::COMPATIBLE_BASE_URL, Some(example.address.as_str())),
            (names::COMPATIBLE_API_KEY, (!example.keyless).then_some(KEY)),
            (names::COMPATIBLE_API, example.api.as_deref()),
        ];
        let given = variables.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let environment = Environment::new(given.map(|(name, value)| (name.into(), value.into())));
        let read = environment
            .providers()
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let [spec] = &read[..] else {
            panic!("{name}: one provider")
        };
        assert_eq!(spec.name, example.model.provider(), "{name}");
        let mut upstream = upstream(spec);
        // The stand-in takes the place of the host; the path is the document's.
        upstream.base_url = format!("{}{}", provider.url(), example.address.path())
            .parse()
            .expect("an address");
        let (wire, id) = (upstream.wire, example.model.model());
        let config = GatewayConfig {
            http: HttpSettings {
                system_proxy: false,
                extra_ca_file: None,
            },
            ..GatewayConfig::new(vec![upstream], RUN_KEY.to_owned().into())
        };
        let gateway = Gateway::start(config).await.expect("a gateway");
        gateway.assign(
            &SessionId("ses_a".to_owned()),
            "security",
            std::slice::from_ref(&example.model),
        );

        let (endpoint, body) = call(wire, id);
        let answer = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client")
            .post(format!("{}/{endpoint}", gateway.base_url(&spec.name)))
            .headers(
                [("x-session-id", "ses_a"), ("anthropic-version", "2023-06-01")]
                    .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")))
                    .into_iter()
                    .collect(),
            )
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {RUN_KEY}"))
            .body(body.to_string())
            .send()
            .await
            .expect("an answer");
        let status = answer.status();
        let told = answer.text().await.expect("the answer");
        let ends = ["message_stop", "[DONE]", "response.completed"];
        let whole = ends.iter().any(|end| told.contains(end));
        assert!(status.is_success() && whole, "{name}: {status} {told}");

        let requests = provider.requests();
        let [request] = &requests[..] else {
            panic!("{name}: one request")
        };
        let format = match wire {
            Wire::Anthropic => Format::Messages,
            Wire::OpenAiChat => Format::ChatCompletions,
            Wire::OpenAiResponses => Format::Responses,
        };
        assert_eq!(
            (request.path.as_str(), request.model.as_str(), request.format),
            (
                format!("{}/{endpoint}", example.address.path()).as_str(),
                id,
                Some(format)
            ),
            "{name}"
        );
        assert_eq!(provider.violations(), [], "{name}");
    }
}
