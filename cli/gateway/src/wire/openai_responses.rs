//! `OpenAI` Responses: reading the stream.

use conclave_engine::ports::StrayCall;
use conclave_resilience::classify::ProviderFault;
use serde_json::{Value, json};

use super::{
    Event, GARBAGE, Seen, StreamReader,
    counts::write_plainly,
    failure::{failed, failed_event},
    frame,
    openai::take_counts,
    seen::{dense_len, grow, is_whole, stray_call},
    words::{brings_words, has_words, written},
};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    /// The items that were added and are not done. Some endpoints give several of them the same place.
    open: Vec<Open>,
    calls: u32,
    has_text: bool,
    stopped: Option<Stopped>,
    /// The last message says that it is not whole.
    message_is_incomplete: bool,
    /// The model has refused, in a part of its own.
    refused: bool,
    /// Length of the text that was streamed of items that were not added, without white space.
    said_elsewhere: usize,
    /// The texts of parts that have ended without a piece of them.
    untold: Vec<String>,
}

#[derive(Debug, Default)]
struct Open {
    id: String,
    /// Its place in the output.
    place: u64,
    is_message: bool,
    /// Length of the text that was streamed of it, without white space.
    said: usize,
    /// The call, if no reviewer has its tool.
    stray: Option<StrayCall>,
}

/// The end of the response, as far as it was reported.
#[derive(Debug, Clone, Copy)]
enum Stopped {
    Completed,
    Incomplete,
    Refused,
}

/// Returns whether an event holds words of a refusal.
fn refuses(event: &Value) -> bool {
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let is_refusal = |part: &Value| part["type"] == "refusal" && says(&part["refusal"]);
    let of_item = || {
        event["item"]["content"]
            .as_array()
            .into_iter()
            .flatten()
            .any(is_refusal)
    };
    let is_told = event["type"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("response.refusal."))
        && (says(&event["delta"]) || says(&event["refusal"]));
    is_told || is_refusal(&event["part"]) || of_item()
}

impl StreamReader for Reader {
    fn read(&mut self, data: &[u8]) -> Event {
        // Some endpoints close the stream as Chat Completions does.
        if data.trim_ascii() == b"[DONE]" {
            return Event::Start;
        }
        match serde_json::from_slice::<Value>(data) {
            Ok(event) if !event["error"].is_null() => Event::Failed(failed_event(&mut self.seen, &event)),
            Ok(event) if event["type"].is_string() => self.read_event(event),
            _ => GARBAGE,
        }
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn broke_off(&mut self) {
        let calls = std::mem::take(&mut self.open).into_iter().filter_map(|open| open.stray);
        self.seen.called(calls.filter(is_whole));
    }

    fn healed_end(&self) -> Option<String> {
        match self.stopped {
            Some(Stopped::Incomplete) => Some(incomplete("max_output_tokens")),
            Some(Stopped::Refused) => Some(incomplete("content_filter")),
            Some(Stopped::Completed) => Some(completed()),
            None => (self.calls > 0 && self.open.is_empty()).then(completed),
        }
    }

    fn shortened_end(&self) -> Option<String> {
        if !self.has_text {
            return None;
        }
        let mut end = String::new();
        for item in &self.open {
            // Half a call cannot be run, and half a thought cannot be sent back.
            if !item.is_message {
                return None;
            }
            let done = json!({"type": "response.output_item.done", "output_index": item.place, "item": {
                "id": item.id, "type": "message", "status": "incomplete", "role": "assistant", "content": []}});
            end.push_str(&frame(&done));
        }
        end.push_str(&incomplete("max_output_tokens"));
        Some(end)
    }
}

impl Reader {
    fn read_event(&mut self, mut event: Value) -> Event {
        let place = event["output_index"].as_u64().unwrap_or_default();
        self.refused |= refuses(&event);
        match event["type"].as_str().unwrap_or_default() {
            "response.created" | "response.in_progress" | "response.queued" => Event::Start,
            "response.output_item.added" => self.add_item(place, &event["item"]),
            "response.output_item.done" => self.end_item(place, event),
            "response.output_text.delta" => {
                let Some(text) = written(&event["delta"]) else {
                    return GARBAGE;
                };
                let (text, is_plain) = (text.text.into_owned(), text.is_plain);
                self.has_text = true;
                self.seen.text(&text);
                *self.said_of(&event, place) += dense_len(&text);
                if !is_plain {
                    event["delta"] = json!(text);
                    self.seen.rewritten = Some(frame(&event));
                }
                Event::Content
            }
            "response.function_call_arguments.delta" => {
                let Some(piece) = event["delta"].as_str() else {
                    return GARBAGE;
                };
                self.seen.progress(piece.len());
                let at = self.position(event["item_id"].as_str().unwrap_or_default(), place, false);
                if let Some(stray) = at.and_then(|at| self.open[at].stray.as_mut()) {
                    grow(stray, piece);
                }
                Event::Content
            }
            "response.content_part.added" if written(&event["part"]).is_none() => GARBAGE,
            "response.content_part.done" => self.end_part(&event, place, &event["part"]),
            "response.output_text.done" => self.end_part(&event, place, &event["text"]),
            "response.completed" => self.complete(&event),
            "response.incomplete" if matches!(self.stopped, Some(Stopped::Completed)) => {
                // It was whole before.
                let reason = event["response"]["incomplete_details"]["reason"].as_str();
                reason.unwrap_or("incomplete").clone_into(&mut self.seen.failure);
                Event::Failed(ProviderFault::CutStream.into())
            }
            "response.incomplete" => self.stop(Stopped::Incomplete, &event["response"]),
            "response.failed" => {
                self.count(&event["response"]);
                Event::Failed(failed(&mut self.seen, &event["response"]["error"]))
            }
            "error" | "response.error" => {
                // The type is that of the event.
                let flat = json!({"code": event["code"], "message": event["message"]});
                Event::Failed(failed(&mut self.seen, &flat))
            }
            kind if is_content(kind) => {
                // What is done repeats what came before.
                if kind.strip_suffix(".delta").is_some() {
                    self.seen.progress(event["delta"].as_str().map_or(0, str::len));
                }
                Event::Content
            }
            _ if brings_words(&event) => GARBAGE,
            _ => {
                self.seen.unknown_events += 1;
                Event::Start
            }
        }
    }

