//! `OpenAI` Chat Completions: reading the stream.

use std::{borrow::Cow, collections::BTreeMap};

use conclave_engine::ports::StrayCall;
use conclave_resilience::classify::{FailureClass, ProviderFault};
use memchr::memmem;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Carried, Event, GARBAGE, Seen, StopReason, StreamReader,
    arguments::Arguments,
    carried::Place,
    counts::write_plainly,
    failure::{failed, failed_event, is_aside},
    openai::take_counts,
    openai_chunk::{Chunk, Delta, says_anything, shown_otherwise},
    seen::{grow, is_whole, stray_call},
    words::written,
};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    stopped: bool,
    /// The reason for which the answer is not whole, as it was sent to the runtime.
    not_whole: Option<&'static str>,
    /// The tool calls by their index.
    calls: BTreeMap<u64, Arguments>,
    /// The ids of the latest calls by their index.
    ids: BTreeMap<u64, String>,
    /// Those of tools that no reviewer has.
    stray: BTreeMap<u64, StrayCall>,
    /// The model has refused, in a field of its own.
    refused: bool,
    /// Where the text stands among the pieces of calls.
    text: Text,
    /// The fields beside text and calls that go back.
    carried: Carried,
    /// The places of the pieces of calls in the chunk that was read last.
    places: Vec<Option<Place>>,
    /// The thought in it, where it stands in a form that not every runtime reads.
    thought: String,
}

/// The reasons of a stop of an answer that is not whole.
const NOT_WHOLE: [&str; 2] = ["length", "content_filter"];

/// A piece of an answer that cannot be read.
struct Unreadable;

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

/// Result of taking a delta.
struct Taken {
    says: bool,
    /// Every runtime reads it as it is.
    is_plain: bool,
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
        let Some(data) = with_tool_calls(data) else {
            return self.read_chunk(data);
        };
        let event = self.read_chunk(data.as_bytes());
        self.seen.rewritten.get_or_insert_with(|| format!("data: {data}\n\n"));
        event
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn carried(&mut self) -> Option<Carried> {
        Some(std::mem::take(&mut self.carried))
    }

