//! The coordinator's session: it reads while the reviewers work, joins them, judges, and submits.

use conclave_shared::{
    config::{ModelRoute, NoModel, seconds},
    reviewer::ReviewerName,
    telemetry::ReviewerOutcome,
};

use super::{CoordinatorMailbox, SessionContext, SessionTask, conversation::Session};
use crate::review::ReviewerReport;

/// How often a coordinator that ended its turn without a submission is told to submit.
const MAX_REMINDERS: u32 = 2;

/// Who judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgedBy {
    /// The coordinator has submitted.
    Coordinator,
    /// It has not, for this reason: the rules judge.
    Rules(String),
    /// Nobody was asked, as there is nothing for a model to read: the rules judge what rules found.
    Nobody,
}

/// Runs the coordinator until it has submitted, or has failed for good.
///
/// All of it is one session: another model, or a reminder, finds what was read and judged before. A coordinator that
/// never asks for the reviewers' findings is given them when they are there.
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
    let task = SessionTask {
        name: ReviewerName::COORDINATOR.to_owned(),
        parts: vec![message],
        smaller: None,
        route,
        attempt: seconds(context.limits.coordinator_seconds),
        deadline: None,
        waiting: Some(mailbox.waiting()),
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
    for _ in 0..MAX_REMINDERS {
        if !end.is_ok() || mailbox.has_submission() {
            break;
        }
        let reminder = tokio::select! {
            _ = context.stop.stopped() => break,
            reminder = reminder(mailbox) => reminder,
        };
        let Some(reminder) = reminder else { break };
        end = session.ask(&task, vec![reminder]).await;
    }
    session.close(end).into_report(&mut report);
    if mailbox.has_submission() {
        // What was submitted counts, whatever went wrong after it.
        report.outcome = ReviewerOutcome::Ok;
        return (report, JudgedBy::Coordinator);
    }
    if report.outcome == ReviewerOutcome::Ok {
        report.outcome = ReviewerOutcome::Failed;
        report.reason = Some("it never called submit_review".to_owned());
    }
    let reason = report.reason.clone().unwrap_or_else(|| "no reason given".to_owned());
    (report, JudgedBy::Rules(reason))
}

/// What a coordinator is told that ended its turn without a submission.
async fn reminder(mailbox: &CoordinatorMailbox) -> Option<String> {
    let lost = "A review without a call of `submit_review` is lost.";
    let was_asked = mailbox.was_asked();
    let findings = mailbox.findings().await?;
    // Once more also to one that asked: the answer to its call is lost when its provider is switched off meanwhile.
    let began = if was_asked { "You have not submitted. " } else { "" };
    Some(format!(
        "{began}The reviewers are done. These are their findings, as `spawn_reviewers` returns them:\n\n{findings}\n\nJudge them \
         and call `submit_review`. {lost}"
    ))
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
