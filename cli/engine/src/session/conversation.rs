//! One session from its first message to its end, with what the answers ask for.

use async_trait::async_trait;
use tokio::time::timeout;

use super::{
    SessionContext, SessionResult, SessionTask,
    open_session::{ABORT, Answered, Session, has_time},
    session_result::merge,
};
use crate::ports::{ProgressEvent, SessionAnswer, StrayCall};

/// Runs a session to its end; a second one with less to read, if the first one read more than fits.
pub(super) async fn run_session(
    context: &SessionContext,
    task: &SessionTask,
    follow_up: &mut impl FollowUp,
) -> SessionResult {
    let mut session = match Session::open(context, task).await {
        Ok(session) => session,
        Err(ended) => return ended,
    };
    let end = session.converse(task, task.parts.clone(), follow_up).await;
    let first = session.close(end);
    let Some(parts) = task
        .smaller
        .clone()
        .filter(|_| first.overflowed && has_time(context, task))
    else {
        return first;
    };
    context.progress.report(ProgressEvent::Warning(&format!(
        "{} read more than fits into its context; once more with less",
        task.name
    )));
    follow_up.is_given_less();
    let mut session = match Session::open(context, task).await {
        Ok(session) => session,
        Err(ended) => return merge(first, ended),
    };
    session.repairs.clone_from(&first.repairs);
    let end = session.converse(task, parts, follow_up).await;
    let mut second = session.close(end);
    second.smaller = true;
    merge(first, second)
}

impl Session<'_> {
    /// Sends a message, and whatever the answer asks for. The last answer counts; one that does not come leaves the one
    /// before it in force.
    async fn converse(&mut self, task: &SessionTask, message: Vec<String>, follow_up: &mut impl FollowUp) -> Answered {
        let mut last = self.ask(task, message).await;
        while let Some(said) = &last.said {
            self.tell_beside(follow_up).await;
            let Some(message) = follow_up.next(said).await else {
                break;
            };
            if let Some(cause) = self.context.stop.cause() {
                follow_up.failed(cause.describe());
                break;
            }
            if !has_time(self.context, task) {
                follow_up.failed("the time of the whole panel is over");
                break;
            }
            let next = self.ask(task, vec![message]).await;
            if next.said.is_none() {
                follow_up.failed(next.reason.as_deref().unwrap_or("no answer came"));
                self.overhear(follow_up).await;
                break;
            }
            last = next;
        }
        if last.said.is_none() {
            self.overhear(follow_up).await;
        }
        last
    }

    /// Hands on what the session has said without coming to an answer: findings in it are not lost.
    async fn overhear(&self, follow_up: &mut impl FollowUp) {
        let said = timeout(ABORT, self.context.runtime.last_answer(&self.id)).await;
        // What was ended just now has broken off by now.
        self.tell_beside(follow_up).await;
        match said {
            Ok(Ok(said)) => follow_up.overhear(&said).await,
            _ => follow_up.ended().await,
        }
    }

    /// Hands on what the gateway has seen of the session and the runtime may not know.
    async fn tell_beside(&self, follow_up: &mut impl FollowUp) {
        follow_up.hear_calls(&self.context.ledger.stray_calls(&self.id)).await;
        follow_up
            .hear_broken(self.context.ledger.broken_answers(&self.id))
            .await;
    }
}

/// What may be said to a reviewer after its answer.
#[async_trait]
pub(super) trait FollowUp: Send {
    /// The calls so far that may tell what no tool takes.
    async fn hear_calls(&mut self, calls: &[StrayCall]);

    /// The answers so far that broke off, each as far as it came.
    async fn hear_broken(&mut self, answers: Vec<String>);

    /// The next message, if one is needed.
    async fn next(&mut self, answer: &SessionAnswer) -> Option<String>;

    /// What the session said although it came to no answer.
    async fn overhear(&mut self, answer: &SessionAnswer);

    /// The session ended, and its last answer is unknown: what was heard has to do.
    async fn ended(&mut self);

    /// The message was not answered, for this reason.
    fn failed(&mut self, reason: &str);

    /// Notes that the next session is given less to read.
    fn is_given_less(&mut self);
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
