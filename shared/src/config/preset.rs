//! Built-in model preferences and failback chains: the one place that names models.

use serde::{Deserialize, Serialize};

use crate::{model::ModelId, named_enum};

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
/// has none, it is one of another family.
pub fn default_failback(model: &ModelId) -> Option<ModelId> {
    let next = match model.as_str() {
        "anthropic/claude-opus-5-5" => "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-8" => "anthropic/claude-opus-4-7",
        "anthropic/claude-opus-4-7" => "anthropic/claude-opus-4-6",
        "anthropic/claude-sonnet-5" => "anthropic/claude-sonnet-4-6",
        "anthropic/claude-sonnet-4-6" => "anthropic/claude-sonnet-4-5",
        "openai/gpt-6-astra" | "openai/gpt-6-sol" => "openai/gpt-5.6-sol",
        "openai/gpt-5.6-sol" | "openai/gpt-5.6" => "openai/gpt-5.5",
        "openai/gpt-5.5" | "openai/gpt-5.6-terra" => "openai/gpt-5.4",
        "openai/gpt-6-luna" => "openai/gpt-5.6-luna",
        "openai/gpt-5.6-luna" => "openai/gpt-5.4-nano",
        "openai/gpt-5.4-nano" => "openai/gpt-5-nano",
        "openai/gpt-5.4-mini" => "openai/gpt-5-mini",
        "openai/gpt-5.4" | "openai/gpt-5.3-codex" => "openai/gpt-5.2",
        "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.7-code" => "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6",
        "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6" | "cloudflare-workers-ai/@cf/zai-org/glm-5.3" => {
            "cloudflare-workers-ai/@cf/zai-org/glm-5.2"
        }
        "cloudflare-workers-ai/@cf/zai-org/glm-5.2" | "cloudflare-workers-ai/@cf/zai-org/glm-5.3-flash" => {
            "cloudflare-workers-ai/@cf/zai-org/glm-4.7-flash"
        }
        "cloudflare-workers-ai/@cf/deepseek-ai/deepseek-v4-pro-0813" => {
            "cloudflare-workers-ai/@cf/deepseek-ai/deepseek-v4-flash-0731"
        }
        "cloudflare-workers-ai/@cf/openai/gpt-oss-120b" => "cloudflare-workers-ai/@cf/openai/gpt-oss-20b",
        _ => return None,
    };
    next.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing;

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
