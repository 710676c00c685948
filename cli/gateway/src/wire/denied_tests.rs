//! Ends that are denied by what stands beside, in or behind them, and answers that stand in their end alone.

use serde_json::{Value, json};

use super::*;

fn read(reader: &mut Box<dyn StreamReader>, event: &Value) -> Event {
    reader.read(event.to_string().as_bytes())
}

#[test]
fn a_word_of_the_model_or_a_filter_beside_the_reason_counts() {
    let filtered = |is: bool| json!({"hate": {"filtered": false, "severity": "safe"}, "violence": {"filtered": is}});
    for (name, value, told) in [
        ("native_finish_reason", json!("MAX_TOKENS"), Some("length")),
        ("native_finish_reason", json!("SAFETY"), Some("content_filter")),
        ("native_finish_reason", json!("content_filter"), Some("content_filter")),
        ("native_finish_reason", json!("STOP"), None),
        ("native_finish_reason", json!("end_turn"), None),
        ("native_finish_reason", json!(null), None),
        ("content_filter_results", filtered(true), Some("content_filter")),
        ("content_filter_results", filtered(false), None),
        (
            "content_filter_results",
            json!({"protected_material_code": {"detected": true, "filtered": false}}),
            None,
        ),
        ("content_filter_results", json!({}), None),
    ] {
        let mut reader = Wire::OpenAiChat.reader();
        let mut end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        end["choices"][0][name] = value.clone();
        assert_eq!(read(&mut reader, &end), Event::Content, "{end}");
        let expected = told.map(|told| format!("\"finish_reason\":\"{told}\""));
        let rewritten = reader.rewritten();
        assert_eq!(rewritten.is_some(), told.is_some(), "{end}");
        assert!(
            expected.is_none_or(|told| rewritten.is_some_and(|end| end.contains(&told))),
            "{end}"
        );
        // Behind an end that was passed on it is a contradiction.
        let mut reader = Wire::OpenAiChat.reader();
        let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        read(&mut reader, &stop);
        end["choices"][0]["finish_reason"] = Value::Null;
        let is_denied = read(&mut reader, &end) == GARBAGE;
        assert_eq!(is_denied, told.is_some(), "{end}");
    }
}

fn message(text: &str) -> Value {
    json!({"id": "m", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text}]})
}

fn completed(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output,
        "usage": {"input_tokens": 1, "output_tokens": 9}}})
}

/// A reader of Responses that has seen this text as pieces.
fn said(text: &str) -> Box<dyn StreamReader> {
    let mut reader = Wire::OpenAiResponses.reader();
    read(
        &mut reader,
        &json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "m", "type": "message"}}),
    );
    read(
        &mut reader,
        &json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": text}),
    );
    reader
}

#[test]
fn what_the_end_of_a_response_repeats_is_what_was_streamed() {
    let part = |text: &str| json!({"type": "response.content_part.done", "item_id": "m", "output_index": 0, "part": {"type": "output_text", "text": text}});
    let text =
        |text: &str| json!({"type": "response.output_text.done", "item_id": "m", "output_index": 0, "text": text});
    let item = |text: &str| json!({"type": "response.output_item.done", "output_index": 0, "item": message(text)});
    let end = |text: &str| completed(&[message(text)]);
    let events: [fn(&str) -> Value; 3] = [part, text, item];
    for event in events {
        for (whole, seen) in [
            ("all of it", Event::Content),
            ("all\nof it ", Event::Content),
            ("ill of it", GARBAGE),
            ("all of it, and more", GARBAGE),
        ] {
            assert_eq!(read(&mut said("all of it"), &event(whole)), seen, "{whole}");
        }
    }
    assert_eq!(read(&mut said("all of it"), &end("all of it")), Event::Terminal);
    assert_eq!(read(&mut said("all of it"), &end("ill of it")), GARBAGE);
    // A part that belongs to no item, of which nothing was streamed.
    let mut reader = said("all of it");
    for event in [item("all of it"), part("a finding")] {
        assert_eq!(read(&mut reader, &event), Event::Content, "{event}");
    }
    assert_eq!(read(&mut reader, &end("all of it")), GARBAGE);
    // A character that came in halves.
    assert_eq!(
        read(&mut said("all \u{fffd}\u{fffd}"), &end("all \u{1f600}")),
        Event::Terminal
    );
}

#[test]
fn a_completed_response_with_an_error_or_without_a_response_is_none() {
    let mut end = completed(&[]);
    end["response"]["error"] = json!({"code": "server_error", "message": "engine dead"});
    let mut reader = said("all of it");
    assert!(matches!(read(&mut reader, &end), Event::Failed(_)));
    assert_eq!(reader.seen().failure, "engine dead");
    let bare = json!({"type": "response.completed"});
    assert_eq!(read(&mut said("all of it"), &bare), GARBAGE);
    let mut reader = said("all of it");
    assert_eq!(read(&mut reader, &completed(&[])), Event::Terminal);
    let incomplete =
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    assert!(matches!(read(&mut reader, &incomplete), Event::Failed(class) if class.is_provider_fault()));
    assert_eq!(reader.seen().failure, "max_output_tokens");
}

#[test]
fn a_response_that_stands_in_its_end_alone_is_handed_on_in_pieces() {
    let call = json!({"id": "f", "type": "function_call", "call_id": "c", "name": "report", "arguments": "{}"});
    let done = json!({"type": "response.output_text.done", "item_id": "m", "output_index": 0, "text": "all of it"});
    for (before, output) in [
        (vec![], vec![message("all of it")]),
        (vec![], vec![message("all of it"), call.clone()]),
        (vec![done.clone()], vec![]),
        (vec![done.clone()], vec![message("all of it")]),
    ] {
        let mut reader = Wire::OpenAiResponses.reader();
        for event in &before {
            assert_eq!(read(&mut reader, event), Event::Content, "{event}");
        }
        assert_eq!(read(&mut reader, &completed(&output)), Event::Terminal, "{output:?}");
        let rewritten = reader.rewritten().expect("in another way");
        let order = [
            "event: response.output_item.added",
            "event: response.output_text.delta",
            "event: response.output_item.done",
            "event: response.completed",
        ];
        let places: Vec<_> = order.iter().map(|kind| rewritten.find(kind)).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{rewritten}");
        let calls = output.len().saturating_sub(1);
        assert_eq!(
            rewritten.matches("event: response.output_item.done").count(),
            1 + calls,
            "{rewritten}"
        );
        assert_eq!(reader.seen().take_text(), "all of it");
        assert_eq!(reader.seen().stray_calls.len(), calls, "{output:?}");
    }
    let mut cut = completed(&[message("half")]);
    cut["response"]["status"] = json!("incomplete");
    let mut reader = Wire::OpenAiResponses.reader();
    assert_eq!(read(&mut reader, &cut), Event::Unusual);
    let rewritten = reader.rewritten().expect("its text");
    assert!(
        rewritten.contains("half") && !rewritten.contains("response.completed"),
        "{rewritten}"
    );
}
