//! Anthropic Messages: reading the stream.

use std::borrow::Cow;

use conclave_resilience::classify::{ProviderFault, classify_event};
use memchr::memchr2;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Event, Seen, StopReason, StrayCall, StreamReader, grow, stray_call};

const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    stopped: bool,
    /// The block that was started and is not stopped.
    open: Option<Open>,
    calls: u32,
    has_text: bool,
    open_signature: String,
    /// The open call, if no reviewer has its tool.
    stray: Option<StrayCall>,
    /// The frame that goes in the place of the last one.
    rewritten: String,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    index: u64,
    is_text: bool,
    is_call: bool,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: Option<u64>,
    message: Option<Message>,
    usage: Option<Usage>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    error: Option<ErrorDetail<'a>>,
}

#[derive(Deserialize)]
struct Message {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

/// Details of an answer's tokens.
#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    /// The arguments, where they do not come in pieces.
    #[serde(default)]
    input: Value,
}

#[derive(Deserialize)]
struct ErrorDetail<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

/// Returns whether this is a piece of text, thinking or arguments, written as Anthropic writes it. Nearly all of a stream
/// is: to find the end of one string is several times faster than to parse the event, which is done with everything else.
fn is_plain_delta(data: &[u8]) -> bool {
    const KINDS: [&[u8]; 3] = [
        b"text_delta\",\"text\":\"",
        b"thinking_delta\",\"thinking\":\"",
        b"input_json_delta\",\"partial_json\":\"",
    ];
    let Some(rest) = data.strip_prefix(b"{\"type\":\"content_block_delta\",\"index\":") else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let Some(rest) = rest[digits..].strip_prefix(b",\"delta\":{\"type\":\"") else {
        return false;
    };
    let Some(mut text) = KINDS.iter().find_map(|kind| rest.strip_prefix(*kind)) else {
        return false;
    };
    while let Some(at) = memchr2(b'"', b'\\', text) {
        if text[at] == b'"' {
            return digits > 0 && &text[at + 1..] == b"}}";
        }
        text = text.get(at + 2..).unwrap_or_default();
    }
    false
}

/// What a reason of a stop means. The words are those of Anthropic's reference of the Messages API, and `OpenAI`'s, which
/// compatible endpoints mix in.
fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" | "tool_use" | "max_tokens" | "refusal" => StopReason::Known,
        "stop" => StopReason::Ended,
        // `pause_turn` and `model_context_window_exceeded` among them.
        _ => StopReason::NotWhole,
    }
}

impl StreamReader for Reader {
    fn read(&mut self, data: &[u8]) -> Event {
        if self.stray.is_none() && is_plain_delta(data) {
            return Event::Content;
        }
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(data) else {
            return Event::Failed(ProviderFault::Garbage.into());
        };
        match incoming.kind.as_ref() {
            "message_start" => {
                self.count(incoming.message.and_then(|message| message.usage).as_ref());
                Event::Start
            }
            "content_block_start" => {
                if let Some(block) = incoming.content_block {
                    let is_text = block.kind == "text";
                    self.has_text |= is_text;
                    self.open = Some(Open {
                        index: incoming.index.unwrap_or_default(),
                        is_text,
                        is_call: block.kind == "tool_use",
                    });
                    self.stray = (block.kind == "tool_use").then(|| stray_call(&block.name)).flatten();
                    let given = block.input.as_object().filter(|input| !input.is_empty());
                    if let (Some(stray), Some(_)) = (&mut self.stray, given) {
                        grow(stray, &block.input.to_string());
                    }
                    self.seen.signatures.extend(block.data.map(Cow::into_owned));
                }
                Event::Content
            }
            "content_block_delta" => {
                if let Some(delta) = incoming.delta {
                    self.open_signature.push_str(&delta.signature.unwrap_or_default());
                    if let (Some(stray), Some(piece)) = (&mut self.stray, delta.partial_json) {
                        grow(stray, &piece);
                    }
                }
                Event::Content
            }
            "content_block_stop" => {
                self.calls += u32::from(self.open.take().is_some_and(|open| open.is_call));
                self.seen.stray_calls.extend(self.stray.take());
                if !self.open_signature.is_empty() {
                    self.seen.signatures.push(std::mem::take(&mut self.open_signature));
                }
                Event::Content
            }
            "message_delta" => {
                self.count(incoming.usage.as_ref());
                let reason = incoming.delta.and_then(|delta| delta.stop_reason);
                self.stopped |= reason.is_some();
                self.seen.stray_calls.extend(self.stray.take());
                let told = match reason.as_deref().map_or(StopReason::Known, stop_reason) {
                    // A stop for calls without a whole one: what the model was about to do is missing.
                    StopReason::Known if reason.as_deref() == Some("tool_use") && self.calls == 0 => "max_tokens",
                    StopReason::Known => return Event::Content,
                    StopReason::Ended => "end_turn",
                    StopReason::NotWhole => "max_tokens",
                };
                let mut data: Value = serde_json::from_slice(data).unwrap_or_default();
                data["delta"]["stop_reason"] = json!(told);
                self.rewritten = format!("event: message_delta\ndata: {data}\n\n");
                Event::Reworded
            }
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            "message_stop" if self.stopped => Event::Terminal,
            "message_stop" => Event::Failed(ProviderFault::CutStream.into()),
            "error" => Event::Failed(incoming.error.map_or(ProviderFault::ServerError.into(), |error| {
                classify_event(&error.kind, &error.message)
            })),
            "ping" => Event::Start,
            _ => {
                self.seen.unknown_events += 1;
                Event::Start
            }
        }
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn rewritten(&mut self) -> String {
        std::mem::take(&mut self.rewritten)
    }

    fn healed_end(&self) -> Option<String> {
        if self.stopped {
            return Some(STOP.to_owned());
        }
        (self.calls > 0 && self.open.is_none()).then(|| self.end("tool_use"))
    }

    fn shortened_end(&self) -> Option<String> {
        let close = match self.open {
            None => String::new(),
            Some(open) if open.is_text => {
                let stop = json!({"type": "content_block_stop", "index": open.index});
                format!("event: content_block_stop\ndata: {stop}\n\n")
            }
            // Half a call cannot be run, and half a thought cannot be sent back.
            Some(_) => return None,
        };
        self.has_text.then(|| close + &self.end("max_tokens"))
    }
}

impl Reader {
    /// The end of an answer for this reason.
    fn end(&self, reason: &str) -> String {
        let usage = self.seen.usage.unwrap_or_default();
        let output = usage.output + usage.reasoning;
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
                           "usage": {"output_tokens": output}});
        format!("event: message_delta\ndata: {delta}\n\n{STOP}")
    }

    /// Counts are cumulative: a later one replaces an earlier one.
    fn count(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let known = self.seen.usage.get_or_insert_default();
        let set = |kind: &mut u64, told: Option<u64>| *kind = told.unwrap_or(*kind);
        set(&mut known.input, usage.input_tokens);
        let thinking = usage
            .output_tokens_details
            .as_ref()
            .and_then(|details| details.thinking_tokens);
        // The answer's tokens contain those of its thinking.
        let written = usage.output_tokens.unwrap_or(known.output + known.reasoning);
        set(&mut known.reasoning, thinking);
        known.reasoning = known.reasoning.min(written);
        known.output = written - known.reasoning;
        set(&mut known.cache_write, usage.cache_creation_input_tokens);
        set(&mut known.cache_read, usage.cache_read_input_tokens);
    }
}
