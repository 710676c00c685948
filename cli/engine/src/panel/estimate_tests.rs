//! Sessions played through by hand.

use std::{collections::BTreeMap, time::Duration};

use conclave_shared::{
    config::{CapabilityList, CapabilityOverrides, NoModel, SkippedModel},
    effort::{Thinking, ThinkingBy},
    risk::RiskAssessment,
};

use super::*;
use crate::review::PanelMember;

/// A word is a token.
fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn route(model: &str, effort: Effort) -> ModelRoute {
    ModelRoute {
        models: vec![model.parse().expect("a model")],
        skipped: Vec::new(),
        effort,
    }
}

/// With the efforts that such a panel usually has.
fn plan(tier: RiskTier, models: &[&str]) -> Plan {
    let trivial = tier == RiskTier::Trivial;
    let usual = |name: &str| ClassEfforts::default().of(model_tier(name, trivial), trivial);
    let member = |model: &&str| PanelMember {
        name: ReviewerName::new("security").expect("a name"),
        route: Ok(route(model, usual("security"))),
        required: true,
        attempt: Duration::from_secs(1),
        parts: vec!["one two".into(), "three".into()],
        patches: Vec::new(),
        rules: None,
    };
    Plan {
        assessment: RiskAssessment {
            tier,
            reasons: Vec::new(),
        },
        members: models.iter().map(member).collect(),
        coordinator: Ok(route("openai/gpt-5.4", usual("coordinator"))),
        slots: Vec::new(),
        gaps: Vec::new(),
        classes: BTreeMap::new(),
        rules: crate::rules::AppliedRules::default(),
    }
}

fn estimate_of(plan: &Plan, patches: &[&str]) -> Estimate {
    estimate_at(plan, patches, &PriceList::default())
}

fn estimate_at(plan: &Plan, patches: &[&str], prices: &PriceList) -> Estimate {
    estimate_with(plan, patches, prices, &CapabilityList::default())
}

fn estimate_with(plan: &Plan, patches: &[&str], prices: &PriceList, capabilities: &CapabilityList) -> Estimate {
    let mut library = PromptLibrary::default();
    library
        .replace([
            (
                "REVIEWER_SHARED".into(),
                "# Rules for every reviewer\nsome rules".into(),
            ),
            ("coordinator".into(), "# Review coordinator\njudge".into()),
        ])
        .expect("prompts");
    let mut counted = PatchTokens::default();
    for patch in patches {
        counted.add(patch, &words);
    }
    estimate(&EstimateInput {
        plan,
        library: &library,
        coordinator_message: "a message",
        patches: counted,
        prices,
        capabilities: &|model| capabilities.of(model),
        count: &words,
    })
    .expect("the prompts are there")
}

#[test]
fn a_session_pays_each_new_token_once_and_reads_the_rest_from_the_cache() {
    let estimate = estimate_of(&plan(RiskTier::Trivial, &["openai/gpt-5.4"]), &["x y", "z"]);
    let session = &estimate.sessions[0];
    // Rules 7 and message 3; two patches of a line with 3 words; two looks.
    let new = [
        RUNTIME + 10,
        3 + 2 * (READ_FILE + READ_LINE) + 2 * CALL,
        LOOK + CALL,
        LOOK + CALL,
    ];
    assert_eq!(session.turns, 4);
    assert_eq!(
        session.tokens.input,
        new.iter().sum::<u64>(),
        "OpenAI does not charge for writing to the cache"
    );
    assert_eq!(session.tokens.cache_write, 0);
    let read: u64 = (1..new.len()).map(|turn| new[..turn].iter().sum::<u64>()).sum();
    assert_eq!(session.tokens.cache_read, read);
    // Two calls in the first turn, one for each patch; the answer in the last.
    assert_eq!((session.tokens.output, session.tokens.reasoning), (4 * CALL + 600, 600));
    let facts = conclave_shared::pricing::facts(session.model.as_ref().expect("a model")).expect("known");
    assert!((session.cost_usd.expect("priced") - facts.cost_usd(&session.tokens)).abs() < 1e-9);
}

#[test]
fn thinking_follows_the_effort_and_is_priced() {
    let with = |effort, model: &str| {
        let mut plan = plan(RiskTier::Full, &[model]);
        plan.members[0].route = Ok(route(model, effort));
        estimate_of(&plan, &["x"]).sessions[0].clone()
    };
    let usual = with(Effort::Medium, "anthropic/claude-sonnet-5");
    assert_eq!(usual.tokens.reasoning, 1_100 * 125 / 100);
    for (effort, reasoning) in [(Effort::None, 0), (Effort::Low, 687), (Effort::Max, 5_370)] {
        let session = with(effort, "anthropic/claude-sonnet-5");
        assert_eq!(session.tokens.reasoning, reasoning, "{effort}");
        assert_eq!(session.tokens.output, usual.tokens.output, "{effort}");
        let cheaper = session.cost_usd < usual.cost_usd;
        assert_eq!(cheaper, effort < Effort::Medium, "{effort}");
    }
    let always = with(Effort::None, "anthropic/claude-opus-5-5");
    assert_eq!(always.tokens.reasoning, 687, "it cannot be switched off");
    let untold = with(Effort::Max, "openai/gpt-4.1");
    assert_eq!(untold.tokens.reasoning, 0, "it takes no effort");
}

