//! One session from its first prompt to its end, over as many models as it takes.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use conclave_shared::{
    config::{Limits, ModelRoute, seconds},
    model::ModelId,
    telemetry::{ReviewerOutcome, TokensByModel},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior},
};

use crate::ports::{
    AgentRuntime, ModelLedger, Progress, ProgressEvent, Remedy, SessionAnswer, SessionEvent, SessionId, SessionPrompt,
    TelemetrySink,
};

/// How often a quiet session is asked about: events can be lost.
const POLL: Duration = Duration::from_secs(3);
/// How long a session may be quiet before the log says that it still thinks.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Cut streams in a row after which a session is given up: the runtime would go on for ever.
const MOST_UNKNOWN_STEPS: u32 = 2;

/// The error of a turn that we ended ourselves; it may be reported after the next prompt.
const ABORTED: &str = "MessageAbortedError";

/// What all sessions of a run share.
#[derive(Clone)]
pub struct SessionContext {
    /// The runtime.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The gateway's books.
    pub ledger: Arc<dyn ModelLedger>,
    /// Signs of life.
    pub progress: Arc<dyn Progress>,
    /// Where every session's end is told.
    pub telemetry: Arc<dyn TelemetrySink>,
    /// Time limits.
    pub limits: Limits,
    /// Becomes `true` when everything has to end.
    pub stop: watch::Receiver<bool>,
}

/// What a session has to do.
#[derive(Debug, Clone)]
pub struct SessionTask {
    /// The reviewer, or the coordinator.
    pub name: String,
    /// The message, in parts.
    pub parts: Vec<String>,
    /// Models, best first.
    pub route: ModelRoute,
    /// Time for one attempt.
    pub attempt: Duration,
    /// When all attempts together are over.
    pub deadline: Option<Instant>,
    /// Becomes `true` while the session rightly waits for somebody else: then silence is no stall and time stands still.
    pub waiting: Option<watch::Receiver<bool>>,
}

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
    /// Files of the workspace that were read for the answer; none without one.
    pub files_read: BTreeSet<String>,
    /// The session, for a later prompt.
    pub session: Option<SessionId>,
}

enum AttemptEnd {
    Answered(SessionAnswer),
    TimedOut(String),
    Failed { reason: String, remedy: Remedy },
    Stopped,
}

/// Runs a session to its end.
pub async fn run_session(context: &SessionContext, task: &SessionTask) -> SessionResult {
    let started = Instant::now();
    let mut result = SessionResult {
        outcome: ReviewerOutcome::Failed,
        reason: None,
        text: None,
        models: Vec::new(),
        duration: Duration::ZERO,
        usage: Vec::new(),
        files_read: BTreeSet::new(),
        session: None,
    };
    let (session, mut events) = match context.runtime.create_session(&format!("review: {}", task.name)).await {
        Ok(created) => created,
        Err(error) => {
            result.reason = Some(error.to_string());
            return result;
        }
    };
    context.ledger.assign(&session, &task.name, &task.route.models);
    let mut model = task.route.first().clone();
    let mut parts = task.parts.clone();
    let mut shortened = false;
    loop {
        result.models.push(model.clone());
        let attempt = u32::try_from(result.models.len()).unwrap_or(u32::MAX);
        context.progress.report(ProgressEvent::SessionStarted {
            reviewer: &task.name,
            session: &session,
            model: &model,
            attempt,
        });
        let prompt = SessionPrompt {
            agent: task.name.clone(),
            model: model.clone(),
            parts: std::mem::take(&mut parts),
        };
        let watcher = Watcher {
            context,
            task,
            session: &session,
        };
        let end = watcher.attempt(&prompt, &mut events).await;
        if !matches!(end, AttemptEnd::Answered(_)) {
            // Whatever it is doing must not go on; an idle session does not mind.
            let _ = context.runtime.abort(&session).await;
        }
        match end {
            AttemptEnd::Answered(answer) if answer.finish.as_deref() == Some("length") && !shortened => {
                shortened = true;
                parts = vec![
                    "Your answer was cut off at the token limit. Give it again, complete, in fewer words.".to_owned(),
                ];
                continue;
            }
            AttemptEnd::Answered(answer) => {
                result.files_read = answer.files_read;
                let cut = answer.finish.as_deref() == Some("length");
                result.outcome = if cut || answer.text.trim().is_empty() {
                    result.reason = Some(if cut {
                        "the answer was cut off twice".into()
                    } else {
                        "the answer is empty".into()
                    });
                    ReviewerOutcome::Failed
                } else {
                    result.reason = None;
                    ReviewerOutcome::Ok
                };
                result.text = Some(answer.text);
            }
            AttemptEnd::Failed { reason, remedy } => {
                let next = next_model(&task.route, &model, remedy).cloned();
                let time = has_time_for_retry(context, task);
                tracing::warn!(reviewer = task.name, %model, reason, "the attempt failed");
                if let (true, Some(next)) = (time, next) {
                    context.progress.report(ProgressEvent::Warning(&format!(
                        "{}: {model} failed ({reason}), going on with {next}",
                        task.name
                    )));
                    model = next;
                    parts.clone_from(&task.parts);
                    continue;
                }
                result.reason = Some(reason);
            }
            AttemptEnd::TimedOut(reason) => {
                result.outcome = ReviewerOutcome::TimedOut;
                result.reason = Some(reason);
            }
            AttemptEnd::Stopped => result.reason = Some("the run was stopped".into()),
        }
        break;
    }
    result.duration = started.elapsed();
    result.usage = context.ledger.usage(&session);
    result.session = Some(session);
    result
}

