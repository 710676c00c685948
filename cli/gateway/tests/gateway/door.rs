//! Who gets in, and what goes out.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, GatewayEvent, Rejection, Wire};
use conclave_resilience::classify::FailureClass;
use reqwest::StatusCode;
use serde_json::json;

use crate::{
    client::{RUN_KEY, body, call, http, read},
    raw::{Raw, WHOLE, in_pieces},
    rig::{CREDENTIAL, LLAMA, OPUS_NEW, config, model, rig, rig_with, session, wire_of},
};

#[tokio::test]
async fn only_the_run_key_opens() {
    let rig = rig().await;
    for (name, key) in [
        (OPUS_NEW, "wrong"),
        (LLAMA, "run-key-of-this-ru"),
        (OPUS_NEW, CREDENTIAL),
        (LLAMA, ""),
    ] {
        let id = model(name);
        let wire = wire_of(id.provider());
        let body = body(wire, id.model(), "x").to_string();
        let request = call(&rig.gateway.base_url(id.provider()), wire, key, "ses_a", body);
        let outcome = read(request.send().await.unwrap()).await;
        assert_eq!(
            (outcome.status, outcome.message().as_str()),
            (401, "conclave: wrong run key"),
            "{key}"
        );
    }
    let outcome = http().post(rig.gateway.base_url("anthropic")).send().await.unwrap();
    assert_eq!(outcome.status(), StatusCode::UNAUTHORIZED);
    assert!(rig.provider.requests().is_empty());
}

#[tokio::test]
async fn the_credential_is_put_on_and_nothing_of_ours_gets_out() {
    for (provider, wire) in [
        ("anthropic", Wire::Anthropic),
        ("workers", Wire::OpenAiChat),
        ("openai", Wire::OpenAiResponses),
    ] {
        let raw = Raw::start(|_| in_pieces(WHOLE, 50)).await;
        let mut config = config(&raw.url);
        for upstream in &mut config.providers {
            upstream.extra_headers = vec![("x-extra".to_owned(), "more".to_owned().into())];
        }
        let gateway = Gateway::start(config).await.unwrap();
        gateway.assign(&session("ses_a"), "security", &[]);
        let mut body = body(wire, "m", "x");
        let request = call(&gateway.base_url(provider), wire, RUN_KEY, "ses_a", body.to_string());
        read(request.send().await.unwrap()).await;
        let seen = raw.seen().remove(0);
        let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
        match wire {
            Wire::Anthropic => {
                assert_eq!((header("x-api-key"), header("authorization")), (Some(CREDENTIAL), None));
                assert_eq!(header("anthropic-version"), Some("2023-06-01"));
                assert_eq!(header("anthropic-beta"), Some("structured-outputs-2025-11-13"));
            }
            Wire::OpenAiChat | Wire::OpenAiResponses => {
                let bearer = format!("Bearer {CREDENTIAL}");
                assert_eq!(
                    (header("x-api-key"), header("authorization")),
                    (None, Some(bearer.as_str()))
                );
            }
        }
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(
            (header("x-extra"), header("accept-encoding")),
            (Some("more"), Some("identity"))
        );
        assert_eq!(header("host"), raw.url.strip_prefix("http://"));
        let all = format!("{:?}", seen.headers);
        for ours in [RUN_KEY, "ses_a", "ses_parent", "x-session", "x-parent", "opencode"] {
            assert!(!all.contains(ours), "{ours} in {all}");
        }
        // Responses are sent under a cache key of the run, not of the session.
        let sent = String::from_utf8(seen.body.to_vec()).unwrap();
        if wire == Wire::Anthropic {
            // What a model of which nothing is declared can say.
            body["max_tokens"] = json!(16000);
        }
        let expected = body.to_string();
        assert_eq!(sent == expected, wire != Wire::OpenAiResponses, "{sent}");
        assert!(!sent.contains("ses_a"), "{sent}");
        assert_eq!(seen.path, format!("/{provider}/v1/{}", crate::client::path(wire)));
    }
}

