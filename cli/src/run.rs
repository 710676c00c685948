//! One review, wired: plugins, gateway, agent runtime, engine, output.

pub(crate) mod break_glass;
pub(crate) mod directory;
pub(crate) mod execute;
pub(crate) mod failures;
pub(crate) mod finish;
pub(crate) mod observers;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod recording;
pub(crate) mod report;
pub(crate) mod reports;
pub(crate) mod start;
pub(crate) mod stopwatch;
pub(crate) mod telemetry;

use std::{sync::Arc, time::Duration};

use camino::Utf8Path;
use conclave_engine::{
    ports::{Progress, ProgressEvent},
    review::{Meanwhile, StopCause},
};
use conclave_shared::{
    config::Limits,
    redact::Redactor,
    telemetry::{EventBody, RunStage},
};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    args::{CommonArguments, Gate},
    context::signals::Signals,
    env::{Environment, ci},
    exit::{Exit, Failure},
    output, protection,
    run::{
        directory::{RunDirectory, Scratch, prepare_reports},
        execute::{Ran, Sessions},
        finish::{
            Ending,
            outcome::{ended_early, exit_of, nothing_reviewed, worth_a_review},
        },
        observers::Observers,
        prepare::{
            Prepared,
            change::Assignment,
            components::{self, House, Purpose},
            prepare, report_all,
        },
        recording::Tape,
        report::RunReport,
        start::runtime::Child,
        stopwatch::Stopwatch,
    },
};

/// Reviews, prints, posts; and whatever happened, tells everybody who listens.
pub(crate) async fn review(
    assignment: Assignment,
    arguments: &CommonArguments,
    scratch: Scratch,
    environment: &Environment,
    redactor: &Redactor,
    (signals, report): (&Signals, &RunReport),
) -> Result<Exit, Failure> {
    report.enter(RunStage::Configuration);
    if let Some(time) = ci::time_left(environment) {
        signals.end_in(time);
    }
    protection::write_privately();
    let tape = Tape::open(arguments, environment)?;
    let mut house = components::build(assignment, environment, Purpose::Review(&tape, report))?;
    house.memory = house.memory.filter(|_| !arguments.no_memory);
    let observers = house.observers.clone();
    let in_job = ci::is_gitlab_job(environment);
    let screen = output::screen(arguments.quiet, in_job, environment.get("TERM"));
    let display = Arc::new(output::Display::new(screen, redactor.clone()));
    let run = Run {
        id: report.id(),
        report,
        tape: &tape,
        arguments,
        environment,
        redactor,
        signals,
        progress: observers.progress(Arc::clone(&display) as _),
        display: &display,
        observers: &observers,
    };
    let told = async {
        signals.interrupted().await;
        output::note(
            "Stopping: what is known so far comes in a moment; once more, and it ends at once.",
            redactor,
        );
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        never = told => match never {},
        exit = signals.insisted() => {
            output::note("Stopped at once.", redactor);
            Ok(exit)
        }
        result = async {
            let result = Box::pin(run.review(house, scratch)).await;
            report.conclude(&result);
            observers.flush(display.as_ref()).await;
            result
        } => result,
    }
}

/// What all parts of a run share.
pub(crate) struct Run<'a> {
    id: Uuid,
    report: &'a RunReport,
    tape: &'a Tape,
    arguments: &'a CommonArguments,
    environment: &'a Environment,
    redactor: &'a Redactor,
    signals: &'a Signals,
    progress: Arc<dyn Progress>,
    display: &'a output::Display,
    observers: &'a Observers,
}

