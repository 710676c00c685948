//! Declared parameters reach a model; others that a runtime writes about thinking and sampling do not.

use serde_json::json;

use super::{
    tests::{declared, model, sent, sent_with},
    *,
};

#[test]
fn sampling_that_is_switched_off_during_a_run_is_sent_to_no_model() {
    let body = json!({"model": "x", "temperature": 0.1, "messages": []});
    for name in ["openai/gpt-4.1", "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6"] {
        for (samples, expected) in [(true, Some(json!(0.1))), (false, None)] {
            let capabilities = declared(name, &json!({"samples": samples}));
            let sent = sent_with(Wire::OpenAiChat, name, capabilities, Effort::None, false, &body);
            let sent: Value = serde_json::from_str(&sent).expect("JSON");
            assert_eq!(sent.get("temperature").cloned(), expected, "{name}");
        }
    }
}

/// A format, a model that is not in the registry, the body that a runtime writes for its name, and what is left of that.
fn written_for_a_name() -> [(Wire, &'static str, Value, &'static str); 4] {
    [
        (
            Wire::OpenAiChat,
            "compatible/openai/gpt-5.5",
            json!({"model": "openai/gpt-5.5", "max_tokens": 8000, "reasoning_effort": "medium", "messages": []}),
            "{\"model\":\"openai/gpt-5.5\",\"max_tokens\":8000,\"messages\":[]}",
        ),
        (
            Wire::OpenAiChat,
            "compatible/google/gemini-2.5-pro",
            json!({"model": "google/gemini-2.5-pro", "top_p": 0.95, "messages": []}),
            "{\"model\":\"google/gemini-2.5-pro\",\"messages\":[]}",
        ),
        (
            Wire::OpenAiResponses,
            "compatible/openai.gpt-5.9",
            json!({"model": "openai.gpt-5.9", "input": [], "include": ["reasoning.encrypted_content"], "text": {"verbosity": "low"},
                "reasoning": {"effort": "medium", "summary": "auto"}, "temperature": 0.1, "top_p": 0.95, "store": false,
                "prompt_cache_key": "ses_a"}),
            "{\"model\":\"openai.gpt-5.9\",\"input\":[],\"store\":false}",
        ),
        (
            Wire::Anthropic,
            "compatible/claude-opus-7-1",
            json!({"model": "claude-opus-7-1", "output_config": {"effort": "high"}, "top_p": 0.95, "top_k": 20,
                "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}, "messages": []}),
            "{\"model\":\"claude-opus-7-1\",\"messages\":[]}",
        ),
    ]
}

#[test]
fn what_the_runtime_writes_for_a_name_is_sent_to_no_model_of_which_nothing_is_declared() {
    for (wire, name, body, left) in written_for_a_name() {
        for effort in [None, Some(Effort::None), Some(Effort::High)] {
            let sent = sent(wire, (name, name), effort, &Signatures::default(), &body);
            assert_eq!(sent, left, "{name} {effort:?}");
        }
    }
}

#[test]
fn what_is_declared_of_such_a_model_takes_the_place_of_what_the_runtime_wrote() {
    let levels = json!({"samples": true, "top_p": 0.5, "thinking": {"by": "effort", "levels": ["none", "high"]}});
    for (wire, name, body, _) in written_for_a_name() {
        let of = |effort| {
            let sent = sent_with(wire, name, declared(name, &levels), effort, false, &body);
            serde_json::from_str::<Value>(&sent).expect("JSON")
        };
        let (thinks, calm) = (of(Effort::Max), of(Effort::None));
        let effort = |body: &Value| match wire {
            Wire::OpenAiChat => body["reasoning_effort"].clone(),
            Wire::OpenAiResponses => body["reasoning"]["effort"].clone(),
            Wire::Anthropic => body["output_config"]["effort"].clone(),
        };
        let none = if wire == Wire::Anthropic {
            Value::Null
        } else {
            json!("none")
        };
        assert_eq!((effort(&thinks), effort(&calm)), (json!("high"), none), "{name}");
        assert_eq!(
            (thinks.get("top_p"), calm["top_p"].as_f64()),
            (None, Some(0.5)),
            "{name}"
        );
        for body in [&thinks, &calm] {
            for gone in ["thinking", "text", "top_k"] {
                assert_eq!(body.get(gone), None, "{name}: {gone}");
            }
        }
    }
}

#[test]
fn signed_reasoning_goes_back_to_a_model_of_which_nothing_is_declared() {
    let name = "compatible/claude-opus-7-1";
    let signatures = Signatures::default();
    signatures.add(&["its-own".to_owned()], &model(name));
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm", "signature": "its-own"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "z"}]}]);
    let body = json!({"model": "claude-opus-7-1", "thinking": {"type": "adaptive"}, "messages": messages});
    let sent = sent(Wire::Anthropic, (name, name), Some(Effort::High), &signatures, &body);
    assert_eq!(
        sent,
        format!("{{\"model\":\"claude-opus-7-1\",\"messages\":{messages}}}")
    );
}

#[test]
fn a_model_that_refused_its_parameters_is_asked_without_them() {
    for (wire, name) in [
        (Wire::Anthropic, "anthropic/claude-sonnet-4-5"),
        (Wire::OpenAiChat, "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6"),
        (Wire::OpenAiResponses, "openai/gpt-5.4"),
    ] {
        let body = json!({"model": "x", "temperature": 0.1, "top_p": 0.95, "messages": [], "include": ["reasoning.encrypted_content"],
            "text": {"verbosity": "low"}, "reasoning": {"effort": "medium"}, "reasoning_effort": "medium",
            "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
        let capabilities = declared(name, &json!({"temperature": 0.5}));
        let sent = sent_with(wire, name, capabilities, Effort::High, true, &body);
        let sent: Value = serde_json::from_str(&sent).expect("JSON");
        let gone: &[&str] = match wire {
            Wire::Anthropic => &["thinking", "output_config"],
            Wire::OpenAiChat => &["reasoning_effort"],
            Wire::OpenAiResponses => &["reasoning", "include", "text"],
        };
        for gone in gone.iter().chain(&["temperature", "top_p"]) {
            assert_eq!(sent.get(gone), None, "{name}: {gone}");
        }
    }
}

#[test]
fn a_budget_is_sent_where_it_has_a_name_and_else_nothing_is_changed_for_it() {
    let name = "compatible/claude";
    let capabilities = declared(name, &json!({"thinking": {"by": "budget"}}));
    for (wire, limit) in [
        (Wire::Anthropic, "max_tokens"),
        (Wire::OpenAiChat, "max_tokens"),
        (Wire::OpenAiResponses, "max_output_tokens"),
    ] {
        let body = json!({"model": "claude", limit: 4000});
        let sent = |effort| sent_with(wire, name, capabilities, effort, false, &body);
        assert_eq!(
            sent(Effort::None),
            body.to_string(),
            "{wire:?}: it thinks only when it is asked to"
        );
        let expected = if wire == Wire::Anthropic {
            json!({"model": "claude", limit: 12_192, "thinking": {"type": "enabled", "budget_tokens": 8192}})
        } else {
            body.clone()
        };
        assert_eq!(sent(Effort::Medium), expected.to_string(), "{wire:?}");
    }
}
