//! The part of a run that needs the agent runtime: the workspace, the gateway, the runtime, and the sessions in it.

use std::{sync::Arc, time::Duration};

use conclave_engine::{
    diff::FileDiff,
    incremental::{Instructions, WhoseWords},
    language::Language,
    pipeline::{Prior, ReviewJob, ReviewPorts, review},
    ports::{ProgressEvent, PublishSettings},
    prompt::shown_to_all,
    repo_config::RepoConfig,
    review::{Review, RuntimeName},
    session::{HeadStart, SessionContext, most_at_once},
};
use conclave_git::check_out_workspace;
use conclave_sandbox::SandboxStatus;
use conclave_shared::path_globs::PathGlobs;
use tokio::sync::watch;

use super::{
    Run,
    directory::RunDirectory,
    prepare::{Prepared, change::Job, incremental, memory, report_all, source::RepositoryTree},
    start::{
        choice::Starting,
        inputs,
        live::{Live, LiveModels},
        runtime::Runtime,
        section_mark::SectionMark,
    },
};
use crate::{exit::Failure, output};

/// What is left of a run when its sessions have ended.
pub(crate) struct Executed {
    pub(crate) job: Job,
    /// All changed files.
    pub(crate) files: Arc<Vec<FileDiff>>,
    /// The repository's settings in force.
    pub(crate) settings: RepoConfig,
    pub(crate) publishing: PublishSettings,
}

/// The words for the stage before the sessions, and the name of the runtime's own.
const fn stages(runtime: RuntimeName) -> (&'static str, &'static str) {
    match runtime {
        RuntimeName::OpenCode => ("Preparing the workspace and starting OpenCode", "OpenCode start"),
        RuntimeName::Native => ("Preparing the workspace", "native start"),
    }
}

/// The words that decide in threads, by the settings in force.
fn whose_words(settings: &RepoConfig) -> WhoseWords {
    WhoseWords {
        author_settles: settings.review.author_settles,
        language: settings.review.language.as_deref().and_then(Language::of),
    }
}

/// Adds what only the run knows: what the gateway saw, what changed meanwhile, the sandbox, and the day of the prices.
fn complete(review: &mut Review, runtime: &Runtime, live: &Live, models: &LiveModels) {
    review.warnings.extend(output::gateway_lines(&runtime.gateway.events()));
    review.warnings.extend(live.warning());
    review.coverage.notes.extend(live.changes());
    runtime.account_for_sandbox(review);
    // Of which day the prices are, where they are an operator's.
    let usage = review.usage();
    let of_day = models.prices().describe(usage.iter().map(|usage| &usage.model));
    review.coverage.notes.extend(of_day);
}

/// Everything besides the change that the reviewers work under.
async fn instructions(prepared: &Prepared) -> Result<Instructions, Failure> {
    let agents_md = inputs::agents_md(&prepared.job).await?;
    let conventions = shown_to_all(agents_md.as_ref(), &prepared.runtime);
    let settings = &prepared.repo.in_force.config;
    let instructions = Instructions::new(settings, &prepared.library, &prepared.plan.rules.book);
    Ok(instructions.for_target(&prepared.job.subject.target_branch, &conventions))
}

/// The results of earlier runs, for this one; `None` if it is to stop, as the search in a push of large files can be long.
async fn earlier(run: &Run<'_>, prepared: &mut Prepared, prompt_paths: &PathGlobs) -> Result<Option<Prior>, Failure> {
    let instructions = instructions(prepared).await?;
    let words = whose_words(&prepared.repo.in_force.config);
    let prior = incremental::prepare(
        &mut prepared.job,
        &mut prepared.diff,
        &prepared.plan,
        &instructions,
        (words, prompt_paths),
        &prepared.spool,
    );
    tokio::select! {
        _ = run.context.signals.arrived() => Ok(None),
        prior = prior => prior.map(Some),
    }
}

