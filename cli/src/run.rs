//! One review, from the change to the exit code: prepare, start, execute, finish.

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
pub(crate) mod scratch;
pub(crate) mod start;
pub(crate) mod stopwatch;
mod sweep;
pub(crate) mod telemetry;
pub(crate) mod workflow;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use camino::Utf8PathBuf;
use conclave_engine::{
    ports::{Progress, ProgressEvent},
    repo_config::RuntimeChoice,
};
use conclave_sandbox::SandboxStatus;
use conclave_shared::{
    config::{Limits, seconds},
    telemetry::{EventBody, RunStage},
};
use tokio::{sync::watch, time::Instant};

use self::{
    directory::{RunDirectory, prepare_reports},
    execute::execute,
    finish::{
        Ending,
        outcome::{nothing_reviewed, worth_a_review},
    },
    observers::Observers,
    prepare::{Prepared, change::Source, components::Components, prepare, report_all},
    recording::RunRecording,
    report::RunReport,
    scratch::Scratch,
    start::{
        choice::{Place, Starting, of_job},
        opencode::Wanted,
    },
    stopwatch::Stopwatch,
};
use crate::{
    args::{CommonArguments, Gate},
    context::Context,
    env::Environment,
    exit::{Exit, Failure},
    output, protection,
};

/// What all parts of a run share.
pub(crate) struct Run<'a> {
    context: &'a Context,
    arguments: &'a CommonArguments,
    report: &'a RunReport,
    recording: RunRecording,
    observers: Observers,
    display: Arc<output::Display>,
    progress: Arc<dyn Progress>,
    stopwatch: Stopwatch,
    /// What is gone when the run has ended.
    scratch: Scratch,
}

/// Reviews, prints, posts; and whatever happens, reports it to everybody who listens.
pub(crate) async fn review(
    source: Source,
    arguments: &CommonArguments,
    scratch: Scratch,
    report: &RunReport,
    context: &Context,
) -> Result<Exit, Failure> {
    let Context {
        env, output, signals, ..
    } = context;
    report.enter(RunStage::Configuration);
    if let Some(time) = env.time_left() {
        signals.end_in(time);
    }
    protection::write_privately();
    let recording = RunRecording::open(arguments, env)?;
    let mut components = Components::new(&source, Some((&recording, report)), env)?;
    components.memory = components.memory.filter(|_| !arguments.no_memory);
    let observers = components.observers.clone();
    let screen = output::screen(arguments.quiet, log_marks(env), env.get("TERM"));
    let display = Arc::new(output::Display::new(screen, context.redactor.clone()));
    let run = Run {
        context,
        arguments,
        report,
        recording,
        progress: observers.progress(Arc::clone(&display) as _),
        display,
        stopwatch: Stopwatch::start(observers.trace()),
        observers,
        scratch,
    };
    let stopping = async {
        signals.interrupted().await;
        output.note("Stopping: what is known so far comes in a moment; once more, and it ends at once.");
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        // The promise comes before what keeps it.
        biased;
        never = stopping => match never {},
        exit = signals.insisted() => {
            output.note("Stopped at once.");
            Ok(exit)
        }
        result = async {
            let result = Box::pin(run.review(source, components)).await;
            report.conclude(&result);
            run.observers.flush(run.display.as_ref()).await;
            result
        } => result,
    }
}