impl Run<'_> {
    async fn review(&self, house: House, scratch: Scratch) -> Result<Exit, Failure> {
        let Self {
            arguments,
            environment,
            redactor,
            signals,
            report,
            ..
        } = *self;
        let mut watch = Stopwatch::start(self.observers.trace());
        self.progress
            .report(ProgressEvent::Stage("Reading the diff and the configuration"));
        let (child, prepared) = match Box::pin(self.ready(house, scratch.path(), &mut watch)).await {
            Ok(ready) => ready,
            Err(end) => return end,
        };
        let repo = &prepared.repo.in_force.config.review;
        let settings = prepared.repo.in_force.config.clone();
        let publishing = prepared.job.posting.settings(repo, &prepared.config.limits.budget);
        let gate = Gate::in_force(arguments.gate, repo.gate, publishing.mode);
        prepare_reports(arguments.reports.as_deref(), environment)?;
        let directory = RunDirectory::create(arguments.output.as_deref(), &self.id.to_string(), environment)?;
        self.display
            .record_in(directory.path())
            .map_err(Failure::io(format!("write {}", output::PROGRESS_FILE)))?;
        let sink = self.observers.sink();
        sink.record(EventBody::RunStarted(telemetry::run_planned(
            &prepared.job,
            &prepared.plan,
            prepared.config.limits.run_seconds,
        )));
        self.progress
            .report(ProgressEvent::Stage(&output::plan_line(&prepared.plan, &prepared.diff)));

        self.display.expect(&prepared.plan.reviewers());
        let run_limit = watch::Sender::new(Duration::from_secs(prepared.config.limits.run_seconds));
        signals.end_within(run_limit.subscribe());
        if let Some(forge) = &prepared.job.forge {
            forge.limit_requests(Duration::from_secs(prepared.config.limits.forge_seconds));
        }
        let sessions = Sessions {
            run: self,
            scratch: scratch.path(),
            directory: &directory,
            run_limit,
        };
        report.enter(RunStage::Review);
        let ran = Box::pin(sessions.run(child, prepared, &mut watch)).await;
        self.display.close();
        let Some(Ran {
            job,
            files,
            mut review,
            runtime,
            figures,
        }) = ran?
        else {
            return Ok(nothing_reviewed(signals.exit().unwrap_or(Exit::Terminated), redactor));
        };
        report.enter(RunStage::Publish);
        let early = signals.exit();
        if let Some(cause) = signals.stop().cause() {
            // A result that was there just before the stop is no reason to approve after it.
            review.add_meanwhile(&Meanwhile {
                stopped: Some(cause),
                ..Meanwhile::default()
            });
        }
        let ending = Ending {
            job: &job,
            files: &files,
            publishing,
            settings: &settings,
            sink: sink.as_ref(),
            format: arguments.format,
            links: output::Links::into_tree(job.repository.root(), environment),
            directory: &directory,
            reports: arguments.reports.as_deref(),
            redactor,
            signals,
        };
        let posted = ending.conclude(&mut review, runtime, early.is_some(), &mut watch).await;
        // The runtime is gone by now, so nothing uses the scratch space any more.
        drop(scratch);
        watch.lap("printing and posting");
        // Told to end while it was posting: what it then did not do any more makes it another end.
        let asked = signals.stop().cause() == Some(StopCause::Asked) && (posted.is_err() || review.was_stopped());
        let early = early.or_else(|| signals.exit().filter(|_| asked));
        let outcome = posted.as_ref().ok().and_then(Option::as_ref);
        telemetry::record_review(sink.as_ref(), &review, outcome.filter(|_| early.is_none()));
        report.ended();
        telemetry::record_figures(sink.as_ref(), &review, figures, &watch.laps());
        match early {
            None => posted.map(|_| exit_of(&review, gate, arguments.strict)),
            Some(exit) => Ok(ended_early(exit, posted.map(drop), redactor)),
        }
    }

    /// Prepares everything while the child starts; an error is the end of the run.
    async fn ready(
        &self,
        house: House,
        scratch: &Utf8Path,
        watch: &mut Stopwatch,
    ) -> Result<(Child, Prepared), Result<Exit, Failure>> {
        let Self {
            arguments,
            environment,
            redactor,
            signals,
            report,
            ..
        } = *self;
        let mut child = Child::start(environment, scratch);
        // The start's limit is known only when all settings are; the child starts meanwhile.
        let (start_limit, limit) = watch::channel(None);
        let preparing = async {
            let progress = self.progress.as_ref();
            let prepared = prepare(house, &arguments.planning, arguments.agents, scratch, progress);
            let prepared = prepared.await.map_err(Err)?;
            report.enter(RunStage::Plan);
            let seconds = prepared.config.limits.start_seconds;
            start_limit.send_replace(Some(Duration::from_secs(seconds)));
            worth_a_review(prepared, redactor)
        };
        let answering = async {
            Ok(match &mut child {
                Ok(child) => child.answers(limit).await,
                Err(_) => Ok(()),
            })
        };
        let ready = tokio::select! {
            exit = signals.arrived() => Err(Ok(nothing_reviewed(exit, redactor))),
            // That there is nothing to review counts more than what would be missing for it.
            ready = async { tokio::try_join!(preparing, answering) } => ready,
        };
        let (mut prepared, answered) = match ready {
            Ok(ready) => ready,
            Err(end) => {
                if let Ok(child) = child {
                    child.stop().await;
                }
                return Err(end);
            }
        };
        report.enter(RunStage::Runtime);
        let mut child = child.map_err(Err)?;
        answered.map_err(Err)?;
        child.limit_start(Duration::from_secs(prepared.config.limits.start_seconds));
        watch.lap("diff, configuration, plan");
        let cut_short = cut_short_by_job(environment, prepared.config.limits.run_seconds);
        report_all(self.progress.as_ref(), &cut_short);
        prepared.warnings.extend(cut_short);
        Ok((child, prepared))
    }
}

/// A warning about a run's limit that was set and cannot take effect, because the job's time is shorter.
fn cut_short_by_job(environment: &Environment, run_seconds: u64) -> Option<String> {
    let left = ci::time_left(environment)?;
    let is_set = run_seconds != Limits::default().run_seconds;
    (is_set && left < Duration::from_secs(run_seconds)).then(|| {
        format!(
            "the limit run_seconds ({run_seconds} s) cannot take effect: the CI job has {} s left. Raise the job's timeout",
            left.as_secs()
        )
    })
}
