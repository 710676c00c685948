//! What models cost, how much they can read, and what they take.

use std::{collections::BTreeMap, sync::OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{effort::Thinking, model::ModelId, nearest::nearest};

/// Prices in US dollars per million tokens, limits in tokens, and what a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Answer tokens; reasoning tokens cost the same.
    pub output: f64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: f64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: f64,
    /// The context window.
    pub context: u64,
    /// The most tokens that one answer may have.
    pub max_output: u64,
    /// Whether it takes a temperature.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub temperature: bool,
    /// Whether it reasons before it answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// The efforts that it takes.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub thinking: Thinking,
    /// What a call with a long prompt costs instead, where the provider has another price for those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
}

/// The prices of a call whose prompt is longer than a limit. They hold for all of its tokens, not only for those beyond.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongContext {
    /// The longest prompt, in tokens, that still has the ordinary price.
    pub above: u64,
    /// Uncached prompt tokens.
    pub input: f64,
    /// Answer tokens; reasoning tokens cost the same.
    pub output: f64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: f64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: f64,
}

/// Tokens of one or many model calls. The kinds do not overlap: a prompt's size is `input + cache_read + cache_write`.
///
/// Sums end at the largest number, so that a budget never begins again at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokenUsage {
    /// Uncached prompt tokens.
    pub input: u64,
    /// Answer tokens without reasoning.
    pub output: u64,
    /// Reasoning tokens, where the provider tells them apart.
    pub reasoning: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
}

/// Maximum tokens of a kind that one call is believed to have: far beyond every context window.
const MAX_OF_A_CALL: u64 = 1 << 40;

impl TokenUsage {
    /// The usage of one call as a provider reported it, within what is believed: sums over all calls of a run stay numbers.
    #[must_use]
    pub fn believed(self) -> Self {
        Self {
            input: self.input.min(MAX_OF_A_CALL),
            output: self.output.min(MAX_OF_A_CALL),
            reasoning: self.reasoning.min(MAX_OF_A_CALL),
            cache_read: self.cache_read.min(MAX_OF_A_CALL),
            cache_write: self.cache_write.min(MAX_OF_A_CALL),
        }
    }

    /// All tokens of all kinds.
    pub const fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output).saturating_add(self.reasoning)
    }

    /// The tokens of the prompts, wherever they came from.
    pub const fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// The share of all prompt tokens that came from the cache: `cache_read / (input + cache_read + cache_write)`;
    /// `None` without any prompt. This is what a run achieved: writing to a cache is a miss that pays off later.
    pub fn prompt_cache_rate(&self) -> Option<f64> {
        let prompt = self.prompt();
        #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
        (prompt > 0).then(|| self.cache_read as f64 / prompt as f64)
    }

    /// The share of readable prompt tokens that came from the cache: `cache_read / (cache_read + input)`; `None`
    /// when nothing was read at all.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let readable = self.cache_read.saturating_add(self.input);
        #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
        (readable > 0).then(|| self.cache_read as f64 / readable as f64)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

impl ModelFacts {
    /// The price of one call in US dollars. It cannot be asked for a sum of calls: a long prompt may cost more for each
    /// token.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub fn cost_usd(&self, call: &TokenUsage) -> f64 {
        let (input, output, cache_read, cache_write) = match self.long_context {
            Some(long) if call.prompt() > long.above => (long.input, long.output, long.cache_read, long.cache_write),
            _ => (self.input, self.output, self.cache_read, self.cache_write),
        };
        (call.input as f64 * input
            + call.output.saturating_add(call.reasoning) as f64 * output
            + call.cache_read as f64 * cache_read
            + call.cache_write as f64 * cache_write)
            / 1_000_000.0
    }
}

#[derive(Deserialize)]
struct RegistryFile {
    models: BTreeMap<String, ModelFacts>,
}

/// The facts that the pinned `OpenCode` has built in, by `provider/model`.
pub fn registry() -> &'static BTreeMap<String, ModelFacts> {
    static REGISTRY: OnceLock<BTreeMap<String, ModelFacts>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        // The file is part of the program and a test reads it, so an empty map cannot be what ships.
        serde_json::from_str::<RegistryFile>(include_str!("../data/model-registry.json"))
            .map(|file| file.models)
            .unwrap_or_default()
    })
}

