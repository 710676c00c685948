//! What models cost and how much they can read.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::{Deserialize, Serialize};

use crate::model::ModelId;

/// Prices in US dollars per million tokens, and limits in tokens.
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
}

/// Tokens of one or many model calls. The kinds do not overlap: a prompt's size is `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

impl TokenUsage {
    /// All tokens of all kinds.
    pub const fn total(&self) -> u64 {
        self.input + self.output + self.reasoning + self.cache_read + self.cache_write
    }

    /// The share of readable prompt tokens that came from the cache: `cache_read / (cache_read + input)`; `None`
    /// when nothing was read at all.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let readable = self.cache_read + self.input;
        #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
        (readable > 0).then(|| self.cache_read as f64 / readable as f64)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }
}

impl ModelFacts {
    /// The price of these tokens in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub fn cost_usd(&self, usage: &TokenUsage) -> f64 {
        (usage.input as f64 * self.input
            + (usage.output + usage.reasoning) as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write)
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

#[cfg(test)]
mod tests {
    use super::*;

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
