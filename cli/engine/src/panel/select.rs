//! Who sits on the panel of a merge request, and why; who does not, and why not.

use std::collections::BTreeSet;

use conclave_shared::{
    config::ConfigDocument, path_globs::PathGlobs, path_kind::PathKind, reviewer::ReviewerName, risk::RiskTier,
};

use super::focus::Focus;
use crate::{
    diff::FileDiff,
    repo_config::{OwnReviewer, REPO_CONFIG_FILE, RepoConfig},
    review::{PanelSlot, Presence},
    rules::{AppliedRules, CODEX},
};

/// The reviewer of release-related files.
const RELEASE: &str = "release";

/// What a panel depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct PanelInput<'a> {
    pub(super) tier: RiskTier,
    pub(super) files: &'a [FileDiff],
    pub(super) config: &'a ConfigDocument,
    pub(super) repo: &'a RepoConfig,
    /// Whom a plugin has registered.
    pub(super) registered: &'a BTreeSet<String>,
    /// The organisation's rules for these files.
    pub(super) rules: &'a AppliedRules,
    /// The reviewers that are asked for.
    pub(super) focus: Option<&'a Focus>,
}

impl<'a> PanelInput<'a> {
    fn can_sit(self, name: &str) -> bool {
        self.registered.contains(name)
    }

    fn asked_for(self, name: &str) -> bool {
        self.focus.is_some_and(|focus| focus.names(name))
    }

    fn own(self, name: &str) -> Option<&'a OwnReviewer> {
        self.repo.reviewers.iter().find(|own| own.name.as_str() == name)
    }
}

/// A seat for every reviewer, standing or the project's own: the panel first, in its order, then the others.
pub(super) fn seats(input: PanelInput<'_>) -> Vec<PanelSlot> {
    let mut seats: Vec<PanelSlot> = focused(input)
        .into_iter()
        .filter(|(name, _)| input.can_sit(name))
        .filter_map(|(name, reason)| {
            let (presence, reason) = match disabled_by(input, name) {
                Some(by) => (Presence::Disabled, format!("disabled by {by}")),
                None => (Presence::OnPanel, reason),
            };
            seat(input, name, presence, reason)
        })
        .collect();
    for name in everybody(input) {
        if !seats.iter().any(|seat| seat.reviewer.as_str() == name) {
            seats.extend(seat(input, name, Presence::NotOnPanel, absence(input, name)));
        }
    }
    seats
}

/// What is missing of the review that this change would get: by the focus, and by a reviewer of the project that cannot
/// sit. A review with a gap approves nothing.
pub(super) fn gaps(input: PanelInput<'_>, seats: &[PanelSlot]) -> Vec<String> {
    let sits = |name: &str| {
        seats
            .iter()
            .any(|seat| seat.reviewer.as_str() == name && seat.presence == Presence::OnPanel)
    };
    let shown = |name: &str| ReviewerName::new(name).map_or_else(|_| name.to_owned(), |name| name.display_name());
    let mut gaps = Vec::new();
    if let Some(focus) = input.focus {
        let unasked: Vec<String> = wanted(input)
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| {
                input.can_sit(name) && disabled_by(input, name).is_none() && !focus.names(name) && !sits(name)
            })
            .map(shown)
            .collect();
        if !unasked.is_empty() {
            gaps.push(format!(
                "only a part of the {} panel was asked for (--focus), without {}",
                input.tier,
                unasked.join(", ")
            ));
        }
        // Without a rule for these files the reviewer of rules has nothing to check, and nothing of the review is missing.
        let has_work = |name: &str| name != CODEX || input.can_sit(CODEX) || focus.replaces_panel();
        let absent = seats.iter().filter(|seat| {
            let name = seat.reviewer.as_str();
            focus.names(name) && seat.presence != Presence::OnPanel && has_work(name)
        });
        gaps.extend(absent.map(|seat| {
            let name = seat.reviewer.display_name();
            format!("{name} was asked for and does not review: {}", seat.reason)
        }));
    }
    let own = input.repo.reviewers.iter();
    let broken =
        own.filter(|own| own.required && !input.can_sit(own.name.as_str()) && !input.asked_for(own.name.as_str()));
    gaps.extend(broken.map(|own| format!("{} cannot review: its prompt cannot be had", own.name.display_name())));
    gaps
}

fn seat(input: PanelInput<'_>, name: &str, presence: Presence, reason: String) -> Option<PanelSlot> {
    let own = input.own(name);
    let required = own.map_or_else(|| is_required(name), |own| own.required);
    Some(PanelSlot {
        reviewer: ReviewerName::new(name).ok()?,
        presence,
        // Who was asked for by name has to answer.
        required: required || input.asked_for(name),
        own: own.is_some(),
        reason,
    })
}

/// All reviewers that there are, in the order in which reviews list them.
fn everybody(input: PanelInput<'_>) -> impl Iterator<Item = &str> {
    let own = input.repo.reviewers.iter().map(|own| own.name.as_str());
    ReviewerName::STANDING.into_iter().chain(own)
}

/// The panel without regard to disabled reviewers, with those that were asked for.
fn focused(input: PanelInput<'_>) -> Vec<(&str, String)> {
    let Some(focus) = input.focus else { return wanted(input) };
    let asked = everybody(input)
        .filter(|name| focus.names(name))
        // One of the project has nothing to read where none of its paths changes.
        .filter(|name| input.own(name).is_none_or(|own| own_reason(own, input.files).is_some()))
        .map(|name| (name, "asked for by name (--focus)".to_owned()));
    if focus.replaces_panel() {
        return asked.collect();
    }
    let mut panel = wanted(input);
    for (name, reason) in asked {
        if !panel.iter().any(|(seated, _)| *seated == name) {
            panel.push((name, reason));
        }
    }
    panel
}

