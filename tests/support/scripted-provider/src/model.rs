//! What a model is asked and what it answers, in no particular wire format.

use serde_json::Value;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Anthropic Messages, `POST /v1/messages`.
    Messages,
    /// `OpenAI` Chat Completions, `POST /v1/chat/completions`.
    ChatCompletions,
    /// `OpenAI` Responses, `POST /v1/responses`.
    Responses,
}

/// Who says a message. Tool results are user messages, in every format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user, or a tool.
    User,
    /// The model.
    Assistant,
}

/// A call of a tool by the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that the result refers to. In an [`Answer`] it may be empty: the provider makes one.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// The model's reasoning.
    Thinking(String),
    /// A call by the model.
    ToolCall(ToolCall),
    /// What a tool gave back.
    ToolResult {
        /// The call that it answers.
        id: String,
        /// The text of the result.
        text: String,
        /// The tool said that it failed.
        is_error: bool,
    },
}

/// One message of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub parts: Vec<Part>,
}

/// A request, the same for every wire format.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The format that it came in.
    pub format: Format,
    /// The model asked for.
    pub model: String,
    /// Who asks: a reviewer's name, [`crate::COORDINATOR`] or [`crate::UNKNOWN`].
    pub agent: String,
    /// The number of assistant messages in the history, plus one.
    pub turn: usize,
    /// The system prompt, its blocks joined by newlines.
    pub system: String,
    /// The history.
    pub messages: Vec<Message>,
    /// The names of the tools offered, in order.
    pub tools: Vec<String>,
    /// The most output tokens that the client wants.
    pub max_tokens: Option<u64>,
}

impl ModelRequest {
    /// Returns whether a tool of exactly this name is offered.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// The tool calls of the history, each with its result's text and error flag if there is one.
    pub fn exchanges(&self) -> Vec<(&ToolCall, Option<(&str, bool)>)> {
        let parts = || self.messages.iter().flat_map(|message| &message.parts);
        parts()
            .filter_map(|part| match part {
                Part::ToolCall(call) => Some(call),
                _ => None,
            })
            .map(|call| {
                let result = parts().find_map(|part| match part {
                    Part::ToolResult { id, text, is_error } if *id == call.id => Some((text.as_str(), *is_error)),
                    _ => None,
                });
                (call, result)
            })
            .collect()
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model is done.
    EndTurn,
    /// The model waits for tool results.
    ToolUse,
    /// The answer was cut off at the output limit.
    MaxTokens,
    /// A content filter stopped it.
    Refusal,
    /// The model refuses, beside what it has said: `refusal` of Anthropic, and a refusal of its own field or part in the other
    /// formats, whose answer ends as any other.
    Declined,
    /// The provider paused it: `pause_turn` of Anthropic, a word that is not of the format in Chat Completions, and a
    /// completed response that calls itself incomplete.
    Paused,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text; empty for none.
    pub text: String,
    /// A second block of text right behind it; empty for none.
    pub second_text: String,
    /// Reasoning in front of it.
    pub thinking: Option<String>,
    /// The tools called, all in one turn.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ends.
    pub stop: Stop,
}

impl Answer {
    /// An answer of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            second_text: String::new(),
            thinking: None,
            tool_calls: Vec::new(),
            stop: Stop::EndTurn,
        }
    }

    /// An answer that calls one tool; [`Answer::and_call`] adds more.
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self {
            stop: Stop::ToolUse,
            ..Self::text("")
        }
        .and_call(name, input)
    }

    /// Calls one more tool in the same turn.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, input: Value) -> Self {
        self.tool_calls.push(ToolCall {
            id: String::new(),
            name: name.into(),
            input,
        });
        self.stop = Stop::ToolUse;
        self
    }

    /// Says this before the tool calls.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Says this in a second block of text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.second_text = text.into();
        self
    }

    /// Thinks this first.
    #[must_use]
    pub fn with_thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = Some(thinking.into());
        self
    }

    /// Ends for this reason.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// The characters of reasoning, and of everything (reasoning, text, names and arguments of calls).
    pub(crate) fn chars(&self) -> (usize, usize) {
        let thinking = self.thinking.as_deref().unwrap_or_default().chars().count();
        let calls: usize = self
            .tool_calls
            .iter()
            .map(|call| call.name.chars().count() + call.input.to_string().chars().count())
            .sum();
        (
            thinking,
            thinking + self.text.chars().count() + self.second_text.chars().count() + calls,
        )
    }
}

/// Decides what to answer.
pub trait Model: Send + Sync {
    /// The answer to this request.
    fn answer(&self, request: &ModelRequest) -> Answer;
}

impl Model for Box<dyn Model> {
    fn answer(&self, request: &ModelRequest) -> Answer {
        self.as_ref().answer(request)
    }
}

impl<M: Model> Model for std::sync::Arc<M> {
    fn answer(&self, request: &ModelRequest) -> Answer {
        self.as_ref().answer(request)
    }
}
