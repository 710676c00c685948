//! One review, wired: plugins, gateway, agent runtime, engine, output.

mod inputs;
mod live;
mod patches;
mod plugins;
mod prepare;
mod runtime;
mod signals;
mod source;
mod stopwatch;
mod tape;
mod telemetry;

use std::{fmt::Write, sync::Arc};

use camino::Utf8Path;
use conclave_engine::{
    diff::FilteredDiff,
    pipeline::{ReviewJob, ReviewPorts, review as run_review},
    ports::{Forge, Progress, ProgressEvent, ReviewSubject, TelemetrySink},
    report::{Review, render_markdown},
    scheduler::Desk,
};
use conclave_git::{Repository, check_out_workspace};
use conclave_opencode::find_opencode;
use conclave_plugin_telemetry::Telemetry;
use conclave_shared::{
    redact::Redactor,
    telemetry::{EventBody, RunStarted},
    verdict::Verdict,
};
use secrecy::SecretString;
use uuid::Uuid;

use self::{
    live::Live,
    prepare::{Prepared, prepare},
    runtime::{Runtime, RuntimeInput},
    signals::Signals,
    source::RepositoryTree,
    stopwatch::Stopwatch,
    tape::Tape,
};
use crate::{
    args::{CommonArguments, Format, Gate},
    ci_environment, env_vars,
    exit::{Exit, Failure},
    output,
    providers::{self, Provider},
    rundir::{RunDirectory, Scratch},
    settings::Environment,
};

/// What is reviewed and where the result goes.
pub(crate) struct Job {
    /// What is reviewed.
    pub(crate) subject: ReviewSubject,
    /// Where its commits are.
    pub(crate) repository: Repository,
    /// Where the review is posted; nowhere means that it is only printed.
    pub(crate) forge: Option<Box<dyn Forge>>,
    /// The project's name for the configuration service.
    pub(crate) config_project: String,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What earlier reviews of the merge request have cost, as far as they are known.
    pub(crate) spent_before_usd: f64,
    /// What the person should know.
    pub(crate) notes: Vec<String>,
}

/// Reviews, prints, posts.
pub(crate) async fn review(
    job: Job,
    arguments: &CommonArguments,
    scratch: Scratch,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    // From here on a signal ends the run in good order, with nothing left behind.
    let signals = Signals::watch().map_err(Failure::io("watch for signals"))?;
    let mut watch = Stopwatch::start();
    let path = environment
        .get("PATH")
        .unwrap_or("/usr/local/bin:/usr/bin:/bin")
        .to_owned();
    let screen = output::screen(ci_environment::is_gitlab_job(environment), environment.get("TERM"));
    let progress = Arc::new(output::Display::new(screen, redactor.clone()));
    let tape = Tape::open(arguments)?;
    let providers = tape.providers(environment)?;
    for note in &job.notes {
        progress.report(ProgressEvent::Warning(note));
    }
    progress.report(ProgressEvent::Stage("Reading the diff and the configuration"));
    let configured = environment.get(env_vars::OPENCODE).map(Utf8Path::new);
    let preparing = async {
        tokio::join!(
            find_opencode(configured, &path),
            prepare(&job, arguments, &providers, environment, progress.as_ref())
        )
    };
    let (binary, prepared) = tokio::select! {
        exit = signals.arrived() => {
            output::note("Stopped before anything was reviewed.", redactor);
            return Ok(exit);
        }
        (binary, prepared) = preparing => (binary?, prepared?),
    };
    watch.lap("diff, configuration, plan");
    if prepared.diff.files.is_empty() {
        nothing_left(&prepared.diff, redactor);
        return Ok(Exit::Reviewed);
    }
    if let Some(none) = prepared.plan.nobody_can_run() {
        return Err(Failure::Settings(format!("nobody can review: {none}")));
    }

    let run_id = Uuid::now_v7();
    let directory = RunDirectory::create(arguments.output.as_deref(), &run_id.to_string(), environment)?;
    progress
        .record_in(directory.path())
        .map_err(Failure::io(format!("write {}", output::PROGRESS_FILE)))?;
    let telemetry = telemetry::start(environment, run_id, &job.subject.project)?;
    let sink: Arc<dyn TelemetrySink> = match &telemetry {
        Some(telemetry) => Arc::clone(telemetry) as _,
        None => Arc::new(telemetry::Off),
    };
    sink.record(EventBody::RunStarted(RunStarted {
        tier: prepared.plan.assessment.tier,
        forge: job.subject.forge.to_owned(),
        merge_request: job.subject.merge_request,
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        reviewers: prepared.plan.reviewers().iter().map(ToString::to_string).collect(),
    }));
    progress.report(ProgressEvent::Stage(&output::plan_line(&prepared.plan, &prepared.diff)));

    let desk = Arc::new(Desk::default());
    let ran = run_sessions(Sessions {
        job: &job,
        prepared,
        providers: &providers,
        tape,
        arguments,
        environment,
        redactor,
        binary: &binary,
        path: &path,
        scratch: scratch.path(),
        directory: &directory,
        run_id,
        desk,
        progress: progress.clone(),
        telemetry: Arc::clone(&sink),
        signals: &signals,
        watch: &mut watch,
    })
    .await;
    progress.close();
    // The runtime is gone by now, so nothing uses the scratch space any more.
    drop(scratch);
    let mut review = match ran {
        Ok(review) => review,
        Err(failure) => {
            flush(telemetry.as_deref(), progress.as_ref()).await;
            return Err(failure);
        }
    };
    if let Some(exit) = signals.exit() {
        telemetry::record_review(sink.as_ref(), &review);
        flush(telemetry.as_deref(), progress.as_ref()).await;
        output::note("Stopped. Nothing was posted, and nothing is left running.", redactor);
        return Ok(exit);
    }
    review.seconds = watch.total();
    finish(&job, arguments, &directory, &review, redactor).await?;
    telemetry::record_review(sink.as_ref(), &review);
    let posted = post(&job, &review, redactor).await;
    flush(telemetry.as_deref(), progress.as_ref()).await;
    posted?;
    Ok(exit_of(&review, arguments))
}

