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
fn reasoning_that_came_in_no_pieces_is_shown_once() {
    let item = json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "I read."}],
        "content": [{"type": "reasoning_text", "text": "It is wrong."}]});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let piece = |kind: &str, field: &str, text: &str| json!({"type": kind, "item_id": "rs", field: text});
    let summary = piece("response.reasoning_summary_text.delta", "delta", "I read.");
    let text = piece("response.reasoning_text.done", "text", "It is wrong.");
    for events in [
        vec![done.clone()],
        vec![summary.clone(), done.clone()],
        vec![summary, text, done.clone(), done],
    ] {
        let mut assembler = assembler(Wire::OpenAiResponses, "provider");
        let mut delta = Delta::default();
        for event in &events {
            assembler.take(event, &mut delta);
        }
        assert_eq!(delta.thought, "I read.It is wrong.", "{events:?}");
    }
}

/// The events of a message and a call of the Responses format, with their ids and places as they are given.
fn message_and_call(ids: [&str; 2], places: [Option<u64>; 2]) -> Vec<Value> {
    let event = |at: usize, mut event: Value| {
        if let Some(place) = places[at] {
            event["output_index"] = json!(place);
        }
        event
    };
    let item = |at: usize, mut item: Value| {
        if !ids[at].is_empty() {
            item["id"] = json!(ids[at]);
        }
        item
    };
    let piece = |at: usize, kind: &str, text: &str| {
        let id = Some(ids[at]).filter(|id| !id.is_empty());
        event(at, json!({"type": kind, "item_id": id, "delta": text}))
    };
    let message = |text: &str| {
        item(
            0,
            json!({"type": "message", "content": [{"type": "output_text", "text": text}]}),
        )
    };
    let call = |arguments: &str| {
        item(
            1,
            json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": arguments}),
        )
    };
    let added = |at: usize, item: Value| event(at, json!({"type": "response.output_item.added", "item": item}));
    let done = |at: usize, item: Value| event(at, json!({"type": "response.output_item.done", "item": item}));
    vec![
        added(0, message("")),
        piece(0, "response.output_text.delta", "A critical "),
        piece(0, "response.output_text.delta", "finding."),
        done(0, message("A critical finding.")),
        added(1, call("")),
        piece(1, "response.function_call_arguments.delta", "{}"),
        done(1, call("{}")),
        json!({"type": "response.completed", "response": {"output": [message("A critical finding."), call("{}")]}}),
    ]
}

#[test]
fn an_item_never_takes_the_place_of_another_one() {
    let whole = (
        vec![Block::Text("A critical finding.".to_owned()), call("c", "{}")],
        Finish::ToolCalls,
    );
    for (ids, places) in [
        (["m", "f"], [Some(0), Some(1)]),
        (["m", "f"], [Some(0), Some(0)]),
        (["m", "f"], [None, None]),
        (["", ""], [Some(0), Some(0)]),
        (["", ""], [None, None]),
        (["same", "same"], [Some(0), Some(0)]),
        (["same", "same"], [Some(0), Some(1)]),
    ] {
        let events = message_and_call(ids, places);
        assert_eq!(assembled(Wire::OpenAiResponses, &events), whole, "{ids:?} {places:?}");
        // Each of the events that repeat it is enough, and so are the pieces with the end of the call.
        for kept in [
            &["response.output_item.done"][..],
            &["response.completed"],
            &[
                "response.output_item.added",
                "response.output_text.delta",
                "response.output_item.done",
            ],
        ] {
            let some: Vec<Value> = events
                .iter()
                .filter(|event| kept.contains(&event["type"].as_str().unwrap_or_default()))
                .cloned()
                .collect();
            assert_eq!(
                assembled(Wire::OpenAiResponses, &some),
                whole,
                "{ids:?} {places:?} {kept:?}"
            );
        }
    }
    // Two items at once, at the same place.
    let mut events = message_and_call(["m", "f"], [Some(0), Some(0)]);
    let call_added = events.remove(4);
    events.insert(1, call_added);
    let half_of_it = events.remove(5);
    events.insert(2, half_of_it);
    assert_eq!(assembled(Wire::OpenAiResponses, &events), whole);
}

