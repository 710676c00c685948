//! The end of a run: the records, what is printed, and what is posted.

pub(crate) mod nothing;
pub(crate) mod outcome;

use std::sync::atomic::{AtomicBool, Ordering};

use conclave_engine::{
    ports::{ForgeError, Publication, PublishOutcome},
    review::{Meanwhile, Review, StopCause},
};
use conclave_shared::{
    telemetry::{FailureKind, RunStage},
    verdict::Verdict,
};
use tokio::time::{sleep_until, timeout_at};

use self::outcome::{ended_early, exit_of};
use super::{
    Run,
    directory::RunDirectory,
    execute::Executed,
    failures,
    prepare::{settings_files::SettingsInUse, source},
    reports,
    start::runtime::Runtime,
    telemetry::{self, record_stance},
};
use crate::{
    args::Gate,
    context::LastStep,
    crash,
    exit::{Exit, Failure},
    output,
};

/// What the end of a run needs.
pub(crate) struct Ending<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) executed: &'a Executed,
    pub(crate) directory: &'a RunDirectory,
    /// True once records or reports could not be written.
    pub(crate) lost: AtomicBool,
}

impl Ending<'_> {
    /// Ends the run: whatever becomes of the post, the tracker gets the review.
    pub(crate) async fn finish(&self, mut review: Review, runtime: Runtime, gate: Gate) -> Result<Exit, Failure> {
        let Run { context, report, .. } = self.run;
        let signals = &context.signals;
        report.enter(RunStage::Publish);
        let of_gateway = runtime.gateway.events();
        let early = signals.exit();
        if let Some(cause) = signals.stop().cause() {
            // A result that was there just before the stop is no reason to approve after it.
            review.add_meanwhile(&Meanwhile {
                stopped: Some(cause),
                ..Meanwhile::default()
            });
        }
        let posted = self.conclude(&mut review, runtime, early.is_some()).await;
        self.run.stopwatch.lap("printing and posting");
        // Told to end while it was posting: what it then did not do any more makes it another end.
        let asked = signals.stop().cause() == Some(StopCause::Asked) && (posted.is_err() || review.was_stopped());
        let early = early.or_else(|| signals.exit().filter(|_| asked));
        let outcome = posted.as_ref().ok().and_then(Option::as_ref);
        let sink = self.run.observers.sink();
        let unpublished = posted
            .as_ref()
            .err()
            .map(|failure| self.why_unpublished(failure, early));
        telemetry::record_review(sink.as_ref(), &review, outcome.filter(|_| early.is_none()), unpublished);
        report.ended(unpublished);
        telemetry::record_figures(sink.as_ref(), &review, &of_gateway, &self.run.stopwatch.laps());
        match early {
            None => posted.map(|_| {
                let strict = self.run.arguments.strict;
                match exit_of(&review, gate, strict) {
                    // A review that was not shown is not finished.
                    Exit::Reviewed if strict && self.was_denied() => Exit::Inconclusive,
                    Exit::Reviewed if self.lost.load(Ordering::Relaxed) => Exit::Usage,
                    exit => exit,
                }
            }),
            Some(exit) => Ok(ended_early(exit, posted.map(drop), &context.output)),
        }
    }

    /// Why the review could not be posted, in the list that the tracker counts by.
    fn why_unpublished(&self, failure: &Failure, early: Option<Exit>) -> FailureKind {
        let forge = self.executed.job.forge.as_ref();
        match early {
            // What was cut short says nothing of the forge.
            Some(Exit::OutOfTime) => FailureKind::Timeout,
            Some(_) => FailureKind::Stopped,
            None if forge.is_some_and(|forge| forge.was_refused()) => FailureKind::Unauthorized,
            None => failures::kind(failure),
        }
    }

    /// Stops the runtime, writes the records, prints, posts. Returns what became of what was posted, if anything was.
    async fn conclude(
        &self,
        review: &mut Review,
        runtime: Runtime,
        early: bool,
    ) -> Result<Option<PublishOutcome>, Failure> {
        let stopwatch = &self.run.stopwatch;
        if early {
            // Whoever stops a job kills it soon after: what is known goes out while everything is being stopped.
            review.seconds = stopwatch.total();
            let given_up = self.run.context.given_up(LastStep::Post);
            let (_, posted) = tokio::join!(runtime.stop(), timeout_at(given_up, self.publish(review, true)));
            return posted.unwrap_or_else(|_| Err(ForgeError("the forge took too long".to_owned()).into()));
        }
        review.warnings.extend(runtime.stop().await);
        review.stages.push(stopwatch.lap("shutdown"));
        review.seconds = stopwatch.total();
        tokio::select! {
            posted = self.publish(review, false) => posted,
            () = self.out_of_patience() => Err(not_finished().into()),
        }
    }

    /// Returns once a run that was asked to end has used up its time for posting. The run's own limit does not cut a post short.
    async fn out_of_patience(&self) {
        let context = self.run.context;
        if context.signals.stop().stopped().await != StopCause::Asked {
            std::future::pending::<()>().await;
        }
        sleep_until(context.given_up(LastStep::Post)).await;
    }

    async fn publish(&self, review: &mut Review, hurried: bool) -> Result<Option<PublishOutcome>, Failure> {
        let (job, context) = (&self.executed.job, self.run.context);
        if !hurried && let Some(forge) = &job.forge {
            // What another run has posted meanwhile is printed and kept with the review. Where that cannot be read, posting says
            // so, which reads it again.
            let meanwhile = forge.meanwhile(review).await.unwrap_or_default();
            review.add_meanwhile(&meanwhile);
        }
        let excerpts = source::excerpts(&job.repository, review).await;
        if let Err(failure) = self.record(review, &excerpts) {
            self.note_lost(&failure);
            without_records(review, &failure);
        }
        let shown = output::Shown {
            format: self.run.arguments.format,
            excerpts: &excerpts,
            directory: self.directory.path(),
            links: output::Links::into_tree(job.repository.root(), &context.env),
        };
        context.output.print_review(review, shown);
        let posted = self.post(review, hurried).await?;
        if let Some(amended) = posted.as_ref().and_then(|outcome| outcome.amended.as_deref()) {
            // It is posted as another one than was printed: the records have to tell the same as the note.
            review.clone_from(amended);
            if let Err(failure) = self.record(review, &excerpts) {
                self.note_lost(&failure);
            }
        }
        Ok(posted)
    }

    /// Shows that records or reports could not be written. A run that has lost them has failed.
    fn note_lost(&self, failure: &Failure) {
        let output = &self.run.context.output;
        output.warn(failure);
        if let Some(remedy) = crash::remedy(&failure.to_string()) {
            output.remedy(remedy);
        }
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Returns whether the token may not write, and the workflow shows the review all the same.
    fn was_denied(&self) -> bool {
        let job = &self.executed.job;
        job.workflow.is_some() && job.forge.as_ref().is_some_and(|forge| forge.was_denied())
    }

    fn record(&self, review: &Review, excerpts: &output::Excerpts) -> Result<(), Failure> {
        let Run { context, arguments, .. } = self.run;
        let lines = serde_json::to_string(excerpts).unwrap_or_default();
        let directories = std::iter::once(self.directory.path()).chain(arguments.reports.as_deref());
        reports::write(review, context, directories)?;
        let lines = context.redactor.redact(&lines);
        self.directory.write(output::Excerpts::FILE, lines.as_bytes()).map(drop)
    }

    async fn post(&self, review: &Review, hurried: bool) -> Result<Option<PublishOutcome>, Failure> {
        let Executed {
            job,
            files,
            settings,
            publishing,
        } = self.executed;
        let Some(forge) = &job.forge else { return Ok(None) };
        let output = &self.run.context.output;
        // Secrets go before anything is made of the texts: afterwards they could be encoded, or cut in two.
        let review = output
            .without_secrets(review)
            .map_err(|error| ForgeError(format!("the review could not be cleaned of secrets: {error}")))?;
        let note = |posted: Result<&PublishOutcome, &ForgeError>| {
            if let Some(workflow) = &job.workflow {
                workflow.reviewed(&review, posted, self.directory.path(), self.was_denied());
            }
        };
        // Should posting be given up, the workflow has the review all the same.
        note(Err(&not_finished()));
        let (later, commit) = (job.later.as_ref(), job.subject.settings_commit());
        let outcome = forge
            .publish(Publication {
                review: &review,
                files,
                sources: &source::texts_with_fixes(&job.repository, &review).await,
                settings: *publishing,
                hurried,
                settings_watch: &SettingsInUse::new(&job.repository, later, commit, settings),
            })
            .await;
        note(outcome.as_ref());
        let outcome = match outcome {
            Err(error) if self.was_denied() => {
                output.warn(format!(
                    "nothing was posted: {error}. Every finding is in the job's summary, and the first are annotations of the job"
                ));
                return Ok(None);
            }
            outcome => outcome?,
        };
        record_stance(self.run.observers.sink().as_ref(), review.merge_request, &outcome);
        output.posted(&outcome, forge.has_written());
        Ok(Some(outcome))
    }
}

/// The error of a run that has to end while it posts.
fn not_finished() -> ForgeError {
    ForgeError("the run was stopped before everything was posted".to_owned())
}

/// A review whose records are lost is shown and posted, but cannot be looked into later: it approves nothing.
fn without_records(review: &mut Review, failure: &Failure) {
    let gap = format!("the records of this run were lost: {failure}");
    if review.verdict.approves() {
        review.verdict = Verdict::Inconclusive;
        review.verdict_reason.clone_from(&gap);
    }
    review.coverage.gaps.push(gap);
}