fn exit_of(review: &Review, arguments: &CommonArguments) -> Exit {
    match review.verdict {
        Verdict::SignificantConcerns if arguments.gate == Gate::Block => Exit::Blocked,
        Verdict::Inconclusive if arguments.strict => Exit::Inconclusive,
        _ => Exit::Reviewed,
    }
}

fn nothing_left(diff: &FilteredDiff, redactor: &Redactor) {
    let mut text = String::from("Nothing to review");
    if diff.filtered.is_empty() {
        text.push_str(": the diff is empty.");
    } else {
        text.push_str(": every changed file is noise by rule.");
        for file in &diff.filtered {
            let _ = write!(text, "\n  {} ({})", file.path, file.reason.describe());
        }
    }
    output::note(&text, redactor);
}

struct Sessions<'a> {
    job: &'a Job,
    prepared: Prepared,
    providers: &'a [Provider],
    tape: Tape,
    arguments: &'a CommonArguments,
    environment: &'a Environment,
    redactor: &'a Redactor,
    binary: &'a Utf8Path,
    path: &'a str,
    scratch: &'a Utf8Path,
    directory: &'a RunDirectory,
    run_id: Uuid,
    desk: Arc<Desk>,
    progress: Arc<dyn Progress>,
    telemetry: Arc<dyn TelemetrySink>,
    signals: &'a Signals,
    watch: &'a mut Stopwatch,
}

