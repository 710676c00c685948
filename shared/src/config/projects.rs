//! What is otherwise in some projects.
//!
//! Entries stand in an order, each with patterns of project paths. Those that name a project are laid over the document
//! one after the other, so a later one has the last word: the general first, the special after it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BreakerLimits, BudgetLimits, ConfigDocument, ConfigFault, Limits, ModelPreferences, ModelPrice, ProviderSwitch,
    ReviewerSettings,
    validate::{escape, faults_of},
};
use crate::{model::ModelId, path_globs::PathGlobs, risk::RiskSettings};

/// The most entries of a document. Every read looks at all of them.
pub const MAX_PROJECTS: usize = 100;

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

/// Limits of some projects; what is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitOverrides {
    /// One reviewer's attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer_seconds: Option<u64>,
    /// All reviewers together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panel_seconds: Option<u64>,
    /// The coordinator's own time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinator_seconds: Option<u64>,
    /// A session that showed no sign of life since it was prompted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_sign_seconds: Option<u64>,
    /// A session that was alive and went silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_seconds: Option<u64>,
    /// What must be left of `panel_seconds` for a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_floor_seconds: Option<u64>,
    /// The whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_seconds: Option<u64>,
    /// Connecting to a model provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_seconds: Option<u64>,
    /// A provider's response headers, from the request on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_seconds: Option<u64>,
    /// The pause between two parts of a provider's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
    /// All attempts of one model call together, until its answer begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_seconds: Option<u64>,
    /// The start of OpenCode, until it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<u64>,
    /// One request to the forge. What is asked before the document is there has the limit of `--limits`, or the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge_seconds: Option<u64>,
    /// Fetching commits that the checkout lacks; of `--limits` only, because it comes before all settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_seconds: Option<u64>,
    /// Most reviewers at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// Most tool calls of one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// When a model is left alone; the four numbers belong together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerLimits>,
    /// What a run may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetLimits>,
}

impl LimitOverrides {
    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn lay_over(&self, limits: &mut Limits) {
        let Self {
            reviewer_seconds,
            panel_seconds,
            coordinator_seconds,
            first_sign_seconds,
            stall_seconds,
            retry_floor_seconds,
            run_seconds,
            connect_seconds,
            headers_seconds,
            idle_seconds,
            hold_seconds,
            start_seconds,
            forge_seconds,
            fetch_seconds,
            sessions,
            tool_calls,
            breaker,
            budget,
        } = self;
        for (over, limit) in [
            (reviewer_seconds, &mut limits.reviewer_seconds),
            (panel_seconds, &mut limits.panel_seconds),
            (coordinator_seconds, &mut limits.coordinator_seconds),
            (first_sign_seconds, &mut limits.first_sign_seconds),
            (stall_seconds, &mut limits.stall_seconds),
            (retry_floor_seconds, &mut limits.retry_floor_seconds),
            (run_seconds, &mut limits.run_seconds),
            (connect_seconds, &mut limits.connect_seconds),
            (headers_seconds, &mut limits.headers_seconds),
            (idle_seconds, &mut limits.idle_seconds),
            (hold_seconds, &mut limits.hold_seconds),
            (start_seconds, &mut limits.start_seconds),
            (forge_seconds, &mut limits.forge_seconds),
            (fetch_seconds, &mut limits.fetch_seconds),
        ] {
            *limit = over.unwrap_or(*limit);
        }
        limits.sessions = sessions.unwrap_or(limits.sessions);
        limits.tool_calls = tool_calls.unwrap_or(limits.tool_calls);
        limits.breaker = breaker.unwrap_or(limits.breaker);
        limits.budget.amend(budget.unwrap_or_default());
    }
}

