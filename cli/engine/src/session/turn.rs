//! One turn of a session: a prompt, and watching it until it is over.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};

use super::{
    SessionContext, SessionTask,
    clock::{AttemptClock, AttemptLimits, Overdue},
};
use crate::ports::{
    ProgressEvent, Remedy, RuntimeError, SessionAnswer, SessionEvent, SessionFault, SessionId, SessionPrompt,
};

/// How long the runtime may take to say how a session is. It does so in milliseconds, unless it hangs.
const ASK: Duration = Duration::from_secs(5);
/// Cut streams in a row after which a session is given up: the runtime would go on for ever.
const MAX_UNKNOWN_STEPS: u32 = 2;
/// Answers of the model in one turn after which it is stopped. A review takes some dozens.
const MAX_STEPS: usize = 100;
/// The same for a turn that asks for an end, and the calls of tools in it.
const MAX_LAST_STEPS: usize = 12;
/// Answers of the model in one turn that call a tool with the same arguments, after which it is stopped: nothing new comes of them.
const MAX_SAME_CALLS: usize = 12;

/// The error of a turn that we ended ourselves; it may be reported after the next prompt.
const ABORTED: &str = "MessageAbortedError";
/// What the gateway's own errors begin with, wherever the runtime puts them.
const GATEWAY: &str = "conclave: ";
/// The error of an answer that was cut off at the token limit.
const OUTPUT_LENGTH: &str = "MessageOutputLengthError";
/// The error of an answer that a filter of the provider stopped, and the end of such an answer where it is not an error.
const FILTERED: &str = "ContentFilterError";
const FILTERED_END: &str = "content-filter";

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// With an answer, whole or cut off.
    Answered(SessionAnswer),
    /// The session has done what it is for.
    Done,
    /// Cut off at the token limit, without any answer.
    CutOff,
    /// Stopped by a content filter of the provider.
    Filtered(String),
    /// It made the same call again and again, or did not come to an end in many steps.
    Looping(String),
    /// Its time was over.
    TimedOut(String),
    /// In an error.
    Failed { reason: String, remedy: Remedy },
}

/// Watches one session.
pub(super) struct Turn<'a> {
    pub(super) context: &'a SessionContext,
    pub(super) task: &'a SessionTask,
    pub(super) session: &'a SessionId,
    /// Whether it is the session's first.
    pub(super) first: bool,
    /// True if it was asked for an end.
    pub(super) is_last: bool,
}

/// The calls of a turn, by what they ask for: in which answers of the model they were made.
#[derive(Debug, Default)]
struct Calls {
    /// Calls that were reported, with the answer that they are of.
    known: BTreeMap<(String, String), u32>,
    answers: HashMap<u64, BTreeSet<u32>>,
}

impl Calls {
    /// The number of all calls.
    fn count(&self) -> usize {
        self.known.len()
    }

    /// Counts a call of this answer. Returns whether too many answers made the same one. However often one answer makes it, that is
    /// one fault: the model has not seen a result yet.
    fn is_one_too_many(&mut self, id: (String, String), call: u64, answer: u32) -> bool {
        let answer = *self.known.entry(id).or_insert(answer);
        let alike = self.answers.entry(call).or_default();
        alike.insert(answer);
        alike.len() >= MAX_SAME_CALLS
    }
}

