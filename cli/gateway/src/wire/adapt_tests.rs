use conclave_shared::config::{CapabilityList, CapabilityOverrides};
use serde_json::json;

use super::*;

pub(super) fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

/// A body as it is sent to a model, in a session with this effort.
pub(super) fn sent(
    wire: Wire,
    (asked, target): (&str, &str),
    effort: Option<Effort>,
    signatures: &Signatures,
    body: &Value,
) -> String {
    let target = model(target);
    let adaptation = Adaptation {
        wire,
        asked: &model(asked),
        capabilities: CapabilityList::default().of(&target),
        target: &target,
        effort,
        concessions: &BTreeSet::new(),
        signatures,
        carried: &CarriedAnswers::default(),
    };
    text(&adaptation.apply(&Bytes::from(body.to_string())))
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// The capabilities of a model with these corrections.
pub(super) fn declared(name: &str, overrides: &Value) -> Capabilities {
    let overrides: CapabilityOverrides = serde_json::from_value(overrides.clone()).expect("valid");
    CapabilityList::new(&[(name.to_owned(), overrides)].into()).of(&model(name))
}

/// A body as it is sent to the model that was asked, which has these capabilities.
pub(super) fn sent_with(
    wire: Wire,
    name: &str,
    capabilities: Capabilities,
    effort: Effort,
    bare: bool,
    body: &Value,
) -> String {
    let asked = model(name);
    let adaptation = Adaptation {
        wire,
        asked: &asked,
        target: &asked,
        capabilities,
        effort: Some(effort),
        concessions: &bare.then_some(Concession::NoParameters).into_iter().collect(),
        signatures: &Signatures::default(),
        carried: &CarriedAnswers::default(),
    };
    text(&adaptation.apply(&Bytes::from(body.to_string())))
}

fn adapted(wire: Wire, asked: &str, target: &str, signatures: &Signatures, body: &Value) -> Value {
    serde_json::from_str(&sent(wire, (asked, target), None, signatures, body)).expect("JSON")
}

/// The body that a model of Anthropic gets in place of Sonnet 4.6.
fn anthropic(target: &str, effort: Effort, body: &Value) -> String {
    let models = ("anthropic/claude-sonnet-4-6", &*format!("anthropic/{target}"));
    sent(Wire::Anthropic, models, Some(effort), &Signatures::default(), body)
}

#[test]
fn nothing_changes_for_the_model_that_was_asked() {
    let body = Bytes::from_static(b"{ \"model\" : \"claude-opus-4-7\", \"b\":1.0, \"a\":\"\\u00e9\" }");
    let asked = model("anthropic/claude-opus-4-7");
    let signatures = Signatures::default();
    let (concessions, carried) = (BTreeSet::new(), CarriedAnswers::default());
    let adaptation = |effort| Adaptation {
        wire: Wire::Anthropic,
        asked: &asked,
        target: &asked,
        capabilities: CapabilityList::default().of(&asked),
        effort,
        concessions: &concessions,
        signatures: &signatures,
        carried: &carried,
    };
    assert_eq!(adaptation(None).apply(&body), body);
    assert_eq!(
        adaptation(Some(Effort::None)).apply(&body),
        body,
        "it does not think unless asked to"
    );
    assert_eq!(
        adaptation(Some(Effort::Low)).apply(&body),
        "{\"model\":\"claude-opus-4-7\",\"b\":1.0,\"a\":\"\\u00e9\",\
         \"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},\"output_config\":{\"effort\":\"low\"}}",
        "all other bytes stay"
    );
}

#[test]
fn each_generation_of_claude_is_asked_in_its_own_way() {
    let body = json!({"model": "claude-sonnet-4-6", "max_tokens": 32000, "temperature": 0.1,
        "messages": [{"role": "user", "content": "x"}], "output_config": {"format": {"type": "json_schema"}}});
    let rest = "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]";
    let format = "\"format\":{\"type\":\"json_schema\"}";
    for (target, effort, expected) in [
        (
            "claude-opus-5-5",
            Effort::None,
            format!(
                "\"max_tokens\":36096,{rest},\"output_config\":{{{format},\"effort\":\"low\"}},\"thinking\":{{\"type\":\"adaptive\",\"display\":\"summarized\"}}"
            ),
        ),
        (
            "claude-sonnet-5",
            Effort::None,
            format!(
                "\"max_tokens\":32000,{rest},\"output_config\":{{{format}}},\"thinking\":{{\"type\":\"disabled\"}}"
            ),
        ),
        (
            "claude-opus-4-8",
            Effort::None,
            format!("\"max_tokens\":32000,{rest},\"output_config\":{{{format}}}"),
        ),
        (
            "claude-opus-4-6",
            Effort::Medium,
            format!(
                "\"max_tokens\":40192,{rest},\"output_config\":{{{format},\"effort\":\"medium\"}},\"thinking\":{{\"type\":\"adaptive\"}}"
            ),
        ),
        (
            "claude-opus-4-6",
            Effort::None,
            format!("\"max_tokens\":32000,\"temperature\":0.1,{rest},\"output_config\":{{{format}}}"),
        ),
        (
            "claude-sonnet-4-5",
            Effort::High,
            format!(
                "\"max_tokens\":48000,{rest},\"output_config\":{{{format}}},\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":16000}}"
            ),
        ),
        (
            "claude-haiku-4-5",
            Effort::Max,
            format!(
                "\"max_tokens\":63999,{rest},\"output_config\":{{{format}}},\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":31999}}"
            ),
        ),
        (
            "claude-of-tomorrow",
            Effort::High,
            format!("\"max_tokens\":16000,{rest},\"output_config\":{{{format}}}"),
        ),
    ] {
        let expected = format!("{{\"model\":\"{target}\",{expected}}}");
        assert_eq!(anthropic(target, effort, &body), expected, "{target} {effort}");
    }
}