    fn broke_off(&mut self) {
        let calls = std::mem::take(&mut self.stray).into_values();
        self.seen.called(calls.filter(is_whole));
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
    /// Reads a chunk whose calls are those of tools.
    fn read_chunk(&mut self, data: &[u8]) -> Event {
        if data.trim_ascii() == b"[DONE]" {
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            return if self.stopped {
                Event::Terminal
            } else {
                Event::Failed(ProviderFault::CutStream.into())
            };
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
            return GARBAGE;
        };
        if let Some(class) = self.failure_of(&chunk, data) {
            return Event::Failed(class);
        }
        self.places.clear();
        self.thought.clear();
        let mut is_changed = chunk.usage.is_some_and(|usage| self.count(usage));
        let mut content = false;
        for (place, choice) in chunk.choices.unwrap_or_default().into_iter().enumerate() {
            let Some(delta) = Delta::of(&choice) else {
                return GARBAGE;
            };
            let says_more = [choice.text, delta.text].into_iter().any(says_anything);
            // One answer was asked for.
            if says_more || (place > 0 && delta.says_anything()) {
                return GARBAGE;
            }
            match self.take(&delta) {
                Ok(Taken { says, is_plain }) => {
                    content |= says;
                    is_changed |= !is_plain;
                }
                Err(Unreadable) => return GARBAGE,
            }
            if choice.message.is_some_and(|message| self.lacks(message)) {
                return GARBAGE;
            }
            if let Some(denial) = choice.denial().filter(|_| self.not_whole.is_none()) {
                // The end was passed on before.
                if self.stopped {
                    return GARBAGE;
                }
                self.not_whole = Some(denial);
            }
            let Some(reason) = choice.finish_reason.filter(|reason| says_anything(Some(reason))) else {
                continue;
            };
            self.seen.progress(usize::from(!self.stopped));
            (self.stopped, content) = (true, true);
            self.seen.called(std::mem::take(&mut self.stray).into_values());
            if stop_reason(reason) == StopReason::NotWhole {
                self.seen.stopped_oddly(reason.get().trim_matches('"'));
            }
            let told = self.told(reason);
            is_changed |= told.is_some();
            let word = told.or_else(|| serde_json::from_str(reason.get()).ok());
            let word = word.and_then(|word| NOT_WHOLE.into_iter().find(|known| *known == word));
            self.not_whole = self.not_whole.or(word);
        }
        if is_changed {
            self.seen.rewritten = Some(self.reworded(data));
        }
        if content { Event::Content } else { Event::Start }
    }

    /// The class of the failure that a chunk reports.
    fn failure_of(&mut self, chunk: &Chunk<'_>, data: &[u8]) -> Option<FailureClass> {
        let choices = chunk.choices.iter().flatten();
        let mut errors = choices.filter_map(|choice| choice.error.filter(|error| says_anything(Some(error))));
        if let Some(error) = errors.next() {
            let error = serde_json::from_str(error.get()).unwrap_or_default();
            return Some(failed(&mut self.seen, &error));
        }
        let is_error = chunk.error.is_some() || chunk.object.is_some_and(|object| object.get() == "\"error\"");
        if !is_error && chunk.choices.is_some() {
            return None;
        }
        let event: Value = serde_json::from_slice(data).unwrap_or_default();
        (is_error || !is_aside(&event)).then(|| failed_event(&mut self.seen, &event))
    }

    /// The reason of the stop to tell the runtime, if it is not the provider's own.
    fn told(&self, reason: &RawValue) -> Option<&'static str> {
        let word = serde_json::from_str::<&str>(reason.get()).unwrap_or_default();
        // Runtimes take the last reason, and some endpoints end every answer with one of their own. That it is not whole is not
        // taken back.
        if let Some(known) = self.not_whole {
            return (word != known).then_some(known);
        }
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

    /// Takes the counts over, of which the last ones count. Returns whether they are written in another way than runtimes read.
    fn count(&mut self, usage: &RawValue) -> bool {
        let Ok(mut usage) = serde_json::from_str::<Value>(usage.get()) else {
            return true;
        };
        take_counts(&mut self.seen, &usage, "prompt_tokens", "completion_tokens");
        write_plainly(&mut usage, &[])
    }

    /// The chunk as every runtime reads it: with reasons of a stop that it knows, texts that are strings, calls that have an id and
    /// a place, and plain counts.
    fn reworded(&self, data: &[u8]) -> String {
        let mut chunk: Value = serde_json::from_slice(data).unwrap_or_default();
        let (mut places, mut thought) = (self.places.iter(), self.thought.clone());
        for choice in chunk["choices"].as_array_mut().into_iter().flatten() {
            let reason = choice.get("finish_reason").map(Value::to_string).unwrap_or_default();
            let reason = RawValue::from_string(reason)
                .ok()
                .filter(|reason| says_anything(Some(reason)));
            if let Some(told) = reason.and_then(|reason| self.told(&reason)) {
                choice["finish_reason"] = json!(told);
            }
            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                // All of what is said stands in the first choice.
                let thought = std::mem::take(&mut thought);
                if let Some(content) = delta.get_mut("content").filter(|content| !content.is_null())
                    && let Some(text) = written(content).map(|text| text.text.into_owned())
                {
                    *content = json!(text);
                }
                for name in ["reasoning_content", "reasoning"] {
                    if delta
                        .get(name)
                        .is_some_and(|thought| !thought.is_string() && !thought.is_null())
                    {
                        delta.shift_remove(name);
                    }
                }
                if !thought.is_empty() {
                    delta.insert("reasoning_content".to_owned(), json!(thought));
                }
                for call in delta
                    .get_mut("tool_calls")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    if let Some(arguments) = call
                        .pointer_mut("/function/arguments")
                        .filter(|value| value.is_object())
                    {
                        *arguments = json!(arguments.to_string());
                    }
                    if let (Some(Some(place)), Some(call)) = (places.next(), call.as_object_mut()) {
                        put_in_place(call, place);
                    }
                }
            }
        }
        if let Some(usage) = chunk.get_mut("usage").filter(|usage| !usage.is_null()) {
            write_plainly(usage, &[]);
            if usage.as_object().is_some_and(serde_json::Map::is_empty) {
                *usage = Value::Null;
            }
        }
        format!("data: {chunk}\n\n")
    }

    /// Takes a delta and returns whether it says anything, and whether runtimes read it as it is.
    fn take(&mut self, delta: &Delta<'_>) -> Result<Taken, Unreadable> {
        let calls = match &delta.tool_calls {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(calls)) => calls,
            Some(_) => return Err(Unreadable),
        };
        let mut is_plain = true;
        for call in calls {
            is_plain &= self.take_call(call)?;
        }
        let has_content = says_anything(delta.content);
        if let Some(content) = delta.content.filter(|_| has_content) {
            is_plain &= self.take_content(content)?;
        }
        let mut thinks = false;
        for (name, thought) in [
            ("reasoning", delta.reasoning),
            // Where both are there, runtimes take this one.
            ("reasoning_content", delta.reasoning_content),
        ] {
            if let Some(thought) = thought.filter(|thought| says_anything(Some(thought))) {
                thinks = true;
                self.carried.thought_in(name);
                is_plain &= thought.get().starts_with('"');
                self.seen.progress(thought.get().len().saturating_sub(2));
            }
        }
        let details = [
            ("reasoning_details", &delta.reasoning_details),
            ("thinking_blocks", &delta.thinking_blocks),
        ];
        for (name, parts) in details {
            if let Some(parts) = parts {
                self.carried.take_field(name, parts);
            }
        }
        let shown = delta.thought();
        let is_shown = shown.is_some();
        let mut thought = shown.unwrap_or_else(|| shown_otherwise(delta));
        let has_more = !delta.elsewhere.is_empty() && delta.elsewhere != thought;
        if has_more || (!is_shown && !thought.is_empty()) {
            if has_more {
                self.seen.progress(delta.elsewhere.len());
                thought.push_str(&delta.elsewhere);
            } else if !thinks && !has_content {
                self.seen.progress(thought.len());
            }
            (thinks, is_plain) = (true, false);
            self.carried.thought_in_parts();
            self.thought = thought;
        }
        self.refused |= says_anything(delta.refusal);
        self.seen.progress(
            delta
                .refusal
                .filter(|refusal| says_anything(Some(refusal)))
                .map_or(0, |refusal| refusal.get().len()),
        );
        Ok(Taken {
            says: !calls.is_empty() || has_content || thinks || says_anything(delta.refusal),
            is_plain,
        })
    }

    /// Returns whether a whole message has more text than was streamed: runtimes read what is streamed alone.
    fn lacks(&self, message: &RawValue) -> bool {
        let message: Value = serde_json::from_str(message.get()).unwrap_or_default();
        written(&message["content"]).is_none_or(|whole| !self.seen.has_all_of([&*whole.text]))
    }

    fn take_call(&mut self, call: &Value) -> Result<bool, Unreadable> {
        let index = call["index"].as_u64().unwrap_or_default();
        let (name, arguments) = (&call["function"]["name"], &call["function"]["arguments"]);
        let piece = match arguments {
            Value::Null => Cow::Borrowed(""),
            Value::String(piece) => Cow::Borrowed(piece.as_str()),
            // The arguments at once.
            Value::Object(_) => Cow::Owned(arguments.to_string()),
            _ => return Err(Unreadable),
        };
        let name = match name {
            Value::Null => "",
            Value::String(name) => name,
            _ => return Err(Unreadable),
        };
        self.seen.progress(name.len() + piece.len());
        let id = call["id"].as_str().unwrap_or_default();
        let is_whole = self.calls.get(&index).is_some_and(Arguments::are_whole);
        let mut begins = !self.ids.contains_key(&index);
        let known = self.ids.entry(index).or_default();
        let has_another_id = !id.is_empty() && !known.is_empty() && known.as_str() != id;
        if !name.is_empty() && (has_another_id || (is_whole && !piece.trim().is_empty())) {
            // Another call: some providers give all of them the same index.
            self.seen.called(self.stray.remove(&index));
            known.clear();
            begins = true;
        }
        if known.is_empty() {
            id.clone_into(known);
        }
        let place = self.carried.take_call(begins, index, call);
        let is_placed = place.as_ref().is_none_or(|place| is_at(call, place));
        self.places.push(place);
        if let Some(stray) = stray_call(name) {
            self.stray.entry(index).or_insert(stray);
        }
        if let Some(stray) = self.stray.get_mut(&index) {
            grow(stray, &piece);
        }
        self.calls.entry(index).or_default().push(&piece);
        if self.text == Text::Last {
            self.text = Text::BeforeCall;
        }
        Ok(!arguments.is_object() && is_placed)
    }

    fn take_content(&mut self, content: &RawValue) -> Result<bool, Unreadable> {
        let content: Value = serde_json::from_str(content.get()).map_err(|_| Unreadable)?;
        let content = written(&content).ok_or(Unreadable)?;
        if !content.text.is_empty() {
            self.text = Text::Last;
        }
        self.seen.text(&content.text);
        self.seen.progress(content.thought);
        self.refused |= content.refuses;
        Ok(content.is_plain)
    }
}

