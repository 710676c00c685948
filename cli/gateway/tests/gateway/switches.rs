//! Switches: a provider that is switched off gets nothing more, at once.

use std::collections::BTreeMap;

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Budget, GatewayEvent, Limits};
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

#[tokio::test]
async fn what_is_off_from_the_beginning_is_refused_and_nothing_is_reported_of_it() {
    let rig = rig_with(|config| config.switches = document("anthropic", false).providers).await;
    assert_eq!(
        rig.ask(OPUS_NEW, "x").await.message(),
        "conclave: provider switched off"
    );
    rig.gateway.update(&document("anthropic", false));
    assert_eq!(flips(&rig), []);
}

#[tokio::test]
async fn a_model_that_the_runtime_does_not_know_is_asked_for_under_the_spare_name() {
    let rig = rig_with(|config| config.runtime_models = Some([model(OPUS_NEW)].into())).await;
    let (own, new) = (session("ses_a"), model("anthropic/claude-of-tomorrow"));
    assert_eq!(rig.gateway.name_in_runtime(&own, &model(OPUS_NEW)), model(OPUS_NEW));
    let spare = "anthropic/named-later";
    assert_eq!(rig.ask(spare, "x").await.status, 400, "it stands for nothing yet");

    rig.gateway.assign(&own, "security", &[new.clone(), model(OPUS_NEW)]);
    assert_eq!(rig.gateway.name_in_runtime(&own, &new), model(spare));
    assert!(rig.ask(spare, "y").await.is_whole());
    assert_eq!(rig.asked(), ["claude-of-tomorrow"]);
    assert_eq!(rig.booked(new.as_str()).map(|booked| booked.calls), Some(1));

    // Its fallback model takes over as for every other.
    rig.provider.inject(Fault::status(404).times(1));
    assert!(rig.ask(spare, "z").await.is_whole());
    assert_eq!(rig.asked()[1..], ["claude-of-tomorrow", "claude-opus-4-7"]);
    assert_eq!(rig.provider.violations(), []);
}

#[tokio::test]
async fn limits_that_change_reach_waits_that_are_under_way() {
    let rig = rig().await;
    rig.provider.inject(Fault::hang().times(1));
    let changing = async {
        until("the call", || !rig.provider.requests().is_empty()).await;
        rig.gateway.set_limits(Limits {
            hold: std::time::Duration::from_millis(150),
            ..Limits::default()
        });
    };
    let both = async { tokio::join!(rig.ask(OPUS_NEW, "x"), changing) };
    let (outcome, ()) = timeout(LONG / 2, both).await.expect("the new limit");
    assert_eq!(outcome.message(), "conclave: no healthy model");
}

#[tokio::test]
async fn limits_and_budgets_that_change_count_for_the_next_call() {
    let rig = rig().await;
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    rig.gateway.set_limits(Limits {
        hold: std::time::Duration::from_millis(150),
        ..Limits::default()
    });
    rig.provider.inject(Fault::hang().times(1));
    let outcome = timeout(LONG / 2, rig.ask(OPUS_NEW, "y")).await.expect("the new limit");
    assert_eq!(outcome.message(), "conclave: no healthy model");
    rig.gateway.set_budget(Budget {
        run_calls: Some(2),
        ..Budget::default()
    });
    let asked = rig.provider.requests().len();
    assert_ne!(rig.ask(OPUS_NEW, "z").await.status, 500);
    assert_eq!(rig.provider.requests().len(), asked, "what was used before counts");
}
