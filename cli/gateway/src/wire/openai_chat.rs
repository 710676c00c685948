//! `OpenAI` Chat Completions: reading the stream.

use std::collections::BTreeMap;

use conclave_resilience::classify::ProviderFault;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Event, Seen, StopReason, StrayCall, StreamReader,
    arguments::Arguments,
    grow,
    openai::{InputDetails, OutputDetails, class_of, token_usage},
    stray_call,
};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    stopped: bool,
    /// The tool calls by their index.
    calls: BTreeMap<u64, Arguments>,
    /// Those of tools that no reviewer has.
    stray: BTreeMap<u64, StrayCall>,
    /// The model has refused, in a field of its own.
    refused: bool,
    /// Where the text stands among the pieces of calls.
    text: Text,
    /// The frame that goes in the place of the last one.
    rewritten: String,
}

/// Where an answer's text stands among the pieces of its calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    /// There is none.
    #[default]
    None,
    /// A piece of a call came after it.
    BeforeCall,
    Last,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    tool_calls: Option<Value>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
}

/// Returns whether a value says anything: not null, not an empty text, list or object. Providers differ in the types that
/// they put here, and only this matters.
fn says_anything(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| match value.get().as_bytes() {
        [b'[' | b'{', inner @ .., _] => !inner.trim_ascii().is_empty(),
        text => text != b"null" && text != b"\"\"",
    })
}

/// What a reason of a stop means. The first words are the format's; others that say the same come from compatible
/// endpoints.
fn stop_reason(reason: &RawValue) -> StopReason {
    match serde_json::from_str::<&str>(reason.get()).unwrap_or_default() {
        "stop" | "length" | "tool_calls" | "function_call" | "content_filter" => StopReason::Known,
        "eos" | "end_turn" | "stop_sequence" | "STOP" | "COMPLETE" => StopReason::Ended,
        // `pause`, `abort`, `error`, `insufficient_system_resource`, numbers, objects.
        _ => StopReason::NotWhole,
    }
}

impl StreamReader for Reader {
    fn read(&mut self, data: &[u8]) -> Event {
        if data.trim_ascii() == b"[DONE]" {
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            return if self.stopped {
                Event::Terminal
            } else {
                Event::Failed(ProviderFault::CutStream.into())
            };
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
            return Event::Failed(ProviderFault::Garbage.into());
        };
        if let Some(error) = &chunk.error {
            return Event::Failed(class_of(error));
        }
        // The last one counts.
        if let Some(usage) = chunk.usage {
            let input = (usage.prompt_tokens, usage.prompt_tokens_details);
            self.seen.usage = Some(token_usage(
                input,
                (usage.completion_tokens, usage.completion_tokens_details),
            ));
        }
        let mut content = false;
        let mut is_reworded = false;
        for choice in chunk.choices.unwrap_or_default() {
            content |= choice.delta.is_some_and(|delta| self.take(&delta));
            let Some(reason) = choice.finish_reason.filter(|reason| says_anything(Some(reason))) else {
                continue;
            };
            (self.stopped, content) = (true, true);
            self.seen
                .stray_calls
                .extend(std::mem::take(&mut self.stray).into_values());
            is_reworded |= self.told(reason).is_some();
        }
        if is_reworded {
            self.rewritten = self.reworded(data);
            return Event::Reworded;
        }
        if content { Event::Content } else { Event::Start }
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn rewritten(&mut self) -> String {
        std::mem::take(&mut self.rewritten)
    }

    fn healed_end(&self) -> Option<String> {
        if self.stopped {
            return Some("data: [DONE]\n\n".to_owned());
        }
        let whole = !self.calls.is_empty() && self.calls.values().all(Arguments::are_whole);
        (whole && self.text != Text::Last).then(|| end("tool_calls"))
    }

    fn shortened_end(&self) -> Option<String> {
        // Half a call cannot be run.
        let calls_are_whole = self.calls.values().all(Arguments::are_whole);
        (self.text != Text::None && calls_are_whole).then(|| end("length"))
    }
}

impl Reader {
    /// The reason of the stop to tell the runtime, if it is not the provider's own.
    fn told(&self, reason: &RawValue) -> Option<&'static str> {
        let word = serde_json::from_str::<&str>(reason.get()).unwrap_or_default();
        match stop_reason(reason) {
            // A stop for calls without any: what the model was about to do is missing.
            StopReason::Known if matches!(word, "tool_calls" | "function_call") && self.calls.is_empty() => {
                Some("length")
            }
            // What was refused was not answered, whatever stands beside it.
            StopReason::Known | StopReason::Ended if self.refused && !matches!(word, "length" | "tool_calls") => {
                Some("content_filter")
            }
            StopReason::Known => None,
            StopReason::Ended => Some("stop"),
            StopReason::NotWhole => Some("length"),
        }
    }

    /// The chunk with reasons of a stop that every runtime knows.
    fn reworded(&self, data: &[u8]) -> String {
        let mut chunk: Value = serde_json::from_slice(data).unwrap_or_default();
        for choice in chunk["choices"].as_array_mut().into_iter().flatten() {
            let reason = choice.get("finish_reason").map(Value::to_string).unwrap_or_default();
            let reason = RawValue::from_string(reason)
                .ok()
                .filter(|reason| says_anything(Some(reason)));
            if let Some(told) = reason.and_then(|reason| self.told(&reason)) {
                choice["finish_reason"] = json!(told);
            }
        }
        format!("data: {chunk}\n\n")
    }

    /// Takes a delta and returns whether it says anything.
    fn take(&mut self, delta: &Delta<'_>) -> bool {
        let calls = delta.tool_calls.as_ref().and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default();
            let piece = call["function"]["arguments"].as_str().unwrap_or_default();
            if let Some(stray) = stray_call(call["function"]["name"].as_str().unwrap_or_default()) {
                self.stray.entry(index).or_insert(stray);
            }
            if let Some(stray) = self.stray.get_mut(&index) {
                grow(stray, piece);
            }
            self.calls.entry(index).or_default().push(piece);
            if self.text == Text::Last {
                self.text = Text::BeforeCall;
            }
        }
        let has_content = says_anything(delta.content);
        if has_content {
            self.text = Text::Last;
        }
        let calls = calls.is_some_and(|calls| !calls.is_empty());
        self.refused |= says_anything(delta.refusal);
        let others = [delta.reasoning_content, delta.reasoning, delta.refusal];
        calls || has_content || others.into_iter().any(says_anything)
    }
}

/// The end of an answer for this reason.
fn end(reason: &str) -> String {
    let chunk = json!({"object": "chat.completion.chunk",
                       "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}
