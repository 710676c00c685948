//! Anthropic Messages: reading the stream.

use conclave_engine::ports::StrayCall;
use conclave_resilience::classify::{ProviderFault, classify_event};
use memchr::memchr2;
use serde_json::{Value, json};

use super::{
    Event, GARBAGE, Seen, StopReason, StreamReader,
    counts::{count, part, write_plainly},
    frame,
    seen::{grow, is_whole, stray_call},
    words::{brings_words, has_words, thoughts, written},
};

const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    stopped: bool,
    /// The reason of the stop, as it was sent to the runtime.
    told: Option<String>,
    /// The block that was started and is not stopped.
    open: Option<Open>,
    calls: u32,
    has_text: bool,
    open_signature: String,
    /// The open call, if no reviewer has its tool.
    stray: Option<StrayCall>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    index: u64,
    kind: Kind,
}

/// A kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
    Other,
    /// Its beginning does not say; its first piece does.
    Untold,
}

impl Kind {
    fn of_block(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "tool_use" => Self::Call,
            "" => Self::Untold,
            _ => Self::Other,
        }
    }
}

/// A piece of text, thinking or arguments, written as Anthropic writes it. Nearly all of a stream is: to find the end of one string
/// is several times faster than to parse the event, which is done with everything else.
struct PlainDelta<'d> {
    index: u64,
    kind: Kind,
    /// The string, with its quotes.
    quoted: &'d [u8],
}

impl<'d> PlainDelta<'d> {
    fn of(data: &'d [u8]) -> Option<Self> {
        const KINDS: [(&[u8], Kind); 3] = [
            (b"text_delta\",\"text\":", Kind::Text),
            (b"thinking_delta\",\"thinking\":", Kind::Thinking),
            (b"input_json_delta\",\"partial_json\":", Kind::Call),
        ];
        let rest = data.strip_prefix(b"{\"type\":\"content_block_delta\",\"index\":")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let index = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let rest = rest[digits..].strip_prefix(b",\"delta\":{\"type\":\"")?;
        let (quoted, kind) = KINDS
            .iter()
            .find_map(|(beginning, kind)| Some((rest.strip_prefix(*beginning)?, *kind)))?;
        let mut at = usize::from(quoted.first() == Some(&b'"'));
        if at == 0 {
            return None;
        }
        loop {
            at += memchr2(b'"', b'\\', quoted.get(at..)?)?;
            if quoted[at] == b'"' {
                let quoted = (&quoted[at + 1..] == b"}}").then(|| &quoted[..=at])?;
                return Some(Self { index, kind, quoted });
            }
            at += 2;
        }
    }

    /// The string; `None` if it is not one of JSON.
    fn text(&self) -> Option<std::borrow::Cow<'d, str>> {
        let inner = &self.quoted[1..self.quoted.len() - 1];
        if inner.iter().all(|byte| *byte >= b' ' && *byte != b'\\') {
            return std::str::from_utf8(inner).ok().map(Into::into);
        }
        serde_json::from_slice::<String>(self.quoted).ok().map(Into::into)
    }
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
        if let Some(delta) = PlainDelta::of(data) {
            let text = delta.text().filter(|_| self.is_at_home(delta.index, delta.kind));
            let Some(text) = text else { return GARBAGE };
            self.take(delta.kind, &text);
            return Event::Content;
        }
        match serde_json::from_slice::<Value>(data) {
            Ok(event) if event["type"].is_string() => self.read_event(event),
            _ => GARBAGE,
        }
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn broke_off(&mut self) {
        self.seen.called(self.stray.take().filter(is_whole));
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
            Some(open) if open.kind == Kind::Text => frame(&json!({"type": "content_block_stop", "index": open.index})),
            // Half a call cannot be run, and half a thought cannot be sent back.
            Some(_) => return None,
        };
        self.has_text.then(|| close + &self.end("max_tokens"))
    }
}

