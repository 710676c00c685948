//! The panel of a merge request: who reviews, with which models, and why.

use std::{collections::BTreeSet, time::Duration};

use conclave_shared::{
    config::{ConfigDocument, ModelRoute, NoModel, Preset, RouteInput, route},
    reviewer::ReviewerName,
    risk::{FileChange, RiskAssessment, RiskRules, RiskTier, SecurityPaths, classify},
};

use crate::{
    diff::FilteredDiff, prompt::PromptLibrary, prompt::UnknownPrompt, prompt::reviewer_parts, scheduler::PanelMember,
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
    /// Reviewers that can sit on a panel: those that a plugin has registered.
    pub registered: &'a BTreeSet<String>,
    /// The prompts.
    pub library: &'a PromptLibrary,
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
}

impl Plan {
    /// Whether nobody at all can run, and then why: the review must not start.
    pub fn nobody_can_run(&self) -> Option<&NoModel> {
        if self.members.iter().any(|member| member.route.is_ok()) {
            return None;
        }
        self.members.iter().find_map(|member| member.route.as_ref().err())
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
    let assessment = classify(&changes, RiskRules::default(), &SecurityPaths::default());
    let trivial = assessment.tier == RiskTier::Trivial;
    let route_of = |name: &str| {
        route(
            name,
            RouteInput {
                document: input.config,
                preset: input.preset,
                credentials: input.credentials,
                trivial,
            },
        )
    };
    let mut members = Vec::new();
    let mut disabled = Vec::new();
    for name in panel(assessment.tier, input) {
        let Ok(name) = ReviewerName::new(name) else { continue };
        let settings = input.config.reviewers.get(name.as_str());
        if settings.and_then(|settings| settings.enabled) == Some(false) {
            disabled.push(name);
            continue;
        }
        members.push(PanelMember {
            route: route_of(name.as_str()),
            required: is_required(name.as_str()),
            attempt: attempt(input.config, &name),
            parts: reviewer_parts(input.library, name.as_str())?,
            name,
        });
    }
    Ok(Plan {
        assessment,
        members,
        coordinator: route_of(ReviewerName::COORDINATOR),
        disabled,
    })
}

fn attempt(config: &ConfigDocument, name: &ReviewerName) -> Duration {
    config
        .limits
        .reviewer(name.as_str(), config.reviewers.get(name.as_str()))
}

fn panel(tier: RiskTier, input: &PlanInput<'_>) -> Vec<&'static str> {
    let registered = |name: &str| input.registered.contains(name);
    let mut panel = match tier {
        RiskTier::Trivial => vec!["generalist"],
        RiskTier::Lite => vec![
            "code_quality",
            "documentation",
            if registered("codex") { "codex" } else { "security" },
        ],
        RiskTier::Full => {
            let mut panel = vec![
                "security",
                "correctness",
                "performance",
                "code_quality",
                "documentation",
                "agents_md",
                "codex",
            ];
            if input.diff.files.iter().any(|file| touches_release(&file.path)) {
                panel.push("release");
            }
            panel
        }
    };
    panel.retain(|name| registered(name));
    panel
}

/// The light reviewers look after texts: a review without one of them is thinner, not wrong.
fn is_required(name: &str) -> bool {
    !matches!(name, "documentation" | "agents_md" | "release")
}

/// Whether a file has to do with releases: schemas, interfaces, versions, packaging.
fn touches_release(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let directory = |wanted: &str| lower.split('/').rev().skip(1).any(|part| part == wanted);
    name.starts_with("changelog")
        || [
            "dockerfile",
            "package.json",
            "cargo.toml",
            "pyproject.toml",
            "go.mod",
            "pom.xml",
            "chart.yaml",
        ]
        .contains(&name)
        || [".proto", ".graphql", ".avsc"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
        || name.starts_with("openapi")
        || directory("migrations")
        || directory("migrate")
        || lower.starts_with(".github/workflows/")
        || name == ".gitlab-ci.yml"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::FileDiff;

    fn file(path: &str, added: u64) -> FileDiff {
        FileDiff {
            old_path: path.to_owned(),
            path: path.to_owned(),
            added,
            ..FileDiff::default()
        }
    }

    fn panel_of(files: Vec<FileDiff>, config: &ConfigDocument) -> (RiskTier, Vec<String>, Vec<String>) {
        panel_with(files, config, false)
    }

    fn panel_with(files: Vec<FileDiff>, config: &ConfigDocument, codex: bool) -> (RiskTier, Vec<String>, Vec<String>) {
        let diff = FilteredDiff {
            files,
            filtered: Vec::new(),
        };
        let credentials = BTreeSet::from(["anthropic".to_owned()]);
        let library = PromptLibrary::default();
        let registered = ReviewerName::STANDING.iter().map(ToString::to_string);
        let registered = registered.filter(|name| codex || name != "codex").collect();
        let input = PlanInput {
            diff: &diff,
            config,
            preset: Preset::Current,
            credentials: &credentials,
            registered: &registered,
            library: &library,
        };
        let plan = plan(&input).expect("a plan");
        let names = |names: Vec<ReviewerName>| names.iter().map(ToString::to_string).collect();
        (
            plan.assessment.tier,
            names(plan.reviewers()),
            names(plan.disabled.clone()),
        )
    }

    #[test]
    fn the_tier_decides_the_panel() {
        let config = ConfigDocument::default();
        let (tier, panel, _) = panel_of(vec![file("a.rs", 3)], &config);
        assert_eq!((tier, panel.join(" ")), (RiskTier::Trivial, "generalist".into()));
        let (tier, panel, _) = panel_of(vec![file("a.rs", 50)], &config);
        assert_eq!(
            (tier, panel.join(" ")),
            (RiskTier::Lite, "code_quality documentation security".into())
        );
        let (tier, panel, _) = panel_of(vec![file("a.rs", 500)], &config);
        assert_eq!(
            (tier, panel.join(" ")),
            (
                RiskTier::Full,
                "security correctness performance code_quality documentation agents_md".into()
            )
        );
        let (_, panel, _) = panel_of(vec![file("a.rs", 500), file("db/migrations/1.sql", 1)], &config);
        assert_eq!(panel.last().map(String::as_str), Some("release"));
    }

    #[test]
    fn the_rules_reviewer_sits_where_somebody_registered_it() {
        let config = ConfigDocument::default();
        let (_, panel, _) = panel_with(vec![file("a.rs", 50)], &config, true);
        assert_eq!(panel, ["code_quality", "documentation", "codex"]);
        let (_, panel, _) = panel_with(vec![file("a.rs", 500)], &config, true);
        assert!(panel.contains(&"codex".to_owned()), "{panel:?}");
    }

    #[test]
    fn a_disabled_reviewer_is_named_and_does_not_run() {
        let config: ConfigDocument =
            serde_json::from_str(r#"{"schema_version":1,"reviewers":{"documentation":{"enabled":false}}}"#)
                .expect("valid");
        let (_, panel, disabled) = panel_of(vec![file("a.rs", 50)], &config);
        assert_eq!(panel, ["code_quality", "security"]);
        assert_eq!(disabled, ["documentation"]);
    }
}
