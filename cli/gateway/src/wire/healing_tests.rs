//! The ends that are put on streams without one.

use super::*;

/// A reader that has seen these frames.
fn reader(wire: Wire, frames: &[&str]) -> Box<dyn StreamReader> {
    let mut reader = wire.reader();
    for data in frames {
        let event = reader.read(data.as_bytes());
        assert!(!matches!(event, Event::Failed(_)), "{data}");
    }
    reader
}

/// An end is whole frames of the format, the last of them terminal.
fn check(mut reader: Box<dyn StreamReader>, end: &str) {
    let mut parser = FrameParser::new();
    parser.push(bytes::Bytes::from(end.to_owned()));
    let mut last = Event::Start;
    while let Some(frame) = parser.next_frame().expect("short") {
        last = reader.read(&frame.data().expect("no comments"));
    }
    assert_eq!((last, parser.held()), (Event::Terminal, 0), "{end}");
}

#[derive(Clone, Copy)]
struct Case {
    wire: Wire,
    start: &'static str,
    text: &'static [&'static str],
    half_call: &'static [&'static str],
    whole_call: &'static [&'static str],
    stop: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        wire: Wire::Anthropic,
        start: r#"{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}"#,
        text: &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"calling"}}"#,
        ],
        half_call: &[
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        ],
        whole_call: &[
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
        ],
        stop: r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
    },
    Case {
        wire: Wire::OpenAiChat,
        start: r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        text: &[r#"{"choices":[{"index":0,"delta":{"content":"calling"}}]}"#],
        half_call: &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}"#,
        ],
        whole_call: &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}\"}"}}]}}]}"#,
        ],
        stop: r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    },
    Case {
        wire: Wire::OpenAiResponses,
        start: r#"{"type":"response.created","response":{"usage":null}}"#,
        text: &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message"}}"#,
            r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"calling"}"#,
        ],
        half_call: &[
            r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"f","type":"function_call","name":"read"}}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"f","output_index":1,"delta":"{\"a\":"}"#,
        ],
        whole_call: &[
            r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"f","type":"function_call","name":"read","arguments":"{\"a\":1}"}}"#,
        ],
        stop: r#"{"type":"response.completed","response":{"usage":null}}"#,
    },
];

#[test]
fn half_of_anything_is_not_healed() {
    for case in CASES {
        let begun = reader(case.wire, &[case.start]);
        assert_eq!(
            (begun.healed_end(), begun.shortened_end()),
            (None, None),
            "{:?}",
            case.wire
        );
        let text = reader(case.wire, &[&[case.start], case.text].concat());
        assert_eq!(text.healed_end(), None, "{:?}", case.wire);
        let call = reader(case.wire, &[&[case.start], case.half_call].concat());
        assert_eq!(
            (call.healed_end(), call.shortened_end()),
            (None, None),
            "{:?}",
            case.wire
        );
    }
}

#[test]
fn whole_calls_are_ended_as_calls() {
    for case in CASES {
        let frames = [&[case.start], case.half_call, case.whole_call].concat();
        let reader = reader(case.wire, &frames);
        let end = reader.healed_end().expect("nothing is lost");
        let reason = ["\"tool_use\"", "\"tool_calls\"", "\"response.completed\""];
        assert!(reason.iter().any(|reason| end.contains(reason)), "{end}");
        check(reader, &end);
    }
}

#[test]
fn text_after_the_calls_is_half_a_text() {
    for case in CASES {
        let frames = [&[case.start], case.half_call, case.whole_call, case.text].concat();
        assert_eq!(reader(case.wire, &frames).healed_end(), None, "{:?}", case.wire);
    }
}

#[test]
fn an_answer_that_said_why_it_stopped_gets_its_end() {
    for case in CASES {
        let mut reader = reader(case.wire, &[&[case.start], case.text].concat());
        let event = reader.read(case.stop.as_bytes());
        let expected = if case.wire == Wire::OpenAiResponses {
            Event::Unusual
        } else {
            Event::Content
        };
        assert_eq!(event, expected, "{:?}", case.wire);
        let end = reader.healed_end().expect("nothing is lost");
        assert!(
            !end.contains("tool") && !end.contains("length") && !end.contains("incomplete"),
            "{end}"
        );
        check(reader, &end);
    }
}

#[test]
fn a_text_can_be_ended_as_one_that_reached_its_limit() {
    for case in CASES {
        let reader = reader(case.wire, &[&[case.start], case.text].concat());
        let end = reader.shortened_end().expect("there is a text");
        let reason = ["\"max_tokens\"", "\"length\"", "\"max_output_tokens\""];
        assert!(reason.iter().any(|reason| end.contains(reason)), "{end}");
        check(reader, &end);
    }
}

#[test]
fn an_end_of_calls_without_a_reason_is_healed_as_well() {
    // `message_stop` and `[DONE]` without a reason before them would make the runtime ask for ever.
    for (case, end) in CASES.iter().zip([r#"{"type":"message_stop"}"#, "[DONE]"]) {
        let frames = [&[case.start], case.half_call, case.whole_call].concat();
        let mut reader = reader(case.wire, &frames);
        assert!(matches!(reader.read(end.as_bytes()), Event::Failed(_)));
        assert!(reader.healed_end().is_some());
    }
}