struct Watcher<'a> {
    context: &'a SessionContext,
    task: &'a SessionTask,
    session: &'a SessionId,
}

impl Watcher<'_> {
    /// Prompts and watches until the turn is over.
    async fn attempt(&self, prompt: &SessionPrompt, events: &mut mpsc::UnboundedReceiver<SessionEvent>) -> AttemptEnd {
        let limits = &self.context.limits;
        // A session that is prompted again still has its last answer, and the end of its last turn may only now be
        // reported: neither is the answer to this prompt.
        let before = match self.context.runtime.last_answer(self.session).await {
            Ok(answer) => answer.message,
            Err(error) => {
                return AttemptEnd::Failed {
                    reason: error.to_string(),
                    remedy: Remedy::None,
                };
            }
        };
        if let Err(error) = self.context.runtime.prompt(self.session, prompt).await {
            return AttemptEnd::Failed {
                reason: error.to_string(),
                remedy: Remedy::None,
            };
        }
        let mut clock = AttemptClock::start(self.task.attempt);
        let mut failure: Option<(String, Remedy)> = None;
        let mut unknown_steps = 0;
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        poll.reset();
        let mut stop = self.context.stop.clone();
        loop {
            tokio::select! {
                () = stopped(&mut stop) => return AttemptEnd::Stopped,
                event = events.recv() => match event {
                    None => return AttemptEnd::Failed { reason: "the runtime is gone".into(), remedy: Remedy::None, },
                    Some(SessionEvent::Gone(reason)) => return AttemptEnd::Failed { reason, remedy: Remedy::None, },
                    Some(SessionEvent::Error { name, .. }) if name == ABORTED => {}
                    Some(SessionEvent::Error { name, message, remedy }) => {
                        clock.sign_of_life();
                        failure = Some((describe(&name, &message), remedy));
                    }
                    Some(SessionEvent::Idle) => {
                        if let Some(end) = self.finished(failure.as_ref(), before.as_deref()).await {
                            return end;
                        }
                    }
                    Some(SessionEvent::StepFinished(reason)) => {
                        clock.sign_of_life();
                        self.tell_usage();
                        unknown_steps = if reason == "unknown" { unknown_steps + 1 } else { 0 };
                        if unknown_steps >= MOST_UNKNOWN_STEPS {
                            return AttemptEnd::Failed { reason: "the model's stream was cut again and again".into(), remedy: Remedy::OtherModel, };
                        }
                    }
                    Some(SessionEvent::Retrying { attempt }) => tracing::info!(reviewer = self.task.name, attempt, "the runtime retries"),
                    Some(SessionEvent::Alive) => clock.sign_of_life(),
                },
                _ = poll.tick() => {
                    if self.task.waiting.as_ref().is_some_and(|waiting| *waiting.borrow()) {
                        clock.pause(self.task.attempt);
                        continue;
                    }
                    if let Ok(false) = self.context.runtime.is_busy(self.session).await
                        && let Some(end) = self.finished(failure.as_ref(), before.as_deref()).await
                    {
                        return end;
                    }
                    if let Some(reason) = clock.overdue(limits, self.context.ledger.idle_for(self.session), self.task.deadline) {
                        return reason;
                    }
                    if let Some(seconds) = clock.heartbeat() {
                        self.context.progress.report(ProgressEvent::Thinking { reviewer: &self.task.name, seconds });
                    }
                }
            }
        }
    }

    fn tell_usage(&self) {
        let usage = self.context.ledger.usage(self.session);
        self.context.progress.report(ProgressEvent::Usage {
            reviewer: &self.task.name,
            tokens: usage.iter().map(|entry| entry.tokens.total()).sum(),
            cost_usd: usage.iter().fold(0.0, |sum, entry| sum + entry.cost_usd),
        });
    }

    /// How the turn ended, if it has: with a failure that was reported, or with a complete answer that is new.
    async fn finished(&self, failure: Option<&(String, Remedy)>, before: Option<&str>) -> Option<AttemptEnd> {
        if let Some((reason, remedy)) = failure {
            return Some(AttemptEnd::Failed {
                reason: reason.clone(),
                remedy: *remedy,
            });
        }
        match self.context.runtime.last_answer(self.session).await {
            Ok(answer) if is_final(&answer, before) => {
                let busy = self.context.runtime.is_busy(self.session).await.unwrap_or(false);
                (!busy).then_some(AttemptEnd::Answered(answer))
            }
            Ok(_) => None,
            Err(error) => Some(AttemptEnd::Failed {
                reason: error.to_string(),
                remedy: Remedy::None,
            }),
        }
    }
}

