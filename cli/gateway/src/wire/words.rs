//! The words of an answer, in the forms in which providers write them.
//!
//! A piece that cannot be read is never nothing: the rest of the answer would count as all of it.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Value, value::RawValue};

/// Kinds of parts that are thoughts.
const THOUGHTS: [&str; 4] = ["thinking", "reasoning", "reasoning_text", "summary_text"];

/// A text, as it was written where a format has one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written<'v> {
    pub(super) text: Cow<'v, str>,
    /// The format's own form, which every runtime reads.
    pub(super) is_plain: bool,
    /// A part of it refuses to answer.
    pub(super) refuses: bool,
    /// Length of the thinking among its parts, in bytes.
    pub(super) thought: usize,
}

/// Reads a text: a string, nothing, or a list of parts of known kinds, as some compatible endpoints write it. `None` if it
/// is something else.
pub(super) fn written(value: &Value) -> Option<Written<'_>> {
    let mut written = Written {
        is_plain: matches!(value, Value::String(_) | Value::Null),
        ..Written::default()
    };
    match value {
        Value::String(text) => written.text = Cow::Borrowed(text),
        Value::Null => {}
        Value::Array(parts) => parts.iter().try_for_each(|part| add_part(&mut written, part))?,
        Value::Object(_) => add_part(&mut written, value)?,
        Value::Bool(_) | Value::Number(_) => return None,
    }
    Some(written)
}

fn add_part(written: &mut Written<'_>, part: &Value) -> Option<()> {
    if let Value::String(text) = part {
        written.text.to_mut().push_str(text);
        return Some(());
    }
    match part["type"].as_str()? {
        "text" | "output_text" => written.text.to_mut().push_str(part["text"].as_str()?),
        "refusal" => written.refuses = true,
        kind if THOUGHTS.contains(&kind) => written.thought += part.to_string().len(),
        _ if has_words(part) => return None,
        _ => {}
    }
    Some(())
}

/// The text of thoughts, in whichever form they are shown.
pub(super) fn thoughts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(thoughts).collect(),
        Value::Object(part) => ["thinking", "text", "summary", "content", "reasoning"]
            .iter()
            .filter_map(|name| part.get(*name))
            .map(thoughts)
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The text of the thoughts among the parts of a content.
pub(super) fn thoughts_among(content: &Value) -> String {
    let is_thought = |part: &&Value| THOUGHTS.contains(&part["type"].as_str().unwrap_or_default());
    let parts = content.as_array().into_iter().flatten();
    parts.filter(is_thought).map(thoughts).collect()
}

/// The text in the fields of a delta that are neither known nor labels: endpoints show thoughts under names of their own.
pub(super) fn thoughts_elsewhere(delta: &str) -> String {
    const KNOWN: [&str; 14] = [
        "content",
        "text",
        "refusal",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "thinking_blocks",
        "tool_calls",
        "function_call",
        "audio",
        "images",
        "annotations",
        "citations",
        "provider_specific_fields",
    ];
    const LABELS: [&str; 13] = [
        "id",
        "type",
        "name",
        "role",
        "signature",
        "status",
        "model",
        "object",
        "phase",
        "channel",
        "reason",
        "opaque",
        "data",
    ];
    let is_label = |name: &str| LABELS.iter().any(|end| name.ends_with(end)) || name.contains("encrypted");
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(delta).unwrap_or_default();
    let unknown = fields
        .iter()
        .filter(|(name, _)| !KNOWN.contains(&name.as_str()) && !is_label(name));
    unknown
        .map(|(_, raw)| thoughts(&serde_json::from_str(raw.get()).unwrap_or_default()))
        .collect()
}

