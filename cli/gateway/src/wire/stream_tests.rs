use conclave_resilience::classify::ProviderFault;
use conclave_shared::pricing::TokenUsage;

use super::*;
use test_case_data::{ANTHROPIC, CHAT, RESPONSES};

mod test_case_data {
    pub(super) const ANTHROPIC: &[&str] = &[
        r#"{"type":"message_start","message":{"id":"msg_01","usage":{"input_tokens":100,"cache_creation_input_tokens":300,"cache_read_input_tokens":700,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2l"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"n"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    pub(super) const CHAT: &[&str] = &[
        r#"{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"calling read"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1"}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1200,"completion_tokens":80,"total_tokens":1280,"prompt_tokens_details":{"cached_tokens":1000},"completion_tokens_details":{"reasoning_tokens":16}}}"#,
        "[DONE]",
    ];
    pub(super) const RESPONSES: &[&str] = &[
        r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[],"usage":null}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"ENC=="}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_0","type":"message","content":[]}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_0","output_index":1,"delta":"calling read"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_0","type":"message","content":[]}}"#,
        r#"{"type":"response.something.new"}"#,
        r#"{"type":"response.completed","response":{"usage":{"input_tokens":1200,"input_tokens_details":{"cached_tokens":1000},"output_tokens":80,"output_tokens_details":{"reasoning_tokens":16},"total_tokens":1280}}}"#,
    ];
}

fn read(reader: &mut Box<dyn StreamReader>, data: &str) -> Event {
    reader.read(data.as_bytes())
}

fn retryable(fault: ProviderFault) -> Event {
    Event::Failed(FailureClass::Retryable(fault))
}

#[test]
fn an_anthropic_answer_is_read() {
    let mut reader = Wire::Anthropic.reader();
    let events: Vec<Event> = ANTHROPIC.iter().map(|data| read(&mut reader, data)).collect();
    let content = [Event::Content; 5];
    assert_eq!(events[..2], [Event::Start; 2]);
    assert_eq!(events[2..7], content);
    assert_eq!(events[7], Event::Terminal);
    assert_eq!(reader.seen().signatures, ["c2ln"]);
    let usage = TokenUsage {
        input: 100,
        output: 42,
        reasoning: 0,
        cache_read: 700,
        cache_write: 300,
    };
    assert_eq!(reader.seen().usage, Some(usage));
    assert_eq!(reader.seen().unknown_events, 0);
}

