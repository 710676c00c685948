//! How a run ends: its exit code, and what is said where there is no review to show.

use conclave_engine::{diff::FilteredFile, review::Review};
use conclave_shared::verdict::Verdict;

use super::nothing::{self, nothing_left, report_of_nothing};
use crate::{
    args::{CommonArguments, Gate},
    context::Context,
    exit::{Exit, Failure},
    output::Output,
    run::prepare::{Prepared, change::Job, overrides::no_reviewer},
};

/// Says how a run ended that was ended early. Its exit code tells that, even if posting failed as well.
pub(crate) fn ended_early(exit: Exit, posted: Result<(), Failure>, output: &Output) -> Exit {
    if let Err(failure) = posted {
        output.note(&format!("What is known could not be posted: {failure}"));
    }
    let cause = cause(exit);
    output.note(&format!(
        "{cause}: this is what is known so far. Nothing is left running."
    ));
    exit
}

/// What is said when there is nothing to show yet.
pub(crate) fn nothing_reviewed(exit: Exit, output: &Output) -> Exit {
    output.note(&format!("{} before anything was reviewed.", cause(exit)));
    exit
}

/// Why a run was ended early.
fn cause(exit: Exit) -> &'static str {
    if exit == Exit::OutOfTime {
        "Out of time"
    } else {
        "Stopped"
    }
}

/// How a whole review ends the program.
pub(crate) fn exit_of(review: &Review, gate: Gate, strict: bool) -> Exit {
    match review.verdict {
        Verdict::SignificantConcerns if gate == Gate::Block => Exit::Blocked,
        _ if gate == Gate::Block && review.may_be_blocked() => Exit::Blocked,
        Verdict::Inconclusive if strict => Exit::Inconclusive,
        _ => Exit::Reviewed,
    }
}

/// What was prepared, or the end of a run that has nothing to do or nobody to do it.
pub(crate) fn worth_a_review(
    prepared: Prepared,
    run_id: &str,
    arguments: &CommonArguments,
    context: &Context,
) -> Result<Prepared, Result<Exit, Failure>> {
    if prepared.is_settled() {
        let text = nothing_left(&prepared);
        let Job { forge, workflow, .. } = &prepared.job;
        if let Some(forge) = forge {
            let redact = |path: &String| context.redactor.redact(path);
            let without_secrets = |file: &FilteredFile| FilteredFile {
                path: redact(&file.path),
                old_path: file.old_path.as_ref().map(redact),
                reason: file.reason,
            };
            let filtered: Vec<_> = prepared.diff.filtered.iter().map(without_secrets).collect();
            forge.left_out(&filtered);
            if let Some(workflow) = workflow {
                workflow.left_out(&filtered, &prepared.approval_holds);
            }
        }
        let report = report_of_nothing(prepared, run_id);
        return Err(nothing::show(&report, &text, arguments, context).map(|()| Exit::Reviewed));
    }
    match no_reviewer(&prepared.plan) {
        None => Ok(prepared),
        // An outage must not block a merge by a red job: the review is posted as inconclusive.
        Some(_) if prepared.plan.is_switched_off() => Ok(prepared),
        Some(none) => Err(Err(Failure::Settings(none))),
    }
}
