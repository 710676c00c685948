//! Circuits: no call goes to a broken model, one tries it, and all use it again.

use std::time::Duration;

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{FallbackReason, GatewayConfig, GatewayEvent, Wire};
use conclave_resilience::breaker::Circuit;
use conclave_scripted_provider::Fault;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::{
    client::{Outcome, RUN_KEY, body, call, read},
    rig::{LONG, OPUS_NEW, OPUS_OLD, Rig, SLOW, model, pass, rig_with, session, until},
};

const NEW: &str = "claude-opus-4-7";
const OLD: &str = "claude-opus-4-6";

/// Time for which a circuit is open here.
const OPEN: Duration = Duration::from_mins(2);
/// The same where it goes by for real: long enough to see it open, short enough to see it close.
const OPEN_FOR_REAL: Duration = Duration::from_millis(300);

fn returning(config: &mut GatewayConfig) {
    config.limits.breaker.open = OPEN;
    config.limits.keep_fallback = Duration::ZERO;
}

impl Rig {
    /// Gives so many sessions this assignment, and lets each ask once, all at the same time.
    async fn panel(&self, sessions: usize, models: &[&str]) -> Vec<Outcome> {
        let models: Vec<_> = models.iter().map(|name| model(name)).collect();
        join_all((0..sessions).map(|number| {
            let name = format!("ses_panel_{number}");
            self.gateway.assign(&session(&name), "security", &models);
            let asked = models[0].clone();
            async move {
                let body = body(Wire::Anthropic, asked.model(), &name);
                self.send(asked.as_str(), &name, &body).await
            }
        }))
        .await
    }

    fn count(&self, name: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == name).count()
    }

    /// What the circuit of a model has done, in order.
    fn circuit(&self, name: &str) -> Vec<Circuit> {
        let events = self.gateway.events();
        let changes = events.iter().filter_map(|event| match event {
            GatewayEvent::CircuitChanged { model: other, change } if *other == model(name) => Some(change.circuit()),
            _ => None,
        });
        changes.collect()
    }

    async fn opened(&self, name: &str) {
        until("the circuit opened", || {
            self.circuit(name).last() == Some(&Circuit::Open)
        })
        .await;
    }
}

#[tokio::test]
async fn after_five_failures_nobody_asks_and_everybody_is_answered_by_the_fallback_model() {
    let rig = rig_with(|_| ()).await;
    rig.provider.inject(Fault::status(529).model(NEW));
    let first = rig.panel(7, &[OPUS_NEW, OPUS_OLD]).await;
    assert!(first.iter().all(Outcome::is_whole), "{first:?}");
    // Seven may be under way before the fifth has failed; nobody repeats a call once it has.
    let asked = rig.count(NEW);
    assert!((5..=11).contains(&asked), "{asked} calls of the broken model");
    assert_eq!(rig.circuit(OPUS_NEW), [Circuit::Open]);
    let second = rig.panel(20, &[OPUS_NEW, OPUS_OLD]).await;
    assert!(second.iter().all(Outcome::is_whole), "{second:?}");
    assert_eq!(rig.count(NEW), asked, "not one call more");
    let left_alone = |event: &GatewayEvent| {
        matches!(
            event,
            GatewayEvent::FallbackUsed {
                reason: FallbackReason::CircuitOpen,
                ..
            }
        )
    };
    assert!(rig.gateway.events().iter().any(left_alone));
}

#[tokio::test]
async fn only_provider_faults_open_a_circuit() {
    for (fault, counts) in [
        (Fault::status(400), false),
        (Fault::status(401), false),
        (Fault::status(404), false),
        (Fault::context_overflow(), false),
        (Fault::status(429), true),
        (Fault::status(500), true),
        (Fault::status(529), true),
        (Fault::cut().at(conclave_scripted_provider::Position::AfterStart), true),
        (
            Fault::garbage().at(conclave_scripted_provider::Position::AfterStart),
            true,
        ),
    ] {
        let rig = rig_with(|config| config.limits.retry.retries = 0).await;
        rig.provider.inject(fault.clone().model(NEW));
        for number in 0..6 {
            let asked = body(Wire::Anthropic, NEW, &number.to_string());
            rig.send(OPUS_NEW, "ses_a", &asked).await;
            rig.gateway
                .assign(&session("ses_a"), "security", &[model(OPUS_NEW), model(OPUS_OLD)]);
        }
        let expected = if counts { vec![Circuit::Open] } else { Vec::new() };
        assert_eq!(rig.circuit(OPUS_NEW), expected, "{fault:?}");
        assert_eq!(rig.count(NEW), if counts { 5 } else { 6 }, "{fault:?}");
    }
}

