//! One session from its first prompt to its end, over as many models as it takes.

use std::time::Duration;

use async_trait::async_trait;
use conclave_shared::{
    config::{ModelRoute, seconds},
    model::ModelId,
    telemetry::{EventBody, Failback, FailbackReason, ReviewerOutcome, TokensByModel},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    SessionContext, SessionTask,
    turn::{MAX_LAST_STEPS, MAX_STEPS, Turn, TurnEnd},
};
use crate::{
    ports::{FileRead, ProgressEvent, Remedy, SessionAnswer, SessionEvent, SessionId, SessionPrompt},
    review::{RepairKind, ReviewerReport},
};

/// How long the runtime may take to end what a session does. Longer, and it has to be ended with the runtime.
const ABORT: Duration = Duration::from_secs(1);
/// How long the rest of a model's answer may take after the call in it that was the session's last: with it comes the
/// usage.
const REST: Duration = Duration::from_secs(5);
/// How often the gateway is asked for it.
const REST_POLL: Duration = Duration::from_millis(5);

/// The prompt after an answer that was cut off at the token limit.
const SHORTER: &str = "Your answer was cut off at the token limit. Give it again, complete, in fewer words.";
/// The prompt after a turn that went round in circles.
const ENOUGH: &str = "You have called the same tools again and again. What you have seen is enough: call no tool any more, \
                      and give your answer now, complete.";
/// The prompt for a model that takes over in the middle: the history is still there.
const GO_ON: &str = "The last turn was interrupted. Go on with the review from where it stands, and finish it.";

/// How it went.
#[derive(Debug, Clone)]
pub struct SessionResult {
    /// How it ended.
    pub outcome: ReviewerOutcome,
    /// Why, if not well.
    pub reason: Option<String>,
    /// The last message, if there is one.
    pub text: Option<String>,
    /// The models that were prompted, in order.
    pub models: Vec<ModelId>,
    /// From the first prompt to the end.
    pub duration: Duration,
    /// What was used.
    pub usage: Vec<TokensByModel>,
    /// Reasons why it was asked once more, whatever its answers held.
    pub repairs: Vec<RepairKind>,
    /// What was read for the answer; nothing without one.
    pub reads: Vec<FileRead>,
    /// Whether the answer is that to the smaller message.
    pub smaller: bool,
    /// Whether the session read more than fits into its model's context.
    pub(super) overflowed: bool,
}

impl SessionResult {
    fn ended(outcome: ReviewerOutcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: Some(reason.into()),
            text: None,
            models: Vec::new(),
            duration: Duration::ZERO,
            usage: Vec::new(),
            repairs: Vec::new(),
            reads: Vec::new(),
            smaller: false,
            overflowed: false,
        }
    }

    /// Writes into the report how the session went. Returns what was read.
    pub(super) fn into_report(self, report: &mut ReviewerReport) -> Vec<FileRead> {
        report.outcome = self.outcome;
        report.reason = self.reason;
        report.models = self.models;
        report.usage = self.usage;
        report.repairs = self.repairs;
        report.seconds = self.duration.as_secs_f64();
        self.reads
    }
}

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

/// The second of two sessions, with what the first one cost.
fn merge(first: SessionResult, mut second: SessionResult) -> SessionResult {
    second.models.splice(0..0, first.models);
    second.usage.splice(0..0, first.usage);
    second.duration += first.duration;
    second
}

fn has_time(context: &SessionContext, task: &SessionTask) -> bool {
    let floor = seconds(context.limits().retry_floor_seconds);
    context
        .deadline(task.deadline)
        .is_none_or(|deadline| deadline.saturating_duration_since(Instant::now()) >= floor)
}

/// How a message to a session was answered.
#[derive(Debug)]
pub(super) struct Answered {
    outcome: ReviewerOutcome,
    reason: Option<String>,
    /// The answer, if there is one.
    said: Option<SessionAnswer>,
    overflowed: bool,
}

impl Answered {
    fn bad(outcome: ReviewerOutcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: Some(reason.into()),
            said: None,
            overflowed: false,
        }
    }

    /// Whether there is a whole answer.
    pub(super) fn is_ok(&self) -> bool {
        self.outcome == ReviewerOutcome::Ok
    }
}

/// An open session, which keeps the model that answered last.
pub(super) struct Session<'a> {
    context: &'a SessionContext,
    name: &'a str,
    id: SessionId,
    route: ModelRoute,
    events: mpsc::UnboundedReceiver<SessionEvent>,
    model: ModelId,
    models: Vec<ModelId>,
    /// Reasons why it was asked once more.
    repairs: Vec<RepairKind>,
    started: Instant,
}

