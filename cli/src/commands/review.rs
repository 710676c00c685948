//! `conclave review`: the job of a merge request or a pull request.

use std::{sync::Arc, time::Duration};

use conclave_forge::{ApiError, Publisher, Withdrawal};
use conclave_shared::{config::TimeLimitOverrides, telemetry::RunStage};
use tokio::time::timeout;

use super::workflow_job::{self, Commanded, Task};
use crate::{
    args::{CommonArguments, RefusedReview, ReviewArguments},
    context::Context,
    env::{Environment, ci::CiEnvironment},
    exit::{Exit, Failure},
    run::{
        self,
        break_glass::{Broken, Request},
        directory::{self, Scratch},
        finish::outcome::nothing_reviewed,
        plan::PlanRequest,
        prepare::{
            change::{Origin, Posting, Source},
            checkout::Checkout,
        },
        report::{RunReport, RunSubject},
        workflow::WorkflowReport,
    },
};

/// Maximum time for taking an approval back, once everything else has ended.
const LAST_WORD: Duration = Duration::from_secs(5);

pub(crate) async fn run(mut arguments: ReviewArguments, context: &Context) -> Result<Exit, Failure> {
    context.watch_signals()?;
    let of_event = match &arguments.mr {
        None => Box::pin(workflow_job::handle(&arguments, context)).await?,
        Some(_) => Task::Review(None),
    };
    let commanded = match of_event {
        Task::Done(exit) => return Ok(exit),
        Task::Review(commanded) => commanded,
    };
    arguments.full |= commanded.as_ref().is_some_and(|commanded| commanded.full);
    let Context {
        env, output, signals, ..
    } = context;
    if !arguments.estimate {
        let CommonArguments { output, reports, .. } = &arguments.common;
        directory::clear(output.as_deref(), reports.as_deref(), env);
    }
    // Of a pipeline the run is reported before anything is asked; where an address is all that there is, the server has to say
    // first which project it is of.
    let pipeline = match &arguments.mr {
        Some(address) => tokio::select! {
            exit = signals.arrived() => Err(Ok(exit)),
            located = env.merge_request(address, arguments.repo.as_deref()) => located.map_err(Err),
        },
        None => env
            .pipeline()
            .map(|pipeline| at_command(pipeline, commanded))
            .map_err(Err),
    };
    let mr = arguments.mr.as_deref();
    let subject = match (&pipeline, mr) {
        (Ok(pipeline), Some(_)) => {
            let forge = &pipeline.forge;
            Some(RunSubject::new(
                forge.name(),
                &pipeline.project_path,
                Some(forge.number()),
            ))
        }
        _ => subject_of(mr, env),
    };
    let report = match subject.filter(|_| !arguments.estimate) {
        Some(subject) => RunReport::begin(env, &subject),
        None => RunReport::silent(),
    };
    let read = pipeline.and_then(|pipeline| {
        report.enter(RunStage::Forge);
        let publisher = pipeline
            .forge
            .publisher(env.last_request())
            .map_err(|error| Err(error.into()))?;
        let publisher = publisher.in_pipeline_of(pipeline.head_sha.clone());
        Ok((pipeline, Arc::new(publisher.stopped_by(signals.stop()))))
    });
    let shows_only = arguments.dry_run || arguments.estimate;
    let workflow = match &read {
        Ok((pipeline, _)) if !shows_only => {
            tokio::select! {
                _ = signals.arrived() => None,
                workflow = WorkflowReport::begin(pipeline, &arguments, context) => workflow.map(Arc::new),
            }
        }
        _ => None,
    };
    let (result, publisher) = match read {
        Ok((pipeline, publisher)) => {
            let posts = (Arc::clone(&publisher), workflow.clone());
            let review = review(&arguments, pipeline, posts, &report, context);
            (Box::pin(review).await, Some(publisher))
        }
        Err(end) => (end.map(|exit| nothing_reviewed(exit, output)), None),
    };
    report.conclude(&result);
    let last_word = async {
        let withdrawal = Withdrawal {
            reason: &why(&result, context),
            stopped: signals.exit().is_some(),
        };
        match publisher {
            _ if shows_only => {}
            Some(publisher) if publisher.has_concluded() => {}
            Some(publisher) => take_back(publisher.withdraw(withdrawal), TAKEN_BACK, context).await,
            None => withdraw_anyway(mr, withdrawal, context).await,
        }
    };
    tokio::join!(last_word, report.flush(output));
    // Last: what waits for the check may merge.
    match workflow {
        Some(workflow) => with_gate(&workflow, result, context).await,
        None => result,
    }
}