impl Turn<'_> {
    /// Prompts and watches until the turn is over.
    pub(super) async fn run(
        &self,
        prompt: &SessionPrompt,
        events: &mut mpsc::UnboundedReceiver<SessionEvent>,
    ) -> TurnEnd {
        let runtime = &self.context.runtime;
        // A session that is prompted again still has its last answer, and the end of its last turn may only now be
        // reported: neither is the answer to this prompt.
        let before = match self.last_message().await {
            Ok(message) => message,
            Err(error) => return failed(error.to_string(), Remedy::None),
        };
        if let Err(error) = runtime.prompt(self.session, prompt).await {
            return failed(error.to_string(), Remedy::None);
        }
        let mut clock = AttemptClock::start();
        let mut changes = self.context.routes.changes();
        let mut reported: Option<SessionFault> = None;
        let (mut steps, mut unknown_steps, mut calls) = (0, 0, Calls::default());
        loop {
            let limits = self.limits();
            tokio::select! {
                // A shorter limit may be over already.
                () = changes.next() => {}
                event = events.recv() => match event {
                    None => return failed("the runtime is gone".to_owned(), Remedy::None),
                    Some(SessionEvent::Gone(reason)) => return failed(reason, Remedy::None),
                    Some(SessionEvent::Error(fault)) if fault.name == ABORTED => {}
                    Some(SessionEvent::Error(fault)) => {
                        clock.sign_of_life();
                        reported = Some(fault);
                    }
                    Some(SessionEvent::Idle) => {
                        if let Some(end) = self.finished(before.as_deref()).await {
                            return end;
                        }
                    }
                    Some(SessionEvent::StepFinished(reason)) => {
                        clock.sign_of_life();
                        self.context.tell_usage(&self.task.name, self.session);
                        steps += 1;
                        unknown_steps = if reason == "unknown" { unknown_steps + 1 } else { 0 };
                        if unknown_steps >= MAX_UNKNOWN_STEPS {
                            return failed("the model's stream was cut again and again".to_owned(), Remedy::OtherModel);
                        }
                        if usize::try_from(steps).is_ok_and(|steps| steps >= self.max_steps()) {
                            return TurnEnd::Looping(format!("it did not come to an end in {steps} steps"));
                        }
                    }
                    // The rest of the calls that the turn before was ended for.
                    Some(SessionEvent::Called { message, .. }) if before.as_deref() == Some(message.as_str()) => {}
                    Some(SessionEvent::Called { message, id, call }) => {
                        clock.sign_of_life();
                        if calls.is_one_too_many((message, id), call, steps) {
                            let reason = format!("it made the same call in {MAX_SAME_CALLS} answers");
                            return TurnEnd::Looping(reason);
                        }
                        if calls.count() >= self.max_calls() {
                            return TurnEnd::Looping(self.called_too_much());
                        }
                    }
                    Some(SessionEvent::Retrying { attempt }) => {
                        tracing::info!(reviewer = self.task.name, attempt, "the runtime retries");
                    }
                    Some(SessionEvent::Alive) => clock.sign_of_life(),
                },
                () = tokio::time::sleep_until(clock.next_look(&limits)) => {
                    clock.looked();
                    // A runtime that does not answer must not keep the clock from being looked at.
                    if let Some(Ok(false)) = ask(runtime.is_busy(self.session)).await {
                        if let Some(end) = self.finished(before.as_deref()).await {
                            return end;
                        }
                        // Nothing was begun in all the time since the prompt, and an error was told: it was refused.
                        if let Some(fault) = &reported {
                            return ended_by(fault);
                        }
                    }
                    match clock.overdue(&limits, self.context.ledger.idle_for(self.session)) {
                        None => {}
                        Some(Overdue::TimeOver(reason)) => return TurnEnd::TimedOut(reason.to_owned()),
                        Some(Overdue::Silent(reason)) => return failed(reason, Remedy::OtherModel),
                    }
                    if let Some(seconds) = clock.heartbeat() {
                        let reviewer = &self.task.name;
                        let waits_for = self.context.ledger.waits_for(self.session);
                        self.context.progress.report(match waits_for.map(|wait| wait.as_secs()) {
                            Some(seconds) => ProgressEvent::Waiting { reviewer, seconds },
                            None => ProgressEvent::Thinking { reviewer, seconds },
                        });
                    }
                }
            }
        }
    }

    /// The number of answers of the model after which it is stopped: enough to read each patch, and to look around.
    fn max_steps(&self) -> usize {
        if self.is_last {
            return MAX_LAST_STEPS;
        }
        MAX_STEPS.max(self.task.to_read)
    }

    /// The number of calls of tools after which it is stopped. A limit for all reviews must not be below what this session has to read.
    fn max_calls(&self) -> usize {
        let to_read = self.task.to_read;
        if self.is_last {
            return to_read + MAX_LAST_STEPS;
        }
        let limit = usize::try_from(self.context.limits().tool_calls).unwrap_or(usize::MAX);
        limit.max((limit / 2).saturating_add(to_read))
    }

    /// The cause of a stop for the number of calls, with what allows more of them.
    fn called_too_much(&self) -> String {
        let limit = self.context.limits().tool_calls;
        format!(
            "it called tools without coming to an end (the limit `tool_calls` is {limit}; `--limits tool_calls={}` allows more)",
            limit.saturating_mul(2)
        )
    }

    /// The limits in force.
    fn limits(&self) -> AttemptLimits {
        AttemptLimits {
            attempt: self.context.attempt(self.task),
            deadline: self.context.deadline(self.task.deadline),
            limits: self.context.limits(),
        }
    }

    /// The last message of the session, if it can have one.
    async fn last_message(&self) -> Result<Option<String>, RuntimeError> {
        if self.first {
            return Ok(None);
        }
        Ok(self.context.runtime.last_answer(self.session).await?.message)
    }

    /// How the turn ended, if it has: by what its last message says, if that is new. What events tell of errors may be
    /// about the turn before.
    async fn finished(&self, before: Option<&str>) -> Option<TurnEnd> {
        let runtime = &self.context.runtime;
        // Who is not busy has ended its turn, so its answer is whole if it comes after that.
        let (busy, answer) = tokio::join!(
            ask(runtime.is_busy(self.session)),
            ask(runtime.last_answer(self.session))
        );
        let answer = match answer {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => return Some(failed(error.to_string(), Remedy::None)),
            // It has much to do, or hangs: it is asked again until the session has been silent for too long.
            None => return None,
        };
        if answer.message.as_deref() == before {
            return None;
        }
        let end = match &answer.fault {
            Some(fault) if fault.name == ABORTED => return None,
            Some(fault) => ended_by(fault),
            None if answer.finish.as_deref() == Some(FILTERED_END) => {
                TurnEnd::Filtered("the provider's content filter stopped the answer".to_owned())
            }
            None if is_whole(&answer) => TurnEnd::Answered(answer),
            None => return None,
        };
        (!matches!(busy, Some(Ok(true)))).then_some(end)
    }
}

