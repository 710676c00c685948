//! Another model of the same provider takes over.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{FallbackReason, GatewayEvent, Wire};
use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_scripted_provider::{Answer, Fault};
use conclave_shared::effort::Effort;
use serde_json::{Value, json};

use crate::{
    client::body,
    rig::{LLAMA, OPUS_NEW, OPUS_OLD, model, rig, session},
};

const NEW: &str = "claude-opus-4-7";
const OLD: &str = "claude-opus-4-6";

fn plain_body(text: &str) -> Value {
    body(Wire::Anthropic, NEW, text)
}

#[tokio::test]
async fn a_model_that_stays_overloaded_is_replaced_in_silence() {
    let rig = rig().await;
    rig.gateway.set_effort(&session("ses_a"), Effort::Medium);
    rig.provider.inject(Fault::status(529).retry_after(3600).model(NEW));
    let outcome = rig.send(OPUS_NEW, "ses_a", &plain_body("x")).await;
    assert!(outcome.is_whole(), "{outcome:?}");
    assert_eq!(rig.asked(), [NEW, NEW, NEW, OLD]);
    assert!(
        rig.provider.violations().is_empty(),
        "the body was made valid for the other model"
    );
    let sent = |at: usize| serde_json::from_slice::<Value>(&rig.provider.requests()[at].body).unwrap();
    for (at, model, thinking) in [
        (0, NEW, json!({"type": "adaptive", "display": "summarized"})),
        (3, OLD, json!({"type": "adaptive"})),
    ] {
        let sent = sent(at);
        assert_eq!((&sent["model"], &sent["thinking"]), (&json!(model), &thinking));
        assert_eq!(sent["output_config"], json!({"effort": "medium"}));
    }
    assert_eq!(rig.booked(OPUS_OLD).unwrap().tokens, rig.provided(OPUS_OLD));
    let failed = rig.booked(OPUS_NEW).unwrap();
    assert_eq!((failed.calls, failed.tokens.total()), (3, 0));
    let event = GatewayEvent::FallbackUsed {
        session: session("ses_a"),
        reviewer: "security".to_owned(),
        from: model(OPUS_NEW),
        to: model(OPUS_OLD),
        reason: FallbackReason::Failed(FailureClass::Retryable(ProviderFault::Overloaded)),
    };
    assert_eq!(rig.gateway.events().last(), Some(&event));
}

#[tokio::test]
async fn the_session_stays_with_the_fallback_model() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(529).model(NEW));
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    rig.provider.heal();
    assert!(rig.ask(OPUS_NEW, "y").await.is_whole());
    assert_eq!(rig.asked(), [NEW, NEW, NEW, OLD, OLD]);
    rig.gateway.assign(&session("ses_a"), "security", &[model(OPUS_NEW)]);
    assert!(rig.ask(OPUS_NEW, "z").await.is_whole());
    assert_eq!(
        rig.asked().last().map(String::as_str),
        Some(NEW),
        "a new assignment begins anew"
    );
}

#[tokio::test]
async fn a_fallback_model_that_fails_is_forgotten() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(529).model(NEW));
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    rig.provider.heal();
    rig.provider.inject(Fault::status(404).model(OLD));
    assert_eq!(rig.ask(OPUS_NEW, "y").await.message(), "conclave: no healthy model");
    assert!(rig.ask(OPUS_NEW, "z").await.is_whole());
    assert_eq!(rig.asked(), [NEW, NEW, NEW, OLD, OLD, NEW]);
}

#[tokio::test]
async fn reasoning_of_the_failed_model_does_not_reach_the_other() {
    let rig = rig().await;
    rig.gateway.set_effort(&session("ses_a"), Effort::High);
    let call = Answer::call("read", json!({"filePath": "main.rs"})).with_thinking("I should read it.");
    rig.provider.set("unknown", 1, call);
    let first = rig.send(OPUS_NEW, "ses_a", &plain_body("x")).await;
    assert!(first.is_whole());
    let field = |name: &str| {
        let from = first
            .body
            .find(&format!(
                "\"{name}\":\"{}",
                if name == "signature" { "sig" } else { "toolu" }
            ))
            .unwrap();
        first.body[from..].split('"').nth(3).unwrap().to_owned()
    };
    let (seal, call) = (field("signature"), field("id"));
    let mut body = plain_body("x");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "I should read it.", "signature": seal},
        {"type": "tool_use", "id": call, "name": "read", "input": {"filePath": "main.rs"}}]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call, "content": "fn main() {}"}]}));

    rig.provider.inject(Fault::status(529).model(NEW).turn(2));
    assert!(rig.send(OPUS_NEW, "ses_a", &body).await.is_whole());
    let requests = rig.provider.requests();
    assert!(
        requests[1].text().contains(&seal),
        "its own reasoning goes back to the model"
    );
    let last = requests.last().unwrap();
    assert_eq!(last.model, OLD);
    assert!(!last.text().contains(&seal) && last.text().contains(&call));
    assert!(rig.provider.violations().is_empty(), "{:?}", rig.provider.violations());
}

#[tokio::test]
async fn a_model_that_is_not_there_is_replaced_without_asking_again() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(404).model(NEW));
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    assert_eq!(rig.asked(), [NEW, OLD]);
}

#[tokio::test]
async fn another_provider_is_never_used_in_silence() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(503).path("/anthropic"));
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, "conclave: no healthy model")
    );
    assert_eq!(rig.asked(), [NEW, NEW, NEW, OLD, OLD, OLD]);
    assert!(rig.booked(LLAMA).is_none());
    assert!(rig.ask(LLAMA, "y").await.is_whole(), "asked for, it is used");
}

#[tokio::test]
async fn nothing_stands_in_for_a_model_that_was_not_assigned() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(529).model("claude-haiku-4-5"));
    let outcome = rig.ask("anthropic/claude-haiku-4-5", "x").await;
    assert_eq!(outcome.message(), "conclave: no healthy model");
    assert_eq!(rig.provider.requests().len(), 3);
}

#[tokio::test]
async fn a_cut_before_the_first_content_fails_back_too() {
    let rig = rig().await;
    rig.provider.inject(
        Fault::cut()
            .at(conclave_scripted_provider::Position::AfterStart)
            .model(NEW),
    );
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert!(outcome.is_whole());
    assert_eq!(rig.asked(), [NEW, NEW, NEW, OLD]);
    assert!(
        !outcome.body.contains(NEW),
        "no frame of the first model was let through"
    );
    assert!(
        rig.booked(OPUS_NEW).unwrap().tokens.total() > 0,
        "its prompts were read and cost money"
    );
}

#[tokio::test]
async fn a_model_whose_answers_keep_breaking_off_leaves_the_last_attempt_to_the_next_one() {
    let rig = rig().await;
    rig.provider.inject(Fault::cut().model(NEW));
    for _ in 0..2 {
        assert!(rig.ask(OPUS_NEW, "x").await.broken);
    }
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert!(outcome.is_whole(), "{outcome:?}");
    assert_eq!(rig.asked(), [NEW, NEW, OLD]);
    let told = GatewayEvent::FallbackUsed {
        session: session("ses_a"),
        reviewer: "security".to_owned(),
        from: model(OPUS_NEW),
        to: model(OPUS_OLD),
        reason: FallbackReason::Failed(FailureClass::Retryable(ProviderFault::CutStream)),
    };
    assert!(rig.gateway.events().contains(&told), "{:?}", rig.gateway.events());
}
