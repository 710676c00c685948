//! `OpenAI` Responses.

use conclave_gateway::Wire;
use conclave_shared::pricing;
use serde_json::{Value, json};

use super::{Assembler, Delta, Request, Side, arguments_text, call_id, finish_of, own_thought};
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
        body["temperature"] = json!(temperature);
    }
    if reasons {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body["store"] = json!(false);
    body["tools"] = json!(tools);
    body["input"] = json!(input);
    body["stream"] = json!(true);
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
///
/// Items are distinguished by their ids, and by their places where there is no id: some endpoints number none of them, or all
/// with 0. Nothing of an item is ever replaced by another one.
pub(super) struct Items {
    provider: String,
    /// In the order of their beginnings.
    begun: Vec<Item>,
    /// The whole answer, as the last event repeats it.
    output: Vec<Value>,
    /// All reasoning so far, without white space.
    thought: String,
    finish: Finish,
}

struct Item {
    id: String,
    place: Option<u64>,
    /// As it was added, or as it is once it is done.
    raw: Value,
    added: bool,
    done: bool,
    text: String,
    arguments: String,
}

impl Items {
    pub(super) fn of(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            begun: Vec::new(),
            output: Vec::new(),
            thought: String::new(),
            finish: Finish::Stop,
        }
    }

    /// The latest item of this id; without one, the latest open one of the kind at this place. Some endpoints give an item that
    /// they have added another id in each of its events.
    fn position(&self, id: &str, place: Option<u64>, kind: &str) -> Option<usize> {
        let is_named = |item: &Item| !id.is_empty() && item.id == id;
        let is_there = |item: &Item| place.is_none() || item.place.is_none() || item.place == place;
        let is_open = |item: &Item| {
            let may_have_other_ids = item.added || item.id.is_empty() || id.is_empty();
            !item.done && item.raw["type"] == kind && may_have_other_ids
        };
        let last = |is_it: &dyn Fn(&Item) -> bool| self.begun.iter().rposition(is_it);
        last(&|item| is_named(item) && is_there(item))
            .or_else(|| last(&is_named))
            .or_else(|| last(&|item| is_there(item) && is_open(item)))
    }

    fn push(&mut self, id: &str, place: Option<u64>, raw: Value) -> &mut Item {
        self.begun.push(Item {
            id: id.to_owned(),
            place,
            raw,
            added: false,
            done: false,
            text: String::new(),
            arguments: String::new(),
        });
        let last = self.begun.len() - 1;
        &mut self.begun[last]
    }

    /// The item that a piece of this kind belongs to.
    fn of_piece(&mut self, event: &Value, kind: &str) -> &mut Item {
        let (id, place) = (
            event["item_id"].as_str().unwrap_or_default(),
            event["output_index"].as_u64(),
        );
        match self.position(id, place, kind) {
            Some(at) => &mut self.begun[at],
            None => self.push(id, place, json!({"type": kind})),
        }
    }

    fn add(&mut self, event: &Value) {
        let (item, place) = (&event["item"], event["output_index"].as_u64());
        let id = item["id"].as_str().unwrap_or_default();
        // A piece of it may have come before.
        let begun = self.position(id, place, item["type"].as_str().unwrap_or_default());
        let begun = begun.filter(|at| !self.begun[*at].added && !self.begun[*at].done);
        let added = match begun {
            Some(at) => &mut self.begun[at],
            None => self.push(id, place, Value::Null),
        };
        added.raw = item.clone();
        added.added = true;
    }

    /// Takes reasoning that its item or an event repeats at its end, as far as it has not come in pieces.
    fn think(&mut self, whole: &str, delta: &mut Delta) {
        let dense = dense(whole);
        if !self.thought.contains(&dense) {
            self.thought.push_str(&dense);
            delta.thought.push_str(whole);
        }
    }

    fn end(&mut self, event: &Value) {
        let (item, place) = (&event["item"], event["output_index"].as_u64());
        let id = item["id"].as_str().unwrap_or_default();
        let open = self.position(id, place, item["type"].as_str().unwrap_or_default());
        let ended = match open.filter(|at| !self.begun[*at].done) {
            Some(at) => &mut self.begun[at],
            // The same event once more.
            None if self.begun.iter().any(|known| known.done && known.raw == *item) => return,
            None => self.push(id, place, Value::Null),
        };
        ended.raw = item.clone();
        ended.done = true;
    }
}

