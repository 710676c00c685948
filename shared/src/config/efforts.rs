//! Efforts by class of reviewers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ModelTier;
use crate::effort::Effort;

/// Efforts by class of reviewers; what is left out keeps its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ClassEfforts {
    /// The coordinator; by default `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Effort>,
    /// Most reviewers; by default `medium`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<Effort>,
    /// Reviewers of texts; by default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub light: Option<Effort>,
    /// At most so much for everybody on a trivial change; by default `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trivial: Option<Effort>,
}

impl ClassEfforts {
    /// The names of the classes, and of trivial changes.
    pub const NAMES: [&'static str; 4] = ["top", "standard", "light", "trivial"];

    /// The same effort for all.
    pub const fn all(effort: Effort) -> Self {
        Self {
            top: Some(effort),
            standard: Some(effort),
            light: Some(effort),
            trivial: Some(effort),
        }
    }

    /// Returns whether none is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The effort of a class; on a trivial change at most that of trivial changes.
    pub fn of(&self, tier: ModelTier, trivial: bool) -> Effort {
        let class = match tier {
            ModelTier::Top => self.top.unwrap_or(Effort::High),
            ModelTier::Standard => self.standard.unwrap_or(Effort::Medium),
            ModelTier::Light => self.light.unwrap_or(Effort::None),
        };
        if trivial {
            class.min(self.trivial.unwrap_or(Effort::Low))
        } else {
            class
        }
    }

    /// The effort under one of [`Self::NAMES`], to set it.
    pub fn named(&mut self, name: &str) -> Option<&mut Option<Effort>> {
        match name {
            "top" => Some(&mut self.top),
            "standard" => Some(&mut self.standard),
            "light" => Some(&mut self.light),
            "trivial" => Some(&mut self.trivial),
            _ => None,
        }
    }

    /// Lays others over these: what they leave out stays.
    pub(super) fn amend(&mut self, over: &Self) {
        self.top = over.top.or(self.top);
        self.standard = over.standard.or(self.standard);
        self.light = over.light.or(self.light);
        self.trivial = over.trivial.or(self.trivial);
    }
}

impl fmt::Display for ClassEfforts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = [self.top, self.standard, self.light, self.trivial];
        let set = Self::NAMES.into_iter().zip(values);
        let set: Vec<String> = set
            .filter_map(|(name, effort)| Some(format!("{name} {}", effort?)))
            .collect();
        formatter.pad(&set.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_default_and_a_trivial_change_gets_no_more_than_low() {
        let efforts = ClassEfforts::default();
        let of = |trivial| ModelTier::ALL.map(|tier| efforts.of(tier, trivial));
        assert_eq!(of(false), [Effort::High, Effort::Medium, Effort::None]);
        assert_eq!(of(true), [Effort::Low, Effort::Low, Effort::None]);
        assert_eq!(ClassEfforts::all(Effort::Max).of(ModelTier::Light, true), Effort::Max);
    }
}