impl Reader {
    fn read_event(&mut self, mut event: Value) -> Event {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                // No runtime reads a content there.
                if is_odd(&event["message"]) || has_words(&event["message"]["content"]) {
                    return GARBAGE;
                }
                self.count(&event["message"]["usage"]);
                let usage = &mut event["message"]["usage"];
                if write_plainly(usage, &["input_tokens", "output_tokens"]) {
                    self.seen.rewritten = Some(frame(&event));
                }
                Event::Start
            }
            "content_block_start" => self.start_block(event),
            "content_block_delta" => self.read_delta(event),
            "content_block_stop" => {
                let open = self.open.take();
                self.calls += u32::from(open.is_some_and(|open| open.kind == Kind::Call));
                self.seen.called(self.stray.take());
                if !self.open_signature.is_empty() {
                    self.seen.signatures.push(std::mem::take(&mut self.open_signature));
                }
                Event::Content
            }
            "message_delta" => self.read_stop(event),
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            "message_stop" if self.stopped => Event::Terminal,
            "message_stop" => Event::Failed(ProviderFault::CutStream.into()),
            "error" if event["error"].is_object() => {
                let text = |name: &str| event["error"][name].as_str().unwrap_or_default();
                text("message").clone_into(&mut self.seen.failure);
                Event::Failed(classify_event(text("type"), text("message")))
            }
            "error" => Event::Failed(ProviderFault::ServerError.into()),
            "ping" => Event::Start,
            _ if brings_words(&event) => GARBAGE,
            _ => {
                self.seen.unknown_events += 1;
                Event::Start
            }
        }
    }

    /// Returns whether a piece of this kind belongs to the open block. One that was never opened says by itself what it is.
    fn is_at_home(&self, index: u64, kind: Kind) -> bool {
        self.open
            .is_none_or(|open| open.index != index || [kind, Kind::Untold].contains(&open.kind))
    }

    /// Takes a piece of a block.
    fn take(&mut self, kind: Kind, piece: &str) {
        match kind {
            Kind::Text => {
                self.has_text |= !piece.is_empty();
                self.seen.text(piece);
            }
            _ => self.seen.progress(piece.len()),
        }
        if let (Some(stray), Kind::Call) = (&mut self.stray, kind) {
            grow(stray, piece);
        }
    }

    fn start_block(&mut self, mut event: Value) -> Event {
        if is_odd(&event["content_block"]) {
            return GARBAGE;
        }
        let (index, block) = (event["index"].as_u64().unwrap_or_default(), &event["content_block"]);
        let name = block["type"].as_str().unwrap_or_default();
        let kind = Kind::of_block(name);
        self.stray = None;
        match kind {
            Kind::Text => {
                let Some(text) = written(&block["text"]).filter(|text| !text.refuses) else {
                    return GARBAGE;
                };
                let (text, is_plain) = (text.text.into_owned(), text.is_plain && block["text"].is_string());
                self.has_text = true;
                self.seen.begin_text();
                self.seen.text(&text);
                // Some runtimes read the pieces alone.
                if !text.is_empty() || !is_plain {
                    event["content_block"]["text"] = json!("");
                    let piece = json!({"type": "content_block_delta", "index": index,
                                       "delta": {"type": "text_delta", "text": text}});
                    self.seen.rewritten = Some(frame(&event) + &frame(&piece));
                }
            }
            Kind::Thinking => {
                let (thought, signature) = (thoughts(&block["thinking"]), thoughts(&block["signature"]));
                self.seen.progress(thought.len() + signature.len());
                self.open_signature.push_str(&signature);
                // Some runtimes read the pieces alone, here too.
                let pieces = [
                    ("thinking", "thinking_delta", thought),
                    ("signature", "signature_delta", signature),
                ];
                let mut frames = String::new();
                for (field, kind, text) in pieces.into_iter().filter(|(_, _, text)| !text.is_empty()) {
                    event["content_block"][field] = json!("");
                    let piece =
                        json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}});
                    frames.push_str(&frame(&piece));
                }
                self.seen.rewritten = (!frames.is_empty()).then(|| frame(&event) + &frames);
            }
            Kind::Call => {
                let name = block["name"].as_str().unwrap_or_default();
                self.seen.progress(name.len());
                self.stray = stray_call(name);
                let given = block["input"].as_object().filter(|input| !input.is_empty());
                if let (Some(stray), Some(_)) = (&mut self.stray, given) {
                    grow(stray, &block["input"].to_string());
                }
                if block["id"].as_str().is_none_or(str::is_empty) {
                    event["content_block"]["id"] = json!(format!("call_{}", self.calls));
                    self.seen.rewritten = Some(frame(&event));
                }
            }
            Kind::Other if name == "redacted_thinking" => {
                let data = block["data"].as_str().unwrap_or_default();
                self.seen.progress(data.len());
            }
            Kind::Other | Kind::Untold if has_words(block) => return GARBAGE,
            Kind::Untold => {}
            Kind::Other => self.seen.unknown_events += 1,
        }
        let signed = event["content_block"]["data"].as_str().map(str::to_owned);
        self.seen.signatures.extend(signed);
        self.open = Some(Open { index, kind });
        Event::Content
    }

    fn read_delta(&mut self, mut event: Value) -> Event {
        if is_odd(&event["delta"]) {
            return GARBAGE;
        }
        let (index, delta) = (event["index"].as_u64().unwrap_or_default(), &event["delta"]);
        let (kind, field) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => (Kind::Text, "text"),
            "thinking_delta" => (Kind::Thinking, "thinking"),
            "input_json_delta" => (Kind::Call, "partial_json"),
            "signature_delta" => {
                let Some(signature) = delta["signature"].as_str() else {
                    return GARBAGE;
                };
                self.seen.progress(signature.len());
                self.open_signature.push_str(signature);
                return Event::Content;
            }
            // What was cited is not said.
            "citations_delta" => return Event::Content,
            _ if has_words(delta) => return GARBAGE,
            _ => {
                self.seen.unknown_events += 1;
                return Event::Start;
            }
        };
        let piece = match &delta[field] {
            // The arguments at once.
            Value::Object(_) if kind == Kind::Call => Some((delta[field].to_string(), false)),
            value => written(value)
                .filter(|text| !text.refuses)
                .map(|text| (text.text.into_owned(), value.is_string())),
        };
        let Some((piece, is_plain)) = piece.filter(|_| self.is_at_home(index, kind)) else {
            return GARBAGE;
        };
        self.take(kind, &piece);
        if !is_plain {
            event["delta"][field] = json!(piece);
            self.seen.rewritten = Some(frame(&event));
        }
        Event::Content
    }

    fn read_stop(&mut self, mut event: Value) -> Event {
        if is_odd(&event["delta"]) {
            return GARBAGE;
        }
        self.count(&event["usage"]);
        self.seen.counted.answer |= count(&event["usage"]["output_tokens"]).is_some();
        let mut is_changed = write_plainly(&mut event["usage"], &["output_tokens"]);
        let reason = &event["delta"]["stop_reason"];
        if !reason.is_null() {
            self.seen.progress(usize::from(!self.stopped));
            self.stopped = true;
        }
        self.seen.called(self.stray.take());
        if let Value::String(word) = reason
            && stop_reason(word) == StopReason::NotWhole
        {
            self.seen.stopped_oddly(word);
        }
        let told = match reason {
            Value::Null => None,
            Value::String(word) => Some(match stop_reason(word) {
                // A stop for calls without a whole one: what the model was about to do is missing.
                StopReason::Known if word == "tool_use" && self.calls == 0 => "max_tokens",
                StopReason::Known => word.as_str(),
                StopReason::Ended => "end_turn",
                StopReason::NotWhole => "max_tokens",
            }),
            _ => Some("max_tokens"),
        };
        // Runtimes take the last event's word, also where it has none: some endpoints tell the counts in an event of their own
        // behind the reason. That an answer is not whole is not taken back.
        let known = self.told.as_deref();
        let known = known.filter(|known| told.is_none() || ["max_tokens", "refusal"].contains(known));
        self.told = known.or(told).map(str::to_owned);
        if let Some(told) = self.told.as_deref().filter(|told| *reason != **told) {
            event["delta"]["stop_reason"] = json!(told);
            is_changed = true;
        }
        if is_changed {
            self.seen.rewritten = Some(frame(&event));
        }
        Event::Content
    }

    /// The end of an answer for this reason.
    fn end(&self, reason: &str) -> String {
        let usage = self.seen.usage.unwrap_or_default();
        let output = usage.output + usage.reasoning;
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
                           "usage": {"output_tokens": output}});
        frame(&delta) + STOP
    }

    /// Counts are cumulative: a later one replaces an earlier one. What an answer uses is known with its end.
    fn count(&mut self, usage: &Value) {
        let Some(fields) = usage.as_object().filter(|fields| !fields.is_empty()) else {
            return;
        };
        let told = |name: &str| fields.get(name).and_then(count);
        let known = self.seen.usage.get_or_insert_default();
        let set = |kind: &mut u64, told: Option<u64>| *kind = told.unwrap_or(*kind);
        set(&mut known.input, told("input_tokens"));
        // The answer's tokens contain those of its thinking.
        let written = told("output_tokens").unwrap_or(known.output + known.reasoning);
        set(
            &mut known.reasoning,
            count(&usage["output_tokens_details"]["thinking_tokens"]),
        );
        known.reasoning = known.reasoning.min(written);
        known.output = written - known.reasoning;
        set(&mut known.cache_write, told("cache_creation_input_tokens"));
        set(&mut known.cache_read, told("cache_read_input_tokens"));
        let of_cache = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        let can_be_true = of_cache.iter().all(|name| part(&usage[*name]).is_some());
        let is_told = self.seen.counted.prompt || told("input_tokens").is_some();
        self.seen.counted.prompt = is_told && can_be_true;
    }
}

/// The facts about an answer in one piece that says this of its usage.
pub(super) fn counted(usage: &Value) -> Seen {
    let mut reader = Reader::default();
    reader.count(usage);
    reader.seen.counted.answer = count(&usage["output_tokens"]).is_some();
    reader.seen
}

/// Returns whether a value stands where the format has an object, and is neither that nor missing.
fn is_odd(value: &Value) -> bool {
    !value.is_object() && !value.is_null()
}
