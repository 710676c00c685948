//! The panel of a merge request: who reviews, with which models, and why.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use conclave_shared::{
    config::{ConfigDocument, ModelRoute, NoModel, Preset, RouteInput, route},
    reviewer::ReviewerName,
    risk::{FileChange, RiskAssessment, RiskRules, RiskTier, SecurityPaths, classify},
};

use crate::{
    diff::FilteredDiff, prompt::PromptLibrary, prompt::UnknownPrompt, prompt::reviewer_parts, rules::AppliedRules,
    scheduler::PanelMember,
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
    /// Providers for which there are credentials.
    pub credentials: &'a BTreeSet<String>,
    /// The prompts.
    pub library: &'a PromptLibrary,
    /// The organisation's rules for these files.
    pub rules: &'a AppliedRules,
}

/// The reviewer of the organisation's rules.
pub const CODEX: &str = "codex";

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
    /// The organisation's rules for these files.
    pub rules: AppliedRules,
}

impl Plan {
    /// Whether nobody at all can run, and then why: the review must not start.
    pub fn nobody_can_run(&self) -> Option<&NoModel> {
        if self.members.iter().any(|member| member.route.is_ok()) {
            return None;
        }
        self.members.iter().find_map(|member| member.route.as_ref().err())
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
    let is_disabled = |name: &str| {
        let settings = input.config.reviewers.get(name);
        settings.and_then(|settings| settings.enabled) == Some(false)
    };
    let has_rules = !input.rules.book.is_empty();
    if has_rules && assessment.tier != RiskTier::Trivial && is_disabled(CODEX) {
        disabled.extend(ReviewerName::new(CODEX));
    }
    for name in panel(assessment.tier, input.diff, has_rules && !is_disabled(CODEX)) {
        let Ok(name) = ReviewerName::new(name) else { continue };
        if is_disabled(name.as_str()) {
            disabled.push(name);
            continue;
        }
        members.push(PanelMember {
            route: route_of(name.as_str()),
            required: is_required(name.as_str()),
            attempt: attempt(input.config, &name),
            parts: reviewer_parts(input.library, name.as_str())?,
            rules: (name.as_str() == CODEX).then(|| Arc::clone(&input.rules.book)),
            name,
        });
    }
    Ok(Plan {
        assessment,
        members,
        coordinator: route_of(ReviewerName::COORDINATOR),
        disabled,
        rules: input.rules.clone(),
    })
}

fn attempt(config: &ConfigDocument, name: &ReviewerName) -> Duration {
    config
        .limits
        .reviewer(name.as_str(), config.reviewers.get(name.as_str()))
}

/// Who sits on the panel of a tier. Where rules of the organisation are for a changed file, `codex` checks them; a small
/// change then has no security reviewer, because security-sensitive files are never small changes.
fn panel(tier: RiskTier, diff: &FilteredDiff, codex: bool) -> Vec<&'static str> {
    match tier {
        RiskTier::Trivial => vec!["generalist"],
        RiskTier::Lite => vec!["code_quality", "documentation", if codex { CODEX } else { "security" }],
        RiskTier::Full => {
            let mut panel = vec![
                "security",
                "correctness",
                "performance",
                "code_quality",
                "documentation",
                "agents_md",
            ];
            if codex {
                panel.push(CODEX);
            }
            if diff.files.iter().any(|file| touches_release(&file.path)) {
                panel.push("release");
            }
            panel
        }
    }
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
    use crate::{
        diff::{ChangeKind, Content, FileDiff, LineMap},
        rules::{RuleBook, RuleInForce},
    };

    fn file(path: &str, added: u64) -> FileDiff {
        FileDiff {
            kind: ChangeKind::Modified,
            content: Content::Text,
            old_path: path.to_owned(),
            path: path.to_owned(),
            modes: ("100644".into(), "100644".into()),
            added,
            removed: 0,
            patch: Vec::new(),
            lines: LineMap::default(),
        }
    }

    fn panel_of(files: Vec<FileDiff>, config: &ConfigDocument) -> (RiskTier, Vec<String>, Vec<String>) {
        panel_with(files, config, &AppliedRules::default())
    }

    /// A rule for `a.rs`.
    fn one_rule() -> AppliedRules {
        let rule = RuleInForce {
            id: "NET-012".into(),
            link: "https://rules.example.com/net-012".into(),
            most: None,
            files: BTreeSet::from(["a.rs".to_owned()]),
        };
        AppliedRules {
            book: Arc::new(RuleBook::new(vec![rule])),
            ..AppliedRules::default()
        }
    }

    fn panel_with(
        files: Vec<FileDiff>,
        config: &ConfigDocument,
        rules: &AppliedRules,
    ) -> (RiskTier, Vec<String>, Vec<String>) {
        let diff = FilteredDiff {
            files,
            filtered: Vec::new(),
        };
        let credentials = BTreeSet::from(["anthropic".to_owned()]);
        let library = PromptLibrary::default();
        let input = PlanInput {
            diff: &diff,
            config,
            preset: Preset::Current,
            credentials: &credentials,
            library: &library,
            rules,
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
    fn codex_sits_where_a_rule_applies_and_takes_the_place_of_security_on_small_changes() {
        let config = ConfigDocument::default();
        let panel_of = |lines| panel_with(vec![file("a.rs", lines)], &config, &one_rule()).1;
        assert_eq!(panel_of(3), ["generalist"]);
        assert_eq!(panel_of(50), ["code_quality", "documentation", "codex"]);
        let full = panel_of(500);
        assert!(full.contains(&"security".to_owned()), "{full:?}");
        assert_eq!(full.last().map(String::as_str), Some("codex"));
    }

    #[test]
    fn only_codex_has_to_cite_rules() {
        let (config, library) = (ConfigDocument::default(), PromptLibrary::default());
        let diff = FilteredDiff {
            files: vec![file("a.rs", 500)],
            filtered: Vec::new(),
        };
        let plan = plan(&PlanInput {
            diff: &diff,
            config: &config,
            preset: Preset::Current,
            credentials: &BTreeSet::from(["anthropic".to_owned()]),
            library: &library,
            rules: &one_rule(),
        })
        .expect("a plan");
        for member in &plan.members {
            assert_eq!(
                member.rules.is_some(),
                member.name.as_str() == "codex",
                "{}",
                member.name
            );
        }
    }

    #[test]
    fn where_codex_is_disabled_security_keeps_its_place() {
        let config: ConfigDocument =
            serde_json::from_str(r#"{"schema_version":1,"reviewers":{"codex":{"enabled":false}}}"#).expect("valid");
        let (_, panel, disabled) = panel_with(vec![file("a.rs", 50)], &config, &one_rule());
        assert_eq!(panel, ["code_quality", "documentation", "security"]);
        assert_eq!(disabled, ["codex"]);
        let (_, _, disabled) = panel_of(vec![file("a.rs", 50)], &config);
        assert!(disabled.is_empty(), "it would not have sat there: {disabled:?}");
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