/// The pipeline of a command: its commit is the one that the pull request had then, and its code must not be checked out.
fn at_command(mut pipeline: CiEnvironment, commanded: Option<Commanded>) -> CiEnvironment {
    if let Some(Commanded { head, .. }) = commanded {
        pipeline.refused_checkout = Some(head.clone());
        pipeline.head_sha = Some(head);
    }
    pipeline
}

/// Ends the report to the workflow. Where the gate could not be set, the run has failed, whatever the review says.
async fn with_gate(
    workflow: &WorkflowReport,
    result: Result<Exit, Failure>,
    context: &Context,
) -> Result<Exit, Failure> {
    let ending = workflow.end(&result, context);
    let ended = match context.signals.exit() {
        // What kills the job does not wait.
        Some(_) => timeout(LAST_WORD, ending).await.unwrap_or(Ok(())),
        None => ending.await,
    };
    match (ended, result) {
        (Ok(()), result) => result,
        (Err(failure), Ok(_)) => Err(failure),
        (Err(failure), Err(first)) => {
            context.output.warn(failure);
            Err(first)
        }
    }
}

/// What the run is about, before the server was asked.
fn subject_of(mr: Option<&str>, env: &Environment) -> Option<RunSubject> {
    match mr {
        Some(address) => RunSubject::at(address),
        None => env
            .run_subject()
            .map(|(forge, project, number)| RunSubject::new(forge, project, number)),
    }
}

/// Everything between the forge's address and the end of the run.
async fn review(
    arguments: &ReviewArguments,
    pipeline: CiEnvironment,
    (publisher, workflow): (Arc<Publisher>, Option<Arc<WorkflowReport>>),
    report: &RunReport,
    context: &Context,
) -> Result<Exit, Failure> {
    let Context { output, signals, .. } = context;
    let limits = arguments.common.planning.limits.clone();
    let TimeLimitOverrides {
        forge_seconds,
        fetch_seconds,
        ..
    } = limits.unwrap_or_default();
    if let Some(seconds) = forge_seconds {
        publisher.limit_requests(Duration::from_secs(seconds));
    }
    let post = !arguments.dry_run;
    let posting = Posting {
        mode: arguments.mode,
        max_inline: arguments.max_inline,
        default_mode: pipeline.forge.default_mode(),
    };
    if !arguments.estimate {
        let request = Request {
            publisher: &publisher,
            pipeline: &pipeline,
            policy: arguments.break_glass,
            mode: posting.mode,
        };
        let broken = tokio::select! {
            exit = signals.arrived() => return Ok(nothing_reviewed(exit, output)),
            broken = Broken::find(&request, context) => broken?,
        };
        if let Some(broken) = broken {
            // Before anything else, which may be what is broken.
            broken.skip_review(&request, post, report, context).await?;
            if let Some(workflow) = &workflow {
                workflow.skipped(broken.user());
            }
            return Ok(match signals.exit() {
                Some(stopped) if !publisher.has_concluded() => nothing_reviewed(stopped, output),
                _ => Exit::Reviewed,
            });
        }
    }
    let opening = async {
        if !arguments.estimate && post {
            // Should that fail, the end of the run does it.
            let done = "The bot's approval of an earlier commit was taken back.";
            take_back(publisher.withdraw_outdated(), done, context).await;
        }
        report.enter(RunStage::Checkout);
        let scratch = Scratch::create()?;
        let limit = fetch_seconds.map(Duration::from_secs);
        let checkout = Checkout::open(&pipeline, &context.env, scratch.path(), limit).await?;
        Ok::<_, Failure>((scratch, checkout))
    };
    let (scratch, checkout) = tokio::select! {
        exit = signals.arrived() => return Ok(nothing_reviewed(exit, output)),
        opened = opening => opened?,
    };
    let source = Source {
        origin: Origin::Forge {
            publisher,
            checkout: Box::new(checkout),
            post: post.then_some(posting),
            workflow,
            full: arguments.full,
        },
        project: pipeline.project_path,
        secret: Some(pipeline.forge.secret().clone()),
    };
    if arguments.estimate {
        let CommonArguments { planning, format, .. } = &arguments.common;
        let request = PlanRequest {
            planning,
            format: (*format).into(),
            explain: false,
        };
        return Box::pin(run::plan::plan(source, &request, &scratch, context)).await;
    }
    Box::pin(run::review(source, &arguments.common, scratch, report, context)).await
}