#[test]
fn anthropics_thinking_is_counted_apart_from_the_answer() {
    let mut reader = Wire::Anthropic.reader();
    let counted = |reader: &mut Box<dyn StreamReader>, usage: &str| {
        let data =
            format!("{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{usage}}}");
        read(reader, &data);
        let usage = reader.seen().usage.expect("counted");
        (usage.output, usage.reasoning)
    };
    for (usage, expected) in [
        (r#"{"output_tokens":80}"#, (80, 0)),
        (
            r#"{"output_tokens":100,"output_tokens_details":{"thinking_tokens":30}}"#,
            (70, 30),
        ),
        (r#"{"output_tokens":120}"#, (90, 30)),
        (
            r#"{"output_tokens":120,"output_tokens_details":{"thinking_tokens":500}}"#,
            (0, 120),
        ),
        (r#"{"output_tokens":120,"output_tokens_details":null}"#, (0, 120)),
    ] {
        assert_eq!(counted(&mut reader, usage), expected, "{usage}");
    }
}

#[test]
fn a_count_of_anthropics_cache_that_cannot_be_true_leaves_the_prompt_uncounted() {
    for (cached, is_counted) in [("-50", false), ("\"many\"", false), ("50", true), ("null", true)] {
        let usage = format!("{{\"input_tokens\":1000,\"cache_read_input_tokens\":{cached},\"output_tokens\":1}}");
        let mut reader = Wire::Anthropic.reader();
        let start = format!("{{\"type\":\"message_start\",\"message\":{{\"usage\":{usage}}}}}");
        assert_eq!(read(&mut reader, &start), Event::Start);
        read(&mut reader, &anthropic_stop("end_turn"));
        assert_eq!(reader.seen().counted.prompt, is_counted, "{cached}");
        assert!(reader.seen().counted.answer, "{cached}");
        let whole = format!("{{\"content\":[],\"usage\":{usage}}}");
        let seen = Wire::Anthropic.whole_answer(whole.as_bytes()).expect("an answer");
        assert_eq!(seen.counted.prompt, is_counted, "{cached}");
    }
}

#[test]
fn a_responses_answer_is_read() {
    use Event::{Content, Start, Terminal};
    let mut reader = Wire::OpenAiResponses.reader();
    let events: Vec<Event> = RESPONSES.iter().map(|data| read(&mut reader, data)).collect();
    assert_eq!(
        events,
        [Start, Content, Content, Content, Content, Content, Start, Terminal]
    );
    assert_eq!(reader.seen().signatures, ["ENC=="]);
    assert_eq!(reader.seen().unknown_events, 1);
    let usage = TokenUsage {
        input: 200,
        output: 64,
        reasoning: 16,
        cache_read: 1000,
        cache_write: 0,
    };
    assert_eq!(reader.seen().usage, Some(usage));
}

#[test]
fn a_chat_answer_is_read() {
    use Event::{Content, Start, Terminal};
    let mut reader = Wire::OpenAiChat.reader();
    let events: Vec<Event> = CHAT.iter().map(|data| read(&mut reader, data)).collect();
    assert_eq!(events, [Start, Content, Content, Content, Start, Terminal]);
    let usage = TokenUsage {
        input: 200,
        output: 64,
        reasoning: 16,
        cache_read: 1000,
        cache_write: 0,
    };
    assert_eq!(reader.seen().usage, Some(usage), "kinds do not overlap");
}

#[test]
fn an_end_without_a_reason_is_a_cut() {
    assert_eq!(
        read(&mut Wire::Anthropic.reader(), r#"{"type":"message_stop"}"#),
        retryable(ProviderFault::CutStream)
    );
    assert_eq!(
        read(&mut Wire::OpenAiChat.reader(), "[DONE]"),
        retryable(ProviderFault::CutStream)
    );
}

#[test]
fn what_is_no_event_of_the_format_is_garbage() {
    for wire in Wire::ALL {
        for data in ["null", "[1,2", "<html>", "", "7", "[]", "{\"type\":"] {
            assert_eq!(
                read(&mut wire.reader(), data),
                retryable(ProviderFault::Garbage),
                "{wire:?} {data:?}"
            );
        }
    }
}

#[test]
fn plain_deltas_are_content_and_broken_ones_are_not() {
    let of = |delta: &str| {
        let data = format!(r#"{{"type":"content_block_delta","index":12,"delta":{delta}"#);
        read(&mut Wire::Anthropic.reader(), &data)
    };
    for whole in [
        r#"{"type":"text_delta","text":""}}"#,
        r#"{"type":"text_delta","text":"a \"quoted\" word\\"}}"#,
        r#"{"type":"thinking_delta","thinking":"}}"}}"#,
        r#"{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"text":"in another order","type":"text_delta"}}"#,
        r#"{"type":"text_delta","text":"padded"}   }"#,
    ] {
        assert_eq!(of(whole), Event::Content, "{whole}");
    }
    for half in [
        r#"{"type":"text_delta","text":"}}"#,
        r#"{"type":"text_delta","text":"a\"}}"#,
        r#"{"type":"text_delta","text":"a"}"#,
        r#"{"type":"text_delta","text":"a"}}}"#,
        r#"{"type":"text_delta","text":"a\"#,
    ] {
        assert_eq!(of(half), retryable(ProviderFault::Garbage), "{half}");
    }
}

#[test]
fn error_frames_have_their_class() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(
        read(&mut Wire::Anthropic.reader(), overloaded),
        retryable(ProviderFault::Overloaded)
    );
    let cases = [
        (
            r#"{"error":{"message":"x","type":"server_error","code":null}}"#,
            retryable(ProviderFault::ServerError),
        ),
        (
            r#"{"error":{"message":"x","code":429}}"#,
            retryable(ProviderFault::RateLimited),
        ),
        (
            r#"{"error":{"message":"x","code":"invalid_api_key"}}"#,
            Event::Failed(FailureClass::Auth),
        ),
        (r#"{"error":"down"}"#, retryable(ProviderFault::ServerError)),
    ];
    for (data, event) in cases {
        assert_eq!(read(&mut Wire::OpenAiChat.reader(), data), event, "{data}");
    }
    let cases = [
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#,
            retryable(ProviderFault::ServerError),
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}"#,
            retryable(ProviderFault::RateLimited),
        ),
        (
            r#"{"type":"error","code":"context_length_exceeded","message":"x"}"#,
            Event::Failed(FailureClass::ContextOverflow),
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"invalid_prompt","message":"x"}}"#,
            Event::Failed(FailureClass::BadRequest),
        ),
    ];
    for (data, event) in cases {
        assert_eq!(read(&mut Wire::OpenAiResponses.reader(), data), event, "{data}");
    }
}

#[test]
fn an_answer_that_does_not_say_that_it_is_whole_ends_as_one_at_its_limit() {
    for (wire, frame, told) in [
        (
            Wire::Anthropic,
            anthropic_stop("pause_turn"),
            "\"stop_reason\":\"max_tokens\"",
        ),
        (
            Wire::Anthropic,
            anthropic_stop("model_context_window_exceeded"),
            "\"stop_reason\":\"max_tokens\"",
        ),
        (
            Wire::Anthropic,
            anthropic_stop("of_tomorrow"),
            "\"stop_reason\":\"max_tokens\"",
        ),
        (Wire::Anthropic, anthropic_stop(""), "\"stop_reason\":\"max_tokens\""),
        // For calls, and there is none.
        (
            Wire::Anthropic,
            anthropic_stop("tool_use"),
            "\"stop_reason\":\"max_tokens\"",
        ),
        (
            Wire::OpenAiChat,
            chat_stop("\"tool_calls\""),
            "\"finish_reason\":\"length\"",
        ),
        (Wire::Anthropic, anthropic_stop("stop"), "\"stop_reason\":\"end_turn\""),
        (Wire::OpenAiChat, chat_stop("\"pause\""), "\"finish_reason\":\"length\""),
        (Wire::OpenAiChat, chat_stop("\"abort\""), "\"finish_reason\":\"length\""),
        (Wire::OpenAiChat, chat_stop("7"), "\"finish_reason\":\"length\""),
        (
            Wire::OpenAiChat,
            chat_stop("{\"type\":\"stop\"}"),
            "\"finish_reason\":\"length\"",
        ),
        (Wire::OpenAiChat, chat_stop("\"eos\""), "\"finish_reason\":\"stop\""),
    ] {
        let mut reader = wire.reader();
        assert_eq!(read(&mut reader, &frame), Event::Content, "{frame}");
        let rewritten = reader.rewritten().expect("it is said in another way");
        assert!(
            rewritten.contains(told) && rewritten.contains("kept"),
            "{frame} became {rewritten}"
        );
        assert!(rewritten.ends_with("\n\n"), "{rewritten}");
        assert_eq!(reader.seen().usage.expect("counted").output, 9, "{frame}");
        assert!(reader.healed_end().is_some(), "the answer has its reason");
    }
    for (wire, frame) in [
        (Wire::Anthropic, anthropic_stop("end_turn")),
        (Wire::Anthropic, anthropic_stop("refusal")),
        (Wire::OpenAiChat, chat_stop("\"stop\"")),
        (Wire::OpenAiChat, chat_stop("\"content_filter\"")),
        (Wire::OpenAiChat, chat_stop("null")),
        (Wire::OpenAiChat, chat_stop("\"\"")),
    ] {
        let mut reader = wire.reader();
        assert_eq!(read(&mut reader, &frame), Event::Content, "{frame}");
        assert_eq!(reader.rewritten(), None, "{frame}");
    }
}

#[test]
fn a_later_event_does_not_make_an_answer_whole_that_is_not() {
    let anthropic = |delta: &str| format!(r#"{{"type":"message_delta",{delta}"usage":{{"output_tokens":9}}}}"#);
    for (wire, first, later, told) in [
        (Wire::Anthropic, "max_tokens", "null", "max_tokens"),
        (Wire::Anthropic, "max_tokens", "", "max_tokens"),
        (Wire::Anthropic, "max_tokens", "\"end_turn\"", "max_tokens"),
        (Wire::Anthropic, "pause_turn", "\"end_turn\"", "max_tokens"),
        (Wire::Anthropic, "refusal", "null", "refusal"),
        (Wire::Anthropic, "end_turn", "", "end_turn"),
        (Wire::OpenAiChat, "length", "\"stop\"", "length"),
        (Wire::OpenAiChat, "pause", "\"stop\"", "length"),
        (Wire::OpenAiChat, "content_filter", "\"stop\"", "content_filter"),
    ] {
        let frames = match (wire, later) {
            (Wire::Anthropic, "") => [anthropic_stop(first), anthropic("")],
            (Wire::Anthropic, later) => {
                let delta = format!("\"delta\":{{\"stop_reason\":{later}}},");
                [anthropic_stop(first), anthropic(&delta)]
            }
            _ => [chat_stop(&format!("\"{first}\"")), chat_stop(later)],
        };
        let mut reader = wire.reader();
        for frame in &frames {
            assert_eq!(read(&mut reader, frame), Event::Content, "{frame}");
        }
        let rewritten = reader.rewritten().expect("it is said in another way");
        let expected = format!("reason\":\"{told}\"");
        assert!(rewritten.contains(&expected), "{first}, then {later}: {rewritten}");
    }
}

fn anthropic_stop(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","note":"kept"}},"usage":{{"output_tokens":9}}}}"#
    )
}

fn chat_stop(reason: &str) -> String {
    format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"kept"}},"finish_reason":{reason}}}],"usage":{{"prompt_tokens":1,"completion_tokens":9}}}}"#
    )
}

