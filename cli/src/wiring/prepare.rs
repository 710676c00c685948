//! Before any model is asked: the phases of the plugins, the diff, and the plan.

use camino::Utf8Path;
use conclave_engine::{
    diff::{FilterRules, FilteredDiff},
    pipeline::{Plan, PlanInput, plan},
    plugin::{self, RuntimeConfig},
    ports::{Progress, ProgressEvent},
    prompt::PromptLibrary,
};
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
    registry::House,
};
use crate::{args::CommonArguments, exit::Failure};

/// What is known once the panel is decided.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) diff: FilteredDiff,
    pub(super) spool: Spool,
    /// What rules found in lock files; `None` if none changed.
    pub(super) by_rules: Option<Vec<Finding>>,
    pub(super) plan: Plan,
    pub(super) config: ConfigDocument,
    /// What the runtime will be started with. Rendering it needs the addresses of running servers, or placeholders.
    pub(super) runtime: RuntimeConfig,
    pub(super) library: PromptLibrary,
    pub(super) warnings: Vec<String>,
}

/// Runs the phases. Nothing listens and no child runs before, during or after it: a plan can be shown without.
///
/// The order: all plugins start at once, and the diff is read as soon as the one that brings the change has it. Then
/// they configure, then the models are amended (the last word is an operator's, so it comes after what plugins propose),
/// and only then is the plan made: it depends on which reviewers were registered, which providers can be used and which
/// models are in force. What was assembled is narrowed down to the plan at the end, so that no plugin has to know who
/// sits on the panel to contribute to it.
pub(super) async fn prepare(
    house: House,
    arguments: &CommonArguments,
    scratch: &Utf8Path,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let House {
        mut plugins,
        arrival,
        secret,
        notes,
        ..
    } = house;
    let change = async {
        let job = arrival.wait(secret).await?;
        let diff = read_diff(&job, scratch).await?;
        Ok::<_, Failure>((job, diff))
    };
    // Without a change there is nothing to wait for: its failure ends the phase for all.
    let (mut warnings, (job, change)) = tokio::try_join!(async { Ok(plugin::bootstrap(&mut plugins).await) }, change)?;
    let ReadDiff { diff, spool, locks } = change;
    warnings.extend(locks.faults);
    let mut config = ConfigDocument::default();
    let mut assembled = plugin::configure(&plugins, &mut config)?;
    warnings.extend(plugin::post_configure(&plugins, &mut assembled, &mut config).await);
    warnings.extend(plugins.iter().flat_map(|plugin| plugin.warnings()));
    for warning in notes.iter().chain(&job.notes).chain(&warnings) {
        progress.report(ProgressEvent::Warning(warning));
    }
    if let Some(agents) = arguments.agents {
        config.limits.sessions = agents;
    }
    let library = plugins::library(arguments.prompts.as_deref())?;
    let plan = plan(&PlanInput {
        diff: &diff,
        config: &config,
        preset: Preset::Current,
        credentials: &assembled.providers(),
        registered: &assembled.reviewers(),
        library: &library,
    })?;
    for line in switched_off(&plan) {
        progress.report(ProgressEvent::Warning(&line));
        warnings.push(line);
    }
    let runtime = assembled.for_plan(&plan, &config);
    Ok(Prepared {
        job,
        diff,
        spool,
        by_rules: locks.findings,
        plan,
        config,
        runtime,
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
