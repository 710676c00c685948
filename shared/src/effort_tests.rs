use super::*;
use crate::pricing::registry;

fn thinking(model: &str) -> Thinking {
    registry()[model].thinking
}

fn ask(level: Level, summarized: bool) -> ThinkingRequest {
    ThinkingRequest::Adaptive { level, summarized }
}

/// The requests of a model with adaptive thinking, of which only that for `none` differs.
fn adaptive(none: ThinkingRequest, summarized: bool) -> [ThinkingRequest; 5] {
    let [low, medium, high, max] =
        [Level::Low, Level::Medium, Level::High, Level::Max].map(|level| ask(level, summarized));
    [none, low, medium, high, max]
}

/// The published contracts, one model of each kind, with the request for each of the five efforts.
#[test]
fn each_kind_of_model_is_asked_as_its_provider_says() {
    use ThinkingRequest::{Budget, Effort as Reasoning, Off, Untold};
    let table = [
        // Always on: Anthropic answers `disabled` with an error.
        ("anthropic/claude-opus-5-5", adaptive(ask(Level::Low, true), true)),
        // On by default, and can be switched off.
        ("anthropic/claude-sonnet-5", adaptive(Off(ThinkingOff::Disabled), true)),
        // Off by default.
        ("anthropic/claude-opus-4-7", adaptive(Off(ThinkingOff::Unsent), true)),
        ("anthropic/claude-sonnet-4-6", adaptive(Off(ThinkingOff::Unsent), false)),
        (
            "anthropic/claude-haiku-4-5",
            [
                Off(ThinkingOff::Unsent),
                Budget(4_096),
                Budget(8_192),
                Budget(16_000),
                Budget(31_999),
            ],
        ),
        (
            "openai/gpt-6-sol",
            [
                Reasoning(Level::None),
                Reasoning(Level::Low),
                Reasoning(Level::Medium),
                Reasoning(Level::High),
                Reasoning(Level::Max),
            ],
        ),
        (
            "openai/gpt-5.3-codex",
            [
                Reasoning(Level::Low),
                Reasoning(Level::Low),
                Reasoning(Level::Medium),
                Reasoning(Level::High),
                Reasoning(Level::Xhigh),
            ],
        ),
        (
            "openai/gpt-5",
            [
                Reasoning(Level::Minimal),
                Reasoning(Level::Low),
                Reasoning(Level::Medium),
                Reasoning(Level::High),
                Reasoning(Level::High),
            ],
        ),
        ("openai/gpt-4.1", [Untold; 5]),
        (
            "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6",
            [
                Reasoning(Level::None),
                Reasoning(Level::High),
                Reasoning(Level::High),
                Reasoning(Level::High),
                Reasoning(Level::High),
            ],
        ),
        (
            "cloudflare-workers-ai/@cf/openai/gpt-oss-120b",
            [
                Reasoning(Level::Low),
                Reasoning(Level::Low),
                Reasoning(Level::Medium),
                Reasoning(Level::High),
                Reasoning(Level::High),
            ],
        ),
        (
            "cloudflare-workers-ai/@cf/meta/llama-4-scout-17b-16e-instruct",
            [Untold; 5],
        ),
    ];
    for (model, expected) in table {
        for (effort, expected) in Effort::ALL.into_iter().zip(expected) {
            assert_eq!(thinking(model).request(effort), expected, "{model} {effort}");
        }
    }
}

#[test]
fn a_request_is_always_one_that_the_model_takes() {
    for (model, facts) in registry() {
        for effort in Effort::ALL {
            match facts.thinking.request(effort) {
                ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level) => {
                    assert!(facts.thinking.levels.has(level), "{model} {effort}");
                }
                ThinkingRequest::Budget(tokens) => assert!(tokens >= 1024 && tokens < facts.max_output, "{model}"),
                ThinkingRequest::Off(off) => assert_ne!(off, ThinkingOff::Never, "{model}"),
                ThinkingRequest::Untold => {}
            }
            let told = facts.thinking.is_told();
            assert!(!told || facts.reasoning, "{model}: it does not reason at all");
        }
    }
}

