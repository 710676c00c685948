//! Answers put together from streams that are not as they should be.

use super::*;
use conclave_shared::config::CapabilityList;

use crate::history::Thought;

fn assembled(wire: Wire, events: &[Value]) -> (Vec<Block>, Finish) {
    let mut assembler = assembler(wire, "provider");
    for event in events {
        assembler.take(event, &mut Delta::default());
    }
    assembler.finish()
}

fn call(id: &str, arguments: &str) -> Block {
    Block::Call(ToolCall::new(id.to_owned(), "read".to_owned(), arguments))
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ended(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}})
}

#[test]
fn blocks_in_any_order_are_put_into_theirs() {
    let events = [
        start(
            2,
            &json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
        ),
        delta(1, &json!({"type": "text_delta", "text": "I "})),
        start(0, &json!({"type": "thinking", "thinking": ""})),
        delta(
            2,
            &json!({"type": "input_json_delta", "partial_json": "{\"filePath\":"}),
        ),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "c2"})),
        start(1, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": "\"a\"}"})),
        delta(0, &json!({"type": "signature_delta", "signature": "ln"})),
        delta(1, &json!({"type": "text_delta", "text": "read."})),
        stop(2),
        stop(0),
        stop(1),
        ended("tool_use"),
        json!({"type": "message_stop"}),
    ];
    let thought = Thought {
        wire: Wire::Anthropic,
        provider: "provider".to_owned(),
        raw: json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
    };
    let expected = vec![
        Block::Thought(thought),
        Block::Text("I read.".to_owned()),
        call("toolu_1", "{\"filePath\":\"a\"}"),
    ];
    assert_eq!(assembled(Wire::Anthropic, &events), (expected, Finish::ToolCalls));
}

#[test]
fn reasoning_without_its_signature_is_not_sent_back() {
    let events = [
        start(0, &json!({"type": "thinking", "thinking": "hm"})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "opaque"})),
        stop(1),
        start(2, &json!({"type": "text", "text": "Done."})),
        stop(2),
        ended("end_turn"),
    ];
    let (blocks, finish) = assembled(Wire::Anthropic, &events);
    let [Block::Thought(kept), Block::Text(text)] = blocks.as_slice() else {
        panic!("{blocks:?}");
    };
    assert_eq!(kept.raw, json!({"type": "redacted_thinking", "data": "opaque"}));
    assert_eq!((text.as_str(), finish), ("Done.", Finish::Stop));
    let item = |item: Value| json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let unsigned = item(json!({"type": "reasoning", "id": "rs_1", "summary": []}));
    assert_eq!(
        assembled(Wire::OpenAiResponses, &[unsigned]),
        (Vec::new(), Finish::Stop)
    );
}

#[test]
fn half_a_call_is_none() {
    let half = [
        start(0, &json!({"type": "tool_use", "id": "t", "name": "read", "input": {}})),
        delta(0, &json!({"type": "input_json_delta", "partial_json": "{\"fileP"})),
        ended("max_tokens"),
    ];
    assert_eq!(assembled(Wire::Anthropic, &half), (Vec::new(), Finish::Length));
    let chat = [
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read",
        "arguments": "{\"fileP"}}]}, "finish_reason": "length"}]}),
    ];
    assert_eq!(assembled(Wire::OpenAiChat, &chat), (Vec::new(), Finish::Length));
    let responses = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call",
            "call_id": "c", "name": "read", "arguments": ""}}),
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
    ];
    assert_eq!(
        assembled(Wire::OpenAiResponses, &responses),
        (Vec::new(), Finish::Length)
    );
}

#[test]
fn calls_of_chat_come_in_pieces_with_and_without_their_names() {
    let piece = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let events = [
        piece(json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}])),
        piece(json!([{"index": 1, "id": "b", "function": {"name": "read", "arguments": "{}"}}])),
        piece(json!([{"index": 0, "id": "", "function": {"name": null, "arguments": "{\"filePath\":\"x\"}"}}])),
        // The reason is wrong, the calls are there.
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1}}),
    ];
    let expected = vec![call("a", "{\"filePath\":\"x\"}"), call("b", "{}")];
    assert_eq!(assembled(Wire::OpenAiChat, &events), (expected, Finish::ToolCalls));
}

#[test]
fn a_call_without_calls_is_an_end() {
    assert_eq!(
        assembled(Wire::Anthropic, &[ended("tool_use")]),
        (Vec::new(), Finish::Stop)
    );
    assert_eq!(assembled(Wire::Anthropic, &[ended("refusal")]).1, Finish::ContentFilter);
}

#[test]
fn events_of_any_shape_do_no_harm() {
    let odd = [
        json!(null),
        json!([]),
        json!("x"),
        json!({"type": 3}),
        json!({"choices": 7}),
        json!({"choices": [null]}),
        start(u64::MAX, &json!(null)),
        delta(3, &json!([])),
        json!({"type": "response.output_item.done"}),
    ];
    for wire in Wire::ALL {
        assert_eq!(assembled(wire, &odd).0, Vec::new(), "{wire:?}");
    }
}

#[test]
fn prompts_in_a_row_stay_apart_where_the_format_has_room_for_both() {
    let history = [
        Entry::Prompt(vec!["context".to_owned(), "role".to_owned()]),
        Entry::Prompt(vec!["go on".to_owned()]),
    ];
    let model: ModelId = "provider/model".parse().expect("a model");
    let request = Request {
        model: &model,
        capabilities: CapabilityList::default().of(&model),
        system: "rules",
        tools: &[],
        history: &history,
    };
    let roles = |name: &str, wire: Wire| -> Vec<String> {
        let body = request.body(wire);
        let messages = body[name].as_array().expect("messages").iter();
        messages
            .map(|message| message["role"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(roles("messages", Wire::OpenAiChat), ["system", "user", "user"]);
    assert_eq!(roles("input", Wire::OpenAiResponses), ["system", "user", "user"]);
    // Anthropic's roles alternate; the mark stays at the end of what is shared.
    let body = request.body(Wire::Anthropic);
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
    let marked: Vec<bool> = body["messages"][0]["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block.get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [true, false, true]);
}
