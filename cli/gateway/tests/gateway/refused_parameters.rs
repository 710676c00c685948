//! A model that refuses what it is sent about thinking or sampling, or the form of a call: the call is made once more without.

use std::{collections::BTreeMap, sync::Arc};

use axum::{body::Body, http::Response};
use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, GatewayConfig, GatewayEvent, Recording, RecordingMode, Rejection, Wire};
use conclave_shared::effort::Effort;
use serde_json::{Value, json};

use crate::{
    client::{Outcome, RUN_KEY, body, call, read},
    raw::{Raw, WHOLE, in_pieces},
    rig::{CREDENTIAL, LLAMA, OPUS_NEW, SOL, config, model, session},
};

const REFUSED: &str = "output_config.effort: Extra inputs are not permitted";

/// A whole answer in Chat Completions.
const WHOLE_CHAT: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A provider that refuses its first calls with this message, and answers all others.
async fn refusing(calls: usize, message: &'static str) -> Raw {
    refusing_in(WHOLE, calls, message).await
}

/// The same with this answer.
async fn refusing_in(whole: &'static str, calls: usize, message: &'static str) -> Raw {
    Raw::start(move |number| {
        if number >= calls {
            return in_pieces(whole, whole.len());
        }
        let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        let refusal = Response::builder().status(400).body(Body::from(error.to_string()));
        refusal.unwrap()
    })
    .await
}

/// A gateway with two sessions that think.
async fn gateway_with(url: &str, change: impl FnOnce(&mut GatewayConfig)) -> Gateway {
    let mut config = config(url);
    change(&mut config);
    let gateway = Gateway::start(config).await.unwrap();
    for (id, effort) in [("ses_a", Effort::High), ("ses_b", Effort::Low)] {
        gateway.assign(&session(id), "security", &[model(OPUS_NEW)]);
        gateway.set_effort(&session(id), effort);
    }
    gateway
}

async fn ask(gateway: &Gateway, id: &str, name: &str, text: &str) -> Outcome {
    let body = body(Wire::Anthropic, name, text).to_string();
    let request = call(&gateway.base_url("anthropic"), Wire::Anthropic, RUN_KEY, id, body);
    read(request.send().await.unwrap()).await
}

/// The requests in their order: true for one that asked for thinking.
fn thinks(raw: &Raw) -> Vec<bool> {
    let seen = raw.seen().into_iter();
    seen.map(|seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let asked = [body.get("thinking").is_some(), body.get("output_config").is_some()];
        assert_eq!(asked[0], asked[1], "{body}");
        asked[0]
    })
    .collect()
}

