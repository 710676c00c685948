//! Errors before the first byte.

use axum::{body::Body, http::Response};
use conclave_engine::ports::UsageLedger;
use conclave_gateway::{GatewayEvent, Rejection};
use conclave_resilience::classify::ProviderFault;
use conclave_scripted_provider::{Fault, Position};

use crate::{
    raw::Raw,
    rig::{CREDENTIAL, FORMATS, OPUS_NEW, model, rig, rig_with, session, upstream},
};

#[tokio::test]
async fn faults_that_pass_are_not_noticed() {
    for name in FORMATS {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            let rig = rig().await;
            rig.provider.inject(Fault::status(status).retry_after(3600).times(2));
            assert!(rig.ask(name, "x").await.is_whole(), "{name} {status}");
            assert_eq!(rig.provider.requests().len(), 3);
            assert_eq!(rig.booked(name).unwrap().calls, 3);
            let retried = rig.gateway.events();
            let retried = retried
                .iter()
                .filter(|event| matches!(event, GatewayEvent::Retried { .. }));
            assert_eq!(retried.count(), 2, "{name} {status}");
        }
    }
}

#[tokio::test]
async fn final_bodies_hold_nothing_of_the_provider_and_no_digit() {
    for name in FORMATS {
        let rig = rig_with(|config| {
            config.limits.retry.retries = 0;
            // Hundreds of failures, and each of them is to be seen.
            config.limits.breaker.failures = u32::MAX;
            config.limits.breaker.window = usize::MAX;
        })
        .await;
        let statuses = (300..=599).chain([999]);
        for status in statuses {
            rig.provider.heal();
            rig.provider.inject(Fault::status(status).retry_after(7));
            let outcome = rig.ask(name, &format!("question {status}")).await;
            assert!(
                matches!(outcome.status, 400 | 401),
                "{name} {status}: {}",
                outcome.status
            );
            assert!(outcome.message().starts_with("conclave: "), "{}", outcome.body);
            assert!(!outcome.body.contains(|c: char| c.is_ascii_digit()), "{}", outcome.body);
            let names: Vec<&str> = outcome.headers.iter().map(|(name, _)| name.as_str()).collect();
            for theirs in ["retry-after", "request-id", "x-request-id", "server", "location"] {
                assert!(!names.contains(&theirs), "{theirs}");
            }
        }
    }
}

