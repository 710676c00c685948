//! The document that operators write and clients read.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapabilityOverrides, ClassEfforts, LimitOverrides, Limits, ModelPrice, ModelTier};
use crate::{effort::Effort, model::ModelId, risk::RiskSettings};

/// The version of the document's shape that this program writes and understands. A document with a higher one is
/// refused by a client, which then goes on with its defaults.
pub const SCHEMA_VERSION: u32 = 1;

/// What an operator stores: who reviews with what, which providers are on, who stands in for whom.
///
/// Every part is optional. What is left out keeps the client's built-in default, so an empty document is a valid one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The models of the three classes of reviewers, for reviewers without models of their own.
    #[serde(default)]
    pub models: ModelPreferences,
    /// Efforts of the models of a class.
    #[serde(default, skip_serializing_if = "ClassEfforts::is_empty")]
    pub effort: ClassEfforts,
    /// Corrections of what models take, by `provider/model`; under `provider/*` for those that the registry does not have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, CapabilityOverrides>,
    /// Time and size limits of a run.
    #[serde(default)]
    pub limits: Limits,
    /// Overrides of the risk rules.
    #[serde(default, skip_serializing_if = "RiskSettings::is_default")]
    pub risk: RiskSettings,
    /// Who sits on the panel of a tier, by the tier's name. A tier that is not listed keeps the built-in panel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub panels: BTreeMap<String, Vec<String>>,
    /// What models cost, by `provider/model`. A model that is not listed has the built-in price.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
    /// What is otherwise in some projects. All entries that name a project are laid over the document in their order: the
    /// last word counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectOverride>,
}

impl ConfigDocument {
    /// Lays another document over this one: what it says wins, what it leaves out stays.
    pub fn amend(&mut self, over: Self) {
        let Self {
            schema_version,
            revision,
            reviewers,
            providers,
            failback,
            models,
            effort,
            capabilities,
            limits,
            risk,
            panels,
            prices,
            projects,
        } = over;
        self.schema_version = schema_version;
        self.revision = revision;
        self.providers.extend(providers);
        self.limits = limits;
        self.projects = projects;
        let rest = ProjectOverride {
            reviewers,
            failback,
            models,
            effort,
            capabilities,
            risk,
            panels,
            prices,
            ..ProjectOverride::default()
        };
        rest.lay_over(self);
    }
}

impl Default for ConfigDocument {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            revision: 0,
            reviewers: BTreeMap::new(),
            providers: BTreeMap::new(),
            failback: BTreeMap::new(),
            models: ModelPreferences::default(),
            effort: ClassEfforts::default(),
            capabilities: BTreeMap::new(),
            limits: Limits::default(),
            risk: RiskSettings::default(),
            panels: BTreeMap::new(),
            prices: BTreeMap::new(),
            projects: Vec::new(),
        }
    }
}

/// What `GET /v1/config` answers: the document with the provider switches of their own keys merged in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveConfig {
    /// The merged document.
    pub config: ConfigDocument,
    /// Stored values that could not be read and were left out, each as `key: reason`. Never empty silently: a client
    /// shows them as warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Why the stored document is left out, if it is, as in `warnings`: nothing that it protects is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_fault: Option<String>,
}

/// One reviewer's settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Effort of its model; by default that of its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

impl ReviewerSettings {
    /// Lays other settings over these: what they say wins, what they leave out stays.
    fn amend(&mut self, over: Self) {
        self.enabled = over.enabled.or(self.enabled);
        self.timeout_seconds = over.timeout_seconds.or(self.timeout_seconds);
        self.effort = over.effort.or(self.effort);
        if !over.models.is_empty() {
            self.models = over.models;
        }
    }
}

/// Models by class of reviewers, each list best first; an empty one means the built-in preference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelPreferences {
    /// The coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<ModelId>,
    /// Most reviewers, and the coordinator of a trivial merge request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standard: Vec<ModelId>,
    /// Reviewers of texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub light: Vec<ModelId>,
}

impl ModelPreferences {
    /// Returns whether no class is named.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The models of a class.
    pub fn of(&self, tier: ModelTier) -> &[ModelId] {
        match tier {
            ModelTier::Top => &self.top,
            ModelTier::Standard => &self.standard,
            ModelTier::Light => &self.light,
        }
    }

    /// Lays other preferences over these: a class that they leave out stays.
    fn amend(&mut self, over: &Self) {
        for tier in ModelTier::ALL {
            if !over.of(tier).is_empty() {
                over.of(tier).clone_into(self.of_mut(tier));
            }
        }
    }

    /// The models of a class, to change them.
    pub fn of_mut(&mut self, tier: ModelTier) -> &mut Vec<ModelId> {
        match tier {
            ModelTier::Top => &mut self.top,
            ModelTier::Standard => &mut self.standard,
            ModelTier::Light => &mut self.light,
        }
    }
}

