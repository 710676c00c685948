//! The wire formats: requests made valid for a model, streams read frame by frame, errors as a client understands them.

mod adapt;
mod anthropic;
mod arguments;
mod carried;
mod counts;
mod failure;
mod fields;
mod mend;
mod openai;
mod openai_chat;
mod openai_chunk;
mod openai_responses;
mod request;
mod seen;
mod signatures;
mod sse;
mod words;

use conclave_resilience::classify::{FailureClass, ProviderFault};
use serde_json::{Value, json};

pub(crate) use adapt::Adaptation;
pub(crate) use carried::{Carried, CarriedAnswers};
pub(crate) use failure::{failed_text, is_whole_error};
pub(crate) use mend::mended;
pub(crate) use request::Outline;
pub(crate) use seen::{Counted, Seen};
pub(crate) use signatures::Signatures;
pub(crate) use sse::{Frame, FrameParser, begins_with_event};
use words::is_cut_off;
pub(crate) use words::{brings_answer, is_whole_answer, text_of_body};

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

/// The meaning of one frame for the stream that it is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing of the answer itself. As long as only such frames came, another upstream can take over unnoticed.
    Start,
    /// A part of the answer.
    Content,
    /// The end of a whole answer.
    Terminal,
    /// The end of a whole answer, in a form that the runtime would not understand: [`StreamReader::healed_end`] goes in its
    /// place.
    Unusual,
    /// The end of the stream, but not of an answer.
    Failed(FailureClass),
}

/// The meaning of data that is not an event of the format.
const GARBAGE: Event = Event::Failed(FailureClass::Retryable(ProviderFault::Garbage));

/// The frame of an event that says by itself of which type it is.
fn frame(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n")
}

/// Reads an answer as it passes.
pub(crate) trait StreamReader: Send + Sync {
    /// The meaning of the next frame that has data.
    fn read(&mut self, data: &[u8]) -> Event;

    /// The facts so far.
    fn seen(&mut self) -> &mut Seen;

    /// The frames for the one that was just read, if runtimes read it in different ways, or not at all.
    fn rewritten(&mut self) -> Option<String> {
        self.seen().rewritten.take()
    }

    /// The fields that a whole answer carries beside text and calls, if the format has such.
    fn carried(&mut self) -> Option<Carried> {
        None
    }

    /// Notes the whole calls that wait for the end of an answer, which broke off: they will not come again in it.
    fn broke_off(&mut self) {}

    /// The end for a stream that has none, if nothing of the answer is lost by ending it here: it said why it stopped,
    /// or its tool calls are whole. Asking again would run those a second time.
    fn healed_end(&self) -> Option<String>;

    /// The finish event for a text that was cut off, as of one that reached its limit. It is sent when no fallback model
    /// remains.
    fn shortened_end(&self) -> Option<String>;
}

/// The reason that a model gave for its stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopReason {
    /// The format's own word for an end, for calls, for the limit or for a filter.
    Known,
    /// Another word for an end.
    Ended,
    /// Anything else: a pause, an interruption, a limit of another kind, a word of tomorrow. What does not say that it is
    /// whole is treated as an answer that reached its limit, and never as one that found nothing.
    NotWhole,
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
    pub(crate) fn reader(self) -> Box<dyn StreamReader> {
        match self {
            Self::Anthropic => Box::<anthropic::Reader>::default(),
            Self::OpenAiChat => Box::<openai_chat::Reader>::default(),
            Self::OpenAiResponses => Box::<openai_responses::Reader>::default(),
        }
    }

    /// The facts about an answer that came in one piece, or in the beginning of one; nothing if the body is something else.
    pub(crate) fn whole_answer(self, body: &[u8]) -> Option<Seen> {
        if !is_whole_answer(body) && !is_cut_off(body) {
            return None;
        }
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let usage = &answer["usage"];
        let mut seen = match self {
            Self::Anthropic => anthropic::counted(usage),
            Self::OpenAiChat => openai::counted(usage, "prompt_tokens", "completion_tokens"),
            Self::OpenAiResponses => openai::counted(usage, "input_tokens", "output_tokens"),
        };
        seen.progress(body.len());
        Some(seen)
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
                frame(&error)
            }
        }
    }

    /// The opening before [`Wire::error_frame`] in a stream of which nothing was sent yet. An error as the first
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
#[path = "wire/stream_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "wire/pieces_tests.rs"]
mod pieces_tests;

#[cfg(test)]
#[path = "wire/thoughts_tests.rs"]
mod thoughts_tests;

#[cfg(test)]
#[path = "wire/denied_tests.rs"]
mod denied_tests;

#[cfg(test)]
#[path = "wire/healing_tests.rs"]
mod healing_tests;
