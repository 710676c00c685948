//! The end of a run that has nothing to review: what is said of it, and the reports that say the same.

use std::fmt::Write;

use conclave_engine::{
    diff::FilteredDiff,
    review::{Coverage, HoldCause, Review},
};

use crate::{
    args::CommonArguments,
    context::Context,
    exit::Failure,
    run::{directory::prepare_reports, prepare::Prepared, reports},
};

/// The text that nothing is left to review: what was taken out, why the bot does not approve that, if there is one, and who has
/// to look.
pub(crate) fn nothing_left(prepared: &Prepared) -> String {
    let diff = &prepared.diff;
    let no_approval = match prepared.job.subject.merge_request {
        Some(_) => " The bot does not approve.",
        None => "",
    };
    let mut text = nothing_to_review(reason(diff)) + no_approval;
    for file in &diff.filtered {
        let _ = write!(text, "\n  {} ({})", file.path, file.reason.describe());
    }
    let holds = prepared.approval_holds.iter();
    // That nothing was reviewed is said by now.
    for hold in holds.filter(|hold| hold.cause != HoldCause::NothingReviewed) {
        let _ = write!(text, "\n{}: {}{no_approval}", hold.cause.title(), hold.reason);
        for place in &hold.places {
            let _ = write!(text, "\n  {place}");
        }
    }
    for demand in &prepared.plan.rules.manual_reviews {
        let sentence = demand.describe(str::to_owned, &demand.rule, &demand.files.join(", "));
        let _ = write!(text, "\n{sentence}.{no_approval}");
    }
    text
}

/// The sentence that there is nothing to review, for this reason.
pub(crate) fn nothing_to_review(reason: &str) -> String {
    format!("Nothing to review: {reason}.")
}

const fn reason(diff: &FilteredDiff) -> &'static str {
    if diff.filtered.is_empty() {
        "the diff is empty"
    } else {
        "every changed file is noise by rule"
    }
}

/// The report of a change of which nothing is left to review.
pub(crate) fn report_of_nothing(prepared: Prepared, run_id: &str) -> Review {
    let subject = &prepared.job.subject;
    let nothing = Review::of_nothing(run_id.to_owned(), subject, reason(&prepared.diff));
    Review {
        // One of them is that nothing was reviewed.
        approval_holds: prepared.approval_holds,
        manual_reviews: prepared.plan.rules.manual_reviews,
        coverage: Coverage {
            filtered: prepared.diff.filtered,
            rules: prepared.plan.rules.unread,
            ..Coverage::default()
        },
        warnings: prepared.warnings,
        ..nothing
    }
}

/// Says that there is nothing to review, to people in this text, and to programs in the format and the reports that are asked
/// for. There are no records of a run that has not begun.
pub(crate) fn show(report: &Review, text: &str, arguments: &CommonArguments, context: &Context) -> Result<(), Failure> {
    let Context { env, output, .. } = context;
    output.note(text);
    let directory = arguments.reports.as_deref();
    prepare_reports(directory, env)?;
    reports::write(report, context, directory.into_iter())?;
    output.print_nothing(report, arguments.format, text);
    Ok(())
}
