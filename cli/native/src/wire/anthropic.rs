//! Anthropic Messages.

use conclave_gateway::Wire;
use serde_json::{Map, Value, json};

use super::{Assembler, Delta, Request, Side, append, call_id, finish_of, own_thought};
use crate::history::{Block, Finish, Thought, ToolCall};

/// The body of a request.
///
/// Its cache marks, of the four that there may be: the end of the system prompt, which runs share; the end of the first
/// message's shared part, which the panel shares; the end of the user's last message, and of the one before it, where the
/// request before this one ended: so each request reads what the last one wrote, however many blocks have come since.
pub(super) fn body(request: &Request<'_>) -> Value {
    let mut messages = Vec::new();
    let sides = request.sides();
    let users: Vec<usize> = (0..sides.len())
        .filter(|at| matches!(sides[*at], Side::User { .. }))
        .collect();
    let marked = &users[users.len().saturating_sub(2)..];
    for (at, side) in sides.iter().enumerate() {
        let message = match side {
            Side::User { results, prompts } => {
                let mut content: Vec<Value> = results
                    .iter()
                    .map(|result| {
                        let mut block =
                            json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text});
                        if result.failed {
                            block["is_error"] = json!(true);
                        }
                        block
                    })
                    .collect();
                let texts = prompts.iter().copied().flatten();
                content.extend(texts.map(|text| json!({"type": "text", "text": text})));
                // What the panel shares is all of its first prompt but the last part.
                let shared = prompts.first().map_or(0, |parts| parts.len().saturating_sub(1));
                if at == 0
                    && shared > 0
                    && let Some(block) = content.get_mut(shared - 1)
                {
                    mark(block);
                }
                if let Some(last) = content.last_mut().filter(|_| marked.contains(&at)) {
                    mark(last);
                }
                json!({"role": "user", "content": content})
            }
            Side::Model(blocks) => {
                let provider = request.model.provider();
                let mut content: Vec<Value> = blocks.iter().filter_map(|block| written(block, provider)).collect();
                if content.is_empty() {
                    // A message has to say something, and white space and the thoughts of others are not sent.
                    content.push(json!({"type": "text", "text": "…"}));
                }
                json!({"role": "assistant", "content": content})
            }
        };
        messages.push(message);
    }
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
        .collect();
    let mut body = json!({"model": request.model.model(), "max_tokens": request.max_output()});
    if let Some(temperature) = request.temperature() {
        body["temperature"] = json!(temperature);
    }
    let mut system = json!({"type": "text", "text": request.system});
    mark(&mut system);
    body["tools"] = json!(tools);
    body["system"] = json!([system]);
    body["messages"] = json!(messages);
    body["stream"] = json!(true);
    body
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn written(block: &Block, provider: &str) -> Option<Value> {
    match block {
        Block::Text(text) if text.trim().is_empty() => None,
        Block::Text(text) => Some(json!({"type": "text", "text": text})),
        Block::Thought(_) => own_thought(block, Wire::Anthropic, provider).cloned(),
        Block::Call(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.sent_name(), "input": call.input()}))
        }
    }
}

/// Puts the blocks of an answer together.
pub(super) struct Blocks {
    provider: String,
    /// In the order of their beginnings.
    parts: Vec<Open>,
    finish: Finish,
}

/// A block as it grows.
#[derive(Default)]
struct Open {
    index: u64,
    raw: Map<String, Value>,
    arguments: String,
    started: bool,
    stopped: bool,
}

impl Open {
    /// Returns whether a piece of this kind can be of this block.
    fn takes(&self, kind: &str) -> bool {
        self.raw.get("type").is_none_or(|own| own == kind)
    }
}