#[test]
fn an_item_may_have_another_id_in_each_of_its_events() {
    let mut events = message_and_call(["m", "f"], [Some(0), Some(1)]);
    for (number, event) in events.iter_mut().enumerate() {
        for place in ["/item_id", "/item/id", "/response/output/0/id", "/response/output/1/id"] {
            if let Some(id) = event.pointer_mut(place) {
                *id = json!(format!("id_{number}"));
            }
        }
    }
    let whole = vec![Block::Text("A critical finding.".to_owned()), call("c", "{}")];
    assert_eq!(assembled(Wire::OpenAiResponses, &events), (whole, Finish::ToolCalls));
}

#[test]
fn text_that_was_not_streamed_is_added() {
    let delta = json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "One. "});
    let message =
        |id: &str, text: &str| json!({"id": id, "type": "message", "content": [{"type": "output_text", "text": text}]});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": message("m", "One. Two.")});
    let output = [message("m", "One. Two."), message("n", "Three.")];
    let completed = json!({"type": "response.completed", "response": {"output": output}});
    let (blocks, _) = assembled(Wire::OpenAiResponses, &[delta, done, completed]);
    let texts = ["One. Two.", "Three."].map(|text| Block::Text(text.to_owned()));
    assert_eq!(blocks, texts);
}

#[test]
fn calls_and_texts_of_the_same_index_stay_apart() {
    let piece = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let named = |index: Value, id: &str, arguments: &str| {
        piece(json!([{"index": index, "id": id, "function": {"name": "read", "arguments": arguments}}]))
    };
    let more = |index: Value, arguments: &str| piece(json!([{"index": index, "function": {"arguments": arguments}}]));
    let expected = vec![call("a", "{\"filePath\":\"x\"}"), call("b", "{\"filePath\":\"y\"}")];
    for index in [json!(0), Value::Null] {
        let at = || index.clone();
        for events in [
            vec![
                named(at(), "a", "{\"filePath\":\"x\"}"),
                named(at(), "b", "{\"filePath\":\"y\"}"),
            ],
            vec![
                named(at(), "a", ""),
                more(at(), "{\"filePath\":"),
                more(at(), "\"x\"}"),
                named(at(), "b", ""),
                more(at(), "{\"filePath\":\"y\"}"),
            ],
            // Id and name with every piece.
            vec![
                named(at(), "a", "{\"filePath\":"),
                named(at(), "a", "\"x\"}"),
                named(at(), "b", "{\"filePath\":\"y\"}"),
            ],
        ] {
            assert_eq!(assembled(Wire::OpenAiChat, &events).0, expected, "{events:?}");
        }
        let nameless = [named(at(), "", "{}"), named(at(), "", "{\"filePath\":\"y\"}")];
        let blocks = assembled(Wire::OpenAiChat, &nameless).0;
        assert_eq!(blocks, [call("call_0", "{}"), call("call_1", "{\"filePath\":\"y\"}")]);
        // An id of its own for each piece.
        let odd = piece(json!([{"index": at(), "id": "z", "function": {"arguments": "\"x\"}"}}]));
        let blocks = assembled(Wire::OpenAiChat, &[named(at(), "a", "{\"filePath\":"), odd]).0;
        let Some(Block::Call(one)) = blocks.first() else {
            panic!("{blocks:?}");
        };
        assert_eq!((one.input(), blocks.len()), (expected_input(), 1));
    }

    let tool = |id: &str| start(0, &json!({"type": "tool_use", "id": id, "name": "read", "input": {}}));
    let arguments = |text: &str| delta(0, &json!({"type": "input_json_delta", "partial_json": text}));
    let text = |text: &str| delta(0, &json!({"type": "text_delta", "text": text}));
    let events = [
        start(0, &json!({"type": "text", "text": ""})),
        text("A critical finding."),
        stop(0),
        start(0, &json!({"type": "text", "text": ""})),
        text("Another one."),
        stop(0),
        tool("a"),
        arguments("{\"filePath\":\"x\"}"),
        stop(0),
        tool("b"),
        arguments("{\"filePath\":\"y\"}"),
        stop(0),
        text("Behind it."),
        ended("tool_use"),
    ];
    let mut all = ["A critical finding.", "Another one."]
        .map(|text| Block::Text(text.to_owned()))
        .to_vec();
    all.extend(expected);
    all.push(Block::Text("Behind it.".to_owned()));
    assert_eq!(assembled(Wire::Anthropic, &events), (all, Finish::ToolCalls));
}

fn expected_input() -> serde_json::Map<String, Value> {
    json!({"filePath": "x"}).as_object().cloned().unwrap_or_default()
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