    /// The open item of this id; without one, the latest of the kind at this place.
    fn position(&self, id: &str, place: u64, is_message: bool) -> Option<usize> {
        let named = self.open.iter().rposition(|open| !id.is_empty() && open.id == id);
        named.or_else(|| {
            let is_it = |open: &Open| open.place == place && open.is_message == is_message;
            self.open.iter().rposition(is_it)
        })
    }

    /// The length of the text so far of the item that an event belongs to. Some endpoints leave out either its id or its place.
    fn said_of(&mut self, event: &Value, place: u64) -> &mut usize {
        let id = event["item_id"].as_str().unwrap_or_default();
        match self.position(id, place, true) {
            Some(at) => &mut self.open[at].said,
            None => &mut self.said_elsewhere,
        }
    }

    fn add_item(&mut self, place: u64, item: &Value) -> Event {
        if !item.is_object() {
            return Event::Content;
        }
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        let is_message = text("type") == "message";
        if is_message {
            self.seen.begin_text();
        }
        self.seen.progress(text("name").len());
        // The same item once more.
        let id = text("id");
        let is_it = |open: &Open| (open.id.as_str(), open.place, open.is_message) == (id, place, is_message);
        let known = self.open.iter().position(is_it).map(|at| self.open.remove(at));
        let open = Open {
            id: id.to_owned(),
            place,
            is_message,
            said: 0,
            stray: stray_call(text("name")).filter(|_| text("type") == "function_call"),
        };
        self.said_elsewhere += known.map_or(0, |known| known.said);
        self.open.push(open);
        Event::Content
    }