/// The efforts and words of the recorded refusals.
fn told(gateway: &Gateway) -> Vec<(Option<Effort>, String)> {
    let events = gateway.events().into_iter();
    let told = events.filter_map(|event| match event {
        GatewayEvent::ConcessionMade { effort, said, .. } => Some((effort, said)),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_model_that_refuses_an_effort_is_asked_without_it_for_the_rest_of_the_run() {
    let raw = refusing(
        1,
        "output_config.effort: Extra inputs are not permitted for the-real-credential",
    )
    .await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    for (id, text) in [("ses_a", "x"), ("ses_a", "y"), ("ses_b", "z")] {
        let outcome = ask(&gateway, id, "claude-opus-4-7", text).await;
        assert!(outcome.is_whole(), "{outcome:?}");
    }
    assert_eq!(thinks(&raw), [true, false, false, false]);
    let calls = |id: &str| gateway.usage(&session(id))[0].calls;
    assert_eq!(
        (calls("ses_a"), calls("ses_b")),
        (3, 1),
        "the refused call is in the account"
    );
    let told = told(&gateway);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, Some(Effort::High));
    assert!(
        told[0].1.starts_with(REFUSED) && !told[0].1.contains(CREDENTIAL),
        "{told:?}"
    );
    let in_words = gateway.events()[0].to_string();
    assert!(
        in_words.starts_with(
            "anthropic/claude-opus-4-7 refused a call with the effort high, and said \"output_config.effort: "
        ),
        "{in_words}"
    );
}

#[tokio::test]
async fn a_refusal_that_stays_is_tried_without_parameters_once_in_a_run() {
    let raw = refusing(usize::MAX, REFUSED).await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    for (id, text, requests) in [("ses_a", "x", 2), ("ses_a", "y", 3), ("ses_b", "z", 4)] {
        let outcome = ask(&gateway, id, "claude-opus-4-7", text).await;
        assert_eq!(outcome.message(), Rejection::RequestRejected.marker());
        assert_eq!(raw.seen().len(), requests, "{id} {text}");
    }
    assert_eq!(told(&gateway), []);
    assert_eq!(thinks(&raw), [true, false, true, true], "the effort was not the cause");
}

/// Asks a model over Chat Completions to go on after a thought. Returns the outcomes and the bodies that were sent.
async fn chat_after_a_thought(raw: &Raw, gateway: &Gateway, texts: &[&str]) -> (Vec<Outcome>, Vec<Value>) {
    gateway.assign(&session("ses_c"), "security", &[model(LLAMA)]);
    let mut outcomes = Vec::new();
    for text in texts {
        let mut body = body(Wire::OpenAiChat, model(LLAMA).model(), text);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.insert(
            1,
            json!({"role": "assistant", "content": "y", "reasoning_content": "hm"}),
        );
        let url = gateway.base_url("workers");
        let request = call(&url, Wire::OpenAiChat, RUN_KEY, "ses_c", body.to_string());
        outcomes.push(read(request.send().await.unwrap()).await);
    }
    let seen = raw.seen().into_iter();
    let sent = seen.map(|seen| serde_json::from_slice(&seen.body).unwrap());
    (outcomes, sent.collect())
}

#[tokio::test]
async fn thoughts_that_are_refused_do_not_go_back_for_the_rest_of_the_run() {
    let raw = refusing_in(WHOLE_CHAT, 1, "messages.1.reasoning_content: property is unsupported").await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    let (outcomes, sent) = chat_after_a_thought(&raw, &gateway, &["x", "z"]).await;
    assert!(outcomes.iter().all(Outcome::is_whole), "{outcomes:?}");
    let thoughts = sent
        .iter()
        .map(|body| body["messages"][1].get("reasoning_content").is_some());
    assert_eq!(thoughts.collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(told(&gateway).len(), 1);
    let in_words = gateway.events()[0].to_string();
    assert_eq!(
        in_words,
        "workers/@cf/meta/llama-4 refused a call, and said \"messages.1.reasoning_content: property is unsupported\": it answers \
         without its earlier thoughts, and is asked so for the rest of the review"
    );
}

#[tokio::test]
async fn thoughts_that_are_missing_are_not_taken_away() {
    let missing = "reasoning_content is missing in assistant tool call message at index 1";
    let raw = refusing_in(WHOLE_CHAT, usize::MAX, missing).await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    let (outcomes, sent) = chat_after_a_thought(&raw, &gateway, &["x"]).await;
    assert_eq!(outcomes[0].message(), Rejection::RequestRejected.marker());
    assert_eq!(sent.len(), 1);
}

#[tokio::test]
async fn a_call_that_is_refused_for_two_things_is_changed_in_both() {
    let raw = Raw::start(|number| {
        let message = match number {
            0 => "stream_options: Extra inputs are not permitted",
            1 => "property 'reasoning_content' is unsupported",
            _ => return in_pieces(WHOLE_CHAT, WHOLE_CHAT.len()),
        };
        let error = json!({"error": {"message": message}}).to_string();
        Response::builder().status(400).body(Body::from(error)).unwrap()
    })
    .await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    let (outcomes, sent) = chat_after_a_thought(&raw, &gateway, &["x"]).await;
    assert!(outcomes[0].is_whole(), "{outcomes:?}");
    assert_eq!((sent.len(), told(&gateway).len()), (3, 2));
    assert_eq!(sent[2].get("stream_options"), None);
    assert_eq!(sent[2]["messages"][1], json!({"role": "assistant", "content": "y"}));
}

#[tokio::test]
async fn a_key_of_the_cache_that_is_refused_is_left_out() {
    let raw = refusing(usize::MAX, "Unrecognized request argument supplied: prompt_cache_key").await;
    let gateway = gateway_with(&raw.url, |_| ()).await;
    gateway.assign(&session("ses_c"), "security", &[model(SOL)]);
    let body = body(Wire::OpenAiResponses, model(SOL).model(), "x").to_string();
    let url = gateway.base_url("openai");
    let request = call(&url, Wire::OpenAiResponses, RUN_KEY, "ses_c", body);
    let outcome = read(request.send().await.unwrap()).await;
    assert_eq!(outcome.message(), Rejection::RequestRejected.marker());
    let seen = raw.seen().into_iter();
    let sent: Vec<Value> = seen.map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
    let keyed: Vec<bool> = sent.iter().map(|body| body.get("prompt_cache_key").is_some()).collect();
    assert_eq!(keyed, [true, false]);
    assert!(sent.iter().all(|body| body["store"] == false), "{sent:?}");
}

#[tokio::test]
async fn other_refusals_go_their_own_way() {
    for (message, name, rejection) in [
        ("messages.1: nonsense", "claude-opus-4-7", Rejection::RequestRejected),
        (
            "prompt is too long: 200001 tokens, thinking included",
            "claude-opus-4-7",
            Rejection::PromptTooLong,
        ),
        // It was sent nothing that could be left out.
        (REFUSED, "claude-of-tomorrow", Rejection::RequestRejected),
    ] {
        let raw = refusing(1, message).await;
        let gateway = gateway_with(&raw.url, |_| ()).await;
        let outcome = ask(&gateway, "ses_a", name, "x").await;
        assert_eq!(outcome.message(), rejection.marker(), "{message}");
        assert_eq!(raw.seen().len(), 1, "{message}");
    }
}

#[tokio::test]
async fn a_recorded_refusal_is_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model-calls.jsonl");
    let raw = refusing(1, REFUSED).await;
    let recording = RecordingMode::Record {
        file: file.clone(),
        notes: BTreeMap::new(),
    };
    let recorded = gateway_with(&raw.url, |config| config.recording = recording).await;
    let answer = ask(&recorded, "ses_a", "claude-opus-4-7", "x").await;
    recorded.shutdown().await;
    let recording = RecordingMode::Replay(Arc::new(Recording::open(&file).unwrap()));
    let again = gateway_with("http://127.0.0.1:9", |config| config.recording = recording).await;
    let outcome = ask(&again, "ses_a", "claude-opus-4-7", "x").await;
    assert!(outcome.is_whole() && outcome.body == answer.body, "{outcome:?}");
    assert_eq!(told(&again), told(&recorded));
    assert_eq!(told(&again).len(), 1);
}
