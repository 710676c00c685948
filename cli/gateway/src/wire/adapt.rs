//! Writing the parameters of a request for the model that gets it.
//!
//! The runtime writes a body for the model that it asks, and knows nothing of efforts. The gateway knows which model gets a call, which can
//! be a fallback model or one that was named after the runtime had started, and what that model takes. So it alone writes
//! how hard to think, for every call anew: what a fallback model gets is never a translation of what was written for another.
//! The history stays as the runtime sends it, so that the signatures of reasoning hold over tool turns; only reasoning that the
//! model cannot read, because another one signed it, is taken out, and in Chat Completions what a runtime drops of it is put back
//! (`carried.rs`).
//!
//! Some of what the runtime writes is for a name: OpenCode sends a reasoning effort to every `gpt-5` and a nucleus to every `gemini`, at
//! any endpoint. Parameters that are not declared do not go out, so that a model gets what the plan says.

mod anthropic;
mod chat;
mod history;
mod responses;

use std::collections::BTreeSet;

use bytes::Bytes;
use conclave_resilience::classify::Concession;
use conclave_shared::{
    config::Capabilities,
    effort::{Effort, ThinkingRequest},
    model::ModelId,
};
use serde_json::Value;

use super::{CarriedAnswers, Signatures, Wire, fields::Fields};

/// An adaptation of a body to a model.
#[derive(Debug)]
pub(crate) struct Adaptation<'a> {
    /// The format of the body.
    pub(crate) wire: Wire,
    /// The model that the body was written for.
    pub(crate) asked: &'a ModelId,
    /// The model that will get it.
    pub(crate) target: &'a ModelId,
    /// The capabilities of that model.
    pub(crate) capabilities: Capabilities,
    /// The effort of the session's models, if one is set.
    pub(crate) effort: Option<Effort>,
    /// The changes of a request that the model needs, because it has refused a call for what they change.
    pub(crate) concessions: &'a BTreeSet<Concession>,
    /// The makers of the session's reasoning blocks.
    pub(crate) signatures: &'a Signatures,
    /// Fields that the session's answers carry beside text and calls.
    pub(crate) carried: &'a CarriedAnswers,
}

impl Adaptation<'_> {
    /// Returns whether the body names a key for the provider's cache. `OpenAI` takes one, also behind an AI Gateway; another
    /// endpoint that speaks Responses may refuse a parameter that it does not know.
    pub(crate) fn keys_its_cache(&self) -> bool {
        self.wire == Wire::OpenAiResponses && self.target.provider() == "openai" && !self.is_bare()
    }

    /// Returns whether nothing about thinking, sampling and the provider's cache is sent.
    fn is_bare(&self) -> bool {
        self.concessions.contains(&Concession::NoParameters)
    }

    /// The body to send; the same bytes if nothing has to change.
    pub(crate) fn apply(&self, body: &Bytes) -> Bytes {
        let Some(mut fields) = Fields::of(body) else {
            return body.clone();
        };
        let renames = self.asked != self.target;
        if renames && fields.has("model") {
            fields.set("model", self.target.model());
        }
        let signs = self.wire != Wire::OpenAiChat;
        if signs && (renames || self.signatures.has_others_than(self.target)) {
            history::strip_foreign_reasoning(&mut fields, |signature| match self.signatures.maker(signature) {
                Some(maker) => maker == *self.target,
                // Made before the gateway, or not at all: the model that the runtime talks to may know it.
                None => !renames,
            });
        }
        let written = Parameters {
            model: self.target,
            capabilities: &self.capabilities,
            thinking: self.request(),
            bare: self.is_bare(),
            renames,
        };
        match self.wire {
            Wire::Anthropic => anthropic::write(&mut fields, &written),
            Wire::OpenAiChat => {
                self.carried.put_back(&mut fields, self.target);
                chat::write(&mut fields, &written);
                chat::concede(&mut fields, self.target, self.concessions);
            }
            Wire::OpenAiResponses => responses::write(&mut fields, &written),
        }
        if !self.keys_its_cache() {
            fields.remove("prompt_cache_key");
        }
        fields.write(body)
    }

    /// The request for thinking that the model gets. Nothing where what the runtime wrote about it stays: the model takes an effort,
    /// and the session has none.
    fn request(&self) -> Option<ThinkingRequest> {
        let thinking = self.capabilities.thinking;
        let thinking = match self.wire {
            Wire::Anthropic => thinking,
            Wire::OpenAiChat => thinking.in_chat(self.target),
            Wire::OpenAiResponses => thinking.by_level(),
        };
        let capabilities = Capabilities {
            thinking,
            ..self.capabilities
        };
        match self.effort {
            _ if self.is_bare() => Some(ThinkingRequest::Untold),
            Some(effort) => Some(capabilities.request(effort)),
            None if thinking.is_told() && self.asked == self.target => None,
            None => Some(ThinkingRequest::Untold),
        }
    }
}

/// The parameters to write.
struct Parameters<'a> {
    model: &'a ModelId,
    capabilities: &'a Capabilities,
    /// `None` if what the runtime wrote about it stays.
    thinking: Option<ThinkingRequest>,
    /// True if nothing about thinking and sampling is sent.
    bare: bool,
    /// True if the body was written for another model.
    renames: bool,
}

impl Parameters<'_> {
    /// Makes room for the thinking in the answer's limit, as far as the model can, and lowers one that it cannot reach.
    fn fit_limit(&self, fields: &mut Fields<'_>, name: &str) {
        let more = self.thinking.map_or(0, ThinkingRequest::tokens);
        let max = self.capabilities.max_output;
        fields.change(name, |limit| {
            if let Some(had) = limit.as_u64() {
                *limit = Value::from(had.saturating_add(more).min(max));
            }
        });
    }

    /// Sampling parameters: none beside thinking, and for a model that takes none. A temperature for all the runtime has written, for
    /// models that take one; anything else it writes because of a model's name.
    fn sample(&self, fields: &mut Fields<'_>) {
        let thinks = self.thinking.is_some_and(ThinkingRequest::reasons);
        let samples = self.capabilities.samples && !thinks && !self.bare;
        match self.capabilities.temperature.filter(|_| samples) {
            Some(temperature) => fields.set("temperature", temperature),
            None if samples => {}
            None => fields.remove("temperature"),
        }
        match self.capabilities.top_p.filter(|_| samples) {
            Some(top_p) => fields.set("top_p", top_p),
            None => fields.remove("top_p"),
        }
        fields.remove("top_k");
    }
}

#[cfg(test)]
#[path = "adapt_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "adapt_declared_tests.rs"]
mod declared_tests;

#[cfg(test)]
#[path = "adapt_refused_tests.rs"]
mod refused_tests;
