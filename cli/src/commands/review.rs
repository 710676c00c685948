//! `conclave review`: the job of a merge request or a pull request.

mod ending;

use std::{sync::Arc, time::Duration};

use conclave_forge::{ApiErrorKind, Publisher, Withdrawal};
use conclave_shared::{config::TimeLimitOverrides, telemetry::RunStage};

use self::ending::{Ending, fail_check_anyway, take_back, withdraw_anyway};
use super::workflow_job::{self, Commanded, Task};
use crate::{
    args::{CommonArguments, RefusedReview, ReviewArguments},
    context::Context,
    env::{
        Environment,
        ci::{CiEnvironment, RefusedCheckout},
    },
    exit::{Exit, Failure},
    run::{
        self,
        break_glass::{Broken, Request},
        directory,
        finish::outcome::nothing_reviewed,
        plan::PlanRequest,
        prepare::{
            change::{Origin, Posting, Source},
            checkout::Checkout,
        },
        report::{RunReport, RunSubject},
        scratch::Scratch,
        workflow::WorkflowReport,
    },
};

pub(crate) async fn run(mut arguments: ReviewArguments, context: &Context) -> Result<Exit, Failure> {
    context.watch_signals()?;
    check_format(&arguments)?;
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
    let cleared = clear(&arguments, env).await;
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
            let mut workflow = WorkflowReport::new(pipeline, &arguments, context);
            let is_open = match &mut workflow {
                Some(workflow) => tokio::select! {
                    // Its end begins it, too.
                    _ = signals.arrived() => true,
                    is_open = workflow.begin(context) => is_open,
                },
                None => true,
            };
            workflow.filter(|_| is_open).map(Arc::new)
        }
        _ => None,
    };
    let (result, publisher) = match read {
        Ok((pipeline, publisher)) => {
            let posts = (Arc::clone(&publisher), workflow.clone());
            let review = async {
                cleared?;
                Box::pin(review(&arguments, pipeline, posts, &report, context)).await
            };
            let result = match review.await {
                Err(Failure::Api(error)) if matches!(error.kind, ApiErrorKind::NotOpen(_)) => {
                    output.note(&format!("Nothing is done: {error}."));
                    Ok(Exit::Reviewed)
                }
                result => result,
            };
            (result, Some(publisher))
        }
        Err(end) => (end.map(|exit| nothing_reviewed(exit, output)), None),
    };
    let ending = Ending {
        address: mr,
        publisher,
        workflow,
        shows_only,
        report: &report,
        context,
    };
    ending.conclude(result).await
}

fn check_format(arguments: &ReviewArguments) -> Result<(), Failure> {
    if arguments.estimate && arguments.common.format.of_plan().is_none() {
        let problem =
            "--estimate prints a plan, which has only the formats `human` and `json`: name one of them with --format";
        return Err(Failure::Settings(problem.to_owned()));
    }
    Ok(())
}

/// Removes what an earlier run has left where this one writes.
async fn clear(arguments: &ReviewArguments, env: &Environment) -> Result<(), Failure> {
    if arguments.estimate {
        return Ok(());
    }
    let CommonArguments { output, reports, .. } = &arguments.common;
    directory::clear(output.as_deref(), reports.as_deref(), env).await
}

/// The pipeline of a command: its commit is the one that the pull request had then, and its code must not be checked out.
fn at_command(mut pipeline: CiEnvironment, commanded: Option<Commanded>) -> CiEnvironment {
    if let Some(Commanded { head, .. }) = commanded {
        pipeline.refused_checkout = Some(RefusedCheckout::of_command(&head));
        pipeline.head_sha = Some(head);
    }
    pipeline
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
        gate: arguments.common.gate,
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
            if post {
                take_outdated_back(&publisher, context).await;
            }
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
            take_outdated_back(&publisher, context).await;
        }
        report.enter(RunStage::Checkout);
        let scratch = Scratch::create(signals.stop())?;
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
        let CommonArguments {
            planning,
            format,
            require_sandbox,
            ..
        } = &arguments.common;
        let request = PlanRequest {
            planning,
            format: format.of_plan().unwrap_or_default(),
            required: *require_sandbox,
            explain: false,
        };
        return Box::pin(run::plan::plan(source, &request, &scratch, context)).await;
    }
    Box::pin(run::review(source, &arguments.common, scratch, report, context)).await
}

/// Takes the bot's approval of another commit or another target branch back, and says so.
async fn take_outdated_back(publisher: &Publisher, context: &Context) {
    let done = "The bot's approval of an earlier commit was taken back.";
    if let Err(failure) = take_back(publisher.withdraw_outdated(), done, context).await {
        context.output.warn(failure);
    }
}

/// Takes an earlier approval back and fails the check, because arguments that are wrong make no review.
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
        explains: false,
    };
    let last_word = withdraw_anyway(mr, withdrawal, &context);
    let check = async {
        match mr {
            // The check is that of a job's own pull request.
            Some(_) => Ok(()),
            None => Box::pin(fail_check_anyway(&review.check_name, &context)).await,
        }
    };
    let (taken_back, failed, ()) = tokio::join!(last_word, check, report.flush(&context.output));
    for failure in [taken_back, failed].into_iter().filter_map(Result::err) {
        context.output.warn(failure);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::{Arguments, Command};

    #[tokio::test]
    async fn an_estimate_is_refused_in_the_formats_of_a_review_that_a_plan_lacks() {
        let context = Context::new(Environment::default());
        for format in ["markdown", "sarif", "prompt"] {
            let line = ["conclave", "review", "--estimate", "--format", format].map(OsString::from);
            let Command::Review(arguments) = Arguments::read(line, &context.env).expect("arguments").command else {
                panic!("another command");
            };
            let refused = Box::pin(run(arguments, &context)).await.expect_err("refused");
            assert!(
                refused.to_string().contains("the formats `human` and `json`"),
                "{format}: {refused}"
            );
        }
    }
}