/// What happens to the merge request when the arguments are wrong: there is no review, so an earlier approval goes.
pub(crate) async fn refused(review: &RefusedReview, mut context: Context) {
    // A signal must not end it before that: it takes seconds at most.
    let _ = context.watch_signals();
    context.trust(review.ca_file.as_deref());
    let mr = review.mr.as_deref();
    let report =
        subject_of(mr, &context.env).map_or_else(RunReport::silent, |subject| RunReport::begin(&context.env, &subject));
    report.refused();
    let withdrawal = Withdrawal {
        reason: "A later run could not begin: its arguments are wrong. The job's log says which.",
        stopped: false,
    };
    let last_word = withdraw_anyway(mr, withdrawal, &context);
    tokio::join!(last_word, report.flush(&context.output));
}

/// Takes any approval back for a run that has no client of the forge, because its settings are wrong or it was stopped before:
/// as far as the merge request is known, and with the certificates that can be used.
async fn withdraw_anyway(mr: Option<&str>, withdrawal: Withdrawal<'_>, context: &Context) {
    let env = context.env.without_unusable_certificates();
    let reading = async {
        let pipeline = match mr {
            Some(address) => env.merge_request(address, None).await,
            None => env.pipeline(),
        }
        .ok()?;
        let publisher = pipeline.forge.publisher(env.last_request()).ok()?;
        Some(publisher.in_pipeline_of(pipeline.head_sha))
    };
    let attempt = async {
        // Without a known merge request there is no approval to withdraw.
        match reading.await {
            Some(publisher) => publisher.withdraw(withdrawal).await,
            None => Ok(false),
        }
    };
    take_back(attempt, TAKEN_BACK, context).await;
}

/// The line about an approval that the bot has withdrawn.
const TAKEN_BACK: &str = "The bot's earlier approval was taken back.";

/// Takes an approval back, because there is no review of what is there now, and says what became of it.
async fn take_back(attempt: impl Future<Output = Result<bool, ApiError>>, done: &str, context: &Context) {
    let problem = match timeout(LAST_WORD, attempt).await {
        Ok(Ok(true)) => return context.output.note(done),
        Ok(Ok(false)) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the forge took too long".to_owned(),
    };
    context.output.warn(format!("an earlier approval may stand: {problem}"));
}

/// Why a run without a review of its own takes an approval back, for everybody to read.
fn why(result: &Result<Exit, Failure>, context: &Context) -> String {
    match result {
        Err(failure) => {
            let text = context.redactor.redact(&failure.to_string());
            let first = text.lines().next().unwrap_or_default();
            format!("A later run failed: {first}")
        }
        Ok(Exit::OutOfTime) => "A later run had no time left before it had a review.".to_owned(),
        Ok(Exit::Interrupted | Exit::Terminated) => "A later run was stopped before it had a review.".to_owned(),
        Ok(_) => {
            "A later run found nothing to review: the diff is empty, or every changed file is noise by rule.".to_owned()
        }
    }
}