/// Does everything that needs the agent runtime, which the caller stops. Nothing if the run has to end before it has begun.
pub(crate) async fn execute(
    run: &Run<'_>,
    starting: (Starting, SandboxStatus),
    mut prepared: Prepared,
    directory: &RunDirectory,
    run_limit: watch::Sender<Duration>,
) -> Result<Option<(Executed, Review, Runtime)>, Failure> {
    let name = starting.0.name();
    let (preparing, start) = stages(name);
    run.progress.report(ProgressEvent::Stage(preparing));
    let workspace = run.workspace();
    let mark = SectionMark::of(&prepared.job, &run.recording, &run.context.redactor)?;
    let section_marks = mark
        .leaks(
            &mut prepared.approval_holds,
            &prepared.job,
            &prepared.diff,
            &prepared.spool,
        )
        .await?;
    let settings = &prepared.repo.in_force.config;
    let publishing = prepared.publishing();
    // The patterns are those that could be read.
    let prompt_paths = PathGlobs::new(&settings.review.prompt_paths).unwrap_or_default();
    let Some(prior) = earlier(run, &mut prepared, &prompt_paths).await? else {
        return Ok(None);
    };
    memory::give_a_moment(&mut prepared.memory).await;
    let mailbox = incremental::mailbox(&prepared.job);
    let models = LiveModels::new(&prepared.config);
    let starting = async {
        let Job {
            repository, subject, ..
        } = &prepared.job;
        check_out_workspace(repository, &subject.head_sha, &workspace).await?;
        let inputs = inputs::write(&mut prepared, &mark.nonce, directory, &workspace).await?;
        report_all(run.progress.as_ref(), &inputs.warnings);
        run.stopwatch.lap("workspace");
        let runtime = Runtime::start(run, starting, &prepared, directory, &models, &mailbox).await?;
        run.stopwatch.lap(start);
        Ok::<_, Failure>((runtime, inputs))
    };
    let (runtime, inputs) = tokio::select! {
        _ = run.context.signals.arrived() => return Ok(None),
        started = starting => started?,
    };
    let live = Live::start(run, &prepared, &runtime.gateway, &models, run_limit);
    let context = SessionContext {
        runtime: runtime.port(),
        ledger: Arc::clone(&runtime.gateway) as _,
        progress: Arc::clone(&run.progress),
        telemetry: run.observers.sink(),
        routes: live.routes.clone(),
        head_start: HeadStart::of(&prepared.plan.members, most_at_once(&prepared.config.limits)),
        limits: prepared.config.limits,
        stop: run.context.signals.stop(),
    };

    let settings = prepared.repo.in_force.config;
    let files = Arc::new(incremental::all_files(&prepared.diff, &prior));
    let mut warnings = prepared.warnings;
    warnings.extend(inputs.warnings);
    let review_job = ReviewJob {
        run_id: run.report.id().to_string(),
        subject: prepared.job.subject.clone(),
        files: Arc::new(prepared.diff.files),
        patches: inputs.patches,
        cut: inputs.cut,
        too_large: inputs.too_large,
        filtered: prepared.diff.filtered,
        by_rules: prepared.by_rules,
        trojan_source: prepared.trojan_source,
        section_marks,
        prior,
        memory: prepared.memory,
        plan: prepared.plan,
        coordinator_message: inputs.coordinator,
        rubric: settings.verdict,
        language: settings.review.language.clone(),
        security: prepared.security,
        approval_holds: prepared.approval_holds,
        prompt_paths,
        warnings,
        stages: run.stopwatch.laps(),
        configuration: prepared.follower.unanswered(),
        runtime: Some(name),
    };
    let source = Arc::new(RepositoryTree::new(&prepared.job, &files, inputs.context));
    let ports = ReviewPorts {
        context,
        source,
        mailbox,
    };
    let mut review = review(review_job, ports).await;
    run.stopwatch.lap("sessions");
    complete(&mut review, &runtime, &live, &models);
    let executed = Executed {
        job: prepared.job,
        files,
        settings,
        publishing,
    };
    Ok(Some((executed, review, runtime)))
}