#[test]
fn an_answer_keeps_its_room_as_far_as_the_model_can_and_a_budget_fits_below_the_limit() {
    let name = "anthropic/claude-sonnet-4-5";
    for (max_output, limit, expected) in [
        (
            64_000,
            60_000,
            ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":31999}",
        ),
        (
            8_192,
            8_192,
            ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":4096}",
        ),
        (1_024, 1_024, ""),
    ] {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": limit, "messages": []});
        let capabilities = declared(name, &json!({"max_output": max_output}));
        let sent = sent_with(Wire::Anthropic, name, capabilities, Effort::Max, false, &body);
        let expected =
            format!("{{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":{max_output},\"messages\":[]{expected}}}");
        assert_eq!(sent, expected);
    }
}

#[test]
fn what_the_runtime_wrote_for_another_model_goes_where_no_effort_is_known() {
    let body = json!({"model": "claude-opus-4-7", "max_tokens": 32000, "temperature": 0.1,
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"},
        "messages": [{"role": "user", "content": "x"}]});
    let (asked, target) = ("anthropic/claude-opus-4-7", "anthropic/claude-opus-4-6");
    let result = adapted(Wire::Anthropic, asked, target, &Signatures::default(), &body);
    assert_eq!((result.get("thinking"), result.get("output_config")), (None, None));
    assert_eq!(
        result["temperature"],
        json!(0.1),
        "a temperature stays where it is taken"
    );
    let target = "anthropic/claude-opus-5-5";
    let result = adapted(Wire::Anthropic, asked, target, &Signatures::default(), &body);
    assert_eq!(result.get("temperature"), None);
}

#[test]
fn sampling_that_was_chosen_for_a_model_is_sent_to_it_but_not_beside_thinking() {
    let name = "anthropic/claude-opus-4-6";
    let capabilities = declared(name, &json!({"temperature": 0.7, "top_p": 0.9}));
    let body = json!({"model": "claude-opus-4-6", "temperature": 0.1, "messages": []});
    let apply = |effort| {
        let sent = sent_with(Wire::Anthropic, name, capabilities, effort, false, &body);
        serde_json::from_str::<Value>(&sent).expect("JSON")
    };
    let calm = apply(Effort::None);
    assert_eq!((&calm["temperature"], &calm["top_p"]), (&json!(0.7), &json!(0.9)));
    let thinking = apply(Effort::Low);
    assert_eq!((thinking.get("temperature"), thinking.get("top_p")), (None, None));
}

