//! The wire formats: what the gateway reads in them and says in them.

mod anthropic;
mod openai_chat;

use conclave_resilience::classify::FailureClass;
use conclave_shared::pricing::TokenUsage;
use serde_json::json;

/// A wire format of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, which most other providers speak too.
    OpenAiChat,
}

/// What one frame of an answer means for the stream that it is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing of the answer itself. As long as only such frames came, another upstream can take over unnoticed.
    Start,
    /// A part of the answer.
    Content,
    /// The end of a whole answer.
    Terminal,
    /// The end of the stream, but not of an answer.
    Failed(FailureClass),
}

/// Reads an answer as it passes.
#[derive(Debug)]
pub(crate) enum Reader {
    Anthropic(anthropic::Reader),
    OpenAiChat(openai_chat::Reader),
}

impl Reader {
    /// What the next frame means, given its data.
    pub(crate) fn read(&mut self, data: Option<&[u8]>) -> Event {
        match (self, data) {
            (_, None) => Event::Start,
            (Self::Anthropic(reader), Some(data)) => reader.read(data),
            (Self::OpenAiChat(reader), Some(data)) => reader.read(data),
        }
    }

    /// The tokens as told so far.
    pub(crate) fn usage(&self) -> TokenUsage {
        match self {
            Self::Anthropic(reader) => reader.usage(),
            Self::OpenAiChat(reader) => reader.usage(),
        }
    }

    /// What is missing after an answer that said why it stopped, but not that it is over. Nothing of the answer is
    /// lost then, and asking again would run its tools a second time.
    pub(crate) fn missing_end(&self) -> Option<&'static [u8]> {
        match self {
            Self::Anthropic(reader) => reader
                .stopped()
                .then_some(b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
            Self::OpenAiChat(reader) => reader.stopped().then_some(b"data: [DONE]\n\n"),
        }
    }

    /// The seals of the reasoning blocks that came since the last call. The next request will carry them, and only the
    /// model that made them can read them.
    pub(crate) fn take_seals(&mut self) -> Vec<String> {
        match self {
            Self::Anthropic(reader) => reader.take_seals(),
            Self::OpenAiChat(_) => Vec::new(),
        }
    }
}

impl Wire {
    /// The last part of the path of a call.
    pub(crate) const fn endpoint(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAiChat => "chat/completions",
        }
    }

    /// A reader for one answer.
    pub(crate) fn reader(self) -> Reader {
        match self {
            Self::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Self::OpenAiChat => Reader::OpenAiChat(openai_chat::Reader::default()),
        }
    }

    /// The body of a final error. It must not hold digits: `OpenCode` takes some for statuses and asks again.
    pub(crate) fn error_body(self, message: &str) -> String {
        match self {
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string()
            }
            Self::OpenAiChat => json!({"error": {"message": message, "type": "invalid_request_error", "param": null,
                                                 "code": "conclave_final"}})
            .to_string(),
        }
    }

    /// The frame that ends a stream for good after its first content, in the form that `OpenCode` does not retry.
    pub(crate) fn error_frame(self, message: &str) -> String {
        match self {
            Self::Anthropic => format!("event: error\ndata: {}\n\n", self.error_body(message)),
            Self::OpenAiChat => {
                let error = json!({"error": {"message": message, "type": "invalid_request_error",
                                             "code": "invalid_prompt"}});
                format!("data: {error}\n\n")
            }
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
