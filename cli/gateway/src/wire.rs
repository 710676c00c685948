//! The wire formats: what the gateway reads in them and says in them.

mod anthropic;
mod arguments;
mod openai_chat;
mod openai_errors;
mod openai_responses;

use conclave_resilience::classify::FailureClass;
use conclave_shared::pricing::TokenUsage;
use serde_json::json;

/// A wire format of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, which most other providers speak too.
    OpenAiChat,
    /// `OpenAI` Responses, which the newer models of `OpenAI` itself want.
    OpenAiResponses,
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
    /// The end of a whole answer, in a form that the runtime would not understand: [`Reader::healed_end`] goes in its
    /// place.
    Unusual,
    /// The end of the stream, but not of an answer.
    Failed(FailureClass),
}

/// Reads an answer as it passes.
#[derive(Debug)]
pub(crate) enum Reader {
    Anthropic(anthropic::Reader),
    OpenAiChat(openai_chat::Reader),
    OpenAiResponses(openai_responses::Reader),
}

impl Reader {
    /// What the next frame means, given its data.
    pub(crate) fn read(&mut self, data: Option<&[u8]>) -> Event {
        match (self, data) {
            (_, None) => Event::Start,
            (Self::Anthropic(reader), Some(data)) => reader.read(data),
            (Self::OpenAiChat(reader), Some(data)) => reader.read(data),
            (Self::OpenAiResponses(reader), Some(data)) => reader.read(data),
        }
    }

    /// The tokens as told so far; `None` if nothing was told.
    pub(crate) fn usage(&self) -> Option<TokenUsage> {
        match self {
            Self::Anthropic(reader) => reader.usage(),
            Self::OpenAiChat(reader) => reader.usage(),
            Self::OpenAiResponses(reader) => reader.usage(),
        }
    }

    /// The end for a stream that has none, if nothing of the answer is lost by ending it here: it said why it stopped,
    /// or its tool calls are whole. Asking again would run those a second time.
    pub(crate) fn healed_end(&self) -> Option<String> {
        match self {
            Self::Anthropic(reader) => reader.healed_end(),
            Self::OpenAiChat(reader) => reader.healed_end(),
            Self::OpenAiResponses(reader) => reader.healed_end(),
        }
    }

    /// The end that makes of a text that broke off one that reached its limit; for when nobody is left to ask.
    pub(crate) fn shortened_end(&self) -> Option<String> {
        match self {
            Self::Anthropic(reader) => reader.shortened_end(),
            Self::OpenAiChat(reader) => reader.shortened_end(),
            Self::OpenAiResponses(reader) => reader.shortened_end(),
        }
    }

    /// The seals of the reasoning blocks that came since the last call. The next request will carry them, and only the
    /// model that made them can read them.
    pub(crate) fn take_seals(&mut self) -> Vec<String> {
        match self {
            Self::Anthropic(reader) => reader.take_seals(),
            Self::OpenAiChat(_) => Vec::new(),
            Self::OpenAiResponses(reader) => reader.take_seals(),
        }
    }

    /// How many events came whose kind is not known. They are passed on.
    pub(crate) const fn unknown_events(&self) -> u64 {
        match self {
            Self::Anthropic(reader) => reader.unknown_events(),
            Self::OpenAiChat(_) => 0,
            Self::OpenAiResponses(reader) => reader.unknown_events(),
        }
    }
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAiChat, Self::OpenAiResponses];

    /// The last part of the path of a call.
    pub(crate) const fn endpoint(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAiChat => "chat/completions",
            Self::OpenAiResponses => "responses",
        }
    }

    /// A reader for one answer.
    pub(crate) fn reader(self) -> Reader {
        match self {
            Self::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Self::OpenAiChat => Reader::OpenAiChat(openai_chat::Reader::default()),
            Self::OpenAiResponses => Reader::OpenAiResponses(openai_responses::Reader::default()),
        }
    }

    /// The body of a final error. It must not hold digits: `OpenCode` takes some for statuses and asks again.
    pub(crate) fn error_body(self, message: &str) -> String {
        match self {
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string()
            }
            Self::OpenAiChat | Self::OpenAiResponses => {
                json!({"error": {"message": message, "type": "invalid_request_error", "param": null,
                                 "code": "conclave_final"}})
                .to_string()
            }
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
            Self::OpenAiResponses => {
                // Without the number OpenCode does not see the event, takes the stream for a cut one and asks for ever.
                let error = json!({"type": "error", "sequence_number": 0, "error": {"type": "invalid_request_error",
                                   "code": "invalid_prompt", "message": message, "param": null}});
                format!("event: error\ndata: {error}\n\n")
            }
        }
    }

    /// What has to stand before [`Wire::error_frame`] in a stream of which nothing was sent yet. An error as the first
    /// frame of Anthropic's format is asked again, whatever it says.
    pub(crate) fn opening(self) -> &'static str {
        match self {
            Self::Anthropic => {
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_conclave\",\
                 \"type\":\"message\",\"role\":\"assistant\",\"model\":\"conclave\",\"content\":[],\"stop_reason\":null,\
                 \"stop_sequence\":null,\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n"
            }
            Self::OpenAiChat | Self::OpenAiResponses => "",
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "wire_healing_tests.rs"]
mod healing_tests;
