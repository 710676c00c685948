//! The end of `conclave review`: an earlier approval goes where the run has no review of its own, and the workflow gets its report.

use std::sync::Arc;

use conclave_engine::ports::ForgeError;
use conclave_forge::{ApiError, ApiErrorKind, Publisher, Withdrawal};
use tokio::time::{sleep_until, timeout_at};

use crate::{
    context::{Context, LastStep},
    exit::{Exit, Failure},
    run::{
        report::RunReport,
        workflow::{WorkflowReport, fail_check},
    },
};

/// The error where the forge does not answer in time. Whether the check was begun is not known then.
const NO_END: &str = "the check may have no end, and a merge that asks for it waits then: the forge took too long";

/// The line about an approval that the bot has withdrawn.
const TAKEN_BACK: &str = "The bot's earlier approval was taken back.";

/// The end of a run.
pub(super) struct Ending<'a> {
    /// The address that the run was given, if it was one.
    pub(super) address: Option<&'a str>,
    /// The merge request, where there is a client for it.
    pub(super) publisher: Option<Arc<Publisher>>,
    /// The workflow that the run is a job of.
    pub(super) workflow: Option<Arc<WorkflowReport>>,
    /// True if nothing may be written.
    pub(super) shows_only: bool,
    /// The report to the tracker.
    pub(super) report: &'a RunReport,
    pub(super) context: &'a Context,
}

impl Ending<'_> {
    /// Does what is left to do, and returns what the run ends with.
    pub(super) async fn conclude(self, result: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let Self { report, context, .. } = self;
        report.conclude(&result);
        let target = self.publisher.as_ref().and_then(|publisher| publisher.target());
        let taking_back = self.take_approval_back(&result);
        let flushing = report.flush(&context.output);
        let Some(workflow) = &self.workflow else {
            let (taken_back, ()) = tokio::join!(taking_back, flushing);
            return after(taken_back, result, context);
        };
        if is_early(&result) {
            // What kills the job does not wait, and a check that does not pass lets nothing happen.
            let ending = end_report(workflow, &result, target.as_deref(), context);
            let (taken_back, ended, ()) = tokio::join!(taking_back, ending, flushing);
            return after(ended, after(taken_back, result, context), context);
        }
        let (taken_back, ()) = tokio::join!(taking_back, flushing);
        let result = after(taken_back, result, context);
        // Last: what waits for the check may merge.
        let ended = end_report(workflow, &result, target.as_deref(), context).await;
        after(ended, result, context)
    }

    async fn take_approval_back(&self, result: &Result<Exit, Failure>) -> Result<(), Failure> {
        let context = self.context;
        let withdrawal = Withdrawal {
            reason: &why(result, context),
            stopped: context.signals.exit().is_some(),
            explains: self.workflow.is_none() && matches!(result, Ok(Exit::Reviewed)),
        };
        match &self.publisher {
            _ if self.shows_only => Ok(()),
            Some(publisher) if publisher.has_concluded() => Ok(()),
            // Its approval is not this run's to take back.
            Some(_) if is_of_another_change(result) => Ok(()),
            Some(publisher) => take_back(publisher.withdraw(withdrawal), TAKEN_BACK, context).await,
            None => withdraw_anyway(self.address, withdrawal, context).await,
        }
    }
}

/// Ends the report to the workflow. An error means that the gate could not be set.
async fn end_report(
    workflow: &WorkflowReport,
    result: &Result<Exit, Failure>,
    target: Option<&str>,
    context: &Context,
) -> Result<(), Failure> {
    let given_up = async {
        context.signals.arrived().await;
        sleep_until(context.given_up(LastStep::Check)).await;
    };
    tokio::select! {
        ended = workflow.end(result, target, context) => ended,
        () = given_up => Err(ForgeError(NO_END.to_owned()).into()),
    }
}

/// The result of a run whose last step has ended so. Where that failed, the run has, whatever the review says; what ended it early is
/// said by its exit code all the same.
fn after(step: Result<(), Failure>, result: Result<Exit, Failure>, context: &Context) -> Result<Exit, Failure> {
    match step {
        Err(failure) if result.is_ok() && !is_early(&result) => Err(failure),
        Err(failure) => {
            context.output.warn(failure);
            result
        }
        Ok(()) => result,
    }
}

/// Returns whether the run ended because the change is not the one that its job is for.
fn is_of_another_change(result: &Result<Exit, Failure>) -> bool {
    matches!(result, Err(Failure::Api(error)) if error.kind == ApiErrorKind::Settings)
}

/// Returns whether the run was ended before its end.
const fn is_early(result: &Result<Exit, Failure>) -> bool {
    matches!(result, Ok(exit) if exit.is_stopped() || matches!(exit, Exit::OutOfTime))
}

/// Takes any approval back for a run that has no client of the forge, because its settings are wrong or it was stopped before:
/// as far as the merge request is known, and with the certificates that can be used.
pub(super) async fn withdraw_anyway(
    mr: Option<&str>,
    withdrawal: Withdrawal<'_>,
    context: &Context,
) -> Result<(), Failure> {
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
    take_back(attempt, TAKEN_BACK, context).await
}

/// Fails the check for a run that has no client of the forge, because its arguments are wrong: as far as the job is known.
pub(super) async fn fail_check_anyway(name: &str, context: &Context) -> Result<(), Failure> {
    let env = context.env.without_unusable_certificates();
    // Without a known job there is no check to set.
    let Ok(pipeline) = env.pipeline() else { return Ok(()) };
    let failing = fail_check(&pipeline, name, context);
    timeout_at(context.given_up(LastStep::Check), failing)
        .await
        .unwrap_or_else(|_| Err(ForgeError(NO_END.to_owned()).into()))
}

/// Takes an approval back, because there is no review of what is there now, and says so. An error means that it may stand.
pub(super) async fn take_back(
    attempt: impl Future<Output = Result<bool, ApiError>>,
    done: &str,
    context: &Context,
) -> Result<(), Failure> {
    let problem = match timeout_at(context.given_up(LastStep::TakeBack), attempt).await {
        Ok(Ok(is_taken_back)) => {
            if is_taken_back {
                context.output.note(done);
            }
            return Ok(());
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the forge took too long".to_owned(),
    };
    Err(ForgeError(format!("an earlier approval may stand: {problem}")).into())
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
        Ok(exit) if exit.is_stopped() => "A later run was stopped before it had a review.".to_owned(),
        Ok(_) => {
            "A later run found nothing to review: the diff is empty, or every changed file is noise by rule.".to_owned()
        }
    }
}