#[tokio::test]
async fn rejected_credentials_are_final_at_once() {
    for name in FORMATS {
        let rig = rig_with(|config| {
            for upstream in &mut config.providers {
                upstream.credential = Some("expired".to_owned().into());
            }
        })
        .await;
        let outcome = rig.ask(name, "x").await;
        assert_eq!(
            (outcome.status, outcome.message().as_str()),
            (401, "conclave: provider rejected credentials")
        );
        assert_eq!(rig.provider.requests().len(), 1, "no other model would help");
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_said_in_the_words_that_the_runtime_knows() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.inject(Fault::context_overflow());
        let outcome = rig.ask(name, "x").await;
        assert_eq!(outcome.status, 400);
        assert!(outcome.body.contains("prompt is too long"), "{}", outcome.body);
        assert_eq!(rig.provider.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_bad_request_is_final_and_not_asked_again() {
    let rig = rig().await;
    rig.provider.inject(Fault::status(400));
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, Rejection::RequestRejected.marker())
    );
    assert_eq!(rig.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_provider_out_of_reach_is_no_healthy_model() {
    let rig = rig_with(|config| config.providers = vec![upstream("anthropic", "http://127.0.0.1:9")]).await;
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, "conclave: no healthy model")
    );
    let network = rig.gateway.events().into_iter().filter(|event| {
        matches!(
            event,
            GatewayEvent::Retried {
                fault: ProviderFault::Network,
                ..
            }
        )
    });
    assert_eq!(network.count(), 4, "two for each model");
}

#[tokio::test]
async fn the_last_cause_of_no_healthy_model_is_kept_for_people() {
    type Make = fn() -> Fault;
    let faults: [(Make, &str); 4] = [
        (
            || Fault::garbage().at(Position::AfterStart),
            "garbage: what came is not a model's answer",
        ),
        (|| Fault::status(500), "server error, 500: \""),
        (|| Fault::status(404), "model unavailable, 404: \""),
        (
            || Fault::error_frame("server_error", "engine died").at(Position::AfterStart),
            "server error, \"engine died\"",
        ),
    ];
    for (fault, cause) in faults {
        let rig = rig_with(|config| config.limits.retry.retries = 0).await;
        let last = || rig.gateway.last_failure(&session("ses_a"));
        assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
        assert_eq!(last(), None);
        rig.provider.inject(fault());
        assert_eq!(rig.ask(OPUS_NEW, "y").await.message(), "conclave: no healthy model");
        let last = last().unwrap();
        assert!(last.starts_with(cause), "{last}");
        assert_eq!(last.contains(&rig.provider.url()), cause.contains("404"), "{last}");
    }
}

#[tokio::test]
async fn what_breaks_before_the_first_content_is_not_noticed() {
    type Make = fn() -> Fault;
    let faults: [Make; 4] = [Fault::cut, Fault::clean_end, Fault::garbage, || {
        Fault::error_frame("overloaded_error", "Overloaded")
    }];
    for name in FORMATS {
        for position in [Position::BeforeFirstFrame, Position::AfterStart] {
            for (number, fault) in faults.iter().enumerate() {
                let rig = rig().await;
                rig.provider.inject(fault().at(position).times(2));
                let outcome = rig.ask(name, "x").await;
                assert!(outcome.is_whole(), "{name} {position:?} {number}: {outcome:?}");
                assert_eq!(
                    outcome.body.matches("\"message_start\"").count(),
                    2 * usize::from(name == OPUS_NEW) / 2
                );
                assert_eq!(rig.provider.requests().len(), 3, "{name} {position:?} {number}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_frame_about_the_request_is_final_before_the_first_content() {
    let rig = rig().await;
    let fault = Fault::error_frame("invalid_request_error", "messages: nonsense").at(Position::AfterStart);
    rig.provider.inject(fault);
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, Rejection::RequestRejected.marker())
    );
    let rejected = GatewayEvent::Rejected {
        session: Some(session("ses_a")),
        model: Some(model(OPUS_NEW)),
        reason: Rejection::RequestRejected,
        refusal: None,
    };
    assert_eq!(rig.gateway.events(), [rejected]);
}

#[tokio::test]
async fn a_refusal_is_told_in_the_providers_words_without_a_secret() {
    let key = format!(r#"{{"error":{{"message":"no key {CREDENTIAL}"}}}}"#);
    for (status, location, body, keyless, said) in [
        (
            400_u16,
            "",
            r#"{"error":{"message":"no such role"}}"#,
            false,
            "(400: \"no such role\")",
        ),
        (401, "", key.as_str(), false, "(401: \"no key [redacted]\")"),
        (401, "", "", true, "none is set (401, without a word about why)"),
        (403, "", "<html>Blocked</html>", false, "with a page in place of"),
        (302, "/sign-in?state=hidden", "<html>", false, "/sign-in (302)"),
        (
            307,
            "https://other.example/v1",
            "",
            false,
            "https://other.example/v1 (307)",
        ),
    ] {
        let body = body.to_owned();
        let raw = Raw::start(move |_| {
            let response = Response::builder().status(status).header("location", location);
            response.body(Body::from(body.clone())).unwrap()
        })
        .await;
        let rig = rig_with(|config| {
            config.providers = vec![upstream("anthropic", &raw.url)];
            if keyless {
                config.providers[0].credential = None;
            }
        })
        .await;
        rig.ask(OPUS_NEW, "x").await;
        let events = rig.gateway.events();
        let text = events.last().unwrap().to_string();
        assert!(text.starts_with("anthropic ") && text.contains(said), "{text}");
        assert!(!text.contains("hidden") && !text.contains(CREDENTIAL), "{text}");
        assert_eq!(raw.seen().len(), 1, "{said}");
    }
}