/// The facts of one model, or `None` for a model that the registry does not know.
pub fn facts(model: &ModelId) -> Option<ModelFacts> {
    registry().get(model.as_str()).copied()
}

/// What to tell somebody who names a model that the registry does not know, though it knows one of the same provider with
/// almost the same name. Such a name is used all the same: providers have new models every month.
pub fn mistyped(model: &ModelId) -> Option<String> {
    if facts(model).is_some() {
        return None;
    }
    let provider = format!("{}/", model.provider());
    let known = registry().keys().filter_map(|known| known.strip_prefix(&provider));
    let near = nearest(model.model(), known)?;
    Some(format!(
        "no model {model} is known to this version; did you mean {provider}{near}? It is used as it is written"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_a_known_provider_that_is_not_known_is_taken_for_its_neighbour() {
        let said = |name: &str| mistyped(&name.parse().expect("a valid model"));
        let meant = |name: &str| {
            said(name).and_then(|text| {
                let rest = text.split_once("did you mean ")?.1;
                Some(rest.split_once('?')?.0.to_owned())
            })
        };
        for (typed, near) in [
            ("anthropic/claude-sonet-5", Some("anthropic/claude-sonnet-5")),
            ("openai/gpt6-sol", Some("openai/gpt-6-sol")),
            ("anthropic/claude-sonnet-5", None),
            ("anthropic/zebra", None),
            ("ollama/claude-sonet-5", None),
        ] {
            assert_eq!(meant(typed).as_deref(), near, "{typed}: {:?}", said(typed));
        }
    }

    #[test]
    fn the_registry_is_readable_and_prices_are_per_million() {
        let model: ModelId = "anthropic/claude-opus-4-7".parse().expect("a valid model");
        let facts = facts(&model).expect("known");
        let usage = TokenUsage {
            input: 1_000_000,
            output: 100_000,
            reasoning: 100_000,
            cache_read: 2_000_000,
            cache_write: 0,
        };
        assert!((facts.cost_usd(&usage) - (5.0 + 5.0 + 1.0)).abs() < 1e-9);
        assert_eq!(facts.context, 1_000_000);
    }

    #[test]
    fn a_long_prompt_has_its_own_price_for_all_of_its_tokens() {
        let model: ModelId = "openai/gpt-6-sol".parse().expect("a valid model");
        let facts = facts(&model).expect("known");
        let of = |input| TokenUsage {
            input,
            cache_read: 200_000,
            output: 1_000,
            reasoning: 1_000,
            ..TokenUsage::default()
        };
        let ordinary = facts.cost_usd(&of(72_000));
        assert!(
            (ordinary - (72_000.0 * facts.input + 2_000.0 * facts.output + 200_000.0 * facts.cache_read) / 1e6).abs()
                < 1e-12
        );
        let long = facts.long_context.expect("a tier");
        assert_eq!(long.above, 272_000);
        let dear = facts.cost_usd(&of(72_001));
        assert!(
            (dear - (72_001.0 * long.input + 2_000.0 * long.output + 200_000.0 * long.cache_read) / 1e6).abs() < 1e-12
        );
        assert!(dear > 1.5 * ordinary);
    }

    #[test]
    fn the_rate_of_a_run_counts_cache_writes_as_misses() {
        let usage = TokenUsage {
            input: 100,
            cache_read: 300,
            cache_write: 600,
            ..TokenUsage::default()
        };
        assert_eq!(usage.prompt_cache_rate(), Some(0.3));
        assert_eq!(TokenUsage::default().prompt_cache_rate(), None);
    }

    #[test]
    fn the_hit_rate_leaves_cache_writes_out() {
        let usage = TokenUsage {
            input: 100,
            cache_read: 300,
            cache_write: 900,
            ..TokenUsage::default()
        };
        assert_eq!(usage.cache_hit_rate(), Some(0.75));
        assert_eq!(TokenUsage::default().cache_hit_rate(), None);
    }
}
