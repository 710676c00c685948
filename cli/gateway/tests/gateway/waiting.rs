//! Time: who waits for whom, and how long.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, GatewayEvent, Wire};
use conclave_resilience::classify::ProviderFault;
use conclave_scripted_provider::Fault;
use futures_util::{StreamExt, stream};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    client::{Outcome, RUN_KEY, body, call},
    raw::{Raw, WHOLE, streaming},
    rig::{LONG, OPUS_NEW, Rig, config, model, pass, rig, rig_with, session, until},
};

/// Asks, and lets so much time go by each time that the provider has been asked, in all as often as this.
async fn ask_while_it_passes(rig: &Rig, time: Duration, rounds: usize) -> Outcome {
    let asked = rig.provider.requests().len();
    let text = asked.to_string();
    let passing = async {
        for number in 1..=rounds {
            assert!(rig.provider.wait_for_requests(asked + number, LONG).await);
            pass(time).await;
        }
    };
    tokio::join!(rig.ask(OPUS_NEW, &text), passing).0
}

#[tokio::test]
async fn a_provider_that_never_answers_times_out() {
    let rig = rig_with(|config| config.limits.first_byte = LONG).await;
    rig.provider.inject(Fault::hang().times(1));
    assert!(
        ask_while_it_passes(&rig, LONG, 1).await.is_whole(),
        "the second attempt"
    );
    let timed_out = |event: &GatewayEvent| {
        matches!(
            event,
            GatewayEvent::Retried {
                fault: ProviderFault::Timeout,
                ..
            }
        )
    };
    assert_eq!(rig.gateway.events().iter().filter(|event| timed_out(event)).count(), 1);

    rig.provider.inject(Fault::hang());
    let outcome = ask_while_it_passes(&rig, LONG, 4).await;
    assert_eq!(outcome.message(), "conclave: no healthy model");
    assert_eq!(rig.provider.requests().len(), 2 + 4, "each model twice");
}

#[tokio::test]
async fn limits_that_are_longer_than_the_defaults_hold() {
    let rig = rig_with(|config| {
        config.limits.first_byte = Duration::from_mins(15);
        config.limits.hold = Duration::from_secs(1000);
        config.limits.retry.retries = 0;
    })
    .await;
    rig.gateway.assign(&session("ses_a"), "security", &[model(OPUS_NEW)]);
    rig.provider.inject(Fault::hang());
    let pausing = async {
        assert!(rig.provider.wait_for_requests(1, LONG).await);
        // From here on the clock goes from one limit to the next.
        tokio::time::pause();
        tokio::time::Instant::now()
    };
    let (outcome, began) = tokio::join!(rig.ask(OPUS_NEW, "x"), pausing);
    assert_eq!(outcome.message(), "conclave: no healthy model");
    let took = began.elapsed().as_secs();
    assert!((890..=1000).contains(&took), "{took} s");
}

#[tokio::test]
async fn all_attempts_together_have_a_limit() {
    // Shorter than that of an attempt.
    let hold = LONG / 2;
    let rig = rig_with(|config| config.limits.hold = hold).await;
    rig.provider.inject(Fault::hang());
    let outcome = ask_while_it_passes(&rig, hold, 1).await;
    assert_eq!(outcome.message(), "conclave: no healthy model");
    assert_eq!(rig.provider.requests().len(), 1);
}

/// A stream that sends these bytes and then nothing, and tells when it is dropped.
fn stalling(first: &'static str, guard: DropGuard) -> axum::http::Response<Body> {
    let first = stream::iter([Bytes::from_static(first.as_bytes())]);
    streaming(first.chain(stream::once(async move {
        let _guard = guard;
        std::future::pending::<Bytes>().await
    })))
}

async fn abandoned(first: &'static str, reads_first: bool) {
    let dropped = CancellationToken::new();
    let token = dropped.clone();
    let raw = Raw::start(move |_| stalling(first, token.clone().drop_guard())).await;
    let gateway = Gateway::start(config(&raw.url)).await.unwrap();
    let ses_a = session("ses_a");
    gateway.assign(&ses_a, "security", &[model(OPUS_NEW)]);
    assert_eq!(gateway.idle_for(&ses_a), None);
    let body = body(Wire::Anthropic, "claude-opus-4-7", "x").to_string();
    let request = call(&gateway.base_url("anthropic"), Wire::Anthropic, RUN_KEY, "ses_a", body);
    let calling = tokio::spawn(async move {
        let mut response = request.send().await.unwrap();
        let chunk = response.chunk().await.unwrap();
        (response, chunk)
    });
    if reads_first {
        let (response, chunk) = timeout(LONG, calling).await.unwrap().unwrap();
        assert!(chunk.is_some());
        assert!(gateway.idle_for(&ses_a).is_some());
        drop(response);
    } else {
        until("the call of the provider", || !raw.seen().is_empty()).await;
        assert!(gateway.idle_for(&ses_a).is_some());
        calling.abort();
    }
    timeout(LONG, dropped.cancelled()).await.expect("the call is cancelled");
    until("the end of the call", || gateway.idle_for(&ses_a).is_none()).await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_the_call_in_mid_stream() {
    let end_of_content = WHOLE.find("data: {\"type\":\"content_block_stop\"").unwrap();
    abandoned(&WHOLE[..end_of_content], true).await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_a_call_that_is_held_back() {
    let end_of_start = WHOLE.find(": keep-alive").unwrap();
    abandoned(&WHOLE[..end_of_start], false).await;
}

#[tokio::test]
async fn dropping_the_gateway_drops_its_answers() {
    let dropped = CancellationToken::new();
    let token = dropped.clone();
    let end_of_content = WHOLE.find("data: {\"type\":\"content_block_stop\"").unwrap();
    let raw = Raw::start(move |_| stalling(&WHOLE[..end_of_content], token.clone().drop_guard())).await;
    let gateway = Gateway::start(config(&raw.url)).await.unwrap();
    gateway.assign(&session("ses_a"), "security", &[]);
    let body = body(Wire::Anthropic, "claude-opus-4-7", "x").to_string();
    let request = call(&gateway.base_url("anthropic"), Wire::Anthropic, RUN_KEY, "ses_a", body);
    let mut response = request.send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(gateway);
    timeout(LONG, dropped.cancelled()).await.expect("the call is cancelled");
    assert!(timeout(LONG, response.chunk()).await.unwrap().is_err(), "no clean end");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_an_answer_for_ever() {
    let rig = rig_with(|config| config.limits.shutdown = Duration::from_millis(50)).await;
    rig.provider.inject(Fault::hang());
    let asking = rig.ask(OPUS_NEW, "x");
    let stopping = async {
        assert!(rig.provider.wait_for_requests(1, LONG).await);
        rig.gateway.shutdown().await;
    };
    let (outcome, ()) = timeout(LONG, async { tokio::join!(asking, stopping) }).await.unwrap();
    assert_eq!(outcome.message(), "conclave: run is over");
}

#[tokio::test]
async fn liveness_ends_with_the_call() {
    let rig = rig().await;
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    until("the end of the call", || {
        rig.gateway.idle_for(&session("ses_a")).is_none()
    })
    .await;
    assert_eq!(rig.gateway.idle_for(&session("ses_nobody")), None);
}