#[test]
fn a_completed_response_that_calls_itself_or_its_message_incomplete_is_not_whole() {
    let completed = |status: &str| {
        format!(
            r#"{{"type":"response.completed","response":{{{status}"usage":{{"input_tokens":1,"output_tokens":9}}}}}}"#
        )
    };
    let message = |status: &str| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{{"id":"m","type":"message","status":"{status}"}}}}"#
        )
    };
    for (messages, end, event) in [
        (vec!["completed"], completed(""), Event::Terminal),
        (
            vec!["completed"],
            completed("\"status\":\"completed\","),
            Event::Terminal,
        ),
        (
            vec!["completed"],
            completed("\"status\":\"incomplete\","),
            Event::Unusual,
        ),
        (
            vec!["completed"],
            completed("\"status\":\"of_tomorrow\","),
            Event::Unusual,
        ),
        (
            vec!["incomplete"],
            completed("\"status\":\"completed\","),
            Event::Unusual,
        ),
        (vec!["in_progress"], completed(""), Event::Unusual),
        (
            vec!["completed"],
            completed("\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"),
            Event::Unusual,
        ),
        (
            vec!["completed"],
            completed("\"incomplete_details\":{\"reason\":null},"),
            Event::Terminal,
        ),
        (vec!["incomplete", "completed"], completed(""), Event::Terminal),
    ] {
        let mut reader = Wire::OpenAiResponses.reader();
        for status in &messages {
            read(&mut reader, &message(status));
        }
        assert_eq!(read(&mut reader, &end), event, "{messages:?} {end}");
        assert_eq!(reader.seen().usage.expect("counted").output, 9);
        let is_cut = reader
            .healed_end()
            .expect("it has ended")
            .contains("response.incomplete");
        assert_eq!(is_cut, event == Event::Unusual, "{messages:?} {end}");
    }
}

