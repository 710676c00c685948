//! Before any model is asked: diff, configuration, tier, panel.

use conclave_engine::{
    diff::{Diff, FilteredDiff},
    pipeline::{Plan, PlanInput, explain_models, plan},
    plugin::ReviewPlugin,
    ports::{Progress, ProgressEvent},
    prompt::PromptLibrary,
};
use conclave_plugin_reviewer_config::ReviewerConfigPlugin;
use conclave_shared::{
    config::{ConfigDocument, Preset, RouteExplanation},
    path_globs::PathGlobs,
    reviewer::ReviewerName,
    risk::SecurityPaths,
};
use serde::Serialize;

use super::{Job, plugins, source};
use crate::{
    args::PlanningArguments,
    exit::Failure,
    providers::{self, Provider},
    repo_config::{self, LoadedRepoConfig},
    settings::Environment,
};

/// What is known once the panel is decided.
pub(super) struct Prepared {
    pub(super) diff: FilteredDiff,
    pub(super) plan: Plan,
    pub(super) config: ConfigDocument,
    pub(super) library: PromptLibrary,
    /// Whether a configuration service answered.
    pub(super) remote: bool,
    /// The repository's own settings.
    pub(super) repo: LoadedRepoConfig,
    /// The preset in force, and who chose it.
    pub(super) preset: (Preset, ChosenBy),
    /// How the models of the panel, and then of the coordinator, come about.
    pub(super) models: Vec<(ReviewerName, RouteExplanation)>,
    pub(super) warnings: Vec<String>,
}

/// Who chose a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChosenBy {
    /// Nobody: it is built in.
    Default,
    /// `.conclave.toml` of the target branch.
    Repo,
    /// An argument or a variable of the job.
    Job,
}

/// Diff, configuration, tier, panel.
pub(super) async fn prepare(
    job: &Job,
    arguments: &PlanningArguments,
    agents: Option<u32>,
    providers: &[Provider],
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let mut remote = ReviewerConfigPlugin::new(plugins::config_source(environment, &job.config_project)?);
    let (bootstrapped, diff, repo) = tokio::join!(
        remote.bootstrap(),
        read_diff(job),
        repo_config::load(&job.repository, &job.subject)
    );
    let repo = repo?;
    let remote_answered = remote.is_configured() && bootstrapped.is_ok();
    let mut warnings: Vec<String> = bootstrapped.err().into_iter().map(|error| error.to_string()).collect();
    let mut config = ConfigDocument::default();
    if let Err(error) = remote.post_configure(&mut config).await {
        warnings.push(error.to_string());
    }
    warnings.extend(remote.remote_warnings());
    warnings.extend(repo.warnings());
    let security = security_paths(&config, &mut warnings);
    for warning in &warnings {
        progress.report(ProgressEvent::Warning(warning));
    }
    if let Some(agents) = agents {
        config.limits.sessions = agents;
    }
    let settings = &repo.in_force.config;
    let diff = filter(diff?, &security, &settings.paths.ignore);
    let library = plugins::library(arguments.prompts.as_deref())?;
    let credentials = providers::names(providers);
    let preset = match (arguments.preset, settings.review.preset) {
        (Some(preset), _) => (preset.into(), ChosenBy::Job),
        (None, Some(preset)) => (preset, ChosenBy::Repo),
        (None, None) => (Preset::default(), ChosenBy::Default),
    };
    let input = PlanInput {
        diff: &diff,
        config: &config,
        preset: preset.0,
        credentials: &credentials,
        library: &library,
        repo: settings,
        security: &security,
        codex_rules: false,
    };
    let plan = plan(&input)?;
    let mut members = plan.reviewers();
    members.push(ReviewerName::coordinator());
    let models = members
        .into_iter()
        .map(|name| {
            let explained = explain_models(name.as_str(), plan.assessment.tier, &input);
            (name, explained)
        })
        .collect();
    for line in plan.warnings().into_iter().chain(switched_off(&plan)) {
        progress.report(ProgressEvent::Warning(&line));
        warnings.push(line);
    }
    Ok(Prepared {
        diff,
        plan,
        config,
        library,
        remote: remote_answered,
        repo,
        preset,
        models,
        warnings,
    })
}

/// The security-sensitive paths. A document's patterns are checked when it is read, so the built-in ones stand in only
/// for what no check foresaw; then the review says so.
fn security_paths(config: &ConfigDocument, warnings: &mut Vec<String>) -> SecurityPaths {
    SecurityPaths::new(&config.risk).unwrap_or_else(|faults| {
        warnings.extend(faults.into_iter().map(|fault| {
            let place = format!("risk.{}[{}]", fault.list, fault.index);
            format!(
                "the built-in security-sensitive paths are used: {place}: {}",
                fault.detail
            )
        }));
        SecurityPaths::default()
    })
}

/// Providers that an operator has switched off, with the reason, each once.
fn switched_off(plan: &Plan) -> Vec<String> {
    let routes = plan
        .members
        .iter()
        .map(|member| &member.route)
        .chain([&plan.coordinator]);
    let skipped = routes.flat_map(|route| match route {
        Ok(route) => &route.skipped,
        Err(none) => &none.skipped,
    });
    let mut lines: Vec<String> = Vec::new();
    for skip in skipped.filter(|skip| skip.switched_off) {
        if !lines.contains(&skip.reason) {
            lines.push(skip.reason.clone());
        }
    }
    lines
}

/// The diff, and the contents that the filter asks for: reading them beforehand keeps it free of I/O.
async fn read_diff(job: &Job) -> Result<(Diff, source::Contents), Failure> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let raw = job.repository.diff(base, head).await?;
    let diff = conclave_engine::diff::parse(&raw.raw, &raw.numstat, &raw.patch)?;
    let contents = source::heads(&job.repository, base, head, &diff).await?;
    Ok((diff, contents))
}

/// Takes the noise out, and what the project leaves out of its reviews. The patterns are those that could be read.
fn filter((diff, contents): (Diff, source::Contents), security: &SecurityPaths, ignore: &[String]) -> FilteredDiff {
    let ignore = PathGlobs::new(ignore).unwrap_or_default();
    conclave_engine::diff::filter(diff, security, &ignore, |file| {
        contents.get(&file.path).cloned().unwrap_or_default()
    })
}