/// A chunk with a call in the form from before tools, in the newer one; nothing for any other.
fn with_tool_calls(data: &[u8]) -> Option<String> {
    memmem::find(data, b"\"function_call\":")?;
    let mut chunk: Value = serde_json::from_slice(data).ok()?;
    let mut is_changed = false;
    for choice in chunk.get_mut("choices")?.as_array_mut()? {
        let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) else {
            continue;
        };
        let call = delta.shift_remove("function_call").filter(Value::is_object);
        if let Some(call) = call
            && delta.get("tool_calls").is_none_or(Value::is_null)
        {
            delta.insert(
                "tool_calls".to_owned(),
                json!([{"index": 0, "type": "function", "function": call}]),
            );
            is_changed = true;
        }
    }
    is_changed.then(|| chunk.to_string())
}

/// Returns whether a piece of a call stands at its place, with an id of the right type where it needs one.
fn is_at(call: &Value, place: &Place) -> bool {
    let has_type = call["id"].is_null() || call["id"].is_string();
    call["index"].as_u64() == u64::try_from(place.index).ok() && place.id.is_none() && has_type
}

/// Writes the place of a piece of a call into it.
fn put_in_place(call: &mut Map<String, Value>, place: &Place) {
    call.insert("index".to_owned(), json!(place.index));
    if let Some(id) = &place.id {
        call.insert("id".to_owned(), json!(id));
    } else if call.get("id").is_some_and(|id| !id.is_string()) {
        call.shift_remove("id");
    }
}

/// The end of an answer for this reason.
fn end(reason: &str) -> String {
    let chunk = json!({"object": "chat.completion.chunk",
                       "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}