impl Run<'_> {
    async fn review(&self, source: Source, components: Components) -> Result<Exit, Failure> {
        let Self {
            context,
            arguments,
            report,
            ..
        } = self;
        // The limit of the run is known only when all settings are; what comes before is a part of it.
        let began = Instant::now();
        self.progress
            .report(ProgressEvent::Stage("Reading the diff and the configuration"));
        let (starting, prepared) = match Box::pin(self.ready(source, components)).await {
            Ok(ready) => ready,
            Err(end) => return end,
        };
        let gate_of_repo = prepared.repo.in_force.config.review.gate;
        let gate = Gate::in_force(arguments.gate, gate_of_repo, prepared.publishing().mode);
        prepare_reports(arguments.reports.as_deref(), &context.env)?;
        let id = report.id().to_string();
        let directory = RunDirectory::create(arguments.output.as_deref(), &id, &context.env)?;
        self.display
            .record_in(directory.path())
            .map_err(Failure::io(format!("write {}", output::PROGRESS_FILE)))?;
        let limits = &prepared.config.limits;
        let limit_seconds = effective_limit(limits.run_seconds, context.env.time_left());
        let planned = telemetry::run_planned(&prepared.job, &prepared.plan, limit_seconds);
        self.observers.sink().record(EventBody::RunStarted(planned));
        self.progress
            .report(ProgressEvent::Stage(&output::plan_line(&prepared.plan, &prepared.diff)));

        self.display.expect(&prepared.plan.reviewers());
        let run_limit = watch::Sender::new(seconds(limits.run_seconds));
        context.signals.end_within(began, run_limit.subscribe());
        if let Some(forge) = &prepared.job.forge {
            forge.limit_requests(seconds(limits.forge_seconds));
        }
        report.enter(RunStage::Review);
        let executed = Box::pin(execute(self, starting, prepared, &directory, run_limit)).await;
        self.display.close();
        let Some((executed, review, runtime)) = executed? else {
            let exit = context.signals.exit().unwrap_or(Exit::Terminated);
            return Ok(nothing_reviewed(exit, &context.output));
        };
        let ending = Ending {
            run: self,
            executed: &executed,
            directory: &directory,
            lost: AtomicBool::new(false),
        };
        ending.finish(review, runtime, gate).await
    }

    /// Prepares everything while the runtime starts; an error is the end of the run.
    async fn ready(
        &self,
        source: Source,
        components: Components,
    ) -> Result<((Starting, SandboxStatus), Prepared), Result<Exit, Failure>> {
        let Context {
            env, output, signals, ..
        } = self.context;
        let (arguments, scratch) = (self.arguments, self.scratch.path());
        let choice = of_job(arguments.planning.runtime, &self.recording).map_err(Err)?;
        let of_repository = components.of_repository.subscribe();
        let private = [self.records(), source.places()].concat();
        // Before it has begun there is nothing to stop, as with the native runtime.
        let mut starting = Starting::Native { instead: None };
        // The start's limit is known only when all settings are; the runtime starts meanwhile.
        let (wanted, is_wanted) = watch::channel(Wanted::NotKnown);
        let preparing = async {
            let progress = self.progress.as_ref();
            let (planning, agents) = (&arguments.planning, arguments.agents);
            let prepared = prepare(source, components, planning, agents, scratch, progress).await;
            let prepared = prepared.map_err(Err)?;
            self.report.enter(RunStage::Plan);
            let of_repo = prepared.repo.in_force.config.review.runtime;
            wanted.send_replace(match choice.or(of_repo) {
                Some(RuntimeChoice::Native) => Wanted::Not,
                _ => Wanted::Within(seconds(prepared.config.limits.start_seconds)),
            });
            worth_a_review(prepared, &self.report.id().to_string(), arguments, self.context)
        };
        let answering = async {
            let place = Place {
                env,
                redactor: &self.context.redactor,
                scratch,
                workspace: &self.workspace(),
                private: &private,
                required: arguments.require_sandbox,
            };
            let answered = async {
                starting = Starting::begin(choice, &place, of_repository).await?;
                starting.answers(is_wanted).await
            };
            Ok(answered.await)
        };
        let ready = tokio::select! {
            exit = signals.arrived() => Err(Ok(nothing_reviewed(exit, output))),
            // That there is nothing to review counts more than what would be missing for it.
            ready = async { tokio::try_join!(preparing, answering) } => ready,
        };
        let (mut prepared, answered) = match ready {
            Ok(ready) => ready,
            Err(end) => {
                starting.stop().await;
                return Err(end);
            }
        };
        self.report.enter(RunStage::Runtime);
        answered.map_err(Err)?;
        let of_repo = &prepared.repo.in_force.config.review;
        let mut starting = starting.settle(choice, of_repo.runtime).await.map_err(Err)?;
        starting.limit_start(seconds(prepared.config.limits.start_seconds));
        let required = arguments.require_sandbox.max(of_repo.require_sandbox);
        let sandbox = match starting.sandbox(env, &self.places(&prepared), required).await {
            Ok(sandbox) => sandbox,
            Err(failure) => {
                starting.stop().await;
                return Err(Err(failure));
            }
        };
        let note = starting.note();
        report_all(self.progress.as_ref(), &note);
        prepared.warnings.extend(note);
        self.stopwatch.lap("diff, configuration, plan");
        let cut_short = cut_short_by_job(env, prepared.config.limits.run_seconds);
        report_all(self.progress.as_ref(), &cut_short);
        prepared.warnings.extend(cut_short);
        Ok(((starting, sandbox), prepared))
    }

    /// Places of the user's that no agent has to see: where the code really is, and where records go.
    fn places(&self, prepared: &Prepared) -> Vec<Utf8PathBuf> {
        [self.records(), prepared.job.repository.places()].concat()
    }

    /// Where the job wants records.
    fn records(&self) -> Vec<Utf8PathBuf> {
        let arguments = self.arguments;
        let records = [&arguments.output, &arguments.reports, &arguments.record];
        records.into_iter().flatten().cloned().collect()
    }

    /// Where the agents' checkout is made.
    fn workspace(&self) -> Utf8PathBuf {
        self.scratch.path().join("workspace")
    }
}

/// The marks that the log of this job folds by; none outside of a job.
fn log_marks(env: &Environment) -> Option<output::LogMarks> {
    if env.is_gitlab_job() {
        Some(output::LogMarks::GitLab)
    } else {
        env.is_github_job().then_some(output::LogMarks::GitHub)
    }
}

/// The seconds after which a run that has reported no end is lost: its limit, or the job's time where that is shorter.
fn effective_limit(run_seconds: u64, left: Option<Duration>) -> u64 {
    left.map_or(run_seconds, |left| run_seconds.min(left.as_secs()))
}

/// A warning about a run's limit that was set and cannot take effect, because the job's time is shorter.
fn cut_short_by_job(env: &Environment, run_seconds: u64) -> Option<String> {
    let left = env.time_left()?;
    let is_set = run_seconds != Limits::default().run_seconds;
    (is_set && left < Duration::from_secs(run_seconds)).then(|| {
        format!(
            "the limit run_seconds ({run_seconds} s) cannot take effect: the CI job has {} s left. Raise the job's timeout",
            left.as_secs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_expected_to_end_within_the_shorter_of_its_limit_and_the_jobs_time() {
        for (left, expected) in [(None, 28_800), (Some(2669), 2669), (Some(90_000), 28_800), (Some(0), 0)] {
            assert_eq!(
                effective_limit(28_800, left.map(Duration::from_secs)),
                expected,
                "{left:?}"
            );
        }
    }
}
