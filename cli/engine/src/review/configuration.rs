//! A review without the organization's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a review began without an answer of the configuration service, and what counted instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationFallback {
    /// What counted.
    pub instead: ConfigurationInstead,
    /// Why, in words.
    pub reason: String,
    /// True if there is a document, it cannot be read, and no earlier answer takes its place: what it protects is not in force.
    #[serde(skip)]
    pub is_broken: bool,
}

/// What counts where the configuration service has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigurationInstead {
    /// The built-in defaults.
    Defaults,
    /// The service's last answer, from disk.
    EarlierAnswer,
}

impl ConfigurationFallback {
    /// The title of the notice.
    pub const fn title(&self) -> &'static str {
        match self.instead {
            ConfigurationInstead::Defaults => "Built-in defaults",
            ConfigurationInstead::EarlierAnswer => "Earlier configuration",
        }
    }

    /// The beginning of the account, before everything that it counts.
    pub const fn account(&self) -> &'static str {
        match self.instead {
            ConfigurationInstead::Defaults => "on the built-in defaults",
            ConfigurationInstead::EarlierAnswer => "on an earlier configuration",
        }
    }

    /// The notice as a sentence.
    pub fn sentence(&self) -> String {
        let mut characters = self.reason.chars();
        let first = characters.next().map(|first| first.to_uppercase().to_string());
        format!("{}{}.", first.unwrap_or_default(), characters.as_str())
    }
}