#[test]
fn a_refusal_beside_an_answer_ends_it_as_a_filter_does() {
    let mut chat = Wire::OpenAiChat.reader();
    read(
        &mut chat,
        r#"{"choices":[{"index":0,"delta":{"refusal":"I can't."},"finish_reason":null}]}"#,
    );
    assert_eq!(read(&mut chat, &chat_stop("\"stop\"")), Event::Content);
    let rewritten = chat.rewritten().expect("it is said in another way");
    assert!(rewritten.contains("\"finish_reason\":\"content_filter\""));
    let completed = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":9}}}"#;
    for refusal in [
        r#"{"type":"response.refusal.delta","output_index":0,"delta":"I can't."}"#,
        r#"{"type":"response.refusal.done","output_index":0,"refusal":"I can't."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","status":"completed","content":[{"type":"refusal","refusal":"I can't."}]}}"#,
    ] {
        let mut reader = Wire::OpenAiResponses.reader();
        read(&mut reader, refusal);
        assert_eq!(read(&mut reader, completed), Event::Unusual, "{refusal}");
        assert!(
            reader.healed_end().is_some_and(|end| end.contains("content_filter")),
            "{refusal}"
        );
        assert_eq!(reader.seen().usage.expect("counted").output, 9);
    }
}

#[test]
fn calls_that_may_tell_a_finding_are_kept_whole() {
    let anthropic = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"report","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"u","name":"read","input":{}}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"v","name":"grep","input":{"pattern":"<severity>"}}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
    ];
    let chat = [
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"report","arguments":"{\"a\":"}}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"name":"read","arguments":"{}"}}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":2,"id":"d","function":{"name":"grep","arguments":"{\"pattern\":\"<severity>\"}"}}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    let responses = [
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"f","type":"function_call","name":"report","arguments":"{\"a\":1}"}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"g","type":"function_call","name":"read","arguments":"{}"}}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"h","type":"function_call","name":"grep","arguments":"{\"pattern\":\"<severity>\"}"}}"#,
    ];
    for (wire, frames) in [
        (Wire::Anthropic, &anthropic[..]),
        (Wire::OpenAiChat, &chat[..]),
        (Wire::OpenAiResponses, &responses[..]),
    ] {
        let mut reader = wire.reader();
        for frame in frames {
            read(&mut reader, frame);
        }
        let calls: Vec<(&str, &str)> = reader
            .seen()
            .stray_calls
            .iter()
            .map(|call| (call.tool.as_str(), call.arguments.as_str()))
            .collect();
        let told = [("report", "{\"a\":1}"), ("grep", "{\"pattern\":\"<severity>\"}")];
        assert_eq!(calls, told, "{wire:?}");
    }
}
