//! Budgets: what is spent is not exceeded, and is told once.

use conclave_engine::ports::{BudgetState, UsageLedger};
use conclave_gateway::{GatewayEvent, Wire};
use futures_util::future::join_all;

use crate::{
    client::{Outcome, body},
    rig::{OPUS_NEW, Rig, model, rig, rig_with, session},
};

/// What of which budget was said to be used.
fn told(rig: &Rig) -> Vec<(String, bool)> {
    let events = rig.gateway.events();
    let used = events.iter().filter_map(|event| match event {
        GatewayEvent::BudgetUsed { line, spent } => Some((line.to_string(), *spent)),
        _ => None,
    });
    used.collect()
}

/// The outcomes of this number of sessions that ask at the same time.
async fn ask_at_once(rig: &Rig, sessions: usize) -> Vec<Outcome> {
    let calls = (0..sessions).map(|number| async move {
        let name = format!("ses_{number}");
        rig.gateway.assign(&session(&name), "security", &[model(OPUS_NEW)]);
        let body = body(Wire::Anthropic, model(OPUS_NEW).model(), &name);
        rig.send(OPUS_NEW, &name, &body).await
    });
    join_all(calls).await
}

#[tokio::test]
async fn the_last_call_is_made_once_however_many_ask_for_it_at_the_same_time() {
    let rig = rig_with(|config| config.budget.run_calls = Some(5)).await;
    let outcomes = ask_at_once(&rig, 12).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_whole()).count(), 5);
    assert_eq!(rig.provider.requests().len(), 5);
    let refused = outcomes.iter().filter(|outcome| !outcome.is_whole());
    assert!(
        refused
            .map(crate::client::Outcome::message)
            .all(|message| message == "conclave: run budget spent")
    );
    let line = "5 model calls for the run".to_owned();
    assert_eq!(told(&rig), [(line.clone(), false), (line.clone(), true)]);
    assert_eq!(rig.gateway.budget(), BudgetState::Spent(line));
}

#[tokio::test]
async fn tokens_have_a_budget_too_and_what_is_optional_stops_first() {
    let rig = rig_with(|config| config.budget.run_tokens = Some(1)).await;
    assert_eq!(rig.gateway.budget(), BudgetState::Free);
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole(), "what is begun is finished");
    assert_eq!(
        rig.gateway.budget(),
        BudgetState::Spent("1 tokens for the run".to_owned())
    );
    assert_eq!(rig.ask(OPUS_NEW, "y").await.message(), "conclave: run budget spent");

    let used = rig.booked(OPUS_NEW).unwrap().tokens.total();
    let rig = rig_with(|config| config.budget.run_tokens = Some(used * 5 / 4)).await;
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    let level = rig.gateway.budget();
    assert!(matches!(level, BudgetState::Tight(_)), "{level:?}");
    assert!(level.forbids(false).is_some() && level.forbids(true).is_none());
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_spend_a_budget_together_that_has_room_for_one() {
    let rig = rig_with(|config| config.budget.run_tokens = Some(1)).await;
    let outcomes = ask_at_once(&rig, 7).await;
    let refused = outcomes.iter().filter(|outcome| !outcome.is_whole());
    assert_eq!(rig.provider.requests().len(), 1);
    assert_eq!(
        refused
            .filter(|outcome| outcome.message() == "conclave: run budget spent")
            .count(),
        6
    );
}

#[tokio::test]
async fn what_earlier_runs_of_the_merge_request_have_cost_counts() {
    let rig = rig_with(|config| {
        config.budget.merge_request_usd = Some(2.0);
        config.budget.spent_before_usd = 2.0;
    })
    .await;
    assert_eq!(rig.ask(OPUS_NEW, "x").await.message(), "conclave: run budget spent");
    assert!(rig.provider.requests().is_empty());
    assert_eq!(told(&rig), [("$2 for all reviews of the change".to_owned(), true)]);
}

#[tokio::test]
async fn without_a_budget_there_is_no_end() {
    let rig = rig().await;
    for number in 0..5 {
        assert!(rig.ask(OPUS_NEW, &number.to_string()).await.is_whole());
    }
    assert_eq!((rig.gateway.budget(), told(&rig)), (BudgetState::Free, Vec::new()));
}
