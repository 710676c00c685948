//! Before any model is asked: diff, configuration, tier, panel.

use camino::Utf8Path;
use conclave_engine::{
    diff::{FilterRules, FilteredDiff},
    pipeline::{Plan, PlanInput, plan},
    plugin::ReviewPlugin,
    ports::{Progress, ProgressEvent},
    prompt::PromptLibrary,
};
use conclave_plugin_reviewer_config::ReviewerConfigPlugin;
use conclave_shared::{
    config::{ConfigDocument, Preset},
    finding::Finding,
    risk::SecurityPaths,
};

use globset::GlobSet;

use super::{
    Job,
    changes::{self, Spool},
    lock_files::{self, LockFiles},
    plugins,
};
use crate::{
    args::CommonArguments,
    exit::Failure,
    providers::{self, Provider},
    settings::Environment,
};

/// What is known once the panel is decided.
pub(super) struct Prepared {
    pub(super) diff: FilteredDiff,
    pub(super) spool: Spool,
    /// What rules found in lock files; `None` if none changed.
    pub(super) by_rules: Option<Vec<Finding>>,
    pub(super) plan: Plan,
    pub(super) config: ConfigDocument,
    pub(super) library: PromptLibrary,
    pub(super) warnings: Vec<String>,
}

/// Diff, configuration, tier, panel.
pub(super) async fn prepare(
    job: &Job,
    arguments: &CommonArguments,
    providers: &[Provider],
    scratch: &Utf8Path,
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let mut remote = ReviewerConfigPlugin::new(plugins::config_source(environment, &job.config_project)?);
    let (bootstrapped, diff) = tokio::join!(remote.bootstrap(), read_diff(job, scratch));
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
    let ReadDiff { diff, spool, locks } = diff?;
    for fault in &locks.faults {
        progress.report(ProgressEvent::Warning(fault));
    }
    warnings.extend(locks.faults);
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
        spool,
        by_rules: locks.findings,
        plan,
        config,
        library,
        warnings,
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

struct ReadDiff {
    diff: FilteredDiff,
    spool: Spool,
    locks: LockFiles,
}

async fn read_diff(job: &Job, scratch: &Utf8Path) -> Result<ReadDiff, Failure> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let (diff, spool) = changes::read(&job.repository, base, head, scratch).await?;
    // Before the noise is taken out: lock files are a part of it.
    let locks = lock_files::check(&job.repository, &diff).await?;
    let rules = FilterRules {
        security: &SecurityPaths::default(),
        ignore: &GlobSet::empty(),
    };
    let diff = changes::without_noise(&job.repository, diff, rules).await?;
    Ok(ReadDiff { diff, spool, locks })
}

impl Prepared {
    /// Whether there is neither anything to review nor anything to say without a review.
    pub(super) fn is_settled(&self) -> bool {
        self.diff.files.is_empty()
            && self.by_rules.as_ref().is_none_or(Vec::is_empty)
            && !self.diff.filtered.iter().any(|file| file.reason.is_gap())
    }
}
