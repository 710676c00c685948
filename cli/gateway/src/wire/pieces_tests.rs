//! Pieces of an answer that are not written as the format says: read, or refused, and never nothing.

use serde_json::{Value, json};

use super::*;

/// A piece of text in each format, with this value where the text is.
fn pieces(value: &Value) -> [(Wire, Value); 3] {
    [
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": value}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"content": value}, "finish_reason": null}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": value}),
        ),
    ]
}

fn read(reader: &mut Box<dyn StreamReader>, event: &Value) -> Event {
    reader.read(event.to_string().as_bytes())
}

#[test]
fn a_text_is_read_in_the_forms_that_have_one_meaning_and_refused_in_all_others() {
    for (value, text) in [
        (json!("plain"), Some("plain")),
        (
            json!([{"type": "text", "text": "of "}, {"type": "text", "text": "parts"}]),
            Some("of parts"),
        ),
        (json!(["a", "b"]), Some("ab")),
        (json!([{"type": "rich_text", "text": "a critical finding"}]), None),
        (json!([{"type": "text", "text": {"value": "a"}}]), None),
        (json!({"value": "a"}), None),
        (json!(7), None),
        (json!(true), None),
    ] {
        for (wire, event) in pieces(&value) {
            let mut reader = wire.reader();
            let seen = read(&mut reader, &event);
            assert_eq!(
                seen,
                if text.is_some() { Event::Content } else { GARBAGE },
                "{wire:?} {event}"
            );
            let Some(text) = text else { continue };
            let rewritten = reader.rewritten();
            assert_eq!(
                rewritten.is_some(),
                !value.is_string(),
                "{wire:?} {event}: {rewritten:?}"
            );
            let said = json!(text).to_string();
            assert!(rewritten.is_none_or(|frame| frame.contains(&said)), "{wire:?} {event}");
            assert_eq!(reader.seen().take_text(), text, "{wire:?} {event}");
        }
    }
}

#[test]
fn words_where_nobody_reads_are_refused() {
    for (wire, event) in [
        (
            Wire::Anthropic,
            json!({"type": "message_start", "message": {"content": [{"type": "text", "text": "a"}]}}),
        ),
        (Wire::Anthropic, json!({"type": "message_start", "message": "a"})),
        (
            Wire::Anthropic,
            json!({"type": "message", "content": [{"type": "text", "text": "a"}]}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "rich_text", "spans": ["a"]}}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "rich_text_delta", "text": "a"}}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": "a"}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"text": "a"}}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": [1]}}),
        ),
        (Wire::Anthropic, json!({"type": "text_completion", "completion": "a"})),
        (Wire::OpenAiChat, json!({"choices": [{"index": 0, "text": "a"}]})),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"text": "a"}}]}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "message": {"content": "a"}}]}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"tool_calls": "read"}}]}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": [1]}}]}}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.markdown.delta", "delta": "a"}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.content_part.done", "part": {"type": "rich_text", "text": "a"}}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.output_item.done", "item": {"type": "message", "content": [{"type": "x", "text": "a"}]}}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.output_item.done", "item": {"type": "card", "body": "a"}}),
        ),
    ] {
        assert_eq!(read(&mut wire.reader(), &event), GARBAGE, "{wire:?} {event}");
    }
}

#[test]
fn what_says_nothing_is_passed_on() {
    for (wire, event) in [
        (Wire::Anthropic, json!({"type": "ping"})),
        (
            Wire::Anthropic,
            json!({"type": "of_next_year", "usage": {"note": "words about the account"}}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "of_next_year", "level": 3}}),
        ),
        (Wire::OpenAiChat, json!({"choices": [], "note": "words"})),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"annotations": [], "content": null}}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.of_next_year", "sequence_number": 3}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "keepalive", "sequence_number": 3}),
        ),
    ] {
        let mut reader = wire.reader();
        assert_eq!(read(&mut reader, &event), Event::Start, "{wire:?} {event}");
        assert_eq!(
            (reader.rewritten(), reader.seen().written),
            (None, 0),
            "{wire:?} {event}"
        );
    }
}

