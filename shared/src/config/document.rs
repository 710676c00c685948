//! The document that operators write and clients read.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{BreakerLimits, BudgetLimits};
use crate::model::ModelId;

/// The version of the document's shape that this program writes and understands. A document with a higher one is
/// refused by a client, which then goes on with its defaults.
pub const SCHEMA_VERSION: u32 = 1;

/// What an operator stores: who reviews with what, which providers are on, who stands in for whom.
///
/// Every part is optional. What is left out keeps the client's built-in default, so an empty document is a valid one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigDocument {
    /// The shape of the document; see [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Counts up with every write.
    #[serde(default)]
    pub revision: u64,
    /// Reviewers (and `coordinator`) by name.
    #[serde(default)]
    pub reviewers: BTreeMap<String, ReviewerSettings>,
    /// Provider switches by provider name. A provider that is not listed is on.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderSwitch>,
    /// Who stands in for a model; `null` ends the chain. A model that is not listed keeps the built-in chain.
    #[serde(default)]
    pub failback: BTreeMap<String, Option<ModelId>>,
    /// Time and size limits of a run.
    #[serde(default)]
    pub limits: Limits,
}

impl Default for ConfigDocument {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            revision: 0,
            reviewers: BTreeMap::new(),
            providers: BTreeMap::new(),
            failback: BTreeMap::new(),
            limits: Limits::default(),
        }
    }
}

/// What `GET /v1/config` answers: the document with the provider switches of their own keys merged in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectiveConfig {
    /// The merged document.
    pub config: ConfigDocument,
    /// Stored values that could not be read and were left out, each as `key: reason`. Never empty silently: a client
    /// shows them as warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// One reviewer's settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewerSettings {
    /// `false` takes the reviewer off every panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Models in order of preference; empty means the built-in preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelId>,
    /// Time limit in seconds for one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

/// Whether a provider may be used. Also the value of the KV key `provider/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSwitch {
    /// `false` routes every review around the provider.
    pub enabled: bool,
    /// Why, for the people who read the review's coverage block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Time and size limits of a run; all times in seconds. What is left out keeps its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// One reviewer's attempt (`code_quality` has twice as long).
    pub reviewer_seconds: u64,
    /// All reviewers together; then every session is aborted.
    pub panel_seconds: u64,
    /// The coordinator's own time after the reviewers are done.
    pub coordinator_seconds: u64,
    /// A session that showed no sign of life since it was prompted.
    pub first_sign_seconds: u64,
    /// A session that was alive and went silent.
    pub stall_seconds: u64,
    /// A retry starts only if at least this much of `panel_seconds` is left.
    pub retry_floor_seconds: u64,
    /// Most sessions at once.
    pub sessions: u32,
    /// Most tool calls of one session.
    pub tool_calls: u32,
    /// When a model is left alone, and for how long.
    pub breaker: BreakerLimits,
    /// What a run, and all runs of its merge request, may use.
    pub budget: BudgetLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reviewer_seconds: 300,
            panel_seconds: 1500,
            coordinator_seconds: 600,
            first_sign_seconds: 60,
            stall_seconds: 180,
            retry_floor_seconds: 120,
            sessions: 7,
            tool_calls: 200,
            breaker: BreakerLimits::default(),
            budget: BudgetLimits::default(),
        }
    }
}

impl Limits {
    /// How long one attempt of this reviewer may take.
    pub fn reviewer(&self, name: &str, settings: Option<&ReviewerSettings>) -> Duration {
        let default = if name == "code_quality" {
            self.reviewer_seconds * 2
        } else {
            self.reviewer_seconds
        };
        seconds(
            settings
                .and_then(|settings| settings.timeout_seconds)
                .unwrap_or(default),
        )
    }
}

/// Seconds of configuration as a [`Duration`].
pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_document_keeps_every_default() {
        let document: ConfigDocument = serde_json::from_str(r#"{"schema_version":1}"#).expect("valid");
        assert_eq!(document, ConfigDocument::default());
        assert_eq!(document.limits.reviewer("security", None), Duration::from_mins(5));
        assert_eq!(document.limits.reviewer("code_quality", None), Duration::from_mins(10));
    }

    #[test]
    fn an_old_client_reads_a_newer_writers_extra_fields() {
        let text = r#"{"schema_version":1,"tiers":{"full":{"files":60}},"limits":{"sessions":3,"new_limit":9}}"#;
        let document: ConfigDocument = serde_json::from_str(text).expect("unknown fields are ignored");
        assert_eq!(document.limits.sessions, 3);
        assert_eq!(document.limits.reviewer_seconds, 300);
    }
}
