//! From configuration and credentials to the ordered list of models that a reviewer may use.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ConfigDocument, ModelTier, Preset, default_failback, model_tier};
use crate::{effort::Effort, model::ModelId};

/// What decides a route besides the document.
#[derive(Debug, Clone, Copy)]
pub struct RouteInput<'a> {
    /// The document in force.
    pub document: &'a ConfigDocument,
    /// Built-in preferences for reviewers without models in the document.
    pub preset: Preset,
    /// Providers for which there are credentials. A provider without counts as switched off.
    pub credentials: &'a BTreeSet<String>,
    /// True if the merge request's tier is `trivial`.
    pub trivial: bool,
    /// The classes of models of reviewers that a project has added; [`NO_CLASSES`] where nobody has.
    pub classes: &'a BTreeMap<String, ModelTier>,
}

/// The classes of a project that has added no reviewer.
pub static NO_CLASSES: BTreeMap<String, ModelTier> = BTreeMap::new();

/// The models of one reviewer, best first, never empty, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRoute {
    /// The models to try in this order.
    pub models: Vec<ModelId>,
    /// Models that would have come earlier, with the reason why they are not used.
    pub skipped: Vec<SkippedModel>,
    /// Their effort.
    pub effort: Effort,
}

impl ModelRoute {
    /// The model to start with.
    pub fn first(&self) -> &ModelId {
        &self.models[0]
    }

    /// The models to try after `current`, best first.
    pub fn after(&self, current: &ModelId) -> &[ModelId] {
        match self.models.iter().position(|model| model == current) {
            Some(position) => &self.models[position + 1..],
            None => &[],
        }
    }
}

/// A model that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedModel {
    /// The model.
    pub model: ModelId,
    /// Why it is not used, in words.
    pub reason: String,
    /// True if an operator switched its provider off; otherwise there are no credentials for it.
    pub switched_off: bool,
}

/// A reviewer for whom no model is left: it is reported as not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no model is left for `{reviewer}`: {}", describe(skipped))]
pub struct NoModel {
    /// The reviewer.
    pub reviewer: String,
    /// Every model that was considered.
    pub skipped: Vec<SkippedModel>,
}

fn describe(skipped: &[SkippedModel]) -> String {
    skipped
        .iter()
        .map(|skip| format!("{} ({})", skip.model, skip.reason))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Who chose the models that a reviewer prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The preset in force.
    Preset,
    /// A plugin or the document names the models of the reviewer's class.
    Class,
    /// The document names the reviewer's own.
    Remote,
}

/// Why a model is on a reviewer's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelReason {
    /// It is preferred.
    Preferred,
    /// It stands in for this model.
    StandsInFor(ModelId),
}

/// A model that was considered for a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsideredModel {
    /// The model.
    pub model: ModelId,
    /// Why it is on the list.
    pub reason: ModelReason,
    /// Why it is not used, if it is not.
    pub skipped: Option<SkippedModel>,
}

/// How a reviewer's route came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteExplanation {
    /// Who chose the preferred models.
    pub source: ModelSource,
    /// The class of models that the preset gives to this reviewer.
    pub tier: ModelTier,
    /// The effort of the models.
    pub effort: Effort,
    /// Every model that was considered, best first.
    pub considered: Vec<ConsideredModel>,
}