#[test]
fn a_text_that_comes_where_only_some_runtimes_read_is_handed_on_as_a_piece() {
    let mut reader = Wire::Anthropic.reader();
    let start =
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": "first words"}});
    assert_eq!(read(&mut reader, &start), Event::Content);
    let rewritten = reader.rewritten().expect("in another way");
    assert!(
        rewritten.contains(r#""content_block":{"type":"text","text":""}"#),
        "{rewritten}"
    );
    assert!(
        rewritten.contains(r#""delta":{"type":"text_delta","text":"first words"}"#),
        "{rewritten}"
    );

    let mut reader = Wire::OpenAiResponses.reader();
    let done = |text: &str| {
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"id": "m", "type": "message",
            "content": [{"type": "output_text", "text": text}]}})
    };
    assert_eq!(read(&mut reader, &done("all of it")), Event::Content);
    let rewritten = reader.rewritten().expect("in another way");
    let order = [
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_item.done",
    ];
    let places: Vec<_> = order.iter().map(|kind| rewritten.find(kind)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{rewritten}");
    assert_eq!(reader.seen().take_text(), "all of it");

    // A piece is missing; or nothing is, whatever the endpoint says of places.
    for (whole, event) in [
        ("all of it", GARBAGE),
        ("all", Event::Content),
        (" al\nl ", Event::Content),
    ] {
        for place in [json!({"output_index": 0}), json!({"item_id": "m"}), json!({})] {
            let mut reader = Wire::OpenAiResponses.reader();
            read(
                &mut reader,
                &json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "m", "type": "message"}}),
            );
            let mut delta = json!({"type": "response.output_text.delta", "delta": "all"});
            for (name, value) in place.as_object().expect("an object") {
                delta[name] = value.clone();
            }
            read(&mut reader, &delta);
            assert_eq!(read(&mut reader, &done(whole)), event, "{whole} {place}");
            assert_eq!(reader.rewritten(), None, "{whole} {place}");
        }
    }
}

#[test]
fn items_of_one_place_are_told_apart_and_a_call_that_never_came_is_asked_for_again() {
    let message = json!({"id": "m", "type": "message", "content": [{"type": "output_text", "text": "all of it"}]});
    let call = json!({"id": "f", "type": "function_call", "name": "read", "arguments": "{}"});
    let completed = |output: &[&Value]| {
        json!({"type": "response.completed", "response": {"status": "completed", "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1}}})
    };
    let mut reader = Wire::OpenAiResponses.reader();
    for event in [
        json!({"type": "response.output_item.added", "output_index": 0, "item": message}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "all of it"}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
    ] {
        assert_eq!(read(&mut reader, &event), Event::Content, "{event}");
        assert_eq!(reader.rewritten(), None, "{event}");
    }
    assert_eq!(read(&mut reader, &completed(&[&message, &call])), Event::Terminal);
    let mut reader = Wire::OpenAiResponses.reader();
    read(
        &mut reader,
        &json!({"type": "response.output_text.delta", "delta": "all of it"}),
    );
    assert_eq!(read(&mut reader, &completed(&[&message, &call])), GARBAGE);
}

#[test]
fn stray_calls_of_one_index_are_told_apart() {
    let piece = |id: &str, name: Option<&str>, arguments: &str| {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]}}]})
    };
    let mut reader = Wire::OpenAiChat.reader();
    for event in [
        piece("a", Some("report"), "{\"a\":"),
        piece("", None, "1}"),
        piece("b", Some("report"), ""),
        piece("", None, "{\"a\":2}"),
        piece("", Some("report"), "{\"a\":3}"),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ] {
        assert_eq!(read(&mut reader, &event), Event::Content, "{event}");
    }
    let calls = &reader.seen().stray_calls;
    let arguments: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"]);
}

#[test]
fn calls_without_an_id_or_a_place_of_their_own_get_one() {
    let chunk = |calls: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
    let call =
        |index: Value, id: Value| json!({"index": index, "id": id, "function": {"name": "read", "arguments": "{}"}});
    let more = |index: Value| json!({"index": index, "function": {"arguments": " "}});
    let null = || Value::Null;
    for (chunks, places) in [
        (
            vec![
                json!([call(null(), null())]),
                json!([more(null())]),
                json!([call(null(), json!(7))]),
            ],
            vec![(0, json!("call_0")), (0, null()), (1, json!("call_1"))],
        ),
        (
            vec![
                json!([call(json!(0), json!("a")), call(json!(0), json!("b"))]),
                json!([more(json!(0))]),
            ],
            vec![(0, json!("a")), (1, json!("b")), (1, null())],
        ),
        (
            vec![
                json!([call(json!("0"), json!("a"))]),
                json!([call(json!(1), json!(""))]),
            ],
            vec![(0, json!("a")), (1, json!("call_1"))],
        ),
    ] {
        let mut reader = Wire::OpenAiChat.reader();
        let mut read_as = Vec::new();
        for calls in &chunks {
            let sent = chunk(calls.clone());
            assert_eq!(read(&mut reader, &sent), Event::Content, "{sent}");
            let passed = reader.rewritten().map_or(sent, |frames| {
                serde_json::from_str(frames.trim().strip_prefix("data: ").expect("data")).expect("JSON")
            });
            for call in passed["choices"][0]["delta"]["tool_calls"].as_array().expect("calls") {
                read_as.push((call["index"].as_u64().expect("a place"), call["id"].clone()));
            }
        }
        assert_eq!(read_as, places, "{chunks:?}");
    }
    let mut reader = Wire::OpenAiChat.reader();
    read(&mut reader, &chunk(json!([call(json!(0), json!("a"))])));
    assert_eq!(reader.rewritten(), None, "what every runtime reads stays as it is");
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "read", "input": {}}});
    let mut reader = Wire::Anthropic.reader();
    assert_eq!(read(&mut reader, &block), Event::Content);
    assert!(
        reader
            .rewritten()
            .is_some_and(|frame| frame.contains("\"id\":\"call_0\""))
    );
}

