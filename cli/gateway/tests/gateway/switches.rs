//! Switches: a provider that is switched off gets nothing more, at once.

use std::collections::BTreeMap;

use conclave_engine::ports::ModelLedger;
use conclave_gateway::GatewayEvent;
use conclave_scripted_provider::Fault;
use conclave_shared::config::{ConfigDocument, ProviderSwitch};
use tokio::time::timeout;

use crate::rig::{LLAMA, LONG, OPUS_NEW, Rig, model, rig, rig_with, session, until};

fn document(provider: &str, enabled: bool) -> ConfigDocument {
    let reason = (!enabled).then(|| "incident".to_owned());
    ConfigDocument {
        providers: BTreeMap::from([(provider.to_owned(), ProviderSwitch { enabled, reason })]),
        ..ConfigDocument::default()
    }
}

fn flips(rig: &Rig) -> Vec<(String, bool)> {
    let events = rig.gateway.events();
    let flips = events.iter().filter_map(|event| match event {
        GatewayEvent::ProviderSwitched { provider, enabled, .. } => Some((provider.clone(), *enabled)),
        _ => None,
    });
    flips.collect()
}

#[tokio::test]
async fn new_calls_are_refused_until_it_is_on_again() {
    let rig = rig().await;
    rig.gateway.update(&document("anthropic", false));
    let outcome = rig.ask(OPUS_NEW, "x").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, "conclave: provider switched off")
    );
    assert!(rig.provider.requests().is_empty());
    assert!(rig.ask(LLAMA, "y").await.is_whole(), "other providers go on");
    rig.gateway.update(&document("anthropic", true));
    assert!(rig.ask(OPUS_NEW, "z").await.is_whole());
    rig.gateway.update(&document("anthropic", true));
    let name = || "anthropic".to_owned();
    assert_eq!(flips(&rig), [(name(), false), (name(), true)]);
}

#[tokio::test]
async fn a_call_without_an_answer_yet_is_given_up() {
    let rig = rig().await;
    rig.provider.inject(Fault::hang());
    let flipping = async {
        assert!(rig.provider.wait_for_requests(1, LONG).await);
        rig.gateway.update(&document("anthropic", false));
    };
    let (outcome, ()) = timeout(LONG / 2, async { tokio::join!(rig.ask(OPUS_NEW, "x"), flipping) })
        .await
        .expect("at once");
    assert_eq!(outcome.message(), "conclave: provider switched off");
    assert_eq!(rig.provider.requests().len(), 1, "nobody else was asked");
}

#[tokio::test]
async fn a_call_that_waits_for_a_probe_is_given_up() {
    let rig = rig_with(|config| config.limits.breaker.failures = 1).await;
    rig.provider.inject(Fault::status(529));
    let ses_a = session("ses_a");
    rig.gateway.assign(&ses_a, "security", &[model(OPUS_NEW)]);
    let flipping = async {
        let opened = |event: &GatewayEvent| matches!(event, GatewayEvent::CircuitChanged { .. });
        until("the circuit opened", || rig.gateway.events().iter().any(opened)).await;
        rig.gateway.update(&document("anthropic", false));
    };
    let (outcome, ()) = timeout(LONG / 2, async { tokio::join!(rig.ask(OPUS_NEW, "x"), flipping) })
        .await
        .expect("at once");
    assert_eq!(outcome.message(), "conclave: provider switched off");
}

#[tokio::test]
async fn a_provider_that_is_off_is_no_place_to_go() {
    // With the other provider off, a call waits for the probe instead of being sent there.
    let rig = rig_with(|config| {
        config.limits.breaker.failures = 1;
        config.limits.breaker.open = std::time::Duration::from_millis(100);
        config.limits.retry.retries = 0;
    })
    .await;
    rig.gateway.update(&document("workers", false));
    rig.gateway
        .assign(&session("ses_a"), "security", &[model(OPUS_NEW), model(LLAMA)]);
    rig.provider.inject(Fault::status(529).times(1));
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    assert_eq!(rig.provider.requests().len(), 2, "the failure, and the probe");
}
