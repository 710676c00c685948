use serde_json::json;

use super::*;

fn model(name: &str) -> ModelId {
    name.parse().expect("a model")
}

fn adapted(wire: Wire, asked: &str, target: &str, signatures: &Signatures, body: &Value) -> Value {
    let target = model(target);
    let adaptation = Adaptation {
        wire,
        asked: &model(asked),
        facts: conclave_shared::pricing::facts(&target),
        target: &target,
        signatures,
    };
    let bytes = adaptation.apply(&Bytes::from(body.to_string()));
    serde_json::from_slice(&bytes).expect("JSON")
}

fn anthropic(asked: &str, target: &str, body: &Value) -> Value {
    let prefix = |name: &str| format!("anthropic/{name}");
    adapted(
        Wire::Anthropic,
        &prefix(asked),
        &prefix(target),
        &Signatures::default(),
        body,
    )
}

#[test]
fn nothing_changes_for_the_model_that_was_asked() {
    let body = Bytes::from_static(b"{ \"model\" : \"claude-opus-4-7\", \"b\":1.0, \"a\":\"\\u00e9\" }");
    let asked = model("anthropic/claude-opus-4-7");
    let adaptation = Adaptation {
        wire: Wire::Anthropic,
        asked: &asked,
        target: &asked,
        facts: None,
        signatures: &Signatures::default(),
    };
    assert_eq!(adaptation.apply(&body), body);
}

#[test]
fn from_the_latest_to_the_adaptive_generation_the_display_goes() {
    let body = json!({"model": "claude-opus-4-7", "max_tokens": 32000,
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"},
        "messages": [{"role": "user", "content": "x"}]});
    let expected = json!({"model": "claude-opus-4-6", "max_tokens": 32000,
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"},
        "messages": [{"role": "user", "content": "x"}]});
    let result = anthropic("claude-opus-4-7", "claude-opus-4-6", &body);
    assert_eq!(result.to_string(), expected.to_string(), "in the same order");
}

#[test]
fn from_adaptive_thinking_to_a_budget() {
    let body = json!({"model": "claude-sonnet-4-6", "max_tokens": 32000, "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high", "format": {"type": "json_schema"}}, "messages": [{"role": "user", "content": "x"}]});
    let expected = json!({"model": "claude-sonnet-4-5", "max_tokens": 48000,
        "thinking": {"type": "enabled", "budget_tokens": 16000}, "output_config": {"format": {"type": "json_schema"}},
        "messages": [{"role": "user", "content": "x"}]});
    assert_eq!(anthropic("claude-sonnet-4-6", "claude-sonnet-4-5", &body), expected);

    let mut body = body;
    body["output_config"] = json!({"effort": "max"});
    body["max_tokens"] = json!(64000);
    let result = anthropic("claude-sonnet-4-6", "claude-sonnet-4-5", &body);
    assert_eq!(result["thinking"]["budget_tokens"], 31999);
    assert_eq!(result["max_tokens"], 64000, "no more than the model can do");
    assert_eq!(result.get("output_config"), None);
}

#[test]
fn to_the_latest_generation_sampling_and_budget_go() {
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 48000, "temperature": 0.1, "top_k": 5,
        "thinking": {"type": "enabled", "budget_tokens": 16000}, "messages": [{"role": "user", "content": "x"}]});
    let result = anthropic("claude-sonnet-4-5", "claude-opus-5-5", &body);
    assert_eq!(result["thinking"], json!({"type": "adaptive"}));
    assert_eq!((result.get("temperature"), result.get("top_k")), (None, None));
}

#[test]
fn a_temperature_stays_where_it_is_taken() {
    let body = json!({"model": "claude-opus-4-6", "max_tokens": 32000, "temperature": 0.1,
        "messages": [{"role": "user", "content": "x"}]});
    let result = anthropic("claude-opus-4-6", "claude-opus-4-5", &body);
    assert_eq!(result["temperature"], json!(0.1));
}

#[test]
fn a_budget_fits_below_the_limit() {
    let body = json!({"model": "claude-opus-4-6", "max_tokens": 200_000,
        "thinking": {"type": "enabled", "budget_tokens": 150_000}, "messages": [{"role": "user", "content": "x"}]});
    let result = anthropic("claude-opus-4-6", "claude-opus-4-5", &body);
    assert_eq!(
        (&result["max_tokens"], &result["thinking"]["budget_tokens"]),
        (&json!(64000), &json!(32000))
    );
}

#[test]
fn foreign_reasoning_goes_and_own_stays() {
    let signatures = Signatures::default();
    signatures.add(&["by-a".to_owned()], &model("anthropic/claude-sonnet-4-6"));
    signatures.add(&["by-b".to_owned()], &model("anthropic/claude-sonnet-4-5"));
    let thought = |signature: &str| json!({"type": "thinking", "thinking": "hmm", "signature": signature});
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let body = |model: &str| {
        json!({"model": model, "max_tokens": 32000, "thinking": {"type": "adaptive"}, "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [thought("by-a"), {"type": "redacted_thinking", "data": "unknown"}]},
            {"role": "user", "content": "y"},
            {"role": "assistant", "content": [thought("by-b"), call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "z"}]}]})
    };
    let (a, b) = ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-5");
    let result = adapted(Wire::Anthropic, a, b, &signatures, &body("claude-sonnet-4-6"));
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
    assert_eq!(
        result["thinking"],
        json!({"type": "adaptive"}),
        "parameters are as asked"
    );
}

#[test]
fn a_call_under_way_without_a_thought_ends_the_budgeted_thinking() {
    let signatures = Signatures::default();
    signatures.add(&["by-a".to_owned()], &model("anthropic/claude-sonnet-4-6"));
    let body = json!({"model": "claude-sonnet-4-6", "max_tokens": 32000, "thinking": {"type": "adaptive"}, "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm", "signature": "by-a"},
                                          {"type": "tool_use", "id": "t", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "z"}]}]});
    let (a, b) = ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-5");
    assert_eq!(adapted(Wire::Anthropic, a, b, &signatures, &body).get("thinking"), None);
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
fn responses_parameters_follow_the_family() {
    let body = json!({"model": "gpt-6-sol", "input": [{"role": "user", "content": "x"}], "max_output_tokens": 32000,
        "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "minimal", "summary": "auto"},
        "text": {"verbosity": "low"}, "store": false});
    let to = |target: &str| {
        let target = format!("openai/{target}");
        adapted(
            Wire::OpenAiResponses,
            "openai/gpt-6-sol",
            &target,
            &Signatures::default(),
            &body,
        )
    };
    let plain = to("gpt-4o");
    for gone in ["reasoning", "include", "text"] {
        assert_eq!(plain.get(gone), None, "{gone}");
    }
    assert_eq!(plain["max_output_tokens"], 16_384, "no more than the model can do");
    for (target, effort, verbosity) in [
        ("gpt-5", "minimal", json!("low")),
        ("gpt-5.4", "low", json!("low")),
        ("gpt-5.3-codex", "low", json!("medium")),
        ("o3", "low", Value::Null),
    ] {
        let sent = to(target);
        assert_eq!(sent["reasoning"]["effort"], effort, "{target}");
        assert_eq!(sent["text"]["verbosity"], verbosity, "{target}");
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
