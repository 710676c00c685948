//! `conclave review`: the job of a merge-request pipeline.

use std::{sync::Arc, time::Duration};

use conclave_forge::{ApiError, Publisher, Withdrawal};
use conclave_plugin_gitlab::GitLab;
use conclave_shared::{config::TimeLimitOverrides, redact::Redactor, telemetry::RunStage};
use tokio::time::{error::Elapsed, timeout};

use crate::run::finish::outcome::nothing_reviewed;
use crate::{
    args::{CommonArguments, RefusedReview, ReviewArguments},
    context::signals::Signals,
    env::{
        Environment,
        ci::{self, CiEnvironment},
        names,
    },
    exit::{Exit, Failure},
    output,
    run::{
        self,
        break_glass::{Glass, Skipped},
        directory::{self, Scratch},
        plan::PlanRequest,
        prepare::{
            change::{Assignment, Origin, Posting},
            checkout::Checkout,
        },
        report::{RunReport, RunSubject},
    },
};

/// The longest time for taking an approval back, once everything else has ended.
const LAST_WORD: Duration = Duration::from_secs(5);

pub(crate) async fn run(
    arguments: ReviewArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let signals = Signals::watch().map_err(Failure::io("watch for signals"))?;
    let environment = &match &arguments.ca_file {
        Some(file) => environment.with(names::CA_FILE, file.as_str()),
        None => environment.clone(),
    };
    if !arguments.estimate {
        directory::clear(
            arguments.common.output.as_deref(),
            arguments.common.reports.as_deref(),
            environment,
        );
    }
    let mr = arguments.mr.clone();
    // Of a pipeline the run is reported before anything is asked; where an address is all that there is, the server has to say
    // first which project it is of.
    let located = match &arguments.mr {
        Some(address) => Some(tokio::select! {
            exit = signals.arrived() => Err(Ok(exit)),
            located = ci::read_address(environment, address, arguments.repo.as_deref()) => located.map_err(Err),
        }),
        None => None,
    };
    let subject = match (&located, &arguments.mr) {
        (Some(Ok(pipeline)), _) => Some(RunSubject::gitlab(
            pipeline.project_path.clone(),
            Some(pipeline.gitlab.iid),
        )),
        (_, mr) => subject_of(mr.as_deref(), environment),
    };
    let report = match subject.filter(|_| !arguments.estimate) {
        Some(subject) => RunReport::begin(environment, &subject),
        None => RunReport::silent(),
    };
    let pipeline = located.unwrap_or_else(|| ci::read(environment).map_err(Err));
    let read = pipeline.and_then(|pipeline| {
        report.enter(RunStage::Forge);
        let gitlab = GitLab::publisher(&pipeline.gitlab).map_err(|error| Err(error.into()))?;
        let gitlab = gitlab
            .in_pipeline_of(pipeline.head_sha.clone())
            .stopped_by(signals.stop());
        Ok((pipeline, gitlab))
    });
    let may_write = !arguments.dry_run && !arguments.estimate;
    let result = match read {
        Ok(read) => Box::pin(reported(arguments, read, environment, redactor, (&signals, &report))).await,
        Err(end) => {
            let result = end.map(|exit| nothing_reviewed(exit, redactor));
            report.conclude(&result);
            let last_word = async {
                if may_write {
                    let stopped = signals.exit().is_some();
                    withdraw_anyway(mr.as_deref(), environment, &why(&result, redactor), stopped, redactor).await;
                }
            };
            tokio::join!(last_word, report.flush(redactor));
            result
        }
    };
    report.conclude(&result);
    report.flush(redactor).await;
    result
}

/// What the run is about, before the server was asked.
fn subject_of(mr: Option<&str>, environment: &Environment) -> Option<RunSubject> {
    match mr {
        Some(address) => RunSubject::at(address),
        None => ci::run_subject(environment).map(|(project, number)| RunSubject::gitlab(project, number)),
    }
}

/// The run from where it is known what it is about.
async fn reported(
    arguments: ReviewArguments,
    (pipeline, gitlab): (CiEnvironment, Publisher),
    environment: &Environment,
    redactor: &Redactor,
    (signals, report): (&Signals, &RunReport),
) -> Result<Exit, Failure> {
    if let Some(seconds) = limits_of(&arguments).forge_seconds {
        gitlab.limit_requests(Duration::from_secs(seconds));
    }
    let gitlab = Arc::new(gitlab);
    let may_write = !arguments.dry_run && !arguments.estimate;
    let review = review(
        arguments,
        pipeline,
        Arc::clone(&gitlab),
        environment,
        redactor,
        (signals, report),
    );
    let result = Box::pin(review).await;
    report.conclude(&result);
    let last_word = async {
        if may_write && !gitlab.has_concluded() {
            withdraw(&gitlab, &why(&result, redactor), signals.exit().is_some(), redactor).await;
        }
    };
    tokio::join!(last_word, report.flush(redactor));
    result
}

