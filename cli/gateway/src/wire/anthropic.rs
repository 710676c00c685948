//! Anthropic Messages: reading the stream.

use std::borrow::Cow;

use conclave_resilience::classify::{FailureClass, ProviderFault, classify_event};
use conclave_shared::pricing::TokenUsage;
use serde::Deserialize;

use super::Event;

/// Reads one answer.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    usage: TokenUsage,
    stopped: bool,
    open_seal: String,
    seals: Vec<String>,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    message: Option<Message>,
    usage: Option<Usage>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    error: Option<ErrorDetail<'a>>,
}

#[derive(Deserialize)]
struct Message {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ErrorDetail<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

impl Reader {
    pub(super) fn read(&mut self, data: &[u8]) -> Event {
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(data) else {
            return Event::Failed(FailureClass::Retryable(ProviderFault::Garbage));
        };
        match incoming.kind.as_ref() {
            "message_start" => {
                self.count(incoming.message.and_then(|message| message.usage).as_ref());
                Event::Start
            }
            "content_block_start" => {
                self.seals
                    .extend(incoming.content_block.and_then(|block| block.data).map(Cow::into_owned));
                Event::Content
            }
            "content_block_delta" => {
                if let Some(signature) = incoming.delta.and_then(|delta| delta.signature) {
                    self.open_seal.push_str(&signature);
                }
                Event::Content
            }
            "content_block_stop" => {
                if !self.open_seal.is_empty() {
                    self.seals.push(std::mem::take(&mut self.open_seal));
                }
                Event::Content
            }
            "message_delta" => {
                self.count(incoming.usage.as_ref());
                self.stopped |= incoming.delta.is_some_and(|delta| delta.stop_reason.is_some());
                Event::Content
            }
            // Without a reason of the stop `OpenCode` would ask again for ever, as if the stream were cut.
            "message_stop" if self.stopped => Event::Terminal,
            "message_stop" => Event::Failed(FailureClass::Retryable(ProviderFault::CutStream)),
            "error" => Event::Failed(
                incoming
                    .error
                    .map_or(FailureClass::Retryable(ProviderFault::ServerError), |error| {
                        classify_event(&error.kind, &error.message)
                    }),
            ),
            // `ping`, and what is not known yet.
            _ => Event::Start,
        }
    }

    pub(super) const fn usage(&self) -> TokenUsage {
        self.usage
    }

    pub(super) const fn stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn take_seals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seals)
    }

    /// Counts are cumulative: a later one replaces an earlier one.
    fn count(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let set = |kind: &mut u64, told: Option<u64>| *kind = told.unwrap_or(*kind);
        set(&mut self.usage.input, usage.input_tokens);
        set(&mut self.usage.output, usage.output_tokens);
        set(&mut self.usage.cache_write, usage.cache_creation_input_tokens);
        set(&mut self.usage.cache_read, usage.cache_read_input_tokens);
    }
}