#[test]
fn foreign_reasoning_goes_and_own_stays() {
    let signatures = Signatures::default();
    signatures.add(&["by-a".to_owned()], &model("anthropic/claude-sonnet-4-6"));
    signatures.add(&["by-b".to_owned()], &model("anthropic/claude-sonnet-4-5"));
    let thought = |signature: &str| json!({"type": "thinking", "thinking": "hmm", "signature": signature});
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let body = |model: &str| {
        json!({"model": model, "max_tokens": 32000, "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [thought("by-a"), {"type": "redacted_thinking", "data": "unknown"}]},
            {"role": "user", "content": "y"},
            {"role": "assistant", "content": [thought("by-b"), call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "z"}]}]})
    };
    let (a, b) = ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-5");
    let sent_to_b = sent(
        Wire::Anthropic,
        (a, b),
        Some(Effort::High),
        &signatures,
        &body("claude-sonnet-4-6"),
    );
    let result: Value = serde_json::from_str(&sent_to_b).expect("JSON");
    assert_eq!(
        result["messages"][1]["content"],
        json!([{"type": "text", "text": "(no answer)"}])
    );
    assert_eq!(result["messages"][3]["content"], json!([thought("by-b"), call]));
    assert_eq!(result["thinking"]["type"], "enabled");

    let result = adapted(Wire::Anthropic, a, a, &signatures, &body("claude-sonnet-4-6"));
    assert_eq!(
        result["messages"][1]["content"].as_array().map(Vec::len),
        Some(2),
        "its own, and what nobody knows"
    );
    assert_eq!(result["messages"][3]["content"], json!([call]));
}

#[test]
fn a_turn_under_way_without_an_opening_thought_ends_the_budgeted_thinking() {
    let signatures = Signatures::default();
    signatures.add(&["by-a".to_owned()], &model("anthropic/claude-sonnet-4-6"));
    signatures.add(&["by-b".to_owned()], &model("anthropic/claude-sonnet-4-5"));
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result =
        |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "z"}]});
    let body = |signature: &str| {
        json!({"model": "claude-sonnet-4-6", "max_tokens": 32000, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm", "signature": signature}, call("t")]},
            result("t"),
            {"role": "assistant", "content": [call("u")]},
            result("u")]})
    };
    let models = ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-5");
    let thinks = |signature: &str| {
        let sent = sent(
            Wire::Anthropic,
            models,
            Some(Effort::Low),
            &signatures,
            &body(signature),
        );
        serde_json::from_str::<Value>(&sent)
            .expect("JSON")
            .get("thinking")
            .is_some()
    };
    assert!(!thinks("by-a"), "its thoughts are those of another model");
    assert!(thinks("by-b"), "a turn thinks at its beginning, and need not again");
}

#[test]
fn reasoning_models_of_openai_get_the_newer_limit() {
    let body = json!({"model": "gpt-5", "max_tokens": 8000, "messages": [{"role": "user", "content": "x"}]});
    let limit = |name: &str| {
        let result = adapted(Wire::OpenAiChat, name, name, &Signatures::default(), &body);
        let keys: Vec<String> = result.as_object().expect("an object").keys().cloned().collect();
        keys[1].clone()
    };
    for name in [
        "openai/gpt-5",
        "openai/gpt-5.6-sol",
        "openai/gpt-6-luna",
        "openai/o3",
        "openai/o4-mini",
    ] {
        assert_eq!(limit(name), "max_completion_tokens", "{name}");
    }
    for name in ["openai/gpt-4o", "workers/gpt-5", "workers/@cf/meta/llama-4"] {
        assert_eq!(limit(name), "max_tokens", "{name}");
    }
}

