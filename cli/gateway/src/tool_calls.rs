//! How many tools a session has called.
//!
//! Counted in the requests, not in the answers: the history that the runtime sends holds each result once, whatever
//! was repeated, cut off or healed on the way.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};

#[derive(Deserialize)]
struct Body<'a> {
    /// Anthropic Messages and Chat Completions.
    #[serde(borrow, default)]
    messages: Vec<Entry<'a>>,
    /// Responses.
    #[serde(borrow, default)]
    input: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    content: Results,
}

/// How many parts of a message's content are results of tools.
#[derive(Default)]
struct Results(usize);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
}

impl<'de> Deserialize<'de> for Results {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;
        impl<'de> Visitor<'de> for Content {
            type Value = Results;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of parts")
            }
            fn visit_unit<E>(self) -> Result<Results, E> {
                Ok(Results(0))
            }
            fn visit_str<E>(self, _: &str) -> Result<Results, E> {
                Ok(Results(0))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Results, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Results(0))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Results, A::Error> {
                let mut results = 0;
                while let Some(part) = parts.next_element::<Part<'de>>()? {
                    results += usize::from(part.kind.as_deref() == Some("tool_result"));
                }
                Ok(Results(results))
            }
        }
        deserializer.deserialize_any(Content)
    }
}

/// The number of tool results in a request of any format; none in what is no request.
pub(crate) fn count(body: &[u8]) -> usize {
    let Ok(body) = serde_json::from_slice::<Body<'_>>(body) else {
        return 0;
    };
    let of_entry = |entry: &Entry<'_>| {
        let whole = entry.role.as_deref() == Some("tool") || entry.kind.as_deref() == Some("function_call_output");
        entry.content.0 + usize::from(whole)
    };
    body.messages.iter().chain(&body.input).map(of_entry).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_counted_in_every_format_and_nowhere_else() {
        let anthropic = json!({"model": "m", "messages": [
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
            (json!({}), 0),
            (json!([]), 0),
        ] {
            assert_eq!(count(body.to_string().as_bytes()), results, "{body}");
        }
        assert_eq!(count(b"no request"), 0);
    }
}
