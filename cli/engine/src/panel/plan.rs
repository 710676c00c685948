//! The panel of a merge request: who reviews, with which models, and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use conclave_shared::{
    config::{ConfigDocument, ModelTier, Preset, RouteExplanation, RouteInput, explain_route, route},
    reviewer::ReviewerName,
    risk::{FileChange, RiskRules, RiskTier, SecurityPaths, classify},
};

use super::{
    focus::Focus,
    select::{PanelInput, gaps, seats},
};

use crate::{
    diff::FilteredDiff,
    prompt::{PromptLibrary, UnknownPrompt, reviewer_parts},
    repo_config::RepoConfig,
    review::{PanelMember, Plan, Presence},
    rules::{AppliedRules, CODEX},
};

/// What a plan depends on.
#[derive(Debug)]
pub struct PlanInput<'a> {
    /// The diff without noise.
    pub diff: &'a FilteredDiff,
    /// The configuration in force.
    pub config: &'a ConfigDocument,
    /// Built-in model preferences.
    pub preset: Preset,
    /// Providers that can be used.
    pub credentials: &'a BTreeSet<String>,
    /// Reviewers that can sit on a panel: those that a plugin has registered. `codex` is one where rules are configured.
    pub registered: &'a BTreeSet<String>,
    /// The prompts.
    pub library: &'a PromptLibrary,
    /// The organisation's rules for these files.
    pub rules: &'a AppliedRules,
    /// The repository's own settings.
    pub repo: &'a RepoConfig,
    /// Which paths are security-sensitive.
    pub security: &'a SecurityPaths,
    /// Whom somebody asks for by name.
    pub focus: Option<&'a Focus>,
    /// The classes of models of the project's own reviewers.
    pub classes: &'a BTreeMap<String, ModelTier>,
}

/// Decides tier and panel.
pub fn plan(input: &PlanInput<'_>) -> Result<Plan, UnknownPrompt> {
    let changes: Vec<FileChange<'_>> = input
        .diff
        .files
        .iter()
        .map(|file| FileChange {
            path: &file.path,
            old_path: &file.old_path,
            changed_lines: file.changed_lines(),
        })
        .collect();
    let assessment = classify(&changes, RiskRules::with(&input.config.risk), input.security);
    let tier = assessment.tier;
    let route_of = |name: &str| route(name, route_input(input, tier));
    let panel = PanelInput {
        tier,
        files: &input.diff.files,
        config: input.config,
        repo: input.repo,
        registered: input.registered,
        rules: input.rules,
        focus: input.focus,
    };
    let seats = seats(panel);
    let mut members = Vec::new();
    for seat in &seats {
        let name = seat.reviewer.clone();
        match seat.presence {
            Presence::NotOnPanel | Presence::Disabled => {}
            Presence::OnPanel => members.push(PanelMember {
                route: route_of(name.as_str()),
                required: seat.required,
                attempt: attempt(input.config, &name),
                parts: reviewer_parts(input.library, name.as_str())?,
                patches: Vec::new(),
                rules: (name.as_str() == CODEX).then(|| Arc::clone(&input.rules.book)),
                name,
            }),
        }
    }
    Ok(Plan {
        assessment,
        members,
        coordinator: route_of(ReviewerName::COORDINATOR),
        gaps: gaps(panel, &seats),
        slots: seats,
        classes: input.classes.clone(),
        rules: input.rules.clone(),
    })
}

/// How the models of a reviewer, or of the coordinator, come about in this plan.
pub fn explain_models(reviewer: &str, tier: RiskTier, input: &PlanInput<'_>) -> RouteExplanation {
    explain_route(reviewer, route_input(input, tier))
}

fn route_input<'a>(input: &PlanInput<'a>, tier: RiskTier) -> RouteInput<'a> {
    RouteInput {
        document: input.config,
        preset: input.preset,
        credentials: input.credentials,
        trivial: tier == RiskTier::Trivial,
        classes: input.classes,
    }
}

fn attempt(config: &ConfigDocument, name: &ReviewerName) -> Duration {
    config
        .limits
        .reviewer(name.as_str(), config.reviewers.get(name.as_str()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