impl<'a> Session<'a> {
    /// Makes the session. An error is its end.
    pub(super) async fn open(context: &'a SessionContext, task: &'a SessionTask) -> Result<Self, SessionResult> {
        let route = context.routes.current(&task.name, &task.route);
        let route = route.map_err(|none| SessionResult::ended(ReviewerOutcome::Skipped, none.to_string()))?;
        let title = format!("review: {}", task.name);
        let create = async {
            context.head_start.wait(&task.name).await;
            context.runtime.create_session(&title).await
        };
        let created = tokio::select! {
            biased;
            cause = context.stop.stopped() => {
                return Err(SessionResult::ended(ReviewerOutcome::Skipped, cause.describe()));
            }
            created = create => created,
        };
        let (id, events) = created.map_err(|error| SessionResult::ended(ReviewerOutcome::Failed, error.to_string()))?;
        context.ledger.assign(&id, &task.name, &route.models);
        context.ledger.set_effort(&id, route.effort);
        Ok(Self {
            context,
            name: &task.name,
            id,
            model: route.first().clone(),
            route,
            events,
            models: Vec::new(),
            repairs: Vec::new(),
            started: Instant::now(),
        })
    }

    /// Sends a message, and whatever the answer asks for. The last answer counts; one that does not come leaves the one
    /// before it in force.
    async fn converse(&mut self, task: &SessionTask, message: Vec<String>, follow_up: &mut impl FollowUp) -> Answered {
        let mut last = self.ask(task, message).await;
        while let Some(said) = &last.said {
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
        if let Ok(Ok(said)) = timeout(ABORT, self.context.runtime.last_answer(&self.id)).await {
            follow_up.overhear(&said).await;
        }
    }

    /// Sends a message, and again to other models until one has answered or none is left.
    pub(super) async fn ask(&mut self, task: &SessionTask, message: Vec<String>) -> Answered {
        let context = self.context;
        let mut parts = message;
        loop {
            match self.turn(task, std::mem::take(&mut parts)).await {
                Ok(TurnEnd::Answered(answer)) if answer.finish.as_deref() != Some("length") => {
                    let empty = answer.text.trim().is_empty();
                    return Answered {
                        outcome: if empty {
                            ReviewerOutcome::Failed
                        } else {
                            ReviewerOutcome::Ok
                        },
                        reason: empty.then(|| "the answer is empty".to_owned()),
                        said: Some(answer),
                        overflowed: false,
                    };
                }
                Ok(TurnEnd::Answered(_) | TurnEnd::CutOff) => {
                    if !self.repairs_now(RepairKind::CutOff) {
                        return Answered::bad(ReviewerOutcome::Failed, "the answer was cut off twice");
                    }
                    parts = vec![SHORTER.to_owned()];
                }
                Ok(TurnEnd::Looping(reason)) => {
                    if !self.repairs_now(RepairKind::Loop) {
                        return Answered::bad(ReviewerOutcome::Failed, reason);
                    }
                    let line = format!("{} is asked for an end: {reason}", task.name);
                    context.progress.report(ProgressEvent::Warning(&line));
                    parts = vec![ENOUGH.to_owned()];
                }
                Ok(TurnEnd::Done) => {
                    return Answered {
                        outcome: ReviewerOutcome::Ok,
                        reason: None,
                        said: None,
                        overflowed: false,
                    };
                }
                Ok(TurnEnd::TimedOut(reason)) => return Answered::bad(ReviewerOutcome::TimedOut, reason),
                Ok(TurnEnd::Failed { reason, remedy }) => {
                    tracing::warn!(reviewer = task.name, model = %self.model, reason, "the attempt failed");
                    let next = self.next_model(task, remedy).filter(|_| has_time(context, task));
                    let Some(next) = next else {
                        return Answered {
                            overflowed: remedy == Remedy::LessToRead,
                            ..Answered::bad(ReviewerOutcome::Failed, reason)
                        };
                    };
                    context.progress.report(ProgressEvent::Warning(&format!(
                        "{}: {} failed ({reason}), going on with {next}",
                        task.name, self.model
                    )));
                    context.telemetry.record(EventBody::Failback(Failback {
                        reviewer: task.name.clone(),
                        from: self.model.clone(),
                        to: next.clone(),
                        reason: FailbackReason::Reprompted,
                    }));
                    self.model = next;
                    parts = vec![GO_ON.to_owned()];
                }
                Err(stopped) => return stopped,
            }
        }
    }

    /// Notes that it is asked once more for this reason. Returns whether it may be: each reason counts once.
    pub(super) fn repairs_now(&mut self, kind: RepairKind) -> bool {
        let is_first = !self.repairs.contains(&kind);
        if is_first {
            self.repairs.push(kind);
        }
        is_first
    }

    /// One prompt to the current model. Whatever the session does when this comes back early is ended; but for one that
    /// has done what it is for: it waits for the answer to its last call, which does not come before the runtime's end.
    async fn turn(&mut self, task: &SessionTask, parts: Vec<String>) -> Result<TurnEnd, Answered> {
        let context = self.context;
        self.models.push(self.model.clone());
        context.progress.report(ProgressEvent::SessionStarted {
            reviewer: &task.name,
            session: &self.id,
            model: &self.model,
            attempt: u32::try_from(self.models.len()).unwrap_or(u32::MAX),
        });
        let prompt = SessionPrompt {
            agent: task.name.clone(),
            model: context.ledger.name_in_runtime(&self.id, &self.model),
            parts,
        };
        let turn = Turn {
            context,
            task,
            session: &self.id,
            first: self.models.len() == 1,
            max_steps: if self.repairs.contains(&RepairKind::Loop) {
                MAX_LAST_STEPS
            } else {
                MAX_STEPS
            },
        };
        let end = tokio::select! {
            biased;
            cause = context.stop.stopped() => Err(Answered::bad(ReviewerOutcome::Failed, cause.describe())),
            reason = context.routes.switched_off(self.model.provider()) => Ok(TurnEnd::Failed {
                reason,
                remedy: Remedy::OtherProvider,
            }),
            () = done(context, &self.id, task) => Ok(TurnEnd::Done),
            never = context.head_start.watch(&task.name, &self.id, context.ledger.as_ref()) => match never {},
            end = turn.run(&prompt, &mut self.events) => Ok(end),
        };
        if !matches!(end, Ok(TurnEnd::Answered(_) | TurnEnd::Done)) {
            // It must not go on, whatever it is doing; an idle session does not mind.
            let _ = timeout(ABORT, context.runtime.abort(&self.id)).await;
        }
        end
    }

    /// Whom to ask next, by the route in force. The gateway hears of it when that has changed.
    fn next_model(&mut self, task: &SessionTask, remedy: Remedy) -> Option<ModelId> {
        let route = self.context.routes.current(&task.name, &task.route).ok()?;
        if route.models != self.route.models {
            self.context.ledger.assign(&self.id, &task.name, &route.models);
            self.route = route;
        }
        next_model(&self.route, &self.model, remedy).cloned()
    }

    /// What became of the session, by its last answer.
    pub(super) fn close(self, last: Answered) -> SessionResult {
        // The last answer's part is told by nothing else: the runtime's news of it may not have come any more.
        self.context.tell_usage(self.name, &self.id);
        let (text, reads) = last.said.map(|said| (said.text, said.reads)).unzip();
        SessionResult {
            outcome: last.outcome,
            reason: last.reason,
            text,
            models: self.models,
            duration: self.started.elapsed(),
            usage: self.context.ledger.usage(&self.id),
            repairs: self.repairs,
            reads: reads.unwrap_or_default(),
            smaller: false,
            overflowed: last.overflowed,
        }
    }
}

/// Comes back when the session has done what it is for, and the gateway has all of the answer that did it.
async fn done(context: &SessionContext, session: &SessionId, task: &SessionTask) {
    let Some(mut done) = task.done.clone() else {
        return std::future::pending().await;
    };
    if done.wait_for(|done| *done).await.is_err() {
        return std::future::pending().await;
    }
    let rest = async {
        while context.ledger.idle_for(session).is_some() {
            sleep(REST_POLL).await;
        }
    };
    let _ = timeout(REST, rest).await;
}

/// Whom to ask next. Within a provider the gateway has already tried what there is, so another provider comes first;
/// the same one again makes sense only if it was not the gateway that gave up.
fn next_model<'a>(route: &'a ModelRoute, failed: &ModelId, remedy: Remedy) -> Option<&'a ModelId> {
    let later = if route.models.contains(failed) {
        route.after(failed)
    } else {
        // It is not used any more: all that is comes after it.
        &route.models[..]
    };
    let elsewhere = later.iter().find(|model| model.provider() != failed.provider());
    match remedy {
        Remedy::None | Remedy::LessToRead => None,
        Remedy::OtherProvider => elsewhere,
        Remedy::OtherModel => elsewhere.or_else(|| later.first()),
    }
}

/// What may be said to a reviewer after its answer.
#[async_trait]
pub(super) trait FollowUp: Send {
    /// The next message, if one is needed.
    async fn next(&mut self, answer: &SessionAnswer) -> Option<String>;

    /// What the session said although it came to no answer.
    async fn overhear(&mut self, answer: &SessionAnswer);

    /// The message was not answered, for this reason.
    fn failed(&mut self, reason: &str);

    /// Notes that the next session is given less to read.
    fn is_given_less(&mut self);
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