    fn end_item(&mut self, place: u64, mut event: Value) -> Event {
        let is_message = event["item"]["type"] == "message";
        let at = self.position(event["item"]["id"].as_str().unwrap_or_default(), place, is_message);
        let open = at.map(|at| self.open.remove(at));
        let was_added = open.is_some();
        let mut said = open.map_or(0, |open| open.said);
        if is_message {
            said += std::mem::take(&mut self.said_elsewhere);
        }
        let item = &mut event["item"];
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                let arguments = match &item["arguments"] {
                    Value::Null => String::new(),
                    Value::String(arguments) => arguments.clone(),
                    // The arguments as an object.
                    arguments @ Value::Object(_) => {
                        let arguments = arguments.to_string();
                        item["arguments"] = json!(arguments);
                        self.seen.rewritten = Some(frame(&event));
                        arguments
                    }
                    _ => return GARBAGE,
                };
                self.calls += 1;
                self.seen.progress(arguments.len());
                let mut stray = stray_call(event["item"]["name"].as_str().unwrap_or_default());
                if let Some(stray) = &mut stray {
                    grow(stray, &arguments);
                }
                self.seen.called(stray);
            }
            "message" => {
                let Some(mut whole) = written(&item["content"]).map(|whole| whole.text.into_owned()) else {
                    return GARBAGE;
                };
                if said == 0 && whole.is_empty() {
                    whole = std::mem::take(&mut self.untold).concat();
                }
                self.message_is_incomplete = item["status"].as_str().is_some_and(|status| status != "completed");
                let length = dense_len(&whole);
                if said == 0 && length > 0 {
                    self.has_text = true;
                    self.seen.begin_text();
                    self.seen.text(&whole);
                    self.seen.rewritten = Some(streamed(place, &event, &whole, was_added));
                } else if length > said || !self.seen.has_all_of([whole.as_str()]) {
                    // A piece of it is missing.
                    return GARBAGE;
                }
            }
            "reasoning" => {}
            _ if has_words(item) => return GARBAGE,
            _ => {}
        }
        let signature = event["item"]["encrypted_content"].as_str().map(str::to_owned);
        self.seen.progress(signature.as_ref().map_or(0, String::len));
        self.seen.signatures.extend(signature);
        Event::Content
    }

    /// Takes the text of a part as its end repeats it. One of which no piece came waits for the end of its item.
    fn end_part(&mut self, event: &Value, place: u64, part: &Value) -> Event {
        let Some(text) = written(part).map(|part| part.text) else {
            return GARBAGE;
        };
        if *self.said_of(event, place) > 0 {
            if !self.seen.has_all_of([&*text]) {
                return GARBAGE;
            }
        } else if !text.is_empty() && self.untold.last().is_none_or(|last| *last != *text) {
            self.untold.push(text.into_owned());
        }
        Event::Content
    }

    fn complete(&mut self, event: &Value) -> Event {
        let response = &event["response"];
        if !response.is_object() {
            return GARBAGE;
        }
        if !response["error"].is_null() {
            return Event::Failed(failed(&mut self.seen, &response["error"]));
        }
        let Some(late) = self.bring_late(response) else {
            return GARBAGE;
        };
        let messages = response["output"].as_array().into_iter().flatten();
        let messages = messages.filter(|item| item["type"] == "message");
        let texts: Option<Vec<_>> = messages
            .map(|message| written(&message["content"]).map(|written| written.text))
            .collect();
        let Some(texts) = texts else { return GARBAGE };
        let is_told = self.untold.iter().all(|text| self.seen.has_all_of([text.as_str()]));
        if !is_told || !self.seen.has_all_of(texts.iter().map(|text| &**text)) || calls_of(response) > self.calls {
            return GARBAGE;
        }
        let status = &response["status"];
        let lacks = response["incomplete_details"]["reason"].is_string();
        // The event says one thing and what is in it another one: the answer is whole where nothing denies it.
        let stopped = if self.message_is_incomplete || lacks || !(status.is_null() || status == "completed") {
            Stopped::Incomplete
        } else if self.refused {
            Stopped::Refused
        } else {
            Stopped::Completed
        };
        let end = match (self.stop(stopped, response), stopped) {
            (Event::Terminal, Stopped::Completed) => Event::Terminal,
            _ => Event::Unusual,
        };
        if !late.is_empty() {
            let last = if end == Event::Terminal {
                frame(event)
            } else {
                String::new()
            };
            self.seen.rewritten = Some(late + &last);
        }
        end
    }

    /// The frames of an answer that stands in its last event alone, as some gateways make a stream of one piece; none for any
    /// other, and `None` if it cannot be read.
    fn bring_late(&mut self, response: &Value) -> Option<String> {
        let mut frames = String::new();
        if !self.seen.is_silent() || self.calls > 0 {
            return Some(frames);
        }
        let is_all = self.seen.written == 0;
        let output = response["output"].as_array().into_iter().flatten();
        let is_late = |item: &&Value| match item["type"].as_str() {
            Some("message" | "function_call") => true,
            Some("reasoning") => is_all,
            _ => false,
        };
        let mut items: Vec<Value> = output.filter(is_late).cloned().collect();
        if !self.untold.is_empty() && !items.iter().any(|item| item["type"] == "message") {
            let id = self
                .open
                .iter()
                .rfind(|open| open.is_message)
                .map(|open| open.id.clone());
            items.push(json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": []}));
        }
        for (place, mut item) in (0..).zip(items) {
            if item["id"].as_str().is_none_or(str::is_empty) {
                item["id"] = json!(format!("item_{place}"));
            }
            let is_message = item["type"] == "message";
            let id = item["id"].as_str().unwrap_or_default();
            let is_open = self.position(id, place, is_message).is_some();
            if !is_open && !is_message {
                let mut added = item.clone();
                if !added["arguments"].is_null() {
                    added["arguments"] = json!("");
                }
                let event = json!({"type": "response.output_item.added", "output_index": place, "item": added});
                frames.push_str(&frame(&event));
            }
            let done = json!({"type": "response.output_item.done", "output_index": place, "item": item});
            self.refused |= refuses(&done);
            if self.end_item(place, done.clone()) == GARBAGE {
                return None;
            }
            match self.seen.rewritten.take() {
                Some(rewritten) => frames.push_str(&rewritten),
                None if is_open || !is_message => frames.push_str(&frame(&done)),
                None => {}
            }
        }
        Some(frames)
    }

    /// The end of the response. Without the counts of tokens `OpenCode` would take it for a cut stream and ask again,
    /// for ever.
    fn stop(&mut self, stopped: Stopped, response: &Value) -> Event {
        self.stopped = Some(stopped);
        if self.count(response) {
            Event::Terminal
        } else {
            Event::Unusual
        }
    }

    /// Takes the counts over and returns whether they are there, as every runtime reads them.
    fn count(&mut self, response: &Value) -> bool {
        let usage = &response["usage"];
        take_counts(&mut self.seen, usage, "input_tokens", "output_tokens");
        !write_plainly(&mut usage.clone(), &["input_tokens", "output_tokens"])
    }
}

