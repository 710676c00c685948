//! Capabilities of models: context, length of answers, sampling and effort; those of the registry, and an operator's corrections.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigFault, fault::of_models};
use crate::{
    effort::{Effort, Thinking, ThinkingBy, ThinkingRequest},
    model::ModelId,
    pricing,
};

/// Context of a model without known limits, in tokens: small enough for every current one.
pub const UNKNOWN_CONTEXT: u64 = 128_000;
/// Length of an answer of such a model.
const UNKNOWN_OUTPUT: u64 = 16_000;

/// A model's capabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capabilities {
    /// The context window, in tokens.
    pub context: u64,
    /// Maximum length of an answer, its thinking included, in tokens.
    pub max_output: u64,
    /// True if it takes a temperature and the like.
    pub samples: bool,
    /// The temperature that was chosen for it; otherwise that of all.
    pub temperature: Option<f64>,
    /// The nucleus (`top_p`) that was chosen for it.
    pub top_p: Option<f64>,
    /// The efforts that it takes.
    pub thinking: Thinking,
}

impl Capabilities {
    /// The request for an effort, within its longest answer.
    pub fn request(&self, effort: Effort) -> ThinkingRequest {
        self.thinking.request(effort).within(self.max_output)
    }
}

/// Corrections of a model's capabilities; what is left out stays.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct CapabilityOverrides {
    /// The context window, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4_000, max = 100_000_000))]
    pub context: Option<u64>,
    /// Maximum length of an answer, its thinking included, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub max_output: Option<u64>,
    /// True if it takes sampling parameters; a model that thinks gets none while it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<bool>,
    /// The temperature to ask it with; by default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// The nucleus (`top_p`) to ask it with; by default none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1))]
    pub top_p: Option<f64>,
    /// The efforts that it takes, and by which parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
}

impl CapabilityOverrides {
    /// The allowed numbers of tokens of a context.
    pub const CONTEXT: std::ops::RangeInclusive<u64> = 4_000..=100_000_000;
    /// The allowed numbers of tokens of an answer.
    pub const MAX_OUTPUT: std::ops::RangeInclusive<u64> = 1_000..=10_000_000;
    /// The allowed temperatures.
    pub const TEMPERATURE: std::ops::RangeInclusive<f64> = 0.0..=2.0;
    /// The allowed nuclei.
    pub const TOP_P: std::ops::RangeInclusive<f64> = 0.01..=1.0;

    /// Lays other corrections over these: what they leave out stays.
    pub fn amend(&mut self, over: Self) {
        self.context = over.context.or(self.context);
        self.max_output = over.max_output.or(self.max_output);
        self.samples = over.samples.or(self.samples);
        self.temperature = over.temperature.or(self.temperature);
        self.top_p = over.top_p.or(self.top_p);
        self.thinking = over.thinking.or(self.thinking);
    }

    fn lay_over(self, known: &mut Capabilities) {
        known.context = self.context.unwrap_or(known.context);
        known.max_output = self.max_output.unwrap_or(known.max_output);
        // A temperature for a model says that it takes one.
        let chosen = self.temperature.is_some() || self.top_p.is_some();
        known.samples = self.samples.unwrap_or(known.samples || chosen);
        known.temperature = self.temperature.or(known.temperature);
        known.top_p = self.top_p.or(known.top_p);
        known.thinking = self.thinking.unwrap_or(known.thinking);
    }

    /// The faults, each with the name of its field.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let tokens = [
            ("context", self.context, Self::CONTEXT),
            ("max_output", self.max_output, Self::MAX_OUTPUT),
        ];
        for (name, tokens, range) in tokens {
            if let Some(tokens) = tokens.filter(|tokens| !range.contains(tokens)) {
                let (min, max) = range.into_inner();
                faults.push((name, format!("is {tokens}; it must be between {min} and {max} tokens")));
            }
        }
        let numbers = [
            ("temperature", self.temperature, Self::TEMPERATURE),
            ("top_p", self.top_p, Self::TOP_P),
        ];
        for (name, number, range) in numbers {
            // Written so that a number that is none is a fault too.
            if let Some(number) = number.filter(|number| !range.contains(number)) {
                let (min, max) = range.into_inner();
                faults.push((name, format!("is {number}; it must be between {min} and {max}")));
            }
        }
        if let Some(thinking) = self.thinking {
            let wants_levels = matches!(thinking.by, ThinkingBy::Adaptive | ThinkingBy::Effort);
            if wants_levels && thinking.levels.is_empty() {
                let detail = format!(
                    "is missing: a model that is asked by `{}` takes at least one, as in [\"low\", \"high\"]",
                    thinking.by
                );
                faults.push(("thinking/levels", detail));
            }
        }
        faults
    }
}

