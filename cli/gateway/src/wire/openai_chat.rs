//! `OpenAI` Chat Completions: reading the stream.

use std::collections::BTreeMap;

use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_shared::pricing::TokenUsage;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};

use super::{Event, arguments::Arguments, openai_errors::class_of};

/// Reads one answer.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    usage: Option<TokenUsage>,
    stopped: bool,
    /// The tool calls by their index.
    calls: BTreeMap<u64, Arguments>,
    has_text: bool,
    /// Text came after the last piece of a call.
    text_is_last: bool,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Present,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Present,
    #[serde(default)]
    reasoning_content: Present,
    #[serde(default)]
    reasoning: Present,
    #[serde(default)]
    refusal: Present,
    tool_calls: Option<Value>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// Whether a value says anything: not null, not an empty text or list. Providers differ in the types that they put
/// here, and only this matters.
#[derive(Debug, Clone, Copy, Default)]
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Present;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("anything")
            }
            fn visit_unit<E>(self) -> Result<Present, E> {
                Ok(Present(false))
            }
            fn visit_str<E>(self, text: &str) -> Result<Present, E> {
                Ok(Present(!text.is_empty()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Present, E> {
                Ok(Present(true))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Present, E> {
                Ok(Present(true))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Present, E> {
                Ok(Present(true))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Present, E> {
                Ok(Present(true))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Present, A::Error> {
                let mut any = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Present(any))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Present, A::Error> {
                let mut any = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Present(any))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Reader {
    pub(super) fn read(&mut self, data: &[u8]) -> Event {
        if data.trim_ascii() == b"[DONE]" {
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            return if self.stopped {
                Event::Terminal
            } else {
                Event::Failed(FailureClass::Retryable(ProviderFault::CutStream))
            };
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk>(data) else {
            return Event::Failed(FailureClass::Retryable(ProviderFault::Garbage));
        };
        if let Some(error) = &chunk.error {
            return Event::Failed(class_of(error));
        }
        if let Some(usage) = &chunk.usage {
            self.count(usage);
        }
        let mut content = false;
        for choice in chunk.choices.unwrap_or_default() {
            self.stopped |= choice.finish_reason.0;
            content |= choice.finish_reason.0;
            content |= choice.delta.is_some_and(|delta| self.take(&delta));
        }
        if content { Event::Content } else { Event::Start }
    }

    /// Takes a delta; whether it says anything.
    fn take(&mut self, delta: &Delta) -> bool {
        let calls = delta.tool_calls.as_ref().and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let arguments = self
                .calls
                .entry(call["index"].as_u64().unwrap_or_default())
                .or_default();
            arguments.push(call["function"]["arguments"].as_str().unwrap_or_default());
            self.text_is_last = false;
        }
        if delta.content.0 {
            self.has_text = true;
            self.text_is_last = true;
        }
        let calls = calls.is_some_and(|calls| !calls.is_empty());
        calls || delta.content.0 || delta.reasoning_content.0 || delta.reasoning.0 || delta.refusal.0
    }

    pub(super) const fn usage(&self) -> Option<TokenUsage> {
        self.usage
    }

    pub(super) fn healed_end(&self) -> Option<String> {
        if self.stopped {
            return Some("data: [DONE]\n\n".to_owned());
        }
        let whole = !self.calls.is_empty() && self.calls.values().all(Arguments::are_whole);
        (whole && !self.text_is_last).then(|| end("tool_calls"))
    }

    pub(super) fn shortened_end(&self) -> Option<String> {
        // Half a call cannot be run.
        let calls_are_whole = self.calls.values().all(Arguments::are_whole);
        (self.has_text && calls_are_whole).then(|| end("length"))
    }

    /// The last usage counts. In it the prompt contains what the cache served, and the completion contains the
    /// reasoning; our kinds do not overlap.
    fn count(&mut self, usage: &Usage) {
        let details = usage.prompt_tokens_details.as_ref();
        let cache_read = details.and_then(|details| details.cached_tokens).unwrap_or_default();
        let cache_write = details
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or_default();
        let details = usage.completion_tokens_details.as_ref();
        let reasoning = details.and_then(|details| details.reasoning_tokens).unwrap_or_default();
        self.usage = Some(TokenUsage {
            input: usage
                .prompt_tokens
                .unwrap_or_default()
                .saturating_sub(cache_read)
                .saturating_sub(cache_write),
            output: usage.completion_tokens.unwrap_or_default().saturating_sub(reasoning),
            reasoning,
            cache_read,
            cache_write,
        });
    }
}

/// The end of an answer for this reason.
fn end(reason: &str) -> String {
    let chunk = json!({"object": "chat.completion.chunk",
                       "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}