impl Blocks {
    pub(super) fn of(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            parts: Vec::new(),
            finish: Finish::Stop,
        }
    }

    /// The latest block at this index, if it is the one that is meant, or a new one: some endpoints give all blocks the same
    /// index.
    fn part(&mut self, index: u64, is_it: impl Fn(&Open) -> bool) -> &mut Open {
        let known = self.parts.iter().rposition(|open| open.index == index);
        let at = known.filter(|known| is_it(&self.parts[*known])).unwrap_or_else(|| {
            self.parts.push(Open {
                index,
                ..Open::default()
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    fn grow(&mut self, index: u64, change: &Value, delta: &mut Delta) {
        // A piece of a block that was never opened says what kind it is by itself.
        let open = match change["type"].as_str() {
            Some("text_delta") => self.part(index, |open| open.takes("text")),
            Some("thinking_delta") => self.part(index, |open| open.takes("thinking")),
            _ => self.part(index, |_| true),
        };
        let text = |name: &str| change[name].as_str().unwrap_or_default();
        match change["type"].as_str() {
            Some("text_delta") => {
                open.raw.entry("type").or_insert_with(|| json!("text"));
                append(&mut open.raw, "text", text("text"));
                delta.text.push_str(text("text"));
            }
            Some("thinking_delta") => {
                open.raw.entry("type").or_insert_with(|| json!("thinking"));
                append(&mut open.raw, "thinking", text("thinking"));
                delta.thought.push_str(text("thinking"));
            }
            Some("signature_delta") => append(&mut open.raw, "signature", text("signature")),
            Some("input_json_delta") => {
                open.arguments.push_str(text("partial_json"));
                delta.arguments += text("partial_json").len();
            }
            _ => {}
        }
    }
}

impl Assembler for Blocks {
    fn take(&mut self, data: &Value, delta: &mut Delta) {
        let index = data["index"].as_u64().unwrap_or_default();
        match data["type"].as_str() {
            Some("content_block_start") => {
                let started = data["content_block"].as_object().cloned().unwrap_or_default();
                let id = started.get("id").cloned();
                let kind = started
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                let open = self.part(index, |open| {
                    let is_the_same = id.is_some() && open.raw.get("id") == id.as_ref();
                    !open.stopped && (is_the_same || (!open.started && open.takes(&kind)))
                });
                open.started = true;
                // Where a piece of it came first, what it says of itself goes below that.
                for (name, value) in started {
                    open.raw.entry(name).or_insert(value);
                }
            }
            Some("content_block_delta") => self.grow(index, &data["delta"], delta),
            Some("content_block_stop") => {
                if let Some(open) = self.parts.iter_mut().rfind(|open| open.index == index && !open.stopped) {
                    open.stopped = true;
                }
            }
            Some("message_delta") => {
                self.finish = match data["delta"]["stop_reason"].as_str() {
                    Some("tool_use") => Finish::ToolCalls,
                    Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
                    Some("refusal") => Finish::ContentFilter,
                    _ => Finish::Stop,
                };
            }
            _ => {}
        }
    }

    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn finish(self: Box<Self>) -> (Vec<Block>, Finish) {
        let reached_limit = self.finish == Finish::Length;
        let provider = self.provider;
        let mut parts = self.parts;
        parts.sort_by_key(|open| open.index);
        let blocks = (0..).zip(parts).filter_map(|(number, open)| {
            let Open {
                raw,
                arguments,
                stopped,
                ..
            } = open;
            let text = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
            match text("type") {
                "text" if text("text").is_empty() => None,
                "text" => Some(Block::Text(text("text").to_owned())),
                // Half a call cannot be run.
                "tool_use" if reached_limit || !stopped => None,
                "tool_use" => {
                    let given = raw
                        .get("input")
                        .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                    let arguments = match given {
                        Some(input) if arguments.is_empty() => input.to_string(),
                        _ => arguments,
                    };
                    Some(Block::Call(ToolCall::new(
                        call_id(text("id"), number),
                        text("name").to_owned(),
                        &arguments,
                    )))
                }
                // What its provider has not signed it does not take back.
                "thinking" if text("signature").is_empty() => None,
                "thinking" | "redacted_thinking" => Some(Block::Thought(Thought {
                    wire: Wire::Anthropic,
                    provider: provider.clone(),
                    raw: Value::Object(raw),
                })),
                _ => None,
            }
        });
        let blocks: Vec<Block> = blocks.collect();
        let finish = finish_of(self.finish, &blocks);
        (blocks, finish)
    }
}
