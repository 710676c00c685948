//! The `codex` plugin: the organization's engineering rules, and the reviewer that checks them.
//!
//! Rules are data of the organization, never of the merge request: they come from an address, from a place outside of the
//! repository, or from the target branch. Which of them are for a changed file is decided by their globs, before any
//! model is asked; so is who has to look besides the panel.

mod apply;
mod read;
mod rule;
mod source;

pub use apply::ChangedPath;
pub use rule::{Demand, Problem, Rule};
pub use source::{RuleSource, SourceError};

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use chrono::Utc;
use conclave_engine::{
    plugin::{AgentRole, AgentSpec, Audience, ConfigureContext, PluginError, PromptSection, ReviewPlugin},
    rules::AppliedRules,
    untrusted::Untrusted,
};
use conclave_fetch::Fetcher;
use conclave_git::Repository;

/// The reviewer's name.
pub const REVIEWER: &str = "codex";

/// The most problems that a review lists; a file that is no file of rules at all would have thousands.
const MAX_PROBLEMS: usize = 50;

/// What the plugin needs.
#[derive(Debug)]
pub struct CodexSettings {
    /// Where the rules are, or what is wrong with the setting that says so; none are configured without it.
    pub source: Option<Result<RuleSource, SourceError>>,
    /// The reviewed repository.
    pub repository: Repository,
    /// The commit of the target branch that paths of the repository are read at.
    pub commit: String,
    /// The changed files.
    pub changed: Vec<ChangedPath>,
    /// For rules at an address.
    pub fetcher: Fetcher,
}

/// Fetches the rules, gives those that apply to the reviewer, and registers it if there are any.
#[derive(Debug)]
pub struct CodexPlugin {
    settings: CodexSettings,
    outcome: Arc<OnceLock<Outcome>>,
}

#[derive(Debug)]
struct Outcome {
    rules: Vec<Rule>,
    place: String,
    /// For the files that the plugin was made with.
    applied: AppliedRules,
    text: Untrusted,
}

/// What became of the rules; there once the plugin has bootstrapped.
#[derive(Debug, Clone)]
pub struct RulesHandle(Arc<OnceLock<Outcome>>);

impl RulesHandle {
    /// What the rules mean for the merge request; nothing, if none are configured.
    pub fn applied(&self) -> AppliedRules {
        self.0.get().map(|outcome| outcome.applied.clone()).unwrap_or_default()
    }

    /// The same once it is known which of the files are reviewed.
    pub fn applied_to(&self, changed: &[ChangedPath]) -> AppliedRules {
        let Some(outcome) = self.0.get() else {
            return AppliedRules::default();
        };
        if outcome.rules.is_empty() {
            return outcome.applied.clone();
        }
        let (applied, _) = apply::apply(&outcome.rules, &outcome.place, changed);
        AppliedRules {
            warnings: outcome.applied.warnings.clone(),
            left_out: outcome.applied.left_out.clone(),
            ..applied
        }
    }
}

impl CodexPlugin {
    /// The plugin; nothing is read yet.
    pub fn new(settings: CodexSettings) -> Self {
        Self {
            settings,
            outcome: Arc::new(OnceLock::new()),
        }
    }

    /// Where the outcome will be.
    pub fn handle(&self) -> RulesHandle {
        RulesHandle(Arc::clone(&self.outcome))
    }

    async fn outcome(&self, source: &RuleSource) -> Result<Outcome, String> {
        let settings = &self.settings;
        let texts = source::load(
            source,
            &settings.repository,
            &settings.commit,
            &settings.fetcher,
            Utc::now(),
        )
        .await?;
        let (rules, problems) = merged(&texts.files);
        let mut warnings: Vec<String> = texts.warning.into_iter().collect();
        warnings.extend(problems.iter().take(MAX_PROBLEMS).map(ToString::to_string));
        if problems.len() > MAX_PROBLEMS {
            warnings.push(format!("and {} more problems", problems.len() - MAX_PROBLEMS));
        }
        if rules.is_empty() {
            return Err(format!("there is no good rule in them. {}", warnings.join("; ")));
        }
        let (mut applied, text) = apply::apply(&rules, &source.to_string(), &settings.changed);
        applied.left_out = left_out(&problems);
        applied.warnings = warnings
            .into_iter()
            .map(|line| format!("codex rules: {line}"))
            .collect();
        Ok(Outcome {
            rules,
            place: source.to_string(),
            applied,
            text,
        })
    }
}

/// The places where rules are left out.
fn left_out(problems: &[Problem]) -> Vec<String> {
    let mut places = Vec::new();
    for problem in problems.iter().filter(|problem| problem.leaves_out) {
        let place = match problem.line {
            Some(line) => format!("{}:{line}", problem.file),
            None => problem.file.clone(),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(MAX_PROBLEMS);
    places
}

/// The rules of all files. Of two with one id the first counts.
fn merged(files: &[(String, String)]) -> (Vec<Rule>, Vec<Problem>) {
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    let mut known: HashMap<String, String> = HashMap::new();
    for (file, text) in files {
        let (found, wrong) = read::read(file, text);
        problems.extend(wrong);
        for placed in found {
            let id = placed.rule.id.to_ascii_lowercase();
            if let Some(first) = known.get(&id) {
                problems.push(Problem {
                    file: file.clone(),
                    line: Some(placed.line),
                    text: format!(
                        "the id `{}` is taken by the rule in {first}; this one is left out",
                        placed.rule.id
                    ),
                    leaves_out: true,
                });
                continue;
            }
            known.insert(id, format!("{file} line {}", placed.line));
            rules.push(placed.rule);
        }
    }
    (rules, problems)
}

#[async_trait]
impl ReviewPlugin for CodexPlugin {
    fn name(&self) -> &'static str {
        "codex"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let Some(source) = &self.settings.source else {
            return Ok(());
        };
        let (place, outcome) = match source {
            Ok(source) => (source.to_string(), self.outcome(source).await),
            Err(error) => (error.place().to_owned(), Err(error.to_string())),
        };
        let (outcome, failure) = match outcome {
            Ok(outcome) => (outcome, Ok(())),
            Err(reason) => {
                // Whoever configured rules counts on them: without them the review is not whole, and approves nothing.
                let applied = AppliedRules {
                    gaps: vec![format!("codex did not run: its rules ({place}) cannot be read")],
                    ..AppliedRules::default()
                };
                let outcome = Outcome {
                    rules: Vec::new(),
                    place,
                    applied,
                    text: Untrusted::default(),
                };
                let failure = PluginError(format!("the engineering rules cannot be read: {reason}"));
                (outcome, Err(failure))
            }
        };
        // A second bootstrap changes nothing.
        let _ = self.outcome.set(outcome);
        failure
    }

    fn warnings(&self) -> Vec<String> {
        let outcome = self.outcome.get();
        outcome
            .map(|outcome| outcome.applied.warnings.clone())
            .unwrap_or_default()
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        let Some(outcome) = self.outcome.get() else {
            return Ok(());
        };
        if outcome.applied.book.is_empty() {
            return Ok(());
        }
        context.register_agent(AgentSpec {
            name: REVIEWER.to_owned(),
            description: "Checks the organization's engineering rules".to_owned(),
            role: AgentRole::Reviewer,
        });
        context.inject_section(PromptSection {
            name: "codex_rules",
            audience: Audience::Agent(REVIEWER.to_owned()),
            text: outcome.text.clone(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