#[test]
fn what_an_effort_comes_to_is_said() {
    for (model, effort, said, falls_short) in [
        ("anthropic/claude-opus-5-5", Effort::High, "effort high", false),
        (
            "anthropic/claude-opus-5-5",
            Effort::None,
            "effort low, because it always thinks",
            true,
        ),
        (
            "anthropic/claude-haiku-4-5",
            Effort::Medium,
            "effort medium: 8192 tokens",
            false,
        ),
        ("anthropic/claude-haiku-4-5", Effort::None, "effort none", false),
        (
            "openai/gpt-5",
            Effort::Max,
            "effort high, the nearest to max that it takes",
            true,
        ),
        (
            "openai/gpt-5.3-codex",
            Effort::Max,
            "effort xhigh, the nearest to max that it takes",
            false,
        ),
        ("openai/gpt-4.1", Effort::High, "takes no effort", true),
        ("openai/gpt-4.1", Effort::None, "takes no effort", false),
    ] {
        let request = thinking(model).request(effort);
        assert_eq!(request.describe(effort), said, "{model}");
        assert_eq!(request.shortfall(effort).is_some(), falls_short, "{model} {effort}");
    }
}

#[test]
fn a_budget_stays_below_the_longest_answer_and_one_that_is_cut_down_says_so() {
    let budget = Thinking {
        by: ThinkingBy::Budget,
        ..Thinking::default()
    };
    for (max_output, effort, request, said) in [
        (64_000, Effort::Max, ThinkingRequest::Budget(31_999), None),
        (16_001, Effort::High, ThinkingRequest::Budget(16_000), None),
        (
            16_000,
            Effort::High,
            ThinkingRequest::Budget(8_000),
            Some("effort high: 8000 tokens, because its answers have room for no more"),
        ),
        (
            1_500,
            Effort::Low,
            ThinkingRequest::Budget(1_024),
            Some("effort low: 1024 tokens, because its answers have room for no more"),
        ),
        (
            1_024,
            Effort::Low,
            ThinkingRequest::Off(ThinkingOff::Unsent),
            Some("no effort, because its answers have no room for it"),
        ),
        (1_024, Effort::None, ThinkingRequest::Off(ThinkingOff::Unsent), None),
    ] {
        let within = budget.request(effort).within(max_output);
        assert_eq!(within, request, "{max_output} {effort}");
        assert_eq!(within.shortfall(effort).as_deref(), said, "{max_output} {effort}");
    }
    let level = ThinkingRequest::Effort(Level::High);
    assert_eq!(level.within(1_000), level, "a level has no size");
}

#[test]
fn a_budget_has_no_name_in_a_format_of_levels() {
    let id: ModelId = "compatible/claude".parse().expect("a model");
    let budget = Thinking {
        by: ThinkingBy::Budget,
        ..Thinking::default()
    };
    for thinking in [budget.by_level(), budget.in_chat(&id)] {
        assert_eq!(thinking.request(Effort::High), ThinkingRequest::Untold);
    }
    let levels = thinking("openai/gpt-5");
    assert_eq!((levels.by_level(), levels.in_chat(&id)), (levels, levels));
}

#[test]
fn an_effort_is_read_by_its_name_and_a_typing_error_is_named() {
    for effort in Effort::ALL {
        assert_eq!(effort.as_str().parse(), Ok(effort));
    }
    for (text, said) in [
        ("hihg", "`hihg` is not an effort: did you mean `high`?"),
        ("11", "`11` is not an effort: those are none, low, medium, high, max"),
        ("", "`` is not an effort: those are none, low, medium, high, max"),
        ("High", "`High` is not an effort: did you mean `high`?"),
    ] {
        let error = text.parse::<Effort>().expect_err(text);
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn beside_tools_chat_completions_has_no_effort_for_newer_models_of_openai() {
    let in_chat = |model: &str| {
        let id: ModelId = model.parse().expect("a model");
        let thinking = crate::pricing::facts(&id)
            .map(|facts| facts.thinking)
            .unwrap_or_default();
        thinking.in_chat(&id).request(Effort::High)
    };
    for (model, request) in [
        ("openai/gpt-5.6-terra", ThinkingRequest::Effort(Level::None)),
        ("openai/gpt-6-sol", ThinkingRequest::Effort(Level::None)),
        ("openai/gpt-6-astra", ThinkingRequest::Untold),
        ("openai/gpt-5.2", ThinkingRequest::Effort(Level::None)),
        ("openai/gpt-5.3-codex", ThinkingRequest::Untold),
        ("openai/gpt-5", ThinkingRequest::Effort(Level::High)),
        ("openai/gpt-5-mini", ThinkingRequest::Effort(Level::High)),
        (
            "cloudflare-workers-ai/@cf/zai-org/glm-5.3",
            ThinkingRequest::Effort(Level::High),
        ),
    ] {
        assert_eq!(in_chat(model), request, "{model}");
    }
}
