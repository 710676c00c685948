use serde_json::json;

use super::*;
use crate::wire::{Event, Wire};

#[test]
fn an_error_in_whichever_form_ends_an_answer_with_its_words() {
    let inner = json!({"code": 502, "message": "engine dead"});
    for (wire, event) in [
        (Wire::OpenAiChat, json!({"error": inner})),
        (Wire::OpenAiChat, json!({"error": "engine dead"})),
        (Wire::OpenAiChat, json!({"error": true, "message": "engine dead"})),
        (Wire::OpenAiChat, json!({"errors": [inner]})),
        (Wire::OpenAiChat, inner.clone()),
        (Wire::OpenAiChat, json!({"detail": "engine dead"})),
        (
            Wire::OpenAiChat,
            json!({"object": "error", "message": "engine dead", "code": 500}),
        ),
        (
            Wire::OpenAiChat,
            json!({"object": "error", "message": "engine dead", "choices": []}),
        ),
        (Wire::OpenAiChat, json!({"type": "error", "message": "engine dead"})),
        (
            Wire::OpenAiChat,
            json!({"statusCode": 500, "message": "engine dead", "usage": {}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"modelStreamErrorException": {"message": "engine dead", "originalStatusCode": 500}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"id": "c", "model": "m", "x_groq": {"error": "engine dead"}}),
        ),
        (
            Wire::OpenAiChat,
            json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop", "error": inner}]}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.error", "message": "engine dead"}),
        ),
        (
            Wire::OpenAiResponses,
            json!({"type": "response.error", "error": {"message": "engine dead"}}),
        ),
        (Wire::OpenAiResponses, json!({"type": "", "error": inner})),
        (Wire::OpenAiResponses, json!({"error": "engine dead"})),
    ] {
        let mut reader = wire.reader();
        let read = reader.read(event.to_string().as_bytes());
        let fault = FailureClass::Retryable(ProviderFault::ServerError);
        assert_eq!(read, Event::Failed(fault), "{wire:?} {event}");
        assert_eq!(reader.seen().failure, "engine dead", "{wire:?} {event}");
    }
    let nothing = Wire::OpenAiChat.reader().read(b"{}");
    assert_eq!(
        nothing,
        Event::Failed(ProviderFault::ServerError.into()),
        "a lost chunk"
    );
    let limited = Wire::OpenAiChat
        .reader()
        .read(br#"{"statusCode":429,"message":"slow down"}"#);
    assert_eq!(limited, Event::Failed(ProviderFault::RateLimited.into()));
}

#[test]
fn an_honest_chunk_without_choices_is_no_error() {
    for event in [
        json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        json!({"usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        json!({"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        json!({"prompt_annotations": [{"prompt_index": 0}]}),
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "error": null}),
        json!({"id": "c", "object": "chat.completion.chunk", "choices": null, "litellm_extra": {"code": 1}}),
        json!({"id": "c", "model": "m", "x_groq": {"id": "r"}}),
        json!({"citations": ["https://example.com"]}),
        json!({"type": "ping"}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null, "error": null}]}),
    ] {
        let read = Wire::OpenAiChat.reader().read(event.to_string().as_bytes());
        assert_eq!(read, Event::Start, "{event}");
    }
}

#[test]
fn what_stands_in_place_of_an_event_is_read_for_its_words() {
    use ProviderFault::{Garbage, RateLimited, ServerError};
    for (said, words, fault, is_whole) in [
        (r#"{"error":"engine dead"}"#, "engine dead", ServerError, true),
        (
            r#"error: {"code":429,"message":"slow down"}"#,
            "slow down",
            RateLimited,
            true,
        ),
        ("error: engine dead", "engine dead", ServerError, false),
        ("<html>502 Bad Gateway", "<html>502 Bad Gateway", Garbage, false),
        (r#"{"error":"engi"#, r#"{"error":"engi"#, Garbage, false),
    ] {
        let mut seen = Seen::default();
        let class = failed_text(&mut seen, said.as_bytes(), Garbage);
        assert_eq!((class, seen.failure.as_str()), (fault.into(), words), "{said}");
        assert_eq!(is_whole_error(said.as_bytes()), is_whole, "{said}");
    }
    let mut seen = Seen::default();
    assert_eq!(failed_text(&mut seen, b"\xff\xfe", Garbage), Garbage.into());
    assert_eq!(seen.failure, "", "what is no text has no words");
}
