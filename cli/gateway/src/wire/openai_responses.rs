//! `OpenAI` Responses: reading the stream.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write};

use conclave_resilience::classify::ProviderFault;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Event, Seen, StreamReader, grow,
    openai::{InputDetails, OutputDetails, class_of, token_usage},
    stray_call,
};

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    seen: Seen,
    /// The items that were added and are not done, by their place in the output.
    open: BTreeMap<u64, Open>,
    calls: u32,
    has_text: bool,
    stopped: Option<Stopped>,
    /// The last message says that it is not whole.
    message_is_incomplete: bool,
    /// The model has refused, in a part of its own.
    refused: bool,
}

#[derive(Debug)]
struct Open {
    id: String,
    is_message: bool,
}

/// The end of the response, as far as it was reported.
#[derive(Debug, Clone, Copy)]
enum Stopped {
    Completed,
    Incomplete,
    Refused,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    output_index: Option<u64>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    response: Option<Response>,
    error: Option<Value>,
    code: Option<Value>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    /// A piece of a text, or of a refusal.
    #[serde(default)]
    delta: Value,
    /// A whole refusal.
    #[serde(default)]
    refusal: Value,
    #[serde(default)]
    part: Value,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    encrypted_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<Cow<'a, str>>,
    #[serde(default)]
    content: Value,
}

impl Incoming<'_> {
    /// Returns whether this holds words of a refusal.
    fn refuses(&self) -> bool {
        let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let is_refusal = |part: &Value| part["type"] == "refusal" && says(&part["refusal"]);
        let of_item = || {
            self.item
                .iter()
                .filter_map(|item| item.content.as_array())
                .flatten()
                .any(is_refusal)
        };
        let is_told = self.kind.starts_with("response.refusal.") && (says(&self.delta) || says(&self.refusal));
        is_told || is_refusal(&self.part) || of_item()
    }
}

#[derive(Deserialize)]
struct Response {
    status: Option<String>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

impl StreamReader for Reader {
    fn read(&mut self, data: &[u8]) -> Event {
        // Some endpoints close the stream as Chat Completions does.
        if data.trim_ascii() == b"[DONE]" {
            return Event::Start;
        }
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(data) else {
            return Event::Failed(ProviderFault::Garbage.into());
        };
        let place = incoming.output_index.unwrap_or_default();
        self.refused |= incoming.refuses();
        match incoming.kind.as_ref() {
            "response.created" | "response.in_progress" | "response.queued" => Event::Start,
            "response.output_item.added" => {
                if let Some(item) = incoming.item {
                    let open = Open {
                        id: item.id.unwrap_or_default().into_owned(),
                        is_message: item.kind == "message",
                    };
                    self.open.insert(place, open);
                }
                Event::Content
            }
            "response.output_item.done" => {
                self.open.remove(&place);
                if let Some(item) = incoming.item {
                    if item.kind == "function_call" {
                        self.calls += 1;
                        let mut stray = stray_call(&item.name.unwrap_or_default());
                        if let Some(stray) = &mut stray {
                            grow(stray, &item.arguments.unwrap_or_default());
                        }
                        self.seen.stray_calls.extend(stray);
                    }
                    if item.kind == "message" {
                        self.message_is_incomplete = item.status.is_some_and(|status| status != "completed");
                    }
                    self.seen.signatures.extend(item.encrypted_content.map(Cow::into_owned));
                }
                Event::Content
            }
            "response.output_text.delta" => {
                self.has_text = true;
                Event::Content
            }
            "response.completed" => {
                let status = incoming
                    .response
                    .as_ref()
                    .and_then(|response| response.status.as_deref());
                // The event says one thing and what is in it another one: the answer is whole where nothing denies it.
                if self.message_is_incomplete || status.is_some_and(|status| status != "completed") {
                    self.stop(Stopped::Incomplete, incoming.response.as_ref());
                    return Event::Unusual;
                }
                if self.refused {
                    self.stop(Stopped::Refused, incoming.response.as_ref());
                    return Event::Unusual;
                }
                self.stop(Stopped::Completed, incoming.response.as_ref())
            }
            "response.incomplete" => self.stop(Stopped::Incomplete, incoming.response.as_ref()),
            "response.failed" => {
                self.count(incoming.response.as_ref());
                let error = incoming.response.and_then(|response| response.error);
                Event::Failed(class_of(&error.unwrap_or_default()))
            }
            "error" => {
                let flat = || json!({"code": incoming.code, "message": incoming.message});
                Event::Failed(class_of(&incoming.error.unwrap_or_else(flat)))
            }
            kind if is_content(kind) => Event::Content,
            _ => {
                self.seen.unknown_events += 1;
                Event::Start
            }
        }
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
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
        for (place, item) in &self.open {
            // Half a call cannot be run, and half a thought cannot be sent back.
            if !item.is_message {
                return None;
            }
            let done = json!({"type": "response.output_item.done", "output_index": place, "item": {
                "id": item.id, "type": "message", "status": "incomplete", "role": "assistant", "content": []}});
            let _ = write!(end, "event: response.output_item.done\ndata: {done}\n\n");
        }
        end.push_str(&incomplete("max_output_tokens"));
        Some(end)
    }
}

impl Reader {
    /// The end of the response. Without the counts of tokens `OpenCode` would take it for a cut stream and ask again,
    /// for ever.
    fn stop(&mut self, stopped: Stopped, response: Option<&Response>) -> Event {
        self.stopped = Some(stopped);
        if self.count(response) {
            Event::Terminal
        } else {
            Event::Unusual
        }
    }

    /// Takes the counts over and returns whether they are there.
    fn count(&mut self, response: Option<&Response>) -> bool {
        let Some(usage) = response.and_then(|response| response.usage.as_ref()) else {
            return false;
        };
        let input = (usage.input_tokens, usage.input_tokens_details);
        self.seen.usage = Some(token_usage(input, (usage.output_tokens, usage.output_tokens_details)));
        usage.input_tokens.is_some() && usage.output_tokens.is_some()
    }
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
    let data = json!({"type": "response.completed", "response": {"usage": {"input_tokens": 0, "output_tokens": 0}}});
    format!("event: response.completed\ndata: {data}\n\n")
}

fn incomplete(reason: &str) -> String {
    let data = json!({"type": "response.incomplete", "response": {
        "incomplete_details": {"reason": reason}, "usage": {"input_tokens": 0, "output_tokens": 0}}});
    format!("event: response.incomplete\ndata: {data}\n\n")
}