/// The panel of the tier with the project's own reviewers.
fn wanted(input: PanelInput<'_>) -> Vec<(&str, String)> {
    let mut panel = standing(input);
    let own = input.repo.reviewers.iter();
    panel.extend(own.filter_map(|own| Some((own.name.as_str(), own_reason(own, input.files)?))));
    panel
}

/// Why a reviewer of the project sits on the panel, if it does.
fn own_reason(own: &OwnReviewer, files: &[FileDiff]) -> Option<String> {
    let globs = PathGlobs::new(&own.paths).unwrap_or_default();
    let mut matching = files.iter().filter(|file| globs.is_match(&file.path));
    let first = &matching.next()?.path;
    Some(match matching.count() {
        0 => format!("the project's own, for {first}"),
        more => format!("the project's own, for {first} and {more} more"),
    })
}

/// The place that disables a reviewer, if one does.
fn disabled_by(input: PanelInput<'_>, name: &str) -> Option<String> {
    let remote = input.config.reviewers.get(name);
    if remote.and_then(|settings| settings.enabled) == Some(false) {
        return Some("the remote configuration".to_owned());
    }
    let repo = &input.repo.review.disabled_reviewers;
    repo.iter()
        .any(|disabled| disabled.as_str() == name)
        .then(|| format!("{REPO_CONFIG_FILE} of the target branch"))
}

/// The standing panel without regard to disabled reviewers, with those that the project seats. The reviewer of rules is on every one, as soon as a rule is for a
/// changed file.
fn standing(input: PanelInput<'_>) -> Vec<(&str, String)> {
    let mut panel = of_tier(input);
    let seated = input.repo.panel.of(input.tier).iter();
    for name in seated.map(ReviewerName::as_str) {
        if !panel.iter().any(|(seated, _)| *seated == name) {
            panel.push((
                name,
                format!("on the {} panel by {REPO_CONFIG_FILE} of the target branch", input.tier),
            ));
        }
    }
    if input.can_sit(CODEX) && !panel.iter().any(|(name, _)| *name == CODEX) {
        let reason = format!("on the {} panel: engineering rules are for changed files", input.tier);
        panel.push((CODEX, reason));
    }
    panel
}

/// The panel of the tier alone.
fn of_tier(input: PanelInput<'_>) -> Vec<(&str, String)> {
    let tier = input.tier;
    if let Some(panel) = input.config.panels.get(tier.as_str()) {
        return panel
            .iter()
            .map(|name| {
                (
                    name.as_str(),
                    format!("on the {tier} panel by the remote configuration"),
                )
            })
            .collect();
    }
    let on_panel = |name: &'static str| (name, format!("on the {tier} panel"));
    match tier {
        RiskTier::Trivial => vec![on_panel("generalist")],
        RiskTier::Lite => {
            // Security-sensitive files are never a small change, so the rules' reviewer can take that seat.
            let third = match (input.can_sit(CODEX), disabled_by(input, CODEX)) {
                (true, None) => (
                    CODEX,
                    format!("on the {tier} panel in place of security: engineering rules are for changed files"),
                ),
                (true, Some(by)) => ("security", format!("on the {tier} panel, as codex is disabled by {by}")),
                (false, _) => on_panel("security"),
            };
            vec![on_panel("code_quality"), on_panel("documentation"), third]
        }
        RiskTier::Full => {
            let mut panel: Vec<(&str, String)> = [
                "security",
                "correctness",
                "performance",
                "code_quality",
                "documentation",
                "agents_md",
            ]
            .map(on_panel)
            .into();
            panel.extend(release_reason(input.files).map(|reason| (RELEASE, reason)));
            panel
        }
    }
}

/// Why a reviewer has nothing to do here.
fn absence(input: PanelInput<'_>, name: &str) -> String {
    let tier = input.tier;
    match (name, tier) {
        (CODEX, _) if !input.can_sit(CODEX) => {
            let why = input.rules.gaps.first().or(input.rules.notes.first());
            why.map_or_else(|| "no engineering rules are configured".to_owned(), Clone::clone)
        }
        _ if input.own(name).is_some() && !input.can_sit(name) => "its prompt cannot be had".to_owned(),
        _ if !input.can_sit(name) => "no plugin brings it".to_owned(),
        _ if input
            .own(name)
            .is_some_and(|own| own_reason(own, input.files).is_none()) =>
        {
            "no changed file is one of its paths".to_owned()
        }
        _ if input.focus.is_some_and(Focus::replaces_panel) => "not asked for (--focus)".to_owned(),
        _ if input.config.panels.contains_key(tier.as_str()) => {
            format!("not on the {tier} panel by the remote configuration")
        }
        (RELEASE, RiskTier::Full) => "no release-related file changed".to_owned(),
        ("generalist", _) => "only on the trivial panel".to_owned(),
        ("tests" | "types", _) => format!("only on request, or where {REPO_CONFIG_FILE} has it under [panel]"),
        ("security", RiskTier::Lite) => "codex takes its place on the lite panel".to_owned(),
        _ => format!("not on the {tier} panel"),
    }
}

/// The light reviewers look after texts: a review without one of them is thinner, not wrong.
fn is_required(name: &str) -> bool {
    !matches!(name, "documentation" | "agents_md" | RELEASE)
}

/// Why the reviewer of releases sits on the panel, if it does.
pub(super) fn release_reason(files: &[FileDiff]) -> Option<String> {
    let mut related = files.iter().filter(|file| PathKind::of(&file.path).concerns_release());
    let first = &related.next()?.path;
    Some(match related.count() {
        0 => format!("release-related: {first}"),
        more => format!("release-related: {first} and {more} more"),
    })
}
