//! Making a body that was written for one model valid for another.

mod anthropic;
mod history;
mod responses;

use bytes::Bytes;
use conclave_shared::{model::ModelId, pricing::ModelFacts};
use serde_json::{Map, Value};

use super::{Signatures, Wire};

/// An adaptation of a body to a model.
#[derive(Debug)]
pub(crate) struct Adaptation<'a> {
    /// The format of the body.
    pub(crate) wire: Wire,
    /// The model that the body was written for.
    pub(crate) asked: &'a ModelId,
    /// The model that will get it.
    pub(crate) target: &'a ModelId,
    /// The facts about that model.
    pub(crate) facts: Option<ModelFacts>,
    /// The makers of the session's reasoning blocks.
    pub(crate) signatures: &'a Signatures,
}

impl Adaptation<'_> {
    /// The body to send; the same bytes if nothing has to change.
    pub(crate) fn apply(&self, body: &Bytes) -> Bytes {
        let renames = self.asked != self.target;
        let signs = self.wire != Wire::OpenAiChat;
        let strips = signs && (renames || self.signatures.has_others_than(self.target));
        let completion_limit = self.wire == Wire::OpenAiChat && wants_completion_limit(self.target);
        if !renames && !strips && !completion_limit {
            return body.clone();
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_slice::<Value>(body) else {
            return body.clone();
        };
        if renames && let Some(model) = fields.get_mut("model") {
            *model = Value::from(self.target.model());
        }
        if strips {
            history::strip_foreign_reasoning(&mut fields, |signature| match self.signatures.maker(signature) {
                Some(maker) => maker == *self.target,
                // Made before the gateway, or not at all: the model that the runtime talks to may know it.
                None => !renames,
            });
        }
        if renames {
            let (model, max_output) = (self.target.model(), self.facts.map(|facts| facts.max_output));
            match self.wire {
                Wire::Anthropic => anthropic::adapt(&mut fields, model, max_output),
                Wire::OpenAiChat => clamp(&mut fields, "max_tokens", max_output),
                Wire::OpenAiResponses => responses::adapt(&mut fields, model, max_output),
            }
        }
        let fields = if completion_limit {
            with_completion_limit(fields)
        } else {
            fields
        };
        serde_json::to_vec(&fields).map_or_else(|_| body.clone(), Bytes::from)
    }
}

/// Returns whether the model takes `max_completion_tokens` only, as `OpenAI`'s reasoning models do.
fn wants_completion_limit(model: &ModelId) -> bool {
    let families = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
    model.provider() == "openai" && families.iter().any(|family| model.model().starts_with(family))
}

/// The same fields in the same order, with the output limit under its newer name.
fn with_completion_limit(fields: Map<String, Value>) -> Map<String, Value> {
    if fields.contains_key("max_completion_tokens") {
        return fields.into_iter().filter(|(name, _)| name != "max_tokens").collect();
    }
    let rename = |(name, value)| match name {
        name if name == "max_tokens" => ("max_completion_tokens".to_owned(), value),
        name => (name, value),
    };
    fields.into_iter().map(rename).collect()
}

/// Lowers a number to what the model can do.
fn clamp(fields: &mut Map<String, Value>, name: &str, max: Option<u64>) {
    if let (Some(value), Some(max)) = (fields.get_mut(name), max)
        && value.as_u64().is_some_and(|value| value > max)
    {
        *value = Value::from(max);
    }
}

#[cfg(test)]
#[path = "adapt_tests.rs"]
mod tests;