/// The faults of a document's capabilities.
pub(super) fn faults(capabilities: &BTreeMap<String, CapabilityOverrides>) -> Vec<ConfigFault> {
    of_models("capabilities", capabilities, CapabilityOverrides::faults)
}

/// Capabilities of models: an operator's corrections over those of the registry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilityList {
    own: BTreeMap<String, CapabilityOverrides>,
}

impl CapabilityList {
    /// The capabilities of a document.
    pub fn new(capabilities: &BTreeMap<String, CapabilityOverrides>) -> Self {
        Self {
            own: capabilities.clone(),
        }
    }

    /// The capabilities of a model.
    ///
    /// Those under `PROVIDER/*` are for the models of a provider that the registry does not have.
    pub fn of(&self, model: &ModelId) -> Capabilities {
        let facts = pricing::facts(model);
        let mut known = Capabilities {
            context: facts.map_or(UNKNOWN_CONTEXT, |facts| facts.context),
            max_output: facts.map_or(UNKNOWN_OUTPUT, |facts| facts.max_output),
            samples: facts.is_some_and(|facts| facts.temperature),
            temperature: None,
            top_p: None,
            thinking: facts.map(|facts| facts.thinking).unwrap_or_default(),
        };
        if facts.is_none()
            && let Some(all) = self.own.get(&format!("{}/*", model.provider()))
        {
            all.lay_over(&mut known);
        }
        if let Some(own) = self.own.get(model.as_str()) {
            own.lay_over(&mut known);
        }
        known
    }

    /// Returns whether the context window of a model is known: by the registry, or by what an operator declared.
    pub fn knows_context(&self, model: &ModelId) -> bool {
        let declares = |name: &str| self.own.get(name).is_some_and(|own| own.context.is_some());
        pricing::facts(model).is_some() || declares(model.as_str()) || declares(&format!("{}/*", model.provider()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{ConfigDocument, validate},
        effort::Level,
    };

    fn document(capabilities: &str) -> ConfigDocument {
        serde_json::from_str(&format!(r#"{{"schema_version":1,"capabilities":{capabilities}}}"#)).expect("readable")
    }

    fn model(name: &str) -> ModelId {
        name.parse().expect("a model")
    }

    #[test]
    fn the_registry_is_corrected_field_by_field_and_an_unknown_model_is_small() {
        let document = document(
            r#"{"anthropic/claude-opus-4-6":{"context":200000,"temperature":0.5},
                "compatible/*":{"context":32000,"max_output":8000},
                "compatible/qwen3":{"thinking":{"by":"effort","levels":["low","high"]},"top_p":0.8}}"#,
        );
        assert_eq!(validate(&document), []);
        let list = CapabilityList::new(&document.capabilities);
        let opus = list.of(&model("anthropic/claude-opus-4-6"));
        assert_eq!(
            (opus.context, opus.max_output, opus.samples, opus.temperature),
            (200_000, 128_000, true, Some(0.5))
        );
        let qwen = list.of(&model("compatible/qwen3"));
        assert_eq!((qwen.context, qwen.max_output, qwen.samples), (32_000, 8_000, true));
        assert_eq!(
            qwen.thinking.request(Effort::Medium),
            ThinkingRequest::Effort(Level::Low)
        );
        let other = list.of(&model("compatible/other"));
        assert_eq!(
            (other.context, other.samples, other.thinking.is_told()),
            (32_000, false, false)
        );
        let unknown = list.of(&model("vllm/x"));
        assert_eq!((unknown.context, unknown.max_output), (UNKNOWN_CONTEXT, UNKNOWN_OUTPUT));
        let names = [
            "anthropic/claude-opus-4-6",
            "compatible/qwen3",
            "compatible/other",
            "vllm/x",
        ];
        let knows = names.map(|name| list.knows_context(&model(name)));
        assert_eq!(knows, [true, true, true, false]);
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let document = document(
            r#"{"a/x":{"context":0,"max_output":99,"temperature":2.5,"top_p":0,"thinking":{"by":"effort"}},
                "nonsense":{},"a/y":{"context":864000000}}"#,
        );
        let faults = validate(&document);
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        let expected = [
            "a~1x/context",
            "a~1x/max_output",
            "a~1x/temperature",
            "a~1x/top_p",
            "a~1x/thinking/levels",
            "a~1y/context",
            "nonsense",
        ];
        assert_eq!(pointers, expected.map(|place| format!("/capabilities/{place}")));
        assert_eq!(faults[0].detail, "is 0; it must be between 4000 and 100000000 tokens");
    }
}
