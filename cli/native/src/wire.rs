//! The wire formats: a history becomes a request, the events of a stream become an answer.
//!
//! Requests are written so that what sessions share comes first and is the same to the byte: tools, system prompt, the first
//! part of the first message. What a provider needs back (signed reasoning) goes back as it came.

mod anthropic;
mod chat;
mod responses;

use conclave_gateway::Wire;
use conclave_shared::{config::Capabilities, model::ModelId};
use serde_json::{Map, Value, json};

use crate::history::{Block, Entry, Finish, ToolCall, ToolResult};

/// Maximum number of tokens that one answer is asked for: a review needs no more, and a runaway answer costs no more.
const MAX_OUTPUT: u64 = 32_000;
/// The temperature of all sessions, for models that take one.
const TEMPERATURE: f64 = 0.1;

/// Maximum length of an answer in bytes: thirty times what 32,000 tokens are. What is longer has no sensible end.
pub(crate) const MAX_ANSWER: usize = 4 << 20;
/// Maximum number of an answer's parts, such as calls: more than a session makes in all its answers, and few enough to be looked through
/// for each piece.
pub(crate) const MAX_PARTS: usize = 1_000;

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
}

/// Everything that a request is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a ModelId,
    pub(crate) capabilities: Capabilities,
    pub(crate) system: &'a str,
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) history: &'a [Entry],
}

impl Request<'_> {
    /// The body in this format.
    pub(crate) fn body(&self, wire: Wire) -> Value {
        match wire {
            Wire::Anthropic => anthropic::body(self),
            Wire::OpenAiChat => chat::body(self),
            Wire::OpenAiResponses => responses::body(self),
        }
    }

    fn max_output(&self) -> u64 {
        self.capabilities.max_output.min(MAX_OUTPUT)
    }

    fn temperature(&self) -> Option<f64> {
        // Another one that is chosen for a model, and the effort, are the gateway's to write.
        self.capabilities.samples.then_some(TEMPERATURE)
    }

    /// The history with the user's side in one piece between two answers.
    fn sides(&self) -> Vec<Side<'_>> {
        let mut sides: Vec<Side<'_>> = Vec::new();
        for entry in self.history {
            match entry {
                // Of an answer that never came there is nothing to send.
                Entry::Answer(answer) if answer.blocks.is_empty() => {}
                Entry::Answer(answer) => sides.push(Side::Model(&answer.blocks)),
                Entry::Prompt(_) | Entry::Results(_) => {
                    if !matches!(sides.last(), Some(Side::User { .. })) {
                        sides.push(Side::User {
                            results: Vec::new(),
                            prompts: Vec::new(),
                        });
                    }
                    if let Some(Side::User { results, prompts }) = sides.last_mut() {
                        match entry {
                            Entry::Prompt(parts) => prompts.push(parts),
                            Entry::Results(of_calls) => results.extend(of_calls),
                            Entry::Answer(_) => {}
                        }
                    }
                }
            }
        }
        sides
    }
}

/// The words of one side before the other one does.
enum Side<'a> {
    User {
        results: Vec<&'a ToolResult>,
        /// The parts of each prompt.
        prompts: Vec<&'a [String]>,
    },
    Model(&'a [Block]),
}

/// The content of a piece of a stream.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// New text of the answer.
    pub(crate) text: String,
    /// New text of reasoning.
    pub(crate) thought: String,
    /// Length of new arguments of calls, in bytes.
    pub(crate) arguments: usize,
}

impl Delta {
    /// Length of all of it, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len() + self.thought.len() + self.arguments
    }
}

/// Puts an answer together from the events of its stream, in whatever order its blocks come.
pub(crate) trait Assembler: Send {
    /// Takes the data of one event. What cannot be read says nothing: the gateway has refused what is not of the format.
    fn take(&mut self, data: &Value, delta: &mut Delta);

    /// Number of the parts so far that have to be distinguished: calls, and the blocks of formats that have any.
    fn parts(&self) -> usize;

    /// The answer once the stream has ended.
    fn finish(self: Box<Self>) -> (Vec<Block>, Finish);
}

/// An assembler for the answer of a provider.
pub(crate) fn assembler(wire: Wire, provider: &str) -> Box<dyn Assembler> {
    match wire {
        Wire::Anthropic => Box::new(anthropic::Blocks::of(provider)),
        Wire::OpenAiChat => Box::new(chat::Message::of(provider)),
        Wire::OpenAiResponses => Box::new(responses::Items::of(provider)),
    }
}

/// The name of a call for the provider that gave none.
fn call_id(id: &str, index: u64) -> String {
    if id.is_empty() {
        format!("call_{index}")
    } else {
        id.to_owned()
    }
}

/// The reason of a stop where calls are what the model waits for.
fn finish_of(reason: Finish, blocks: &[Block]) -> Finish {
    let calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    match reason {
        Finish::Stop | Finish::ToolCalls if calls => Finish::ToolCalls,
        Finish::ToolCalls => Finish::Stop,
        reason => reason,
    }
}

/// The calls and texts in a form that holds no reasoning of others.
fn own_thought<'a>(block: &'a Block, wire: Wire, provider: &str) -> Option<&'a Value> {
    match block {
        Block::Thought(thought) if thought.wire == wire && thought.provider == provider => Some(&thought.raw),
        _ => None,
    }
}

/// Arguments as text.
fn arguments_text(call: &ToolCall) -> String {
    Value::Object(call.input()).to_string()
}

/// Appends to a text in an object, which may be missing.
fn append(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            fields.insert(name.to_owned(), json!(more));
        }
    }
}

#[cfg(test)]
#[path = "wire/wire_tests.rs"]
mod tests;