#[test]
fn a_budget_that_is_cut_down_is_estimated_as_it_will_be_sent() {
    let mut plan = plan(RiskTier::Full, &["vllm/claude"]);
    plan.members[0].route = Ok(route("vllm/claude", Effort::High));
    let reasoning = |max_output: u64| {
        let declared = CapabilityOverrides {
            max_output: Some(max_output),
            thinking: Some(Thinking {
                by: ThinkingBy::Budget,
                ..Thinking::default()
            }),
            ..CapabilityOverrides::default()
        };
        let list = CapabilityList::new(&[("vllm/claude".to_owned(), declared)].into());
        estimate_with(&plan, &["x"], &PriceList::default(), &list).sessions[0]
            .tokens
            .reasoning
    };
    let whole = reasoning(32_000);
    assert!(whole > 0);
    // 4,096 tokens in place of 16,000.
    assert_eq!(reasoning(8_192), whole * 4_096 / 16_000);
}

#[test]
fn reviewers_of_one_model_share_their_beginning() {
    let estimate = estimate_of(&plan(RiskTier::Lite, &["openai/gpt-5.4", "openai/gpt-5.4"]), &["x"]);
    let [first, second, _] = &estimate.sessions[..] else {
        panic!("three sessions")
    };
    // All but the role's one word.
    let shared = RUNTIME + 7 + 2;
    assert_eq!(first.tokens.input - second.tokens.input, shared);
    assert_eq!(second.tokens.cache_read - first.tokens.cache_read, shared);
}

#[test]
fn claude_has_more_tokens_and_charges_for_writing_to_the_cache() {
    let patch = "w ".repeat(10_000);
    let plan = plan(RiskTier::Trivial, &["openai/gpt-5.4", "anthropic/claude-sonnet-5"]);
    let estimate = estimate_of(&plan, &[&patch]);
    let [openai, claude, _] = &estimate.sessions[..] else {
        panic!("three sessions")
    };
    assert_eq!((claude.tokens.input, openai.tokens.cache_write), (0, 0));
    let percent = claude.tokens.cache_write * 100 / openai.tokens.input;
    assert!((124..=126).contains(&percent), "{percent} %");
}

#[test]
fn a_model_without_a_cache_pays_the_conversation_again_in_each_turn() {
    let written = Written { answer: 1, thinking: 2 };
    let seen = call(None, 100, 10, written);
    assert_eq!((seen.input, seen.cache_read, seen.cache_write), (110, 0, 0));
}

#[test]
fn models_without_a_price_are_named_and_a_reviewer_without_a_model_costs_nothing() {
    let mut plan = plan(RiskTier::Lite, &["anthropic/our-own-model", "openai/gpt-5.4"]);
    plan.members[1].route = Err(NoModel {
        reviewer: "security".into(),
        skipped: Vec::new(),
    });
    let estimate = estimate_of(&plan, &["x"]);
    assert_eq!(estimate.unpriced.len(), 1);
    assert_eq!(estimate.sessions[0].cost_usd, None);
    assert_eq!(
        (estimate.sessions[1].turns, estimate.sessions[1].tokens.total()),
        (0, 0)
    );
    let coordinator = estimate.sessions.last().expect("the coordinator");
    assert_eq!(coordinator.name.as_str(), ReviewerName::COORDINATOR);
    assert!((estimate.cost_usd - coordinator.cost_usd.expect("priced")).abs() < 1e-9);
}

#[test]
fn without_any_key_the_preferred_models_are_priced() {
    let skip = |model: &str, switched_off| SkippedModel {
        model: model.parse().expect("a model"),
        reason: "why".into(),
        switched_off,
    };
    let none = NoModel {
        reviewer: "security".into(),
        skipped: vec![skip("anthropic/claude-sonnet-5", true), skip("openai/gpt-5.4", false)],
    };
    let mut plan = plan(RiskTier::Trivial, &["openai/gpt-5.4"]);
    let with_key = estimate_of(&plan, &["x"]);
    plan.members[0].route = Err(none.clone());
    plan.coordinator = Err(none);
    let without = estimate_of(&plan, &["x"]);
    assert_eq!(
        without.sessions, with_key.sessions,
        "what an operator switched off is not priced"
    );
    assert!(
        without.assumptions[0].starts_with("no model can be used now"),
        "{:?}",
        without.assumptions
    );
}

#[test]
fn more_tiers_more_turns() {
    let turns = |tier| estimate_of(&plan(tier, &["openai/gpt-5.4"]), &["x"]).sessions[0].turns;
    assert_eq!(RiskTier::ALL.map(turns), [4, 6, 8]);
}

#[test]
fn an_operators_prices_count_and_are_told_with_their_date() {
    let plan = plan(RiskTier::Trivial, &["openai/gpt-5.4", "vllm/qwen"]);
    let built_in = estimate_of(&plan, &["x"]);
    assert_eq!(built_in.unpriced.len(), 1);
    let document: conclave_shared::config::ConfigDocument = serde_json::from_str(
        r#"{"schema_version":1,"prices":{"vllm/qwen":{"as_of":"2026-11-01","input":1,"output":2}}}"#,
    )
    .expect("valid");
    let own = estimate_at(&plan, &["x"], &PriceList::new(&document.prices));
    assert_eq!(own.unpriced, []);
    let cost = own.sessions[1].cost_usd.expect("priced");
    assert!(cost > 0.0 && (own.cost_usd - built_in.cost_usd - cost).abs() < 1e-12);
    let told = own.assumptions.last().expect("assumptions");
    assert!(told.contains("vllm/qwen as of 2026-11-01"), "{told}");
    assert!(!built_in.assumptions.iter().any(|line| line.contains("as of")));
}
