//! Thoughts in the forms in which endpoints of Chat Completions show them, and calls in the form from before tools.

use serde_json::{Value, json};

use super::*;

/// The delta of a chunk as a runtime gets it.
fn passed(reader: &mut Box<dyn StreamReader>, delta: &Value) -> Value {
    let sent = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}, {"index": 1, "delta": {}}]});
    assert_eq!(reader.read(sent.to_string().as_bytes()), Event::Content, "{sent}");
    let passed = reader.rewritten().map_or(sent, |frames| {
        let data = frames.trim().strip_prefix("data: ").expect("data");
        serde_json::from_str(data).expect("JSON")
    });
    passed["choices"][0]["delta"].clone()
}

#[test]
fn a_thought_in_any_form_is_handed_on_as_a_text() {
    let text = |kind: &str| json!({"type": kind, "text": "hm"});
    for delta in [
        json!({"reasoning_content": [text("text")]}),
        json!({"reasoning": {"text": "hm"}}),
        json!({"content": [{"type": "thinking", "thinking": [text("text")]}]}),
        json!({"content": [{"type": "reasoning", "summary": [text("summary_text")]}, text("text")]}),
        json!({"reasoning": null, "reasoning_details": [text("reasoning.text")]}),
        json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}, {"type": "reasoning.encrypted", "data": "x"}]}),
        json!({"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "x"}]}),
        json!({"reasoning_text": "hm", "reasoning_opaque": "x"}),
        json!({"role": "assistant", "thinking": "hm", "content": null}),
        json!({"thought": {"text": "hm"}}),
        json!({"of_next_year": "hm", "thought_signature": "x", "content": "a"}),
        json!({"reasoning": "h", "thought": "m"}),
    ] {
        let mut reader = Wire::OpenAiChat.reader();
        let passed = passed(&mut reader, &delta);
        assert_eq!(passed["reasoning_content"], "hm", "{delta}");
        assert!(
            !passed["content"].is_array() && !passed["reasoning"].is_object(),
            "{passed}"
        );
        assert!(reader.seen().written > 0, "{delta}");
    }
    for delta in [
        json!({"reasoning": "hm", "reasoning_details": [text("reasoning.text")]}),
        json!({"reasoning_content": "hm", "content": "a"}),
        json!({"content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
        json!({"reasoning": "hm", "reasoning_text": "hm"}),
        json!({"content": "a", "item_id": "x", "provider_specific_fields": {"text": "a"}, "annotations": [{"text": "b"}]}),
    ] {
        let mut reader = Wire::OpenAiChat.reader();
        assert_eq!(passed(&mut reader, &delta), delta, "every runtime reads it");
    }
}

#[test]
fn a_thought_that_comes_with_the_start_of_its_block_is_handed_on_as_a_piece() {
    let start = json!({"type": "content_block_start", "index": 3,
        "content_block": {"type": "thinking", "thinking": "hm", "signature": "c2ln"}});
    let mut reader = Wire::Anthropic.reader();
    assert_eq!(reader.read(start.to_string().as_bytes()), Event::Content);
    let rewritten = reader.rewritten().expect("in another way");
    let order = [
        r#""content_block":{"type":"thinking","thinking":"","signature":""}"#,
        r#""delta":{"type":"thinking_delta","thinking":"hm"}"#,
        r#""delta":{"type":"signature_delta","signature":"c2ln"}"#,
    ];
    let places: Vec<_> = order.iter().map(|part| rewritten.find(part)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{rewritten}");
    reader.read(br#"{"type":"content_block_stop","index":3}"#);
    assert_eq!(reader.seen().signatures, ["c2ln"]);
    assert_eq!(reader.seen().written, 6);
}

#[test]
fn a_call_in_the_form_from_before_tools_is_one() {
    let mut reader = Wire::OpenAiChat.reader();
    let first = passed(
        &mut reader,
        &json!({"function_call": {"name": "report", "arguments": "{\"a\":"}}),
    );
    let call = json!([{"index": 0, "id": "call_0", "type": "function", "function": {"name": "report", "arguments": "{\"a\":"}}]);
    assert_eq!(first, json!({"tool_calls": call}));
    let second = passed(&mut reader, &json!({"function_call": {"arguments": "1}"}}));
    assert_eq!(second["tool_calls"][0]["function"]["arguments"], "1}");
    let end = json!({"choices": [{"index": 0, "delta": {"function_call": null}, "finish_reason": "stop"}]});
    assert_eq!(reader.read(end.to_string().as_bytes()), Event::Content);
    assert_eq!(reader.rewritten(), None);
    let calls = &reader.seen().stray_calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].tool.as_str(), calls[0].arguments.as_str()),
        ("report", "{\"a\":1}")
    );
}