/// Whether a provider may be used. Also the value of the KV key `provider/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderSwitch {
    /// `false` routes every review around the provider.
    pub enabled: bool,
    /// Why, for the people who read the review's coverage block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is otherwise in the projects whose paths match. Everything but `paths` is optional; what is left out stays as the
/// document, or an earlier entry, says it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectOverride {
    /// Patterns of project paths, from the root: `platform/**`, `*/docs`. A group stands for everything in it; case does
    /// not count.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub paths: Vec<String>,
    /// Reviewers (and `coordinator`) by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reviewers: BTreeMap<String, ReviewerSettings>,
    /// Providers that these projects do not use. A project can only switch off: no switch turns it on again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderSwitch>,
    /// Who stands in for a model; `null` ends the chain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failback: BTreeMap<String, Option<ModelId>>,
    /// The models of the three classes of reviewers.
    #[serde(default, skip_serializing_if = "ModelPreferences::is_empty")]
    pub models: ModelPreferences,
    /// Efforts of the models of a class.
    #[serde(default, skip_serializing_if = "ClassEfforts::is_empty")]
    pub effort: ClassEfforts,
    /// Corrections of what models take.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, CapabilityOverrides>,
    /// Time and size limits of a run.
    #[serde(default, skip_serializing_if = "LimitOverrides::is_empty")]
    pub limits: LimitOverrides,
    /// Overrides of the risk rules; patterns are added to those of the document.
    #[serde(default, skip_serializing_if = "RiskSettings::is_default")]
    pub risk: RiskSettings,
    /// Who sits on the panel of a tier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub panels: BTreeMap<String, Vec<String>>,
    /// What models cost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
}

impl ProjectOverride {
    /// Lays this over a document.
    pub(super) fn lay_over(&self, document: &mut ConfigDocument) {
        let Self {
            paths: _,
            reviewers,
            providers,
            failback,
            models,
            effort,
            capabilities,
            limits,
            risk,
            panels,
            prices,
        } = self.clone();
        for (name, over) in reviewers {
            document.reviewers.entry(name).or_default().amend(over);
        }
        // Only off: what is off for everybody must not come back for one project.
        let off = providers.into_iter().filter(|(_, switch)| !switch.enabled);
        for (name, switch) in off {
            let known = document.providers.entry(name).or_insert_with(|| switch.clone());
            if known.enabled {
                *known = switch;
            }
        }
        document.failback.extend(failback);
        document.models.amend(&models);
        document.effort.amend(&effort);
        for (model, over) in capabilities {
            document.capabilities.entry(model).or_default().amend(over);
        }
        limits.lay_over(&mut document.limits);
        document.risk.amend(risk);
        document.panels.extend(panels);
        document.prices.extend(prices);
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
    fn risk_rules_and_panels_are_read_and_not_written_where_they_are_not_set() {
        let text = r#"{"schema_version":1,"risk":{"lite_lines":200},"panels":{"lite":["security"]}}"#;
        let document: ConfigDocument = serde_json::from_str(text).expect("valid");
        assert_eq!(document.risk.lite_lines, Some(200));
        assert_eq!(document.panels["lite"], ["security"]);
        let written = serde_json::to_string(&ConfigDocument::default()).expect("JSON");
        assert!(!written.contains("risk") && !written.contains("panels"), "{written}");
    }

    #[test]
    fn what_a_document_leaves_out_stays_when_it_is_laid_over_another() {
        let document = |text: &str| serde_json::from_str::<ConfigDocument>(text).expect("valid");
        let mut base = document(
            r#"{"schema_version":1,"reviewers":{"security":{"models":["a/one"],"timeout_seconds":9}},
                "failback":{"a/one":"a/two"},"models":{"top":["a/one"],"light":["a/tiny"]}}"#,
        );
        base.amend(document(
            r#"{"schema_version":1,"revision":3,"reviewers":{"security":{"enabled":false},"tests":{"models":["b/x"]}},
                "failback":{"b/x":null},"models":{"top":["b/x"]},"limits":{"sessions":2},
                "risk":{"lite_lines":50},"panels":{"lite":["security"]}}"#,
        ));
        let expected = document(
            r#"{"schema_version":1,"revision":3,
                "reviewers":{"security":{"enabled":false,"models":["a/one"],"timeout_seconds":9},"tests":{"models":["b/x"]}},
                "failback":{"a/one":"a/two","b/x":null},"models":{"top":["b/x"],"light":["a/tiny"]},"limits":{"sessions":2},
                "risk":{"lite_lines":50},"panels":{"lite":["security"]}}"#,
        );
        assert_eq!(base, expected);
    }

    #[test]
    fn an_old_client_reads_a_newer_writers_extra_fields() {
        let text = r#"{"schema_version":1,"tiers":{"full":{"files":60}},"limits":{"sessions":3,"new_limit":9}}"#;
        let document: ConfigDocument = serde_json::from_str(text).expect("unknown fields are ignored");
        assert_eq!(document.limits.sessions, 3);
        assert_eq!(document.limits.reviewer_seconds, 300);
    }
}