#[tokio::test]
async fn unknown_sessions_providers_and_routes_are_final() {
    let rig = rig().await;
    let base = |provider: &str| rig.gateway.base_url(provider);
    let chat = Wire::OpenAiChat;
    for (base, wire, session, marker) in [
        (base("anthropic"), Wire::Anthropic, "ses_b", Rejection::UnknownSession),
        (base("nobody"), Wire::Anthropic, "ses_a", Rejection::UnknownRoute),
        (base("anthropic"), chat, "ses_a", Rejection::UnknownRoute),
        (base("workers"), Wire::Anthropic, "ses_a", Rejection::UnknownRoute),
        (base("workers/x"), chat, "ses_a", Rejection::UnknownRoute),
    ] {
        let request = call(&base, wire, RUN_KEY, session, body(wire, "m", "x").to_string());
        let outcome = read(request.send().await.unwrap()).await;
        assert_eq!(
            (outcome.status, outcome.message().as_str()),
            (400, marker.marker()),
            "{base}"
        );
    }
    assert!(rig.provider.requests().is_empty());
    assert_eq!(rig.gateway.events().len(), 5);
}

#[tokio::test]
async fn what_is_no_request_is_final() {
    let rig = rig().await;
    for body in ["", "{", r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#] {
        let request = call(
            &rig.gateway.base_url("anthropic"),
            Wire::Anthropic,
            RUN_KEY,
            "ses_a",
            body,
        );
        let outcome = read(request.send().await.unwrap()).await;
        assert_eq!(
            (outcome.status, outcome.message().as_str()),
            (400, "conclave: malformed request")
        );
    }
}

#[tokio::test]
async fn the_fourth_equal_request_in_a_moment_is_final() {
    let rig = rig().await;
    for _ in 0..3 {
        assert!(rig.ask(OPUS_NEW, "the same").await.is_whole());
    }
    assert_eq!(rig.ask(OPUS_NEW, "the same").await.message(), "conclave: request loop");
    assert!(rig.ask(OPUS_NEW, "something else").await.is_whole());
}

#[tokio::test]
async fn the_newer_reasoning_models_of_openai_get_the_newer_limit() {
    let rig = rig_with(|config| config.providers[2].wire = Wire::OpenAiChat).await;
    let body = body(Wire::OpenAiChat, "gpt-5-mini", "x");
    let base = rig.gateway.base_url("openai");
    let request = call(&base, Wire::OpenAiChat, RUN_KEY, "ses_a", body.to_string());
    assert!(read(request.send().await.unwrap()).await.is_whole());
    let sent: serde_json::Value = serde_json::from_slice(&rig.provider.requests()[0].body).unwrap();
    assert_eq!(sent["max_completion_tokens"], json!(8000));
    assert_eq!(sent.get("max_tokens"), None);
}

#[tokio::test]
async fn a_shut_down_gateway_is_gone_and_says_nothing_secret() {
    let rig = rig().await;
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    let shown = format!("{:?}", rig.gateway);
    assert!(!shown.contains(RUN_KEY) && !shown.contains(CREDENTIAL), "{shown}");
    rig.gateway.shutdown().await;
    rig.gateway.shutdown().await;
    let gone = http().post(rig.gateway.base_url("anthropic")).send().await;
    assert!(gone.is_err_and(|error| error.is_connect()));
}

#[tokio::test]
async fn events_tell_what_was_refused() {
    let rig = rig().await;
    rig.provider.inject(conclave_scripted_provider::Fault::status(403));
    rig.ask(OPUS_NEW, "x").await;
    let events = rig.gateway.events();
    let [
        GatewayEvent::Rejected {
            session: id,
            model: asked,
            reason: Rejection::CredentialsRejected,
            refusal: Some(refusal),
        },
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((id, asked), (&Some(session("ses_a")), &Some(model(OPUS_NEW))));
    assert_eq!((refusal.status, refusal.keyless), (403, false));
    assert!(!FailureClass::Auth.is_provider_fault());
}