/// Number of calls in a whole response.
fn calls_of(response: &Value) -> u32 {
    let items = response["output"].as_array().into_iter().flatten();
    let calls = items.filter(|item| item["type"] == "function_call").count();
    u32::try_from(calls).unwrap_or(u32::MAX)
}

/// The end of a message whose text comes with it, with the text in front as a piece: runtimes read the pieces alone.
fn streamed(place: u64, done: &Value, text: &str, was_added: bool) -> String {
    let id = &done["item"]["id"];
    let mut frames = String::new();
    if !was_added {
        frames.push_str(&frame(
            &json!({"type": "response.output_item.added", "output_index": place,
            "item": {"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}}),
        ));
    }
    frames.push_str(&frame(
        &json!({"type": "response.output_text.delta", "item_id": id, "output_index": place,
        "content_index": 0, "delta": text}),
    ));
    frames + &frame(done)
}

/// Returns whether a kind of event carries a part of the answer.
fn is_content(kind: &str) -> bool {
    const KINDS: [&str; 6] = [
        "response.content_part.",
        "response.output_text.",
        "response.refusal.",
        "response.function_call_arguments.",
        "response.reasoning_summary_",
        "response.reasoning_text.",
    ];
    KINDS.iter().any(|beginning| kind.starts_with(beginning))
}

/// The answer is ours, so it used nothing; the object has to be there.
fn completed() -> String {
    frame(&json!({"type": "response.completed", "response": {"usage": {"input_tokens": 0, "output_tokens": 0}}}))
}

fn incomplete(reason: &str) -> String {
    frame(&json!({"type": "response.incomplete", "response": {
        "incomplete_details": {"reason": reason}, "usage": {"input_tokens": 0, "output_tokens": 0}}}))
}