#[tokio::test]
async fn answers_that_break_off_after_their_first_words_count_too() {
    let rig = rig_with(|config| config.limits.cuts = 100).await;
    rig.provider.inject(Fault::cut().model(NEW));
    for number in 0..5 {
        let asked = body(Wire::Anthropic, NEW, &number.to_string());
        assert!(rig.send(OPUS_NEW, "ses_a", &asked).await.broken);
    }
    rig.opened(OPUS_NEW).await;
    assert!(rig.ask(OPUS_NEW, "again").await.is_whole());
    assert_eq!((rig.count(NEW), rig.count(OLD)), (5, 1));
}

#[tokio::test]
async fn one_probe_finds_out_for_all_while_the_others_go_to_the_fallback_model() {
    let rig = rig_with(returning).await;
    rig.provider.inject(Fault::status(529).model(NEW));
    rig.panel(7, &[OPUS_NEW, OPUS_OLD]).await;
    let before = rig.count(NEW);
    rig.provider.heal();
    // The probe is answered when all others have come.
    rig.provider.inject(Fault::slow(SLOW, 0.0).model(NEW).times(1));
    pass(OPEN).await;
    let elsewhere = rig.count(OLD) + 11;
    let answering = async {
        until("the others' calls", || rig.count(OLD) == elsewhere).await;
        pass(SLOW).await;
    };
    let (outcomes, ()) = tokio::join!(rig.panel(12, &[OPUS_NEW, OPUS_OLD]), answering);
    assert!(outcomes.iter().all(Outcome::is_whole));
    assert_eq!(rig.count(NEW), before + 1, "exactly one probe");
    assert_eq!(
        rig.circuit(OPUS_NEW),
        [Circuit::Open, Circuit::HalfOpen, Circuit::Closed]
    );
    let outcomes = rig.panel(12, &[OPUS_NEW, OPUS_OLD]).await;
    assert!(outcomes.iter().all(Outcome::is_whole));
    assert_eq!(rig.count(NEW), before + 13, "closed, it is used by all again");
}

#[tokio::test]
async fn a_probe_that_fails_is_not_repeated_and_opens_it_again() {
    let rig = rig_with(returning).await;
    rig.provider.inject(Fault::status(529).model(NEW));
    rig.panel(7, &[OPUS_NEW, OPUS_OLD]).await;
    let before = rig.count(NEW);
    pass(OPEN).await;
    let outcomes = rig.panel(12, &[OPUS_NEW, OPUS_OLD]).await;
    assert!(outcomes.iter().all(Outcome::is_whole));
    assert_eq!(rig.count(NEW), before + 1, "exactly one probe, and no repetition of it");
    assert_eq!(rig.circuit(OPUS_NEW), [Circuit::Open, Circuit::HalfOpen, Circuit::Open]);
}

#[tokio::test]
async fn a_probe_whose_caller_goes_away_leaves_its_place_to_the_next() {
    let rig = rig_with(returning).await;
    rig.provider.inject(Fault::status(529).model(NEW));
    rig.panel(7, &[OPUS_NEW, OPUS_OLD]).await;
    rig.provider.heal();
    rig.provider.inject(Fault::hang().model(NEW).times(1));
    pass(OPEN).await;
    let before = rig.count(NEW);
    rig.gateway.assign(&session("ses_lost"), "security", &[model(OPUS_NEW)]);
    let lost = call(
        &rig.gateway.base_url("anthropic"),
        Wire::Anthropic,
        RUN_KEY,
        "ses_lost",
        body(Wire::Anthropic, NEW, "lost").to_string(),
    );
    let lost = tokio::spawn(lost.send());
    until("the probe", || rig.count(NEW) == before + 1).await;
    assert!(rig.ask(OPUS_NEW, "meanwhile").await.is_whole());
    assert_eq!(rig.count(NEW), before + 1, "one probe at a time");
    lost.abort();
    until("the end of the lost probe", || {
        rig.gateway.idle_for(&session("ses_lost")).is_none()
    })
    .await;
    assert!(rig.ask(OPUS_NEW, "then").await.is_whole());
    assert_eq!(rig.count(NEW), before + 2);
    assert_eq!(rig.circuit(OPUS_NEW).last(), Some(&Circuit::Closed));
}