/// Everything that needs the agent runtime. It is stopped on every way out of here.
async fn run_sessions(sessions: Sessions<'_>) -> Result<Review, Failure> {
    let Sessions {
        job,
        prepared,
        directory,
        scratch,
        watch,
        ..
    } = sessions;
    let Prepared {
        diff,
        plan,
        config,
        library,
        warnings,
        remote,
    } = prepared;
    sessions
        .progress
        .report(ProgressEvent::Stage("Preparing the workspace and starting OpenCode"));
    let workspace = scratch.join("workspace");
    check_out_workspace(&job.repository, &job.subject.head_sha, &workspace).await?;
    let inputs = inputs::write(
        job,
        &diff,
        &plan,
        directory,
        &workspace,
        sessions.environment,
        sessions.tape.boundary(),
    )
    .await?;
    directory.write("prompts/REVIEWER_SHARED.md", library.shared()?.as_bytes())?;
    directory.write("prompts/coordinator.md", library.get("coordinator")?.as_bytes())?;
    watch.lap("workspace");
    let runtime = Runtime::start(RuntimeInput {
        binary: sessions.binary,
        path: sessions.path,
        workspace: &workspace,
        home: &scratch.join("home"),
        directory,
        environment: sessions.environment,
        redactor: sessions.redactor,
        providers: sessions.providers,
        budget: live::budget(job, sessions.arguments, &config.limits.budget),
        limits: live::gateway_limits(&config.limits),
        observer: live::observer(Arc::clone(&sessions.progress), Arc::clone(&sessions.telemetry)),
        tape: sessions.tape.settings(&inputs.boundary),
        plan: &plan,
        desk: &sessions.desk,
    })
    .await?;
    watch.lap("OpenCode start");

    let live = Live::start(&remote, &plan, providers::names(sessions.providers), &runtime.gateway);
    let source = RepositoryTree::new(job, inputs.context);
    let review_job = ReviewJob {
        run_id: sessions.run_id.to_string(),
        subject: job.subject.clone(),
        files: Arc::new(diff.files),
        patches: inputs.patches,
        filtered: diff.filtered,
        plan,
        coordinator_message: inputs.coordinator,
        limits: config.limits,
        warnings,
        stages: watch.laps(),
    };
    let ports = ReviewPorts {
        runtime: Arc::clone(&runtime.opencode) as _,
        ledger: Arc::clone(&runtime.gateway) as _,
        progress: Arc::clone(&sessions.progress),
        telemetry: Arc::clone(&sessions.telemetry),
        routes: live.routes.clone(),
        source: Arc::new(source),
        desk: Arc::clone(&sessions.desk),
        stop: sessions.signals.stop(),
    };
    let mut review = run_review(review_job, ports).await;
    watch.lap("sessions");
    review.warnings.extend(output::gateway_lines(&runtime.gateway.events()));
    review.warnings.extend(live.warning());
    runtime.stop().await;
    watch.lap("shutdown");
    review.stages.extend(watch.last());
    Ok(review)
}

/// The records and what is printed.
async fn finish(
    job: &Job,
    arguments: &CommonArguments,
    directory: &RunDirectory,
    review: &Review,
    redactor: &Redactor,
) -> Result<(), Failure> {
    let json = output::json(review, redactor);
    directory.write("review.json", json.as_bytes())?;
    directory.write("review.md", redactor.redact(&render_markdown(review)).as_bytes())?;
    let excerpts = source::excerpts(&job.repository, review).await;
    let lines = serde_json::to_string(&excerpts).unwrap_or_default();
    directory.write(output::Excerpts::FILE, redactor.redact(&lines).as_bytes())?;
    match arguments.format {
        Format::Json => output::print(&json),
        Format::Human => output::print(&redactor.redact(&output::review(review, &excerpts, directory.path()))),
    }
    Ok(())
}

async fn post(job: &Job, review: &Review, redactor: &Redactor) -> Result<(), Failure> {
    let Some(forge) = &job.forge else { return Ok(()) };
    let text = redactor.redact(&render_markdown(review));
    let outcome = forge.publish(review, &text).await?;
    let state = if outcome.approved {
        "approved by the bot"
    } else {
        "not approved by the bot"
    };
    match outcome.url {
        Some(url) => output::note(&format!("Posted: {url} ({state})"), redactor),
        None => output::note(&format!("Posted ({state})"), redactor),
    }
    for warning in &outcome.warnings {
        output::note(&format!("Warning: {warning}"), redactor);
    }
    Ok(())
}

async fn flush(telemetry: Option<&Telemetry>, progress: &dyn Progress) {
    if let Some(telemetry) = telemetry {
        let lost = telemetry.flush().await;
        if lost > 0 {
            progress.report(ProgressEvent::Warning(&format!(
                "{lost} telemetry events did not reach the tracker"
            )));
        }
    }
}
