//! An open session: one message after the other, each to as many models as it takes.

use std::{fmt::Write, time::Duration};

use conclave_shared::{
    config::{ModelRoute, seconds},
    model::ModelId,
    telemetry::{EventBody, Failback, FailbackReason, ReviewerOutcome},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    SessionContext, SessionResult, SessionTask,
    turn::{Turn, TurnEnd},
};
use crate::{
    ports::{ProgressEvent, Remedy, SessionAnswer, SessionEvent, SessionId, SessionPrompt},
    review::{ModelMove, RepairKind},
};

/// How long the runtime may take to end what a session does. Longer, and it has to be ended with the runtime.
pub(super) const ABORT: Duration = Duration::from_secs(1);
/// How long the rest of a model's answer may take after the call in it that was the session's last: with it comes the
/// usage.
const REST: Duration = Duration::from_secs(5);
/// How often the gateway is asked for it.
const REST_POLL: Duration = Duration::from_millis(5);

/// The gateway's reasons that leave open what a provider said: no model is left to ask, or a request is too long. Of the second, a
/// proxy in between may have a limit of its own.
const OPEN_REASONS: [&str; 2] = ["no healthy model", "prompt is too long"];

/// The prompt after an answer that was cut off at the token limit.
const SHORTER: &str = "Your answer was cut off at the token limit. Give it again, complete, in fewer words.";
/// The prompt after a turn that went round in circles.
const ENOUGH: &str = "You have called tools again and again. What you have seen is enough: call no tool any more, \
                      and give your answer now, complete.";
/// The prompt after an answer that a content filter stopped.
const FILTERED: &str = "The provider's content filter stopped your answer. This is a review for those who own the code: say what is \
                        wrong and where, without a working exploit. Give your answer again, complete.";
/// The prompt for a model that takes over in the middle: the history is still there.
const GO_ON: &str = "The last turn was interrupted. Go on with the review from where it stands, and finish it.";

/// The reason why a session begins with another model than the plan's, where no provider was switched off.
const CHANGED: &str = "the configuration was changed during the review";

/// The answer to a message to a session.
#[derive(Debug)]
pub(super) struct Answered {
    outcome: ReviewerOutcome,
    pub(super) reason: Option<String>,
    /// The answer, if there is one.
    pub(super) said: Option<SessionAnswer>,
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
    pub(super) context: &'a SessionContext,
    name: &'a str,
    pub(super) id: SessionId,
    route: ModelRoute,
    events: mpsc::UnboundedReceiver<SessionEvent>,
    model: ModelId,
    models: Vec<ModelId>,
    moves: Vec<ModelMove>,
    /// Reasons why it was asked once more.
    pub(super) repairs: Vec<RepairKind>,
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
            moves: first_move(context, &task.route, &route).into_iter().collect(),
            route,
            events,
            models: Vec::new(),
            repairs: Vec::new(),
            started: Instant::now(),
        })
    }

    /// Sends a message, and again to other models until one has answered or none is left.
    pub(super) async fn ask(&mut self, task: &SessionTask, message: Vec<String>) -> Answered {
        let context = self.context;
        let mut parts = message;
        loop {
            let end = match self.turn(task, std::mem::take(&mut parts)).await {
                Ok(TurnEnd::Filtered(reason)) if !self.repairs_now(RepairKind::Filtered) => Ok(TurnEnd::Failed {
                    reason,
                    remedy: Remedy::OtherModel,
                }),
                end => end,
            };
            match end {
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
                        let mut reason = "the answer was cut off twice".to_owned();
                        if let Some(word) = context.ledger.odd_stop(&self.id) {
                            let _ = write!(reason, " (its provider stopped it with `{word}`)");
                        }
                        return Answered::bad(ReviewerOutcome::Failed, reason);
                    }
                    parts = vec![SHORTER.to_owned()];
                }
                Ok(TurnEnd::Filtered(reason)) => {
                    let line = format!("{} is asked once more: {reason}", task.name);
                    context.progress.report(ProgressEvent::Warning(&line));
                    parts = vec![FILTERED.to_owned()];
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
                    // The runtime must not see more of the cause than that; people should.
                    let cause = context.ledger.last_failure(&self.id);
                    let cause = cause.filter(|_| OPEN_REASONS.contains(&reason.as_str()));
                    let reason = match cause {
                        Some(cause) => format!("{reason} (last: {cause})"),
                        None => reason,
                    };
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
                    let from = std::mem::replace(&mut self.model, next.clone());
                    self.moves.push(ModelMove { from, to: next, reason });
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
            is_last: self.repairs.contains(&RepairKind::Loop),
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
        if let Ok(TurnEnd::Looping(_)) = end
            && let Some(reason) = self.leave_turn().await
        {
            return Ok(TurnEnd::Failed {
                reason,
                remedy: Remedy::None,
            });
        }
        end
    }

    /// Discards the last events of a turn that was ended: the rest of its calls is not the next turn's. Returns why nothing follows, if the
    /// runtime is gone.
    async fn leave_turn(&mut self) -> Option<String> {
        let rest = async {
            loop {
                match self.events.recv().await {
                    Some(SessionEvent::Idle) => return None,
                    Some(SessionEvent::Gone(reason)) => return Some(reason),
                    Some(_) => {}
                    None => return Some("the runtime is gone".to_owned()),
                }
            }
        };
        timeout(ABORT, rest).await.ok().flatten()
    }

    /// The model to ask next, by the route in force. A changed route is reported to the gateway.
    fn next_model(&mut self, task: &SessionTask, remedy: Remedy) -> Option<ModelId> {
        let route = self.context.routes.current(&task.name, &task.route).ok()?;
        if route.models != self.route.models {
            self.context.ledger.assign(&self.id, &task.name, &route.models);
        }
        // Another model reads the whole session anew, so a changed effort invalidates no cache.
        if route.effort != self.route.effort {
            self.context.ledger.set_effort(&self.id, route.effort);
        }
        self.route = route;
        next_model(&self.route, &self.model, remedy).cloned()
    }

    /// What became of the session, by its last answer.
    pub(super) fn close(self, last: Answered) -> SessionResult {
        // The runtime's event with the last answer may be lost, so that its usage is reported here.
        self.context.tell_usage(self.name, &self.id);
        let (text, reads) = last.said.map(|said| (said.text, said.reads)).unzip();
        SessionResult {
            outcome: last.outcome,
            reason: last.reason,
            text,
            models: self.models,
            moves: self.moves,
            duration: self.started.elapsed(),
            usage: self.context.ledger.usage(&self.id),
            repairs: self.repairs,
            reads: reads.unwrap_or_default(),
            smaller: false,
            overflowed: last.overflowed,
        }
    }
}

/// Waits until the session has done its task, and the gateway has the whole answer that did it.
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

/// The move that a session begins with, if its route does not begin with the model that the plan names.
fn first_move(context: &SessionContext, planned: &ModelRoute, route: &ModelRoute) -> Option<ModelMove> {
    let (from, to) = (planned.first(), route.first());
    (from != to).then(|| ModelMove {
        from: from.clone(),
        to: to.clone(),
        reason: context
            .routes
            .off(from.provider())
            .unwrap_or_else(|| CHANGED.to_owned()),
    })
}

/// The model to ask next. Within a provider the gateway has already tried what there is, so another provider comes first;
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

/// Returns whether there is time for another message.
pub(super) fn has_time(context: &SessionContext, task: &SessionTask) -> bool {
    let floor = seconds(context.limits().retry_floor_seconds);
    context
        .deadline(task.deadline)
        .is_none_or(|deadline| deadline.saturating_duration_since(Instant::now()) >= floor)
}