/// Returns whether a part of an unknown kind says anything: whether there is a text in it that is not its kind or a name.
pub(super) fn has_words(part: &Value) -> bool {
    const NAMES: [&str; 12] = [
        "type",
        "id",
        "name",
        "role",
        "model",
        "status",
        "object",
        "phase",
        "item_id",
        "tool_use_id",
        "call_id",
        "signature",
    ];
    match part {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => parts.iter().any(has_words),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| !NAMES.contains(&name.as_str()) && has_words(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The text of an answer that came in one piece, in whichever format.
pub(crate) fn text_of_body(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let output = body["output"].as_array().into_iter().flatten();
    let places = [&body["content"], &body["choices"][0]["message"]["content"]];
    let texts = places.into_iter().chain(output.map(|item| &item["content"]));
    texts.filter_map(written).map(|written| written.text).collect()
}

/// Returns whether a body is an answer that came in one piece, in whichever format.
pub(crate) fn is_whole_answer(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["choices"][0]["message"].is_object() || body["output"].is_array() || body["content"].is_array()
}

/// Returns whether a body is the beginning of an object whose end is missing.
pub(super) fn is_cut_off(body: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(body);
    body.trim_ascii_start().starts_with(b"{") && read.is_err_and(|error| error.is_eof())
}

/// Returns whether an event of an unknown kind brings a part of an answer. Providers add kinds of events all the time, and nearly
/// all of them are about the answer, not of it.
pub(super) fn brings_words(event: &Value) -> bool {
    ["delta", "text", "content", "completion", "output_text", "message"]
        .iter()
        .any(|name| event.get(name).is_some_and(has_words))
}

/// Returns whether an event that cannot be read, of whichever format, brings a part of an answer.
pub(crate) fn brings_answer(data: &[u8]) -> bool {
    let event: Value = serde_json::from_slice(data).unwrap_or_default();
    let lists = [&event["choices"], &event["output"], &event["response"]["output"]];
    let parts = lists.into_iter().filter_map(Value::as_array).flatten();
    std::iter::once(&event).chain(parts).any(brings_words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_in_one_piece_is_known_in_each_format() {
        for body in [
            json!({"object": "chat.completion", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}),
            json!({"object": "response", "output": [{"type": "message", "content": []}]}),
            json!({"type": "message", "content": [{"type": "text", "text": "a"}]}),
        ] {
            assert!(is_whole_answer(body.to_string().as_bytes()), "{body}");
        }
        for body in [
            "",
            "a",
            "[]",
            "{}",
            r#"{"error": {"message": "bad key"}}"#,
            r#"{"choices": []}"#,
        ] {
            assert!(!is_whole_answer(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn a_text_has_one_meaning_or_none() {
        for (value, text) in [
            (json!("a"), Some("a")),
            (json!(null), Some("")),
            (json!([]), Some("")),
            (
                json!(["a", {"type": "text", "text": "b"}, {"type": "output_text", "text": "c"}]),
                Some("abc"),
            ),
            (json!({"type": "text", "text": "a"}), Some("a")),
            (
                json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]),
                Some("a"),
            ),
            (json!([{"type": "end_of_part", "id": "x"}]), Some("")),
            (json!([{"type": "rich_text", "spans": ["a"]}]), None),
            (json!([{"type": "text", "text": ["a"]}]), None),
            (json!([{"text": "a"}]), None),
            (json!([["a"]]), None),
            (json!(7), None),
            (json!(true), None),
            (json!({"value": "a"}), None),
        ] {
            assert_eq!(
                written(&value).map(|written| written.text.into_owned()).as_deref(),
                text,
                "{value}"
            );
        }
        assert!(written(&json!([{"type": "refusal", "refusal": "no"}])).is_some_and(|written| written.refuses));
        assert!(written(&json!("a")).is_some_and(|written| written.is_plain));
        assert!(written(&json!(["a"])).is_some_and(|written| !written.is_plain));
    }

    #[test]
    fn the_text_of_a_whole_answer_is_found_in_every_format() {
        for body in [
            json!({"content": [{"type": "text", "text": "told"}]}),
            json!({"choices": [{"message": {"role": "assistant", "content": "told"}}]}),
            json!({"output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "told"}]}]}),
        ] {
            assert_eq!(text_of_body(body.to_string().as_bytes()), "told", "{body}");
        }
        assert_eq!(text_of_body(b"<html>"), "");
    }

    #[test]
    fn what_cannot_be_read_brings_an_answer_if_it_has_words_of_one() {
        for (event, expected) in [
            ("[DONE]", false),
            ("", false),
            (r#"{"id":"x","usage":{"note":"of the account"}}"#, false),
            (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, false),
            (r#"{"choices":[{"index":0,"message":{"content":"a"}}]}"#, true),
            (
                r#"{"type":"response.completed","response":{"output":[{"content":[{"type":"output_text","text":"a"}]}]}}"#,
                true,
            ),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, true),
        ] {
            assert_eq!(brings_answer(event.as_bytes()), expected, "{event}");
        }
    }

    #[test]
    fn only_events_that_say_something_bring_words() {
        for (event, expected) in [
            (json!({"type": "x"}), false),
            (json!({"type": "x", "usage": {"note": "of the account"}}), false),
            (json!({"type": "x", "delta": {"type": "y", "index": 1}}), false),
            (json!({"type": "x", "delta": "a"}), true),
            (
                json!({"type": "message", "content": [{"type": "text", "text": "a"}]}),
                true,
            ),
        ] {
            assert_eq!(brings_words(&event), expected, "{event}");
        }
    }
}
