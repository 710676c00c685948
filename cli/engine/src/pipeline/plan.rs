//! The panel of a merge request: who reviews, with which models, and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use conclave_shared::{
    config::{
        ConfigDocument, ModelRoute, ModelTier, NoModel, Preset, RouteExplanation, RouteInput, explain_route, route,
    },
    reviewer::ReviewerName,
    risk::{FileChange, RiskAssessment, RiskRules, RiskTier, SecurityPaths, classify},
};

use super::{
    focus::Focus,
    seats::{CODEX, PanelInput, Presence, Seat, gaps, seats},
};

use crate::{
    diff::FilteredDiff, prompt::PromptLibrary, prompt::UnknownPrompt, prompt::reviewer_parts, repo_config::RepoConfig,
    rules::AppliedRules, scheduler::PanelMember,
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

/// Who reviews and judges.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The tier and its reasons.
    pub assessment: RiskAssessment,
    /// The reviewers.
    pub members: Vec<PanelMember>,
    /// The coordinator's models.
    pub coordinator: Result<ModelRoute, NoModel>,
    /// Standing reviewers whom the configuration has taken off this panel.
    pub disabled: Vec<ReviewerName>,
    /// Every reviewer, standing or the project's own: on the panel or not, and why.
    pub seats: Vec<Seat>,
    /// What is missing of the review that this change would get. With anything here the review approves nothing.
    pub gaps: Vec<String>,
    /// The classes of models of the project's own reviewers.
    pub classes: BTreeMap<String, ModelTier>,
    /// The organisation's rules for these files.
    pub rules: AppliedRules,
}

impl Plan {
    /// Whether nobody at all can run, and then why: the review must not start.
    pub fn nobody_can_run(&self) -> Option<String> {
        if self.members.is_empty() {
            let tier = self.assessment.tier;
            let mut why: Vec<String> = self
                .disabled_seats()
                .map(|seat| format!("{} is {}", seat.reviewer, seat.reason))
                .collect();
            if why.is_empty() {
                why.clone_from(&self.gaps);
            }
            return Some(format!("the {tier} panel is empty: {}", why.join(", ")));
        }
        if self.members.iter().any(|member| member.route.is_ok()) {
            return None;
        }
        let none = self.members.iter().find_map(|member| member.route.as_ref().err());
        none.map(ToString::to_string)
    }

    /// What a reader of the review has to know about the panel: required reviewers that somebody has disabled.
    pub fn warnings(&self) -> Vec<String> {
        self.disabled_seats()
            .filter(|seat| seat.required)
            .map(|seat| format!("{} does not review: {}", seat.reviewer.display_name(), seat.reason))
            .collect()
    }

    fn disabled_seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| seat.presence == Presence::Disabled)
    }

    /// Whether the tier is the lowest one.
    pub fn is_trivial(&self) -> bool {
        self.assessment.tier == RiskTier::Trivial
    }

    /// The names of the reviewers.
    pub fn reviewers(&self) -> Vec<ReviewerName> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }
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
    let mut disabled = Vec::new();
    for seat in &seats {
        let name = seat.reviewer.clone();
        match seat.presence {
            Presence::NotOnPanel => {}
            Presence::Disabled => disabled.push(name),
            Presence::OnPanel => members.push(PanelMember {
                route: route_of(name.as_str()),
                required: seat.required,
                attempt: attempt(input.config, &name),
                parts: reviewer_parts(input.library, name.as_str())?,
                rules: (name.as_str() == CODEX).then(|| Arc::clone(&input.rules.book)),
                name,
            }),
        }
    }
    Ok(Plan {
        assessment,
        members,
        coordinator: route_of(ReviewerName::COORDINATOR),
        disabled,
        gaps: gaps(panel, &seats),
        seats,
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
