//! Usage accounting.

use std::sync::Arc;

use axum::{body::Body, http::Response};
use conclave_engine::ports::UsageLedger;
use conclave_gateway::GatewayEvent;
use conclave_scripted_provider::{Fault, Position};
use conclave_shared::pricing;
use serde_json::{Value, json};

use crate::{
    raw::Raw,
    rig::{FORMATS, LLAMA, OPUS_NEW, SOL, config, model, rig, rig_with, session},
};

#[tokio::test]
async fn the_books_are_those_of_the_provider_to_the_token() {
    let rig = rig().await;
    for text in ["one", "two", "three"] {
        for name in FORMATS {
            assert!(rig.ask(name, text).await.is_whole());
        }
    }
    let mut cost = 0.0;
    for name in FORMATS {
        let booked = rig.booked(name).unwrap();
        let mut tokens = booked.tokens;
        assert_eq!(
            tokens.reasoning > 0,
            name != OPUS_NEW,
            "Anthropic does not tell reasoning apart"
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
async fn a_model_without_a_price_costs_nothing_and_that_is_told() {
    let rig = rig().await;
    rig.ask(OPUS_NEW, "x").await;
    assert_eq!(rig.gateway.events(), []);
    let cost = rig.gateway.cost_usd();
    rig.ask(LLAMA, "x").await;
    rig.ask(LLAMA, "y").await;
    assert!((rig.gateway.cost_usd() - cost).abs() < 1e-12);
    let unpriced = GatewayEvent::Unpriced {
        model: model(LLAMA),
        calls: 2,
    };
    assert_eq!(rig.gateway.events(), [unpriced]);

    let opus = pricing::facts(&model(OPUS_NEW));
    let rig = rig_with(|config| config.prices = Arc::new(move |_| opus)).await;
    rig.ask(LLAMA, "x").await;
    assert!(rig.gateway.cost_usd() > 0.0);
    assert_eq!(rig.gateway.events(), [], "a given price is a price");
}

#[tokio::test]
async fn a_prompt_beyond_the_limit_has_the_price_of_a_long_one() {
    let rig = rig().await;
    let tokens = 300_000;
    assert!(rig.ask(SOL, &"word".repeat(tokens)).await.is_whole());
    let booked = rig.booked(SOL).unwrap();
    let facts = pricing::facts(&model(SOL)).unwrap();
    let long = facts.long_context.unwrap();
    assert!(booked.tokens.prompt() > long.above);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred thousand")]
    let price = |count: u64, each: f64| count as f64 * each / 1e6;
    let output = booked.tokens.output + booked.tokens.reasoning;
    let expected = price(booked.tokens.input, long.input) + price(output, long.output);
    assert!((booked.cost_usd - expected).abs() < 1e-9, "{booked:?}");
    assert!((rig.gateway.cost_usd() - expected).abs() < 1e-9);
}

#[tokio::test]
async fn an_answer_that_broke_off_uncounted_is_told() {
    for name in FORMATS {
        let rig = rig().await;
        rig.provider.inject(Fault::cut().at(Position::MidContent).times(1));
        assert!(rig.ask(name, "x").await.broken);
        let uncounted = GatewayEvent::Uncounted {
            model: model(name),
            answers: 1,
        };
        assert!(rig.gateway.events().contains(&uncounted), "{name}");
        let booked = rig.booked(name).unwrap();
        assert_eq!(booked.uncounted, 1, "{name}");
        // Anthropic tells the prompt's tokens first.
        assert_eq!(booked.tokens.prompt() > 0, name == OPUS_NEW, "{name}");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_booked_by_its_usage_and_is_uncounted_without_one() {
    let answer = |usage: Value| {
        json!({"content": [{"type": "text", "text": "a"}], "choices": [{"message": {"content": "a"}}], "output": [],
               "usage": usage})
        .to_string()
    };
    let usage = json!({"input_tokens": 5000, "output_tokens": 100, "prompt_tokens": 5000, "completion_tokens": 100});
    let counted = answer(usage);
    let cut = counted[..counted.len() - 1].to_owned();
    for (body, input, output, uncounted) in [
        (counted, 5000, 100, 0),
        (answer(json!(null)), 0, 0, 1),
        (cut, 0, 0, 1),
        // It says why there is no answer: nothing was used.
        (json!({"error": {"message": "busy"}}).to_string(), 0, 0, 0),
    ] {
        let sent = body.clone();
        let raw = Raw::start(move |_| {
            let response = Response::builder().header("content-type", "application/json");
            response.body(Body::from(sent.clone())).unwrap()
        })
        .await;
        for name in FORMATS {
            let rig = rig_with(|settings| *settings = config(&raw.url)).await;
            assert_eq!(rig.ask(name, "x").await.status, 400, "{name} {body}");
            let booked = rig.booked(name).unwrap();
            let calls = booked.calls;
            assert!(calls > 0, "{name} {body}");
            assert_eq!(
                (booked.tokens.input, booked.tokens.output, booked.uncounted),
                (input * calls, output * calls, uncounted * calls),
                "{name} {body}"
            );
            assert_eq!(booked.cost_usd > 0.0, input > 0 && name != LLAMA, "{name} {body}");
        }
    }
}

#[tokio::test]
async fn a_budget_holds_where_the_provider_does_not_count() {
    for name in FORMATS {
        for usage in [
            None,
            Some(json!(null)),
            Some(json!("a lot")),
            Some(json!({"input_tokens": -1, "prompt_tokens": 1e30})),
            Some(
                json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX, "prompt_tokens": u64::MAX,
                "completion_tokens": u64::MAX}),
            ),
        ] {
            let rig = rig_with(|config| config.budget.run_tokens = Some(500)).await;
            rig.provider.inject(Fault::field("usage", usage.clone()));
            assert!(rig.ask(name, &"word ".repeat(400)).await.is_whole(), "{name} {usage:?}");
            let booked = rig.booked(name).unwrap();
            assert_eq!((booked.uncounted, booked.tokens.total()), (1, 0), "{name} {usage:?}");
            let uncounted = GatewayEvent::Uncounted {
                model: model(name),
                answers: 1,
            };
            assert!(rig.gateway.events().contains(&uncounted), "{name} {usage:?}");
            let outcome = rig.ask(name, "y").await;
            assert_eq!(outcome.message(), "conclave: run budget spent", "{name} {usage:?}");
        }
    }
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
