//! Before any model is asked: diff, configuration, tier, panel.

use camino::Utf8Path;
use conclave_engine::{
    diff::FilteredDiff,
    pipeline::{Plan, PlanInput, plan},
    plugin::ReviewPlugin,
    ports::{Progress, ProgressEvent},
    prompt::PromptLibrary,
};
use conclave_plugin_reviewer_config::ReviewerConfigPlugin;
use conclave_shared::{
    config::{ConfigDocument, Preset},
    risk::SecurityPaths,
};

use super::{Job, plugins, source};
use crate::{
    args::CommonArguments,
    exit::Failure,
    providers::{self, Provider},
    rundir,
    settings::Environment,
};

/// What is known once the panel is decided.
pub(super) struct Prepared {
    pub(super) diff: FilteredDiff,
    pub(super) plan: Plan,
    pub(super) config: ConfigDocument,
    pub(super) library: PromptLibrary,
    pub(super) warnings: Vec<String>,
    /// Where the configuration comes from, also while the run goes on.
    pub(super) remote: ReviewerConfigPlugin,
}

/// Diff, configuration, tier, panel.
pub(super) async fn prepare(
    job: &Job,
    arguments: &CommonArguments,
    providers: &[Provider],
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let mut remote = ReviewerConfigPlugin::new(
        plugins::config_source(environment, &job.config_project)?,
        rundir::cache_directory(environment)
            .as_deref()
            .map(Utf8Path::as_std_path),
    );
    let (bootstrapped, diff) = tokio::join!(remote.bootstrap(), read_diff(job));
    let mut warnings: Vec<String> = bootstrapped.err().into_iter().map(|error| error.to_string()).collect();
    let mut config = ConfigDocument::default();
    if let Err(error) = remote.post_configure(&mut config).await {
        warnings.push(error.to_string());
    }
    warnings.extend(remote.remote_warnings());
    for warning in &warnings {
        progress.report(ProgressEvent::Warning(warning));
    }
    if let Some(agents) = arguments.agents {
        config.limits.sessions = agents;
    }
    let diff = diff?;
    let library = plugins::library(arguments.prompts.as_deref())?;
    let credentials = providers::names(providers);
    let input = PlanInput {
        diff: &diff,
        config: &config,
        preset: Preset::Current,
        credentials: &credentials,
        library: &library,
    };
    let plan = plan(&input)?;
    for line in switched_off(&plan) {
        progress.report(ProgressEvent::Warning(&line));
        warnings.push(line);
    }
    Ok(Prepared {
        diff,
        plan,
        config,
        library,
        warnings,
        remote,
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

async fn read_diff(job: &Job) -> Result<FilteredDiff, Failure> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let raw = job.repository.diff(base, head).await?;
    let diff = conclave_engine::diff::parse(&raw.raw, &raw.numstat, &raw.patch)?;
    // The filter asks for few files; reading them beforehand keeps it free of I/O.
    let contents = source::heads(&job.repository, base, head, &diff).await?;
    let security = SecurityPaths::default();
    Ok(conclave_engine::diff::filter(diff, &security, |file| {
        contents.get(&file.path).cloned().unwrap_or_default()
    }))
}
