//! The history of a session, in no particular wire format.

use conclave_engine::{
    json::read_leniently,
    ports::{FileRead, SessionFault, text_of_blocks, text_or_reasoning},
};
use conclave_gateway::Wire;
use serde_json::{Map, Value};

/// One entry of a session's history.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// A prompt, in parts.
    Prompt(Vec<String>),
    /// An answer of a model.
    Answer(Answer),
    /// The results of the answer's calls, in their order.
    Results(Vec<ToolResult>),
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Its name in the session.
    pub(crate) id: String,
    /// Its parts, in the model's order.
    pub(crate) blocks: Vec<Block>,
    /// Its reasoning as it was shown, also what its provider takes back in no form.
    pub(crate) reasoning: String,
    /// The reason of the model's stop.
    pub(crate) finish: Finish,
    /// The fault that ended the turn instead of an answer.
    pub(crate) fault: Option<SessionFault>,
}

impl Answer {
    /// Its text, without calls and thoughts; of an answer that is thoughts alone, these.
    pub(crate) fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thought(_) | Block::Call(_) => None,
        });
        let text = text_of_blocks(texts);
        if self.finish != Finish::Stop {
            return text;
        }
        let thoughts = self.blocks.iter().filter_map(|block| match block {
            Block::Thought(thought) => thought.text(),
            Block::Text(_) | Block::Call(_) => None,
        });
        text_or_reasoning(text, thoughts)
    }

    /// The tools that it calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text(_) | Block::Thought(_) => None,
        })
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// Text.
    Text(String),
    /// Reasoning. Only the provider that made it can read it.
    Thought(Thought),
    /// A call of a tool.
    Call(ToolCall),
}

/// Reasoning as its provider wants it back, byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thought {
    /// The format that it is written in.
    pub(crate) wire: Wire,
    /// The provider.
    pub(crate) provider: String,
    /// The block.
    pub(crate) raw: Value,
}

impl Thought {
    /// Its text, where the provider shows all of it.
    fn text(&self) -> Option<&str> {
        self.raw.as_str().or_else(|| self.raw["thinking"].as_str())
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    /// The id that the result refers to.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments; an error if they are not a JSON object.
    pub(crate) arguments: Result<Map<String, Value>, String>,
}

impl ToolCall {
    /// A call whose arguments came as text.
    pub(crate) fn new(id: String, name: String, arguments: &str) -> Self {
        let arguments = match arguments.trim() {
            // A tool without arguments may be called with none.
            "" => Ok(Map::new()),
            text => match read_leniently(text) {
                Ok(Value::Object(arguments)) => Ok(arguments),
                Ok(other) => Err(format!("they are {other}").chars().take(200).collect()),
                Err(error) => Err(error.to_string()),
            },
        };
        Self { id, name, arguments }
    }

    /// The name as it is sent back. Providers refuse a request whose history holds a name that no tool can have.
    pub(crate) fn sent_name(&self) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name = self.name.chars().take(64).map(|c| if allowed(c) { c } else { '_' });
        Some(name.collect())
            .filter(|name: &String| !name.is_empty())
            .unwrap_or_else(|| "unknown".to_owned())
    }

    /// The arguments as they are sent back; none in place of what could not be read.
    pub(crate) fn input(&self) -> Map<String, Value> {
        self.arguments.clone().unwrap_or_default()
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    /// The call.
    pub(crate) id: String,
    /// The text that the model reads.
    pub(crate) text: String,
    /// True if the call failed.
    pub(crate) failed: bool,
    /// The lines that it has shown of files.
    pub(crate) reads: Vec<FileRead>,
}

/// The reason of a model's stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// It is done.
    Stop,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The answer reached its limit.
    Length,
    /// The provider held the answer back.
    ContentFilter,
    /// There is no whole answer.
    None,
}

impl Finish {
    /// The name in the record, and for the engine.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool-calls",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::None => "unknown",
        }
    }
}
