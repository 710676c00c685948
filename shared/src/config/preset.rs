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
            Self::Current => &["anthropic/claude-sonnet-5", "openai/gpt-5.3-codex"],
            Self::Yardstick => &["anthropic/claude-sonnet-4-6", "openai/gpt-5.3-codex"],
        };
        let names: Vec<&str> = match (self, tier) {
            (Self::Current, ModelTier::Top) => vec!["anthropic/claude-opus-5-5", "openai/gpt-6-sol"],
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

/// The built-in fallback of a model: the next older one of the same family, until the chain ends.
pub fn default_failback(model: &ModelId) -> Option<ModelId> {
    let next = match model.as_str() {
        "anthropic/claude-opus-5-5" => "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-8" => "anthropic/claude-opus-4-7",
        "anthropic/claude-opus-4-7" => "anthropic/claude-opus-4-6",
        "anthropic/claude-sonnet-5" => "anthropic/claude-sonnet-4-6",
        "anthropic/claude-sonnet-4-6" => "anthropic/claude-sonnet-4-5",
        _ => return None,
    };
    next.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing;

    #[test]
    fn every_default_is_in_the_pinned_registry() {
        for preset in [Preset::Current, Preset::Yardstick] {
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