/// How the models of `reviewer` come about: the same walk as [`route`], with a reason for each step.
pub fn explain_route(reviewer: &str, input: RouteInput<'_>) -> RouteExplanation {
    let tier = class_of(reviewer, input);
    let (source, preferred) = match input.document.reviewers.get(reviewer) {
        Some(settings) if !settings.models.is_empty() => (ModelSource::Remote, settings.models.clone()),
        _ => match input.document.models.of(tier) {
            [] => (ModelSource::Preset, input.preset.models(tier)),
            models => (ModelSource::Class, models.to_vec()),
        },
    };
    let mut seen = BTreeSet::new();
    let mut considered = Vec::new();
    for preference in preferred {
        let mut next = Some((preference, ModelReason::Preferred));
        while let Some((model, reason)) = next {
            if !seen.insert(model.clone()) {
                break;
            }
            next = fallback(input.document, &model).map(|fallback| (fallback, ModelReason::StandsInFor(model.clone())));
            let skipped = why_not(input, &model).map(|(switched_off, reason)| SkippedModel {
                model: model.clone(),
                reason,
                switched_off,
            });
            considered.push(ConsideredModel { model, reason, skipped });
        }
    }
    RouteExplanation {
        source,
        tier,
        effort: effort(reviewer, input),
        considered,
    }
}

fn class_of(reviewer: &str, input: RouteInput<'_>) -> ModelTier {
    let own = input.classes.get(reviewer).copied();
    own.unwrap_or_else(|| model_tier(reviewer, input.trivial))
}

/// The effort of the models of `reviewer`: its own setting, else that of its class.
pub fn effort(reviewer: &str, input: RouteInput<'_>) -> Effort {
    let own = input
        .document
        .reviewers
        .get(reviewer)
        .and_then(|settings| settings.effort);
    own.unwrap_or_else(|| input.document.effort.of(class_of(reviewer, input), input.trivial))
}

/// The models that `reviewer` may use now.
///
/// Each preferred model is followed by its own failback chain, so a broken model is replaced within its family before
/// another preference is tried. Models of a provider that is switched off, or for which there are no credentials, are
/// left out and reported.
pub fn route(reviewer: &str, input: RouteInput<'_>) -> Result<ModelRoute, NoModel> {
    let mut models = Vec::new();
    let mut skipped = Vec::new();
    for considered in explain_route(reviewer, input).considered {
        match considered.skipped {
            None => models.push(considered.model),
            Some(skip) => skipped.push(skip),
        }
    }
    if models.is_empty() {
        return Err(NoModel {
            reviewer: reviewer.to_owned(),
            skipped,
        });
    }
    Ok(ModelRoute {
        models,
        skipped,
        effort: effort(reviewer, input),
    })
}

/// Every provider that a review may come across: those of the built-in models, and those that the document names.
pub fn known_providers(document: &ConfigDocument) -> BTreeSet<String> {
    let built_in = Preset::ALL
        .into_iter()
        .flat_map(|preset| ModelTier::ALL.into_iter().flat_map(move |tier| preset.models(tier)));
    built_in
        .chain(named_models(document).cloned())
        .map(|model| model.provider().to_owned())
        .chain(document.providers.keys().cloned())
        .collect()
}

/// The models that a document asks for, in the order in which it names them.
pub fn named_models(document: &ConfigDocument) -> impl Iterator<Item = &ModelId> {
    let classes = ModelTier::ALL.into_iter().flat_map(|tier| document.models.of(tier));
    let reviewers = document.reviewers.values().flat_map(|settings| &settings.models);
    classes.chain(reviewers).chain(document.failback.values().flatten())
}

/// The fallback model of `model`, if it has one.
pub fn fallback(document: &ConfigDocument, model: &ModelId) -> Option<ModelId> {
    match document.failback.get(model.as_str()) {
        Some(next) => next.clone(),
        None => default_failback(model),
    }
}

/// Why the model cannot be used: whether its provider is switched off, and the reason in words.
fn why_not(input: RouteInput<'_>, model: &ModelId) -> Option<(bool, String)> {
    let provider = model.provider();
    if let Some(switch) = input.document.providers.get(provider)
        && !switch.enabled
    {
        let reason = match &switch.reason {
            Some(reason) => format!("{provider} is switched off: {reason}"),
            None => format!("{provider} is switched off"),
        };
        return Some((true, reason));
    }
    (!input.credentials.contains(provider)).then(|| (false, format!("no credentials for {provider}")))
}

#[cfg(test)]
#[path = "routing_tests.rs"]
mod tests;
