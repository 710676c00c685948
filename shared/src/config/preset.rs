//! Built-in model preferences and failback chains: the one place that names models.

use serde::{Deserialize, Serialize};

use crate::{model::ModelId, named_enum, pricing};

/// The three classes of models that reviewers are assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelTier {
    /// Cheap and fast: text-heavy checks.
    Light,
    /// Code review proper.
    #[default]
    Standard,
    /// Judging.
    Top,
}

impl ModelTier {
    /// All classes, the strongest first.
    pub const ALL: [Self; 3] = [Self::Top, Self::Standard, Self::Light];

    /// The name, as in the configuration document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Standard => "standard",
            Self::Light => "light",
        }
    }
}

named_enum! {
    /// A named set of model preferences.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Preset {
        /// The newest generation: better and cheaper than the yardstick's.
        #[default]
        Current = "current",
        /// What the system that Conclave is measured against ran.
        Yardstick = "yardstick",
        /// The models of `current`, with limits for a slow model server of one's own: long waits, a small context, two
        /// reviewers at once.
        Local = "local",
    }
}

impl Preset {
    /// The models of a tier in order of preference. Below its own models a light tier lists the standard ones: a team
    /// with the key of a single provider still gets every reviewer.
    pub fn models(self, tier: ModelTier) -> Vec<ModelId> {
        const LIGHT: [&str; 2] = [
            "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6",
            "anthropic/claude-haiku-4-5",
        ];
        let standard: &[&str] = match self {
            Self::Current | Self::Local => &["anthropic/claude-sonnet-5", "openai/gpt-5.3-codex"],
            Self::Yardstick => &["anthropic/claude-sonnet-4-6", "openai/gpt-5.3-codex"],
        };
        let names: Vec<&str> = match (self, tier) {
            (Self::Current | Self::Local, ModelTier::Top) => vec!["anthropic/claude-opus-5-5", "openai/gpt-6-sol"],
            (Self::Yardstick, ModelTier::Top) => vec!["anthropic/claude-opus-4-7", "openai/gpt-5.4"],
            (_, ModelTier::Standard) => standard.to_vec(),
            (_, ModelTier::Light) => LIGHT.iter().chain(standard).copied().collect(),
        };
        names.into_iter().filter_map(|name| name.parse().ok()).collect()
    }
}

/// The class of models that a reviewer uses. `trivial` merge requests are judged by a standard model.
pub fn model_tier(reviewer: &str, trivial: bool) -> ModelTier {
    match reviewer {
        "coordinator" if trivial => ModelTier::Standard,
        "coordinator" => ModelTier::Top,
        "documentation" | "release" | "agents_md" => ModelTier::Light,
        _ => ModelTier::Standard,
    }
}

/// The built-in fallback model: the next older one of the same family and provider, until the chain ends. Where Workers AI
/// has none, it is one of another family. A faster or more thorough variant falls back to its model, or what follows it.
pub fn default_failback(model: &ModelId) -> Option<ModelId> {
    let next = match model.as_str() {
        "anthropic/claude-opus-5-5" | "anthropic/claude-opus-5" => "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-8" => "anthropic/claude-opus-4-7",
        "anthropic/claude-opus-4-7" => "anthropic/claude-opus-4-6",
        "anthropic/claude-sonnet-5" => "anthropic/claude-sonnet-4-6",
        "anthropic/claude-sonnet-4-6" => "anthropic/claude-sonnet-4-5",
        // With their models in between, these chains would be longer than one may be.
        "openai/gpt-6-astra"
        | "openai/gpt-6-sol"
        | "openai/gpt-6-astra-fast"
        | "openai/gpt-6-astra-pro"
        | "openai/gpt-6-sol-fast"
        | "openai/gpt-6-sol-pro" => "openai/gpt-5.6-sol",
        "openai/gpt-5.6-sol" | "openai/gpt-5.6" => "openai/gpt-5.5",
        "openai/gpt-5.5" | "openai/gpt-5.6-terra" => "openai/gpt-5.4",
        "openai/gpt-6-luna" => "openai/gpt-5.6-luna",
        "openai/gpt-5.6-luna" => "openai/gpt-5.4-nano",
        "openai/gpt-5.4-nano" => "openai/gpt-5-nano",
        "openai/gpt-5.4-mini" => "openai/gpt-5-mini",
        "openai/gpt-5.4" | "openai/gpt-5.3-codex" => "openai/gpt-5.2",
        "openai/gpt-5.1" => "openai/gpt-5",
        "openai/gpt-4.1" | "openai/gpt-4o-2024-08-06" | "openai/gpt-4o-2024-11-20" => "openai/gpt-4o",
        "openai/gpt-4.1-mini" => "openai/gpt-4o-mini",
        "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.7-code" => "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6",
        "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6" | "cloudflare-workers-ai/@cf/zai-org/glm-5.3" => {
            "cloudflare-workers-ai/@cf/zai-org/glm-5.2"
        }
        "cloudflare-workers-ai/@cf/zai-org/glm-5.2"
        | "cloudflare-workers-ai/@cf/zai-org/glm-5.3-flash"
        | "cloudflare-workers-ai/@cf/qwen/qwen3.8-27b" => "cloudflare-workers-ai/@cf/zai-org/glm-4.7-flash",
        "cloudflare-workers-ai/@cf/deepseek-ai/deepseek-v4-pro-0813" => {
            "cloudflare-workers-ai/@cf/deepseek-ai/deepseek-v4-flash-0731"
        }
        "cloudflare-workers-ai/@cf/deepseek-ai/deepseek-v4-flash-0731" => {
            "cloudflare-workers-ai/@cf/zai-org/glm-5.3-flash"
        }
        "cloudflare-workers-ai/@cf/nvidia/nemotron-3-120b-a12b" => "cloudflare-workers-ai/@cf/openai/gpt-oss-120b",
        "cloudflare-workers-ai/@cf/openai/gpt-oss-120b"
        | "cloudflare-workers-ai/@cf/google/gemma-4-26b-a4b-it"
        | "cloudflare-workers-ai/@cf/meta/llama-4-scout-17b-16e-instruct"
        | "cloudflare-workers-ai/@cf/mistralai/mistral-small-3.1-24b-instruct" => {
            "cloudflare-workers-ai/@cf/openai/gpt-oss-20b"
        }
        variant => return model_of_variant(variant),
    };
    next.parse().ok()
}