impl ProjectOverride {
    /// Lays this over a document.
    fn lay_over(&self, document: &mut ConfigDocument) {
        let Self {
            paths: _,
            reviewers,
            providers,
            failback,
            models,
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
        limits.lay_over(&mut document.limits);
        document.risk.amend(risk);
        document.panels.extend(panels);
        document.prices.extend(prices);
    }
}

/// The projects of a document, ready to be asked for one of them many times.
#[derive(Debug, Clone)]
pub struct ProjectRules {
    base: ConfigDocument,
    entries: Vec<(PathGlobs, ProjectOverride)>,
}

impl ProjectRules {
    /// Takes a document apart. An entry with a pattern that is none matches nothing; validation names it.
    pub fn new(mut document: ConfigDocument) -> Self {
        let entries = std::mem::take(&mut document.projects).into_iter();
        let entries = entries.map(|entry| (PathGlobs::of_projects(&entry.paths).unwrap_or_default(), entry));
        Self {
            entries: entries.collect(),
            base: document,
        }
    }

    /// The entries that name a project, by their places.
    pub fn matching(&self, project: &str) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(|(_, (globs, _))| globs.is_match(project))
            .map(|(index, _)| index)
            .collect()
    }

    /// The document with these entries laid over it, and what had to be left out: two entries that are good by
    /// themselves can make a fault together, and that must not stop a review.
    pub fn with(&self, matching: &[usize]) -> (ConfigDocument, Vec<String>) {
        let mut document = self.base.clone();
        let mut warnings = Vec::new();
        for index in matching {
            let Some((_, entry)) = self.entries.get(*index) else {
                continue;
            };
            let mut next = document.clone();
            entry.lay_over(&mut next);
            match faults_of(&next).first() {
                None => document = next,
                Some(fault) => warnings.push(format!(
                    "/projects/{index}: is left out for this project: with the entries before it {} {}",
                    fault.pointer, fault.detail
                )),
            }
        }
        (document, warnings)
    }

    /// The document for a project.
    pub fn of(&self, project: &str) -> (ConfigDocument, Vec<String>) {
        self.with(&self.matching(project))
    }
}

/// What is wrong with the projects of a document.
pub(super) fn faults(document: &ConfigDocument) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    let mut fault = |pointer: String, detail: String| faults.push(ConfigFault { pointer, detail });
    if document.projects.len() > MAX_PROJECTS {
        fault(
            "/projects".to_owned(),
            format!(
                "has {} entries; at most {MAX_PROJECTS} are looked at",
                document.projects.len()
            ),
        );
        return faults;
    }
    let base = ConfigDocument {
        projects: Vec::new(),
        ..document.clone()
    };
    let known = faults_of(&base);
    for (index, entry) in document.projects.iter().enumerate() {
        let pointer = format!("/projects/{index}");
        if entry.paths.is_empty() {
            fault(
                format!("{pointer}/paths"),
                "needs at least one pattern, as in `platform/**`".to_owned(),
            );
        }
        for bad in PathGlobs::of_projects(&entry.paths).err().into_iter().flatten() {
            fault(format!("{pointer}/paths/{}", bad.index), bad.to_string());
        }
        for (name, _) in entry.providers.iter().filter(|(_, switch)| switch.enabled) {
            fault(
                format!("{pointer}/providers/{}/enabled", escape(name)),
                "must be false: a project can only switch a provider off; leave it out to follow the switch".to_owned(),
            );
        }
        let mut alone = base.clone();
        entry.lay_over(&mut alone);
        let new = faults_of(&alone).into_iter().filter(|fault| !known.contains(fault));
        for found in new {
            fault(format!("{pointer}{}", place(entry, &found.pointer)), found.detail);
        }
    }
    faults
}

/// Where in an entry a fault is that shows in the whole: what the entry does not have itself is a fault of the part that
/// it does have.
fn place(entry: &ProjectOverride, pointer: &str) -> String {
    let entry = serde_json::to_value(entry).unwrap_or_default();
    let mut pointer = pointer;
    while entry.pointer(pointer).is_none() {
        pointer = pointer.rsplit_once('/').map_or("", |(before, _)| before);
    }
    pointer.to_owned()
}

#[cfg(test)]
#[path = "projects_tests.rs"]
mod tests;
