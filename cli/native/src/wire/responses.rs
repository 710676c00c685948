//! `OpenAI` Responses.

use std::collections::BTreeMap;

use conclave_gateway::Wire;
use conclave_shared::pricing;
use serde_json::{Value, json};

use super::{Assembler, Delta, Request, Side, arguments_text, call_id, finish_of, own_thought, set};
use crate::history::{Block, Finish, Thought, ToolCall};

/// The body of a request. The cache's key is the gateway's to set: it knows what calls share.
pub(super) fn body(request: &Request<'_>) -> Value {
    let reasons = pricing::facts(request.model).is_some_and(|facts| facts.reasoning);
    let mut input = vec![json!({"role": if reasons { "developer" } else { "system" }, "content": request.system})];
    for side in request.sides() {
        match side {
            Side::User { results, prompts } => {
                input.extend(results.iter().map(
                    |result| json!({"type": "function_call_output", "call_id": result.id, "output": result.text}),
                ));
                input.extend(prompts.iter().map(|parts| {
                    let parts = parts.iter().map(|text| json!({"type": "input_text", "text": text}));
                    json!({"role": "user", "content": parts.collect::<Vec<_>>()})
                }));
            }
            Side::Model(blocks) => {
                let provider = request.model.provider();
                input.extend(blocks.iter().filter_map(|block| written(block, provider)));
            }
        }
    }
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema,
                "strict": false})
        })
        .collect();
    let mut body = json!({"model": request.model.model(), "max_output_tokens": request.max_output()});
    if let Some(temperature) = request.temperature() {
        set(&mut body, "temperature", json!(temperature));
    }
    if reasons {
        set(&mut body, "include", json!(["reasoning.encrypted_content"]));
    }
    for (name, value) in [
        ("store", json!(false)),
        ("tools", json!(tools)),
        ("input", json!(input)),
        ("stream", json!(true)),
    ] {
        set(&mut body, name, value);
    }
    body
}

fn written(block: &Block, provider: &str) -> Option<Value> {
    match block {
        Block::Text(text) if text.is_empty() => None,
        Block::Text(text) => Some(json!({"role": "assistant", "content": [{"type": "output_text", "text": text}]})),
        Block::Thought(_) => own_thought(block, Wire::OpenAiResponses, provider).cloned(),
        Block::Call(call) => Some(
            json!({"type": "function_call", "call_id": call.id, "name": call.sent_name(),
            "arguments": arguments_text(call)}),
        ),
    }
}

/// Puts the items of an answer together.
pub(super) struct Items {
    provider: String,
    parts: BTreeMap<u64, Item>,
    finish: Finish,
}

#[derive(Default)]
struct Item {
    /// As it was added, or as it is once it is done.
    raw: Value,
    done: bool,
    text: String,
}

impl Items {
    pub(super) fn of(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            parts: BTreeMap::new(),
            finish: Finish::Stop,
        }
    }
}

impl Assembler for Items {
    fn take(&mut self, data: &Value, delta: &mut Delta) {
        let index = data["output_index"].as_u64().unwrap_or_default();
        let text = data["delta"].as_str().unwrap_or_default();
        match data["type"].as_str() {
            Some("response.output_item.added") => {
                let item = self.parts.entry(index).or_default();
                if !item.done {
                    item.raw = data["item"].clone();
                }
            }
            Some("response.output_item.done") => {
                let item = self.parts.entry(index).or_default();
                item.raw = data["item"].clone();
                item.done = true;
            }
            Some("response.output_text.delta" | "response.refusal.delta") => {
                self.parts.entry(index).or_default().text.push_str(text);
                delta.text.push_str(text);
            }
            Some("response.function_call_arguments.delta") => delta.arguments += text.len(),
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                delta.thought.push_str(text);
            }
            Some("response.incomplete") => {
                let reason = &data["response"]["incomplete_details"]["reason"];
                self.finish = if reason == "content_filter" {
                    Finish::ContentFilter
                } else {
                    Finish::Length
                };
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>) -> (Vec<Block>, Finish) {
        let (provider, reached_limit) = (self.provider, self.finish == Finish::Length);
        let blocks = self.parts.into_iter().filter_map(|(index, item)| {
            let field = |name: &str| item.raw[name].as_str().unwrap_or_default();
            match field("type") {
                "reasoning" if field("encrypted_content").is_empty() => None,
                // The id names what the provider stores, and it stores nothing.
                "reasoning" => Some(Block::Thought(Thought {
                    wire: Wire::OpenAiResponses,
                    provider: provider.clone(),
                    raw: json!({"type": "reasoning", "encrypted_content": field("encrypted_content"),
                        "summary": item.raw["summary"].as_array().cloned().unwrap_or_default()}),
                })),
                "function_call" if reached_limit || !item.done => None,
                "function_call" => Some(Block::Call(ToolCall::new(
                    call_id(field("call_id"), index),
                    field("name").to_owned(),
                    field("arguments"),
                ))),
                _ => {
                    let whole = item.raw["content"].as_array().into_iter().flatten();
                    let whole: String = whole.filter_map(|part| part["text"].as_str()).collect();
                    // The pieces are what was streamed; some endpoints send the whole at the end only.
                    let text = if item.text.is_empty() { whole } else { item.text };
                    (!text.is_empty()).then_some(Block::Text(text))
                }
            }
        });
        let blocks: Vec<Block> = blocks.collect();
        let finish = finish_of(self.finish, &blocks);
        (blocks, finish)
    }
}