#[tokio::test]
async fn with_nobody_else_to_ask_a_call_waits_for_the_probe_and_is_alive_meanwhile() {
    let rig = rig_with(|config| {
        returning(config);
        config.limits.breaker.open = OPEN_FOR_REAL;
    })
    .await;
    // As many as it takes to open the circuit while all seven are under way; then the provider is well again.
    rig.provider.inject(Fault::status(529).model(NEW).times(7));
    let asking = rig.panel(7, &[OPUS_NEW]);
    let watching = async {
        rig.opened(OPUS_NEW).await;
        assert!(rig.gateway.idle_for(&session("ses_panel_0")).is_some(), "it is held");
    };
    let (outcomes, ()) = timeout(LONG, async { tokio::join!(asking, watching) })
        .await
        .unwrap_or_else(|_| panic!("not tried in time: {:#?}", rig.gateway.events()));
    assert!(outcomes.iter().all(Outcome::is_whole), "{outcomes:?}");
    assert_eq!(rig.circuit(OPUS_NEW).last(), Some(&Circuit::Closed));
    // It is told for how long, and not by each of the seven.
    let waits = |event: &GatewayEvent| match event {
        GatewayEvent::Waiting { model, wait } if model.as_str() == OPUS_NEW => Some(*wait),
        _ => None,
    };
    let waits: Vec<Duration> = rig.gateway.events().iter().filter_map(waits).collect();
    let opened = rig
        .circuit(OPUS_NEW)
        .iter()
        .filter(|circuit| **circuit == Circuit::Open)
        .count();
    assert!(!waits.is_empty() && waits.len() <= opened, "{waits:?} of {opened}");
    assert!(waits.iter().all(|wait| *wait <= OPEN_FOR_REAL), "{waits:?}");
}

#[tokio::test]
async fn waiting_ends_with_the_time_for_a_call() {
    let rig = rig_with(|config| {
        config.limits.hold = OPEN / 2;
        config.limits.breaker.failures = 1;
    })
    .await;
    rig.provider.inject(Fault::status(529));
    let models = [model(OPUS_NEW)];
    rig.gateway.assign(&session("ses_a"), "security", &models);
    // Open for two minutes, and there is one: no use in waiting at all.
    let outcome = timeout(LONG, rig.ask(OPUS_NEW, "x")).await.expect("at once");
    assert_eq!(outcome.message(), "conclave: no healthy model");
    assert_eq!(rig.count(NEW), 1);
}

#[tokio::test]
async fn a_session_that_can_go_elsewhere_is_sent_there_at_once() {
    let rig = rig_with(|config| config.limits.breaker.failures = 1).await;
    rig.provider.inject(Fault::status(529).path("/anthropic"));
    assert_eq!(rig.ask(OPUS_NEW, "x").await.message(), "conclave: no healthy model");
    assert_eq!((rig.count(NEW), rig.count(OLD)), (1, 1));
    assert_eq!(rig.ask(OPUS_NEW, "y").await.message(), "conclave: no healthy model");
    assert_eq!((rig.count(NEW), rig.count(OLD)), (1, 1), "nobody was asked again");
}

#[tokio::test]
async fn a_waiting_call_that_is_given_up_leaves_nothing_behind() {
    let rig = rig_with(|config| config.limits.breaker.failures = 1).await;
    rig.provider.inject(Fault::status(529));
    let ses_a = session("ses_a");
    rig.gateway.assign(&ses_a, "security", &[model(OPUS_NEW)]);
    let request = call(
        &rig.gateway.base_url("anthropic"),
        Wire::Anthropic,
        RUN_KEY,
        "ses_a",
        body(Wire::Anthropic, NEW, "x").to_string(),
    );
    let waiting = tokio::spawn(async move { read(request.send().await.unwrap()).await });
    rig.opened(OPUS_NEW).await;
    assert!(rig.gateway.idle_for(&ses_a).is_some(), "it is held");
    waiting.abort();
    until("the end of the call", || rig.gateway.idle_for(&ses_a).is_none()).await;
}
