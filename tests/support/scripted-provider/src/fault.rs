//! What goes wrong: faults, whom they hit, and the layer that deals them out.

use crate::locked;
use crate::model::{Answer, Format, Model, ModelRequest, Stop};
use serde_json::Value;
use std::sync::Mutex;
use std::time::Duration;

/// Where in a stream a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// After the headers, before any frame.
    BeforeFirstFrame,
    /// After the frames that carry no content (`message_start`, the first chunk, `response.created`).
    AfterStart,
    /// In the middle of a text or of the arguments of a call.
    MidContent,
    /// After the first finished tool call; without one, after all content.
    AfterToolCall,
    /// After everything but the terminal event (`message_stop`, usage and `[DONE]`, `response.completed`).
    BeforeTerminal,
}

/// How a stream breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// The connection is dropped inside the body.
    Drop,
    /// The body ends cleanly, without the terminal event.
    CleanEnd,
    /// Nothing more comes, and the connection stays.
    Stall,
    /// Signs of life without end, and nothing of the answer: comments, pings, empty pieces.
    Pings,
    /// Lines that are no events of any format, then a clean end.
    Garbage,
    /// The format's error frame, then a clean end.
    ErrorFrame {
        /// The error's type (or code): `overloaded_error`, `server_error`, ...
        kind: String,
        /// Its message.
        message: String,
    },
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// An error status with a provider-like body, digits and request id included.
    Status {
        /// The status.
        code: u16,
        /// The `Retry-After` header, in seconds.
        retry_after: Option<u64>,
    },
    /// Not a byte, not even headers, until the client gives up.
    Hang,
    /// The stream breaks.
    Stream {
        /// Where.
        at: Position,
        /// How.
        how: Break,
    },
    /// The answer stops half-way at the output limit.
    MaxTokens,
    /// A well-formed answer without content.
    Empty,
    /// A slow answer.
    Slow {
        /// The time to the first byte.
        first_byte: Duration,
        /// The speed after it; `0.0` for no limit.
        tokens_per_second: f64,
    },
    /// Every field of this name, wherever it is in an event, has another value, or is left out.
    Field {
        /// The field.
        name: String,
        /// Its value.
        value: Option<Value>,
    },
    /// Other bytes stand in the place of a text, in every event.
    Bytes {
        /// The text.
        find: String,
        /// The bytes.
        put: Vec<u8>,
    },
    /// The 400 of a prompt that is longer than the context window.
    ContextOverflow,
}

/// A fault, whom it hits and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    kind: FaultKind,
    model: Option<String>,
    path: Option<String>,
    format: Option<Format>,
    agent: Option<String>,
    turn: Option<usize>,
    left: Option<u32>,
}

