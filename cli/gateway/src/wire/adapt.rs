//! Writing the parameters of a request for the model that gets it.
//!
//! The runtime writes a body for the model that it asks, and knows nothing of efforts. The gateway knows which model gets a call, which can
//! be a fallback model or one that was named after the runtime had started, and what that model takes. So it alone writes
//! how hard to think, for every call anew: what a fallback model gets is never a translation of what was written for another.
//! The history stays as the runtime sends it, so that the signatures of reasoning hold over tool turns; only reasoning that the
//! model cannot read, because another one signed it, is taken out.

mod anthropic;
mod chat;
mod history;
mod responses;

use bytes::Bytes;
use conclave_shared::{
    config::Capabilities,
    effort::{Effort, ThinkingRequest},
    model::ModelId,
};
use serde_json::Value;

use super::{Signatures, Wire, fields::Fields};

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
    /// The effort of the session's models; `None` as the runtime wrote it.
    pub(crate) effort: Option<Effort>,
    /// The makers of the session's reasoning blocks.
    pub(crate) signatures: &'a Signatures,
}

impl Adaptation<'_> {
    /// The body to send; the same bytes if nothing has to change.
    pub(crate) fn apply(&self, body: &Bytes) -> Bytes {
        let renames = self.asked != self.target;
        let signs = self.wire != Wire::OpenAiChat;
        let strips = signs && (renames || self.signatures.has_others_than(self.target));
        let completion_limit = self.wire == Wire::OpenAiChat && chat::wants_completion_limit(self.target);
        let request = self.request();
        let samples = self.capabilities.temperature.is_some() || self.capabilities.top_p.is_some();
        if !renames && !strips && !completion_limit && !samples && request == ThinkingRequest::Untold {
            return body.clone();
        }
        let Some(mut fields) = Fields::of(body) else {
            return body.clone();
        };
        if renames && fields.has("model") {
            fields.set("model", self.target.model());
        }
        if strips {
            history::strip_foreign_reasoning(&mut fields, |signature| match self.signatures.maker(signature) {
                Some(maker) => maker == *self.target,
                // Made before the gateway, or not at all: the model that the runtime talks to may know it.
                None => !renames,
            });
        }
        let written = Parameters {
            model: self.target,
            capabilities: &self.capabilities,
            request,
            renames,
        };
        match self.wire {
            Wire::Anthropic => anthropic::write(&mut fields, &written),
            Wire::OpenAiChat => chat::write(&mut fields, &written),
            Wire::OpenAiResponses => responses::write(&mut fields, &written),
        }
        if completion_limit {
            chat::use_completion_limit(&mut fields);
        }
        fields.write(body)
    }

    /// The request for thinking that the model gets.
    fn request(&self) -> ThinkingRequest {
        let Some(effort) = self.effort else {
            return ThinkingRequest::Untold;
        };
        let thinking = self.capabilities.thinking;
        match self.wire {
            Wire::OpenAiChat => thinking.in_chat(self.target).request(effort),
            Wire::Anthropic | Wire::OpenAiResponses => thinking.request(effort),
        }
    }
}

/// The parameters to write.
struct Parameters<'a> {
    model: &'a ModelId,
    capabilities: &'a Capabilities,
    request: ThinkingRequest,
    /// True if the body was written for another model.
    renames: bool,
}

impl Parameters<'_> {
    /// Makes room for the thinking in the answer's limit, as far as the model can, and lowers one that it cannot reach.
    fn fit_limit(&self, fields: &mut Fields<'_>, name: &str) {
        let (more, max) = (self.request.tokens(), self.capabilities.max_output);
        fields.change(name, |limit| {
            if let Some(had) = limit.as_u64() {
                *limit = Value::from(had.saturating_add(more).min(max));
            }
        });
    }

    /// Sampling parameters: none beside thinking, and for a model that takes none.
    fn sample(&self, fields: &mut Fields<'_>) {
        if !self.capabilities.samples || self.request.reasons() {
            for name in ["temperature", "top_p", "top_k"] {
                fields.remove(name);
            }
            return;
        }
        let chosen = [
            ("temperature", self.capabilities.temperature),
            ("top_p", self.capabilities.top_p),
        ];
        for (name, value) in chosen {
            if let Some(value) = value {
                fields.set(name, value);
            }
        }
    }
}

#[cfg(test)]
#[path = "adapt_tests.rs"]
mod tests;