/// The model that this is a faster or more thorough variant of.
fn model_of_variant(name: &str) -> Option<ModelId> {
    let base = ["-fast", "-pro", "-spark"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))?;
    let model: ModelId = base.parse().ok()?;
    pricing::facts(&model).is_some().then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_stays_with_its_provider_ends_and_gets_neither_blind_nor_much_dearer() {
        let mut heads = 0;
        for name in pricing::registry().keys() {
            let head: ModelId = name.parse().expect("a model");
            let (mut chain, mut last) = (vec![head.clone()], head);
            while let Some(next) = default_failback(&last) {
                assert_eq!(next.provider(), last.provider());
                let facts = |model| pricing::facts(model).unwrap_or_else(|| panic!("{model} is not in the registry"));
                let (was, is) = (facts(&last), facts(&next));
                assert!(is.context >= was.context / 10, "{last} to {next}");
                assert!(is.output <= was.output * 3.1, "{last} to {next}");
                assert!(!chain.contains(&next), "{next} comes back");
                chain.push(next.clone());
                last = next;
            }
            assert!(chain.len() <= crate::config::MAX_CHAIN, "{chain:?}");
            heads += usize::from(chain.len() > 1);
        }
        assert!(heads > 20, "{heads}");
        for preset in Preset::ALL {
            for tier in ModelTier::ALL {
                for model in preset.models(tier) {
                    let is_last = model.as_str() == "anthropic/claude-haiku-4-5";
                    assert!(
                        is_last || default_failback(&model).is_some(),
                        "{model} has no fallback model"
                    );
                }
            }
        }
    }

    /// Models of these families that have no fallback model: the last of each chain, and those that no review would be given to.
    const ENDS: [&str; 27] = [
        "openai/gpt-5.2",
        "openai/gpt-5",
        "openai/gpt-5-mini",
        "openai/gpt-5-nano",
        "openai/gpt-4o",
        "openai/gpt-4o-mini",
        "openai/o3",
        "openai/chatgpt-image-latest",
        "openai/gpt-daybreak-blue-latest",
        "openai/gpt-daybreak-red-latest",
        "openai/gpt-image-1-mini",
        "openai/gpt-image-1.5",
        "openai/gpt-image-2",
        "openai/gpt-realtime-2.1",
        "openai/text-embedding-3-large",
        "openai/text-embedding-3-small",
        "openai/text-embedding-ada-002",
        "cloudflare-workers-ai/@cf/openai/gpt-oss-20b",
        "cloudflare-workers-ai/@cf/zai-org/glm-4.7-flash",
        "cloudflare-workers-ai/@cf/meta/llama-3.1-8b-instruct-fp8",
        "cloudflare-workers-ai/@cf/meta/llama-3.2-11b-vision-instruct",
        "cloudflare-workers-ai/@cf/meta/llama-3.2-1b-instruct",
        "cloudflare-workers-ai/@cf/meta/llama-3.2-3b-instruct",
        "cloudflare-workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast",
        "cloudflare-workers-ai/@cf/meta/llama-guard-3-8b",
        "cloudflare-workers-ai/@cf/ibm-granite/granite-4.0-h-micro",
        "cloudflare-workers-ai/@cf/aisingapore/gemma-sea-lion-v4-27b-it",
    ];

    #[test]
    fn every_model_of_openai_and_workers_ai_has_a_fallback_model_or_ends_a_chain() {
        let without = pricing::registry().keys().filter(|name| {
            let model: ModelId = name.parse().expect("a model");
            model.provider() != "anthropic" && default_failback(&model).is_none()
        });
        // Models with a small context cannot hold a review's history.
        let is_small = |name: &str| pricing::registry()[name].context < 100_000;
        let unknown: Vec<&String> = without
            .filter(|name| !ENDS.contains(&name.as_str()) && !is_small(name))
            .collect();
        assert_eq!(unknown, Vec::<&String>::new());
        for name in ENDS {
            assert!(pricing::registry().contains_key(name), "{name}");
        }
        for (variant, expected) in [
            ("openai/gpt-5.4-fast", Some("openai/gpt-5.4")),
            ("openai/o3-pro", Some("openai/o3")),
            ("anthropic/claude-opus-5-5-fast", Some("anthropic/claude-opus-5-5")),
            ("openai/unknown-pro", None),
        ] {
            let next = default_failback(&variant.parse().expect("a model"));
            assert_eq!(next.as_ref().map(ModelId::as_str), expected, "{variant}");
        }
    }

    #[test]
    fn every_default_is_in_the_pinned_registry() {
        for preset in Preset::ALL {
            for tier in [ModelTier::Light, ModelTier::Standard, ModelTier::Top] {
                let models = preset.models(tier);
                assert!(models.len() >= 2);
                for model in models {
                    let mut next = Some(model);
                    while let Some(model) = next {
                        assert!(pricing::facts(&model).is_some(), "{model} is not in the registry");
                        next = default_failback(&model);
                    }
                }
            }
        }
    }
}