impl Fault {
    /// A fault that hits every request until it is taken back; the other methods narrow it down.
    pub const fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            model: None,
            path: None,
            format: None,
            agent: None,
            turn: None,
            left: None,
        }
    }

    /// An error status.
    pub const fn status(code: u16) -> Self {
        Self::new(FaultKind::Status {
            code,
            retry_after: None,
        })
    }

    /// Silence before the first byte.
    pub const fn hang() -> Self {
        Self::new(FaultKind::Hang)
    }

    /// A dropped connection in the middle of the content.
    pub const fn cut() -> Self {
        Self::broken(Break::Drop)
    }

    /// Silence in the middle of the content.
    pub const fn stall() -> Self {
        Self::broken(Break::Stall)
    }

    /// Signs of life and nothing else, in the middle of the content.
    pub const fn pings() -> Self {
        Self::broken(Break::Pings)
    }

    /// Another value in every field of this name; without one the field is left out.
    pub fn field(name: &str, value: Option<Value>) -> Self {
        let name = name.to_owned();
        Self::new(FaultKind::Field { name, value })
    }

    /// Other bytes in the place of a text.
    pub fn bytes(find: &str, put: impl Into<Vec<u8>>) -> Self {
        let (find, put) = (find.to_owned(), put.into());
        Self::new(FaultKind::Bytes { find, put })
    }

    /// A clean end in the middle of the content.
    pub const fn clean_end() -> Self {
        Self::broken(Break::CleanEnd)
    }

    /// Garbage in the middle of the content.
    pub const fn garbage() -> Self {
        Self::broken(Break::Garbage)
    }

    /// An error frame in the middle of the content.
    pub fn error_frame(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self::broken(Break::ErrorFrame {
            kind: kind.into(),
            message: message.into(),
        })
    }

    /// An answer cut off at the output limit.
    pub const fn max_tokens() -> Self {
        Self::new(FaultKind::MaxTokens)
    }

    /// An answer without content.
    pub const fn empty() -> Self {
        Self::new(FaultKind::Empty)
    }

    /// A slow answer; `0.0` tokens a second for no limit.
    pub const fn slow(first_byte: Duration, tokens_per_second: f64) -> Self {
        Self::new(FaultKind::Slow {
            first_byte,
            tokens_per_second,
        })
    }

    /// A prompt that does not fit.
    pub const fn context_overflow() -> Self {
        Self::new(FaultKind::ContextOverflow)
    }

    const fn broken(how: Break) -> Self {
        Self::new(FaultKind::Stream {
            at: Position::MidContent,
            how,
        })
    }

    /// Sends `Retry-After` with the status.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u64) -> Self {
        if let FaultKind::Status { retry_after, .. } = &mut self.kind {
            *retry_after = Some(seconds);
        }
        self
    }

    /// Strikes at this position of the stream.
    #[must_use]
    pub const fn at(mut self, position: Position) -> Self {
        if let FaultKind::Stream { at, .. } = &mut self.kind {
            *at = position;
        }
        self
    }

    /// Hits this model only.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    /// Hits request paths with this beginning only, for example `/openai`.
    #[must_use]
    pub fn path(mut self, prefix: &str) -> Self {
        self.path = Some(prefix.to_owned());
        self
    }

    /// Hits this format only.
    #[must_use]
    pub const fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Hits this agent only.
    #[must_use]
    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    /// Hits this turn only.
    #[must_use]
    pub const fn turn(mut self, turn: usize) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Hits this many requests, then no more.
    #[must_use]
    pub const fn times(mut self, count: u32) -> Self {
        self.left = Some(count);
        self
    }

    fn hits(&self, request: &ModelRequest, path: &str) -> bool {
        self.left != Some(0)
            && self.model.as_ref().is_none_or(|model| *model == request.model)
            && self
                .path
                .as_ref()
                .is_none_or(|prefix| path.starts_with(prefix.as_str()))
            && self.format.is_none_or(|format| format == request.format)
            && self.agent.as_ref().is_none_or(|agent| *agent == request.agent)
            && self.turn.is_none_or(|turn| turn == request.turn)
    }
}

/// A model, and the faults that come between it and its clients.
pub(crate) struct Faulty<M> {
    model: M,
    faults: Mutex<Vec<Fault>>,
}

impl<M: Model> Faulty<M> {
    /// No faults yet.
    pub(crate) const fn new(model: M) -> Self {
        Self {
            model,
            faults: Mutex::new(Vec::new()),
        }
    }

    /// The model behind the faults.
    pub(crate) const fn model(&self) -> &M {
        &self.model
    }

    /// Adds a fault. The oldest one that matches a request strikes.
    pub(crate) fn inject(&self, fault: Fault) {
        locked(&self.faults).push(fault);
    }

    /// Takes all faults back.
    pub(crate) fn heal(&self) {
        locked(&self.faults).clear();
    }

    /// The answer to this request on this path, changed by the fault that strikes, and that fault.
    pub(crate) fn respond(&self, request: &ModelRequest, path: &str) -> (Answer, Option<FaultKind>) {
        let fault = self.strike(request, path);
        let answer = match &fault {
            // All but the last never answer: the model must not notice the request.
            Some(FaultKind::Status { .. } | FaultKind::Hang | FaultKind::ContextOverflow | FaultKind::Empty) => {
                Answer::text("")
            }
            Some(FaultKind::MaxTokens) => halve(self.model.answer(request)),
            _ => self.model.answer(request),
        };
        (answer, fault)
    }

    fn strike(&self, request: &ModelRequest, path: &str) -> Option<FaultKind> {
        let mut faults = locked(&self.faults);
        let fault = faults.iter_mut().find(|fault| fault.hits(request, path))?;
        if let Some(left) = &mut fault.left {
            *left -= 1;
        }
        Some(fault.kind.clone())
    }
}

/// The first half of the text, and no calls: what is left of an answer at the output limit.
fn halve(answer: Answer) -> Answer {
    let text = if answer.text.is_empty() {
        "I will look at the".to_owned()
    } else {
        answer.text
    };
    let half = text.chars().count().div_ceil(2);
    Answer {
        text: text.chars().take(half).collect(),
        second_text: String::new(),
        thinking: answer.thinking,
        tool_calls: Vec::new(),
        stop: Stop::MaxTokens,
    }
}
