//! The books.

use conclave_engine::ports::ModelLedger;
use conclave_gateway::Prices;
use conclave_scripted_provider::{Fault, Position};
use conclave_shared::pricing;

use crate::rig::{LLAMA, OPUS_NEW, model, rig, rig_with, session};

#[tokio::test]
async fn the_books_are_those_of_the_provider_to_the_token() {
    let rig = rig().await;
    for text in ["one", "two", "three"] {
        for name in [OPUS_NEW, LLAMA] {
            assert!(rig.ask(name, text).await.is_whole());
        }
    }
    let mut cost = 0.0;
    for name in [OPUS_NEW, LLAMA] {
        let booked = rig.booked(name).unwrap();
        let mut tokens = booked.tokens;
        assert_eq!(
            tokens.reasoning > 0,
            name == LLAMA,
            "only Chat Completions tells reasoning apart"
        );
        tokens.output += std::mem::take(&mut tokens.reasoning);
        assert_eq!(tokens, rig.provided(name), "{name}");
        assert_eq!(booked.calls, 3);
        let price = pricing::facts(&model(name)).map_or(0.0, |facts| facts.cost_usd(&booked.tokens));
        assert!((booked.cost_usd - price).abs() < 1e-12, "{name}");
        cost += price;
    }
    assert!(
        rig.booked(OPUS_NEW).unwrap().tokens.cache_read > 0,
        "the provider's cache was used"
    );
    assert!(cost > 0.0 && (rig.gateway.cost_usd() - cost).abs() < 1e-12);
}

#[tokio::test]
async fn a_model_without_a_price_costs_nothing_and_a_given_price_counts() {
    let rig = rig().await;
    rig.ask(LLAMA, "x").await;
    assert!(rig.gateway.cost_usd().abs() < 1e-12);

    let opus = pricing::facts(&model(OPUS_NEW));
    let rig = rig_with(|config| config.prices = Prices::new(move |_| opus)).await;
    rig.ask(LLAMA, "x").await;
    assert!(rig.gateway.cost_usd() > 0.0);
}

#[tokio::test]
async fn the_prompt_of_an_answer_that_broke_off_is_booked() {
    let rig = rig().await;
    rig.provider.inject(Fault::cut().at(Position::MidContent).times(1));
    assert!(rig.ask(OPUS_NEW, "x").await.broken);
    let booked = rig.booked(OPUS_NEW).unwrap().tokens;
    let provided = rig.provider.books().model("claude-opus-4-7").interrupted_usage;
    assert_eq!(booked.input + booked.cache_write + booked.cache_read, provided.prompt());
    assert!(provided.prompt() > 0);
}

#[tokio::test]
async fn a_spent_budget_is_final() {
    let rig = rig_with(|config| config.budget.run_usd = Some(0.000_001)).await;
    assert!(rig.ask(OPUS_NEW, "x").await.is_whole());
    let outcome = rig.ask(OPUS_NEW, "y").await;
    assert_eq!(
        (outcome.status, outcome.message().as_str()),
        (400, "conclave: run budget spent")
    );
    assert_eq!(rig.provider.requests().len(), 1);
}

#[tokio::test]
async fn without_money_there_is_not_even_one_call() {
    let rig = rig_with(|config| config.budget.run_usd = Some(0.0)).await;
    assert_eq!(rig.ask(OPUS_NEW, "x").await.message(), "conclave: run budget spent");
    assert!(rig.provider.requests().is_empty());
    assert!(rig.gateway.usage(&session("ses_a")).is_empty());
    assert!(rig.gateway.usage(&session("ses_nobody")).is_empty());
}
