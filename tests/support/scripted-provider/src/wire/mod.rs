//! The wire formats: checking and reading requests, writing streams and errors.

mod chat;
mod chat_frames;
pub(crate) mod errors;
mod fields;
mod messages;
mod messages_frames;
mod messages_history;
mod responses;
mod responses_frames;

use crate::books::Usage;
use crate::cache::Prompt;
use crate::model::{Answer, Format, ModelRequest};
use axum::http::HeaderMap;
use serde_json::Value;

/// A request that the provider does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
}

impl Refusal {
    /// The request is malformed.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
        }
    }

    /// The key is missing or wrong.
    pub(crate) fn key(message: impl Into<String>) -> Self {
        Self {
            status: 401,
            message: message.into(),
        }
    }
}

/// A request that passed the checks.
pub(crate) struct Parsed {
    pub(crate) request: ModelRequest,
    pub(crate) prompt: Prompt,
    /// The client wants the usage in the stream (always, but for Chat Completions).
    pub(crate) wants_usage: bool,
}

/// What a frame is, for the faults that strike at a place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It carries no content.
    Start,
    /// It carries content, or opens or closes a block of it.
    Content,
    /// It completes a tool call.
    CallDone,
    /// The reason of the stop, when that is not the terminal event.
    Stop,
    /// The terminal event, or a part of it.
    Terminal,
}

/// One event of a stream, ready to send.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) wire: Vec<u8>,
    pub(crate) stage: Stage,
    /// The characters of output that it carries.
    pub(crate) chars: usize,
}

impl Frame {
    /// An event with a name line.
    pub(crate) fn named(stage: Stage, chars: usize, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or("message");
        Self {
            wire: format!("event: {name}\ndata: {data}\n\n").into_bytes(),
            stage,
            chars,
        }
    }

    /// An event of data only.
    pub(crate) fn plain(stage: Stage, chars: usize, data: &str) -> Self {
        Self {
            wire: format!("data: {data}\n\n").into_bytes(),
            stage,
            chars,
        }
    }
}

/// An answer with all that a stream needs around it.
pub(crate) struct Reply<'a> {
    pub(crate) answer: &'a Answer,
    pub(crate) usage: Usage,
    pub(crate) model: &'a str,
    /// Ids are made from this; it follows from the prompt, so equal requests get equal ids.
    pub(crate) seed: &'a str,
    pub(crate) wants_usage: bool,
}

impl Reply<'_> {
    /// The id of a thing of this answer.
    pub(crate) fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{}{index:02}", &self.seed[..20])
    }

    /// The tokens of reasoning, which are part of the output.
    pub(crate) fn reasoning_tokens(&self) -> u64 {
        crate::tokens(self.answer.chars().0).min(self.usage.output)
    }
}

/// Checks the key, the headers and the body.
pub(crate) fn parse(format: Format, key: Option<&str>, headers: &HeaderMap, body: &[u8]) -> Result<Parsed, Refusal> {
    check_key(format, key, headers)?;
    let content_type = header(headers, "content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(Refusal::bad("content-type: must be application/json"));
    }
    let body: Value = serde_json::from_slice(body)
        .map_err(|_| Refusal::bad("The request body is not valid JSON: could not be parsed"))?;
    match format {
        Format::Messages => messages::parse(headers, &body),
        Format::ChatCompletions => chat::parse(&body),
        Format::Responses => responses::parse(&body),
    }
}

/// The events of an answer.
pub(crate) fn frames(format: Format, reply: &Reply) -> Vec<Frame> {
    match format {
        Format::Messages => messages_frames::frames(reply),
        Format::ChatCompletions => chat_frames::frames(reply),
        Format::Responses => responses_frames::frames(reply),
    }
}

/// A header's text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a request has the key, in the place where its format puts it.
pub(crate) fn check_key(format: Format, expected: Option<&str>, headers: &HeaderMap) -> Result<(), Refusal> {
    let given = match format {
        Format::Messages => header(headers, "x-api-key"),
        Format::ChatCompletions | Format::Responses => {
            header(headers, "authorization").and_then(|value| value.strip_prefix("Bearer "))
        }
    };
    let (missing, wrong) = match format {
        Format::Messages => ("x-api-key header is required", "invalid x-api-key"),
        _ => (
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth",
            "Incorrect API key provided",
        ),
    };
    match (given, expected) {
        (None | Some(""), _) => Err(Refusal::key(missing)),
        (Some(given), Some(expected)) if given != expected => Err(Refusal::key(wrong)),
        _ => Ok(()),
    }
}

/// Maximum number of pieces of a text: the longest ones come in larger pieces.
const MAX_PIECES: usize = 4000;

/// The words of a refusal.
const DECLINED: &str = "I'm sorry, but I can't help with that.";

/// A text in several pieces.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars
        .len()
        .div_ceil(4)
        .clamp(1, 40)
        .max(chars.len().div_ceil(MAX_PIECES));
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}