#[test]
fn responses_parameters_follow_the_family_and_the_effort() {
    let body = json!({"model": "gpt-6-sol", "input": [{"role": "user", "content": "x"}], "max_output_tokens": 32000,
        "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "medium", "summary": "auto"},
        "text": {"verbosity": "low"}, "temperature": 0.1, "store": false});
    let to = |target: &str, effort: Effort| {
        let models = ("openai/gpt-6-sol", &*format!("openai/{target}"));
        let sent = sent(
            Wire::OpenAiResponses,
            models,
            Some(effort),
            &Signatures::default(),
            &body,
        );
        serde_json::from_str::<Value>(&sent).expect("JSON")
    };
    let plain = to("gpt-4o", Effort::High);
    for gone in ["reasoning", "include", "text"] {
        assert_eq!(plain.get(gone), None, "{gone}");
    }
    assert_eq!(plain["max_output_tokens"], 16_384, "no more than the model can do");
    assert_eq!(plain["temperature"], json!(0.1));
    for (target, effort, level, verbosity, limit) in [
        ("gpt-6-sol", Effort::Max, "max", json!("low"), 63_999),
        ("gpt-5", Effort::None, "minimal", json!("low"), 36_096),
        ("gpt-5.4", Effort::None, "none", json!("low"), 32_000),
        ("gpt-5.4", Effort::Max, "xhigh", json!("low"), 63_999),
        ("gpt-5.3-codex", Effort::None, "low", json!("medium"), 36_096),
        ("o3", Effort::Medium, "medium", Value::Null, 40_192),
    ] {
        let sent = to(target, effort);
        assert_eq!(sent["reasoning"]["effort"], level, "{target}");
        assert_eq!(sent["text"]["verbosity"], verbosity, "{target}");
        assert_eq!(sent["max_output_tokens"], limit, "{target}");
        let calm = level == "none";
        assert_eq!(sent.get("temperature").is_some(), calm, "{target}");
        assert_eq!(sent["reasoning"].get("summary").is_none(), calm, "{target}");
    }
}

#[test]
fn chat_completions_has_one_word_for_the_effort() {
    let body =
        json!({"model": "x", "max_tokens": 8000, "temperature": 0.1, "messages": [{"role": "user", "content": "x"}]});
    let to = |name: &str, effort: Effort| {
        sent(
            Wire::OpenAiChat,
            (name, name),
            Some(effort),
            &Signatures::default(),
            &body,
        )
    };
    let messages = "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]";
    let kimi = "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6";
    for (name, effort, expected) in [
        (
            kimi,
            Effort::None,
            format!("\"max_tokens\":8000,\"temperature\":0.1,{messages},\"reasoning_effort\":\"none\""),
        ),
        (
            kimi,
            Effort::Medium,
            format!("\"max_tokens\":24000,{messages},\"reasoning_effort\":\"high\""),
        ),
        (
            "openai/gpt-5",
            Effort::Low,
            format!("\"max_completion_tokens\":12096,{messages},\"reasoning_effort\":\"low\""),
        ),
        (
            "openai/gpt-5.6-terra",
            Effort::High,
            format!("\"max_completion_tokens\":8000,{messages},\"reasoning_effort\":\"none\""),
        ),
        (
            "compatible/qwen3",
            Effort::High,
            format!("\"max_tokens\":8000,{messages}"),
        ),
    ] {
        let expected = format!("{{\"model\":\"x\",{expected}}}");
        assert_eq!(to(name, effort), expected, "{name} {effort}");
    }
}

#[test]
fn signed_reasoning_items_of_another_model_go() {
    let signatures = Signatures::default();
    signatures.add(&["by-a".to_owned()], &model("openai/gpt-6-sol"));
    let reasoning = |signature: &str| json!({"type": "reasoning", "encrypted_content": signature, "summary": []});
    let call = json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"});
    let body = json!({"model": "gpt-6-sol", "input": [{"role": "user", "content": "x"}, reasoning("by-a"), call]});
    let sent = adapted(
        Wire::OpenAiResponses,
        "openai/gpt-6-sol",
        "openai/gpt-6-sol",
        &signatures,
        &body,
    );
    assert_eq!(sent, body, "its own goes back to it");
    let sent = adapted(
        Wire::OpenAiResponses,
        "openai/gpt-6-sol",
        "openai/gpt-5.4",
        &signatures,
        &body,
    );
    assert_eq!(sent["input"], json!([{"role": "user", "content": "x"}, call]));
    assert_eq!(sent["model"], "gpt-5.4");
}
