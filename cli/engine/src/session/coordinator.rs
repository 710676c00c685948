//! The coordinator's session: it is given what the panel found, judges it, and submits.
//!
//! It starts when the panel is done, not with it. A session that waits for the panel asks its model once more, only to be
//! given the findings, and judges no sooner: measured with `scripts/bench prompts`, see `docs/how-a-review-works.md`.

use conclave_shared::{
    config::{ModelRoute, NoModel, seconds},
    reviewer::ReviewerName,
    telemetry::ReviewerOutcome,
};

use super::{
    CoordinatorMailbox, SessionContext, SessionTask,
    open_session::{Answered, Session},
};
use crate::review::{RepairKind, ReviewerReport};

/// Who judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgedBy {
    /// The coordinator has submitted.
    Coordinator,
    /// It has not, for this reason: the rules judge.
    Rules(String),
    /// No model was asked, as there is nothing for one to read: the rules judge what rules found.
    Nobody,
    /// No judge was asked: a complete panel found nothing, and there is nothing else to decide.
    NotNeeded,
    /// No judge was asked: no reviewer came to its end, nothing was found, and there is nothing else to decide.
    NothingHeard,
}

/// Runs the coordinator until it has submitted, or has failed for good.
///
/// All of it is one session: another model, or a reminder, finds what was read and judged before. The panel's findings, which
/// the mailbox has by now, stand at the end of its message.
pub async fn coordinate(
    context: &SessionContext,
    route: Result<ModelRoute, NoModel>,
    message: String,
    mailbox: &CoordinatorMailbox,
) -> (ReviewerReport, JudgedBy) {
    let mut report = ReviewerReport::skipped(ReviewerName::coordinator());
    let route = match route {
        Ok(route) => route,
        Err(none) => {
            let reason = none.to_string();
            report.reason = Some(reason.clone());
            return (report, JudgedBy::Rules(reason));
        }
    };
    let findings = mailbox.findings().unwrap_or_default();
    let task = SessionTask {
        name: ReviewerName::COORDINATOR.to_owned(),
        parts: vec![format!("{message}\n\n{findings}")],
        to_read: 0,
        smaller: None,
        route,
        attempt: seconds(context.limits.coordinator_seconds),
        deadline: None,
        done: Some(mailbox.submitted()),
    };
    let mut session = match Session::open(context, &task).await {
        Ok(session) => session,
        Err(ended) => {
            let reason = ended.reason.unwrap_or_default();
            report.outcome = ended.outcome;
            report.reason = Some(reason.clone());
            return (report, JudgedBy::Rules(reason));
        }
    };
    let mut end = session.ask(&task, task.parts.clone()).await;
    if let Some(reminder) = reminder(mailbox, &end).await
        && context.stop.cause().is_none()
        && session.repairs_now(RepairKind::Unsubmitted)
    {
        end = session.ask(&task, vec![reminder]).await;
        if let Some(said) = &end.said {
            // The usable part counts. There is no further turn for the rest.
            let _ = mailbox.take_text(&said.text).await;
        }
    }
    session.close(end).into_report(&mut report);
    report.repairs.extend(mailbox.repairs());
    if mailbox.has_submission() {
        // What was submitted counts, whatever went wrong after it.
        report.outcome = ReviewerOutcome::Ok;
        return (report, JudgedBy::Coordinator);
    }
    if report.outcome == ReviewerOutcome::Ok {
        report.outcome = ReviewerOutcome::Failed;
        let reason = if mailbox.gave_up() {
            "nothing that it submitted could be used"
        } else {
            "it never called submit_review"
        };
        report.reason = Some(reason.to_owned());
    }
    let reason = report.reason.clone().unwrap_or_else(|| "no reason given".to_owned());
    (report, JudgedBy::Rules(reason))
}

/// The message to a coordinator that ended its turn without a submission; `None` where there is one, or none is waited for.
async fn reminder(mailbox: &CoordinatorMailbox, end: &Answered) -> Option<String> {
    if !end.is_ok() || mailbox.has_submission() || mailbox.gave_up() {
        return None;
    }
    let said = end.said.as_ref().map(|said| said.text.as_str()).unwrap_or_default();
    match mailbox.take_text(said).await {
        Some(Ok(())) => None,
        Some(Err(fault)) => Some(format!("{fault}. Call `submit_review` for that.")),
        None => Some(REMINDER.to_owned()),
    }
}

/// The message to a coordinator that ended its turn without a submission.
const REMINDER: &str = "You have not submitted. The findings stand at the end of the first message: judge them, and call \
                        `submit_review`. A review without that call is lost.";

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