/// The times of one attempt.
struct AttemptClock {
    until: Instant,
    last_sign: Instant,
    said: Instant,
    alive: bool,
}

impl AttemptClock {
    fn start(limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            until: now + limit,
            last_sign: now,
            said: now,
            alive: false,
        }
    }

    fn sign_of_life(&mut self) {
        self.last_sign = Instant::now();
        self.said = self.last_sign;
        self.alive = true;
    }

    /// Nothing counts while the session rightly waits; it starts anew afterwards.
    fn pause(&mut self, limit: Duration) {
        self.sign_of_life();
        self.until = Instant::now() + limit;
    }

    fn overdue(&self, limits: &Limits, held: Option<Duration>, deadline: Option<Instant>) -> Option<AttemptEnd> {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Some(AttemptEnd::TimedOut("the time of the whole panel is over".into()));
        }
        if now >= self.until {
            return Some(AttemptEnd::TimedOut("its time is over".into()));
        }
        // A request that the gateway is holding is alive as long as the gateway makes progress with it.
        let quiet = (now - self.last_sign).min(held.unwrap_or(Duration::MAX));
        let (limit, what) = if self.alive {
            (seconds(limits.stall_seconds), "it went silent")
        } else {
            (seconds(limits.first_sign_seconds), "it gave no sign of life")
        };
        let reason = || format!("{what} for {} s", limit.as_secs());
        (quiet >= limit).then(|| AttemptEnd::Failed {
            reason: reason(),
            remedy: Remedy::OtherModel,
        })
    }

    fn heartbeat(&mut self) -> Option<u64> {
        let now = Instant::now();
        if now - self.said < HEARTBEAT {
            return None;
        }
        self.said = now;
        Some((now - self.last_sign).as_secs())
    }
}

/// Whether enough of the panel's time is left for another attempt.
fn has_time_for_retry(context: &SessionContext, task: &SessionTask) -> bool {
    let floor = seconds(context.limits.retry_floor_seconds);
    task.deadline
        .is_none_or(|deadline| deadline.saturating_duration_since(Instant::now()) >= floor)
}

/// Whether this is the end of a turn: complete, not the answer that was there before, and not one step of several.
fn is_final(answer: &SessionAnswer, before: Option<&str>) -> bool {
    answer.complete && answer.message.as_deref() != before && answer.finish.as_deref() != Some("tool-calls")
}

/// Whom to ask next. Within a provider the gateway has already tried what there is, so another provider comes first;
/// the same one again makes sense only if it was not the gateway that gave up.
fn next_model<'a>(route: &'a ModelRoute, failed: &ModelId, remedy: Remedy) -> Option<&'a ModelId> {
    let later = route.after(failed);
    let elsewhere = later.iter().find(|model| model.provider() != failed.provider());
    match remedy {
        Remedy::None => None,
        Remedy::OtherProvider => elsewhere,
        Remedy::OtherModel => elsewhere.or_else(|| later.first()),
    }
}

/// Comes back when the run has to end; never if nobody can say so any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stopped| *stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn describe(name: &str, message: &str) -> String {
    let message: String = message.chars().take(300).collect();
    if message.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {message}")
    }
}
