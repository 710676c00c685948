//! Before any model is asked: the phases of the plugins, the diff, and the plan.

use conclave_engine::{
    diff::FilteredDiff,
    pipeline::{Plan, PlanInput, plan},
    plugin::{self, RuntimeConfig},
    ports::{Progress, ProgressEvent},
    prompt::PromptLibrary,
};
use conclave_shared::{
    config::{ConfigDocument, Preset},
    risk::SecurityPaths,
};

use super::{Job, plugins, registry::House, source};
use crate::{args::CommonArguments, exit::Failure};

/// What is known once the panel is decided.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) diff: FilteredDiff,
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
        let diff = read_diff(&job).await?;
        Ok::<_, Failure>((job, diff))
    };
    // Without a change there is nothing to wait for: its failure ends the phase for all.
    let (mut warnings, (job, diff)) = tokio::try_join!(async { Ok(plugin::bootstrap(&mut plugins).await) }, change)?;
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