#[test]
fn arguments_that_come_as_an_object_are_handed_on_as_a_text() {
    for (wire, event) in [
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": {"a": 1}}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "c", "function": {"name": "read", "arguments": {"a": 1}}}]}}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.output_item.done", "output_index": 0,
                "item": {"type": "function_call", "name": "read", "arguments": {"a": 1}}}),
        ),
    ] {
        let mut reader = wire.reader();
        assert_eq!(read(&mut reader, &event), Event::Content, "{wire:?}");
        let rewritten = reader.rewritten().expect("in another way");
        assert!(rewritten.contains(r#""{\"a\":1}""#), "{wire:?}: {rewritten}");
    }
}

/// The end of an answer in each format, with this usage.
fn ends(input: &Value, output: &Value) -> [(Wire, Vec<Value>); 3] {
    [
        (
            Wire::Anthropic,
            vec![
                json!({"type": "message_start", "message": {"usage": {"input_tokens": input, "output_tokens": 1}}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}}),
            ],
        ),
        (
            Wire::OpenAiChat,
            vec![
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}}),
            ],
        ),
        (
            Wire::OpenAiResponses,
            vec![json!({"type": "response.completed",
                "response": {"usage": {"input_tokens": input, "output_tokens": output}}})],
        ),
    ]
}

#[test]
fn odd_counts_cost_no_answer_and_are_read_where_their_meaning_is_clear() {
    let unknown = [
        json!(null),
        json!(-3),
        json!(1e30),
        json!("many"),
        json!([1]),
        json!({}),
        json!(true),
    ];
    let known = [(json!(7), 7), (json!(7.0), 7), (json!("7"), 7), (json!(6.5), 7)];
    let values = unknown.into_iter().map(|value| (value, None));
    for (value, count) in values.chain(known.map(|(value, count)| (value, Some(count)))) {
        for (wire, events) in ends(&value, &value) {
            let mut reader = wire.reader();
            for event in events {
                let seen = read(&mut reader, &event);
                assert!(!matches!(seen, Event::Failed(_)), "{wire:?} {value}");
                // What the runtime gets instead holds whole numbers alone.
                if let Some(frame) = reader.rewritten() {
                    let data = frame.split_once("data: ").expect("data").1;
                    let text = serde_json::from_str::<Value>(data.trim())
                        .expect("an event")
                        .to_string();
                    assert!(
                        !text.contains(&value.to_string()) || value.is_null() || value.is_object() || value == 7,
                        "{text}"
                    );
                }
            }
            let counted = reader.seen().counted;
            assert_eq!(
                (counted.prompt, counted.answer),
                (count.is_some(), count.is_some()),
                "{wire:?} {value}"
            );
            let usage = reader.seen().usage.unwrap_or_default();
            if let Some(count) = count {
                assert_eq!((usage.input, usage.output), (count, count), "{wire:?} {value}");
            } else {
                assert!(usage.total() <= 1, "{wire:?} {value}: {usage:?}");
            }
        }
    }
}

#[test]
fn an_answer_without_any_usage_is_whole_and_uncounted() {
    for (wire, events) in ends(&json!(1), &json!(1)) {
        let mut reader = wire.reader();
        for mut event in events {
            for holder in ["/message/usage", "/usage", "/response/usage"] {
                if let Some(usage) = event.pointer_mut(holder) {
                    *usage = json!("none");
                }
            }
            assert!(!matches!(read(&mut reader, &event), Event::Failed(_)), "{wire:?}");
        }
        assert_eq!(reader.seen().counted, Counted::default(), "{wire:?}");
    }
}

#[test]
fn only_what_is_written_is_progress() {
    for (wire, empty) in [
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"content": ""}}]}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.output_text.delta", "delta": ""}),
        ),
        (Wire::OpenAiResponses, json!({"type": "response.in_progress"})),
    ] {
        let mut reader = wire.reader();
        read(&mut reader, &empty);
        assert_eq!(reader.seen().written, 0, "{wire:?} {empty}");
    }
    for (wire, thought) in [
        (
            Wire::Anthropic,
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.reasoning_summary_text.delta", "delta": "hm"}),
        ),
    ] {
        let mut reader = wire.reader();
        read(&mut reader, &thought);
        assert_eq!(reader.seen().written, 2, "{wire:?} {thought}");
        assert_eq!(reader.seen().take_text(), "", "what is thought is not said");
    }
}