/// The end of a turn that failed.
fn ended_by(fault: &SessionFault) -> TurnEnd {
    if fault.name == OUTPUT_LENGTH {
        return TurnEnd::CutOff;
    }
    if fault.name == FILTERED {
        return TurnEnd::Filtered(in_words(fault));
    }
    failed(in_words(fault), fault.remedy)
}

/// What went wrong, for people. What the gateway says is said as it is; to everything else belongs what it is called.
fn in_words(fault: &SessionFault) -> String {
    let message: String = fault.message.chars().take(300).collect();
    match message.split_once(GATEWAY) {
        Some((_, said)) => said.split(['"', '\n']).next().unwrap_or(said).to_owned(),
        None if message.is_empty() => fault.name.clone(),
        None => format!("{}: {message}", fault.name),
    }
}

fn failed(reason: String, remedy: Remedy) -> TurnEnd {
    TurnEnd::Failed { reason, remedy }
}

/// Asks the runtime how a session is, for a moment; nothing if it does not answer.
async fn ask<T>(question: impl Future<Output = Result<T, RuntimeError>>) -> Option<Result<T, RuntimeError>> {
    timeout(ASK, question).await.ok()
}

/// Whether a message ends a turn: complete, and not one step of several.
fn is_whole(answer: &SessionAnswer) -> bool {
    answer.complete && answer.finish.as_deref() != Some("tool-calls")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_gateway_is_told_without_its_wrapping() {
        let said = |message: &str| {
            in_words(&SessionFault {
                name: "APIError".to_owned(),
                message: message.to_owned(),
                remedy: Remedy::None,
            })
        };
        for (message, words) in [
            ("conclave: no healthy model", "no healthy model"),
            (
                r#"Bad Request: {"error":{"message":"conclave: run budget spent","code":1}}"#,
                "run budget spent",
            ),
            ("Bad Gateway", "APIError: Bad Gateway"),
            ("", "APIError"),
        ] {
            assert_eq!(said(message), words);
        }
    }
}
