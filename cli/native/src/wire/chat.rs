//! `OpenAI` Chat Completions.

use conclave_gateway::Wire;
use serde_json::{Map, Value, json};

use super::{Assembler, Delta, Request, Side, arguments_text, call_id, finish_of, own_thought};
use crate::history::{Block, Finish, Thought, ToolCall};

/// The body of a request.
pub(super) fn body(request: &Request<'_>) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for side in request.sides() {
        match side {
            Side::User { results, prompts } => {
                messages.extend(
                    results
                        .iter()
                        .map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text})),
                );
                messages.extend(prompts.iter().map(|parts| match parts {
                    [text] => json!({"role": "user", "content": text}),
                    parts => {
                        let parts = parts.iter().map(|text| json!({"type": "text", "text": text}));
                        json!({"role": "user", "content": parts.collect::<Vec<_>>()})
                    }
                }));
            }
            Side::Model(blocks) => messages.push(answer(blocks, request.model.provider())),
        }
    }
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        })
        .collect();
    let mut body = json!({"model": request.model.model(), "max_tokens": request.max_output()});
    if let Some(temperature) = request.temperature() {
        body["temperature"] = json!(temperature);
    }
    body["tools"] = json!(tools);
    body["messages"] = json!(messages);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body
}

fn answer(blocks: &[Block], provider: &str) -> Value {
    let mut text = String::new();
    let mut thoughts = String::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(more) => text.push_str(more),
            Block::Thought(_) => {
                let own = own_thought(block, Wire::OpenAiChat, provider).and_then(Value::as_str);
                thoughts.push_str(own.unwrap_or_default());
            }
            Block::Call(call) => calls.push(json!({"id": call.id, "type": "function",
                "function": {"name": call.sent_name(), "arguments": arguments_text(call)}})),
        }
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content});
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    } else if text.is_empty() {
        // A message has to say something.
        message["content"] = json!("…");
    }
    message
}

/// Puts the pieces of an answer together.
pub(super) struct Message {
    provider: String,
    text: String,
    thought: String,
    /// In the order of their beginnings.
    calls: Vec<Call>,
    finish: Finish,
}

#[derive(Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Message {
    pub(super) fn of(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            text: String::new(),
            thought: String::new(),
            calls: Vec::new(),
            finish: Finish::Stop,
        }
    }

    fn grow(&mut self, piece: &Value, delta: &mut Delta) {
        if let Some(text) = piece["content"].as_str() {
            self.text.push_str(text);
            delta.text.push_str(text);
        }
        for name in ["reasoning_content", "reasoning"] {
            if let Some(text) = piece[name].as_str() {
                self.thought.push_str(text);
                delta.thought.push_str(text);
                break;
            }
        }
        let calls = piece["tool_calls"].as_array().into_iter().flatten();
        for (at, piece) in (0..).zip(calls) {
            let call = self.call_of(piece, at);
            for (place, value) in [
                (&mut call.id, &piece["id"]),
                (&mut call.name, &piece["function"]["name"]),
            ] {
                // Some providers say them once, others with every piece.
                if let Some(value) = value.as_str().filter(|value| !value.is_empty()) {
                    value.clone_into(place);
                }
            }
            let arguments = piece["function"]["arguments"].as_str().unwrap_or_default();
            call.arguments.push_str(arguments);
            delta.arguments += arguments.len();
        }
    }

    /// The call that a piece belongs to, which may be a new one: some providers give all calls the same index, or none.
    fn call_of(&mut self, piece: &Value, at: u64) -> &mut Call {
        let (given, id) = (piece["index"].as_u64(), piece["id"].as_str().unwrap_or_default());
        let index = given.unwrap_or(at);
        let is_named = |call: &Call| !id.is_empty() && call.id == id && given.is_none_or(|index| index == call.index);
        let known = self.calls.iter().rposition(is_named);
        let known = known.or_else(|| self.calls.iter().rposition(|call| call.index == index));
        let at = known
            .filter(|known| !self.calls[*known].is_followed_by(piece))
            .unwrap_or_else(|| {
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            });
        &mut self.calls[at]
    }
}

impl Call {
    /// Returns whether a piece at the same index begins another call. It names a tool, and has another id, or arguments although
    /// those of this call are whole. Another id alone says nothing: some providers give each piece one of its own.
    fn is_followed_by(&self, piece: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
        let (id, arguments) = (text(&piece["id"]), text(&piece["function"]["arguments"]));
        let has_another_id = !id.is_empty() && !self.id.is_empty() && id != self.id;
        let is_whole = || {
            // Most pieces of a call do not end it.
            self.arguments.trim_end().ends_with('}')
                && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
        };
        !text(&piece["function"]["name"]).is_empty() && (has_another_id || (!arguments.is_empty() && is_whole()))
    }
}

impl Assembler for Message {
    fn take(&mut self, data: &Value, delta: &mut Delta) {
        for choice in data["choices"].as_array().into_iter().flatten() {
            self.grow(&choice["delta"], delta);
            if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
                self.finish = match reason {
                    "tool_calls" | "function_call" => Finish::ToolCalls,
                    "length" => Finish::Length,
                    "content_filter" => Finish::ContentFilter,
                    _ => Finish::Stop,
                };
            }
        }
    }

    fn parts(&self) -> usize {
        self.calls.len()
    }

    fn finish(self: Box<Self>) -> (Vec<Block>, Finish) {
        let mut blocks = Vec::new();
        if !self.thought.is_empty() {
            blocks.push(Block::Thought(Thought {
                wire: Wire::OpenAiChat,
                provider: self.provider,
                raw: json!(self.thought),
            }));
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text(self.text));
        }
        if self.finish != Finish::Length {
            let mut calls = self.calls;
            calls.sort_by_key(|call| call.index);
            blocks.extend((0..).zip(calls).map(|(number, call)| {
                Block::Call(ToolCall::new(call_id(&call.id, number), call.name, &call.arguments))
            }));
        }
        let finish = finish_of(self.finish, &blocks);
        (blocks, finish)
    }
}