impl Assembler for Items {
    fn take(&mut self, data: &Value, delta: &mut Delta) {
        let text = data["delta"].as_str().unwrap_or_default();
        match data["type"].as_str() {
            Some("response.output_item.added") => self.add(data),
            Some("response.output_item.done") => {
                for part in shown_reasoning(&data["item"]) {
                    self.think(part, delta);
                }
                self.end(data);
            }
            Some("response.reasoning_summary_text.done" | "response.reasoning_text.done") => {
                self.think(data["text"].as_str().unwrap_or_default(), delta);
            }
            Some("response.output_text.delta" | "response.refusal.delta") => {
                self.of_piece(data, "message").text.push_str(text);
                delta.text.push_str(text);
            }
            Some("response.function_call_arguments.delta") => {
                self.of_piece(data, "function_call").arguments.push_str(text);
                delta.arguments += text.len();
            }
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                self.thought.push_str(&dense(text));
                delta.thought.push_str(text);
            }
            Some(ended @ ("response.completed" | "response.incomplete")) => {
                let output = data["response"]["output"].as_array();
                self.output = output.cloned().unwrap_or_default();
                if ended == "response.incomplete" {
                    let reason = &data["response"]["incomplete_details"]["reason"];
                    self.finish = if reason == "content_filter" {
                        Finish::ContentFilter
                    } else {
                        Finish::Length
                    };
                }
            }
            _ => {}
        }
    }

    fn parts(&self) -> usize {
        self.begun.len()
    }

    fn finish(self: Box<Self>) -> (Vec<Block>, Finish) {
        let Self {
            provider,
            begun: mut items,
            output,
            thought: _,
            finish,
        } = *self;
        let reached_limit = finish == Finish::Length;
        if items.iter().all(|item| item.place.is_some()) {
            items.sort_by_key(|item| item.place);
        }
        let mut blocks: Vec<Block> = (0..)
            .zip(items)
            .flat_map(|(number, item)| blocks_of(item, number, &provider, reached_limit))
            .collect();
        add_missing(&mut blocks, &output, reached_limit);
        let finish = finish_of(finish, &blocks);
        (blocks, finish)
    }
}

/// The parts of an answer that an item is.
fn blocks_of(item: Item, number: u64, provider: &str, reached_limit: bool) -> Vec<Block> {
    let field = |name: &str| item.raw[name].as_str().unwrap_or_default();
    match field("type") {
        "reasoning" if field("encrypted_content").is_empty() => Vec::new(),
        // The id names what the provider stores, and it stores nothing.
        "reasoning" => vec![Block::Thought(Thought {
            wire: Wire::OpenAiResponses,
            provider: provider.to_owned(),
            raw: json!({"type": "reasoning", "encrypted_content": field("encrypted_content"),
                "summary": item.raw["summary"].as_array().cloned().unwrap_or_default()}),
        })],
        "function_call" if reached_limit || !item.done => Vec::new(),
        "function_call" => vec![Block::Call(call_of(&item.raw, &item.arguments, number))],
        _ => {
            let whole = whole_text(&item.raw);
            let (streamed, said) = (dense(&item.text), dense(&whole));
            // The pieces are what was streamed; some endpoints send the whole at the end only.
            let texts = if streamed.contains(&said) {
                vec![item.text]
            } else if said.contains(&streamed) {
                vec![whole]
            } else {
                vec![item.text, whole]
            };
            let texts = texts.into_iter().filter(|text| !text.is_empty());
            texts.map(Block::Text).collect()
        }
    }
}

/// Adds what the end of the answer repeats and no event before it has brought.
fn add_missing(blocks: &mut Vec<Block>, output: &[Value], reached_limit: bool) {
    for (number, item) in (0..).zip(output) {
        match item["type"].as_str() {
            Some("message") => {
                let whole = whole_text(item);
                let texts = blocks.iter().filter_map(|block| match block {
                    Block::Text(text) => Some(dense(text)),
                    Block::Thought(_) | Block::Call(_) => None,
                });
                if !texts.collect::<String>().contains(&dense(&whole)) {
                    blocks.push(Block::Text(whole));
                }
            }
            Some("function_call") if !reached_limit => {
                let missing = call_of(item, "", number);
                let is_there = |block: &Block| match block {
                    Block::Call(call) => {
                        call.id == missing.id || (call.name == missing.name && call.arguments == missing.arguments)
                    }
                    Block::Text(_) | Block::Thought(_) => false,
                };
                if !blocks.iter().any(is_there) {
                    blocks.push(Block::Call(missing));
                }
            }
            _ => {}
        }
    }
}

/// The call that an item is, with the arguments that were streamed where it has none itself.
fn call_of(item: &Value, streamed: &str, number: u64) -> ToolCall {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    let arguments = Some(field("arguments")).filter(|arguments| !arguments.is_empty());
    ToolCall::new(
        call_id(field("call_id"), number),
        field("name").to_owned(),
        arguments.unwrap_or(streamed),
    )
}

/// The texts of an item of reasoning that are shown.
fn shown_reasoning(item: &Value) -> impl Iterator<Item = &str> {
    let parts = ["summary", "content"].map(|name| item[name].as_array().filter(|_| item["type"] == "reasoning"));
    let parts = parts.into_iter().flatten().flatten();
    parts.filter_map(|part| part["text"].as_str())
}

/// The text of a whole message.
fn whole_text(item: &Value) -> String {
    match &item["content"] {
        Value::String(text) => text.clone(),
        content => {
            let parts = content.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect()
        }
    }
}

/// A text without its white space.
fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}