/// Everything between the forge's address and the end of the run.
async fn review(
    arguments: ReviewArguments,
    pipeline: CiEnvironment,
    gitlab: Arc<Publisher>,
    environment: &Environment,
    redactor: &Redactor,
    (signals, report): (&Signals, &RunReport),
) -> Result<Exit, Failure> {
    let secret = pipeline.gitlab.secret.clone();
    let posting = Posting {
        mode: arguments.mode.map(Into::into),
        max_inline: arguments.max_inline,
    };
    if !arguments.estimate {
        let asked = Glass {
            gitlab: &gitlab,
            pipeline: &pipeline,
            policy: arguments.break_glass.into(),
            mode: posting.mode,
        };
        let glass = tokio::select! {
            exit = signals.arrived() => return Ok(nothing_reviewed(exit, redactor)),
            glass = asked.broken(environment, redactor) => glass?,
        };
        if let Some(broken) = glass {
            // Before anything else, which may be what is broken.
            let skipped = Skipped {
                gitlab: &gitlab,
                broken: &broken,
                post: !arguments.dry_run,
                report,
                secret: &secret,
            };
            let exit = run::break_glass::break_glass(skipped, redactor).await?;
            return Ok(match signals.exit() {
                Some(stopped) if !gitlab.has_concluded() => nothing_reviewed(stopped, redactor),
                _ => exit,
            });
        }
    }
    let opening = async {
        if !arguments.estimate && !arguments.dry_run {
            withdraw_outdated(&gitlab, redactor).await;
        }
        report.enter(RunStage::Checkout);
        let scratch = Scratch::create()?;
        let limit = limits_of(&arguments).fetch_seconds.map(Duration::from_secs);
        let checkout = Checkout::open(&pipeline, environment, scratch.path(), limit).await?;
        Ok::<_, Failure>((scratch, checkout))
    };
    let (scratch, checkout) = tokio::select! {
        exit = signals.arrived() => return Ok(nothing_reviewed(exit, redactor)),
        opened = opening => opened?,
    };
    let assignment = Assignment {
        origin: Origin::GitLab {
            gitlab,
            checkout: Box::new(checkout),
            post: (!arguments.dry_run).then_some(posting),
        },
        project: pipeline.project_path,
        secret: Some(secret),
    };
    if arguments.estimate {
        let CommonArguments { planning, format, .. } = &arguments.common;
        let request = PlanRequest {
            planning,
            format: (*format).into(),
            explain: false,
        };
        return Box::pin(run::plan::plan(assignment, &request, &scratch, environment, redactor)).await;
    }
    let review = run::review(
        assignment,
        &arguments.common,
        scratch,
        environment,
        redactor,
        (signals, report),
    );
    Box::pin(review).await
}

/// The time limits that the job names.
fn limits_of(arguments: &ReviewArguments) -> TimeLimitOverrides {
    arguments.common.planning.limits.clone().unwrap_or_default()
}

/// What happens to the merge request when the arguments are wrong: there is no review, so an earlier approval goes.
pub(crate) async fn refused(review: &RefusedReview, environment: &Environment, redactor: &Redactor) {
    // A signal must not end it before that: it takes seconds at most.
    let _signals = Signals::watch();
    let environment = &match &review.ca_file {
        Some(file) => environment.with(names::CA_FILE, file),
        None => environment.clone(),
    };
    let report = refusal(review, environment);
    let reason = "A later run could not begin: its arguments are wrong. The job's log says which.";
    let last_word = withdraw_anyway(review.mr.as_deref(), environment, reason, false, redactor);
    tokio::join!(last_word, report.flush(redactor));
}

/// The report of a run that its arguments ended before it began.
fn refusal(review: &RefusedReview, environment: &Environment) -> RunReport {
    let subject = subject_of(review.mr.as_deref(), environment);
    let report = subject.map_or_else(RunReport::silent, |subject| RunReport::begin(environment, &subject));
    report.refused();
    report
}

/// Takes any approval back for a run that has no client of the forge, because its settings are wrong or it was stopped before:
/// as far as the merge request is known, and with the certificates that can be used.
async fn withdraw_anyway(
    mr: Option<&str>,
    environment: &Environment,
    reason: &str,
    stopped: bool,
    redactor: &Redactor,
) {
    let environment = &ci::without_unusable_certificates(environment);
    let reading = async {
        let pipeline = match mr {
            Some(address) => ci::read_address(environment, address, None).await,
            None => ci::read(environment),
        }
        .ok()?;
        let gitlab = GitLab::publisher(&pipeline.gitlab).ok()?;
        Some(gitlab.in_pipeline_of(pipeline.head_sha))
    };
    let attempt = async {
        // Without a known merge request there is no approval to withdraw.
        match reading.await {
            Some(gitlab) => gitlab.withdraw(Withdrawal { reason, stopped }).await,
            None => Ok(false),
        }
    };
    told(timeout(LAST_WORD, attempt).await, redactor);
}

/// Takes an approval of other code back before the review begins. Should that fail, the end of the run does it.
async fn withdraw_outdated(gitlab: &Publisher, redactor: &Redactor) {
    match timeout(LAST_WORD, gitlab.withdraw_outdated()).await {
        Ok(Ok(true)) => output::note("The bot's approval of an earlier commit was taken back.", redactor),
        Ok(Ok(false)) => {}
        Ok(Err(error)) => output::note(&format!("Warning: an earlier approval may stand: {error}"), redactor),
        Err(_) => output::note("Warning: an earlier approval may stand: GitLab took too long", redactor),
    }
}

/// Takes any approval back, because there is no review of what is there now.
async fn withdraw(gitlab: &Publisher, reason: &str, stopped: bool, redactor: &Redactor) {
    told(
        timeout(LAST_WORD, gitlab.withdraw(Withdrawal { reason, stopped })).await,
        redactor,
    );
}

/// Says what became of an approval.
fn told(withdrawn: Result<Result<bool, ApiError>, Elapsed>, redactor: &Redactor) {
    match withdrawn {
        Ok(Ok(true)) => output::note("The bot's earlier approval was taken back.", redactor),
        Ok(Ok(false)) => {}
        Ok(Err(error)) => output::note(&format!("Warning: an earlier approval may stand: {error}"), redactor),
        Err(_) => output::note("Warning: an earlier approval may stand: GitLab took too long", redactor),
    }
}

/// Why a run without a review of its own takes an approval back, for everybody to read.
fn why(result: &Result<Exit, Failure>, redactor: &Redactor) -> String {
    match result {
        Err(failure) => {
            let text = redactor.redact(&failure.to_string());
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
