//! The outline of a request, read without taking it apart.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The facts of a request's body; the body itself is forwarded as it came, byte by byte, so that the provider's prompt
/// cache finds it again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The model that is asked for, in the provider's own words.
    pub(crate) model: String,
    /// A hash of the last message.
    pub(crate) last_message: u64,
    /// Number of tool results. They count the tools that a session has called: the history that the runtime sends holds
    /// each result once, whatever was repeated, cut off or healed on the way.
    pub(crate) tool_results: usize,
}

/// The body is not a streaming request with a model and messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotARequest;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    stream: Option<bool>,
    #[serde(borrow, alias = "input")]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
}

impl Outline {
    /// Reads the outline of a body of any format.
    pub(crate) fn of(body: &[u8]) -> Result<Self, NotARequest> {
        let body: Body<'_> = serde_json::from_slice(body).map_err(|_| NotARequest)?;
        // Without a stream there would be nothing to account by as it passes; the runtime always asks for one.
        let last = body
            .messages
            .last()
            .filter(|_| body.stream == Some(true) && !body.model.is_empty());
        let mut hasher = DefaultHasher::new();
        last.ok_or(NotARequest)?.get().hash(&mut hasher);
        Ok(Self {
            model: body.model.into_owned(),
            last_message: hasher.finish(),
            tool_results: body.messages.iter().map(|message| tool_results(message)).sum(),
        })
    }
}

/// The number of tool results in a message: blocks of Anthropic's, whole messages or items of the other formats.
fn tool_results(message: &RawValue) -> usize {
    let Ok(message) = serde_json::from_str::<Message<'_>>(message.get()) else {
        return 0;
    };
    let is_result = message.role.as_deref() == Some("tool") || message.kind.as_deref() == Some("function_call_output");
    let parts = message.content.filter(|content| content.get().starts_with('['));
    let parts: Vec<Part<'_>> = parts
        .and_then(|parts| serde_json::from_str(parts.get()).ok())
        .unwrap_or_default();
    let blocks = parts.iter().filter(|part| part.kind.as_deref() == Some("tool_result"));
    usize::from(is_result) + blocks.count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_model_and_the_last_message_are_found() {
        let one = Outline::of(br#"{"model":"@cf/x","stream":true,"messages":[{"a":1},{"b":2}],"tools":[{}]}"#);
        let two = Outline::of(br#"{"messages":[{"c":[3]},{"b":2}],"stream":true,"model":"\u0040cf/x"}"#);
        let three = Outline::of(br#"{"model":"@cf/x","stream":true,"messages":[{"b":2},{"a":1}]}"#);
        assert_eq!(one, two);
        assert_eq!(one.as_ref().map(|one| one.model.as_str()), Ok("@cf/x"));
        assert_ne!(one, three);
        let responses = Outline::of(br#"{"model":"@cf/x","stream":true,"input":[{"a":1},{"b":2}]}"#);
        assert_eq!(one, responses);
    }

    #[test]
    fn anything_else_is_refused() {
        for body in [
            "",
            "null",
            "{}",
            r#"{"model":"m","messages":[{}]}"#,
            r#"{"model":"m","stream":false,"messages":[{}]}"#,
            r#"{"model":"m","stream":true,"messages":[]}"#,
            r#"{"model":7,"stream":true,"messages":[{}]}"#,
            r#"{"model":"","stream":true,"messages":[{}]}"#,
            r#"{"model":"m","stream":true,"messages":[{}]"#,
        ] {
            assert_eq!(Outline::of(body.as_bytes()), Err(NotARequest), "{body}");
        }
    }

    #[test]
    fn results_are_counted_in_every_format_and_nowhere_else() {
        let anthropic = json!({"messages": [
            {"role": "user", "content": "{\"type\":\"tool_result\"}"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}, {"type": "tool_use", "id": "2"}]},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "tool_result"}]},
                                         {"type": "tool_result", "content": "x"}, {"type": "text", "text": "y"}]}]});
        let chat = json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null},
            {"role": "tool", "tool_call_id": "1", "content": "role: tool"}, {"role": "tool", "content": [{"type": "text"}]}]});
        let responses = json!({"input": [{"role": "user", "content": [{"type": "input_text"}]},
            {"type": "function_call", "call_id": "1"}, {"type": "function_call_output", "output": "x"}]});
        for (body, results) in [
            (anthropic, 2),
            (chat, 2),
            (responses, 1),
            (json!({"input": [{}, [], "no message"]}), 0),
        ] {
            let mut body = body;
            body["model"] = json!("m");
            body["stream"] = json!(true);
            let outline = Outline::of(body.to_string().as_bytes()).expect("a request");
            assert_eq!(outline.tool_results, results, "{body}");
        }
    }
}
