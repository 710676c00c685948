//! One turn: from a prompt over as many answers and tool calls as it takes to its end.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use conclave_engine::ports::{Remedy, SessionEvent, SessionFault};
use conclave_gateway::{AnswerCut, Gateway, ModelAnswer, Rejection, Wire};
use conclave_shared::model::ModelId;
use serde_json::Value;

use crate::{
    history::{Answer, Block, Entry, Finish, ToolCall},
    session::Session,
    tools::Offer,
    wire::{Delta, MAX_ANSWER, MAX_PARTS, Request, assembler},
};

/// Number of times that an answer which broke off is asked for again. The gateway ends it earlier.
const MAX_RETRIES: u32 = 5;
/// Wait before the first of them; each later one waits longer by as much.
const RETRY_WAIT: Duration = Duration::from_millis(300);

/// Everything that a turn needs.
pub(crate) struct Turn {
    pub(crate) session: Session,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) wire: Wire,
    pub(crate) model: ModelId,
    pub(crate) system: Arc<str>,
    pub(crate) offer: Offer,
}

impl Turn {
    /// Runs it to its end.
    pub(crate) async fn run(self, number: u64) {
        let fault = self.converse(number).await.err();
        self.session.end(number, fault);
    }

    async fn converse(&self, number: u64) -> Result<(), SessionFault> {
        loop {
            let answer = self.ask_until_whole().await?;
            self.session.recorder.answered(&answer);
            let calls: Vec<ToolCall> = answer.calls().cloned().collect();
            let (message, finish) = (answer.id.clone(), answer.finish);
            self.session.add(number, Entry::Answer(answer));
            self.session
                .tell_of(number, SessionEvent::StepFinished(finish.as_str().to_owned()));
            match finish {
                Finish::ToolCalls => {}
                Finish::ContentFilter => {
                    return Err(fault(
                        "ContentFilterError",
                        "the provider's content filter stopped the answer",
                        Remedy::None,
                    ));
                }
                Finish::Stop | Finish::Length | Finish::None => return Ok(()),
            }
            let results = self.offer.run(calls.clone(), self.max_results()).await;
            for (call, result) in calls.iter().zip(&results) {
                self.session.recorder.result(&message, call, result);
            }
            // Their event may end the turn, and what they brought has to be known by then.
            self.session.add(number, Entry::Results(results));
            for call in &calls {
                let event = SessionEvent::Called {
                    message: message.clone(),
                    id: call.id.clone(),
                    call: number_of(call),
                };
                self.session.tell_of(number, event);
            }
            self.session.tell(SessionEvent::Alive);
        }
    }

    /// Maximum length of the results of one answer's calls, in bytes: about half of the model's context.
    fn max_results(&self) -> usize {
        let context = self.gateway.capabilities(&self.model).context;
        usize::try_from(context.saturating_mul(2)).unwrap_or(usize::MAX)
    }

    /// Asks, and again while answers break off.
    async fn ask_until_whole(&self) -> Result<Answer, SessionFault> {
        let history = self.session.history();
        let tools = self.offer.specs();
        let request = Request {
            model: &self.model,
            capabilities: self.gateway.capabilities(&self.model),
            system: &self.system,
            tools: &tools,
            history: &history,
        };
        let body = Bytes::from(request.body(self.wire).to_string());
        drop(history);
        for attempt in 1..=MAX_RETRIES {
            if let Some(answer) = self.ask(body.clone()).await? {
                return Ok(answer);
            }
            let number = u64::from(attempt);
            self.session.recorder.retrying(number, "the answer broke off");
            self.session.tell(SessionEvent::Retrying { attempt: number });
            tokio::time::sleep(RETRY_WAIT * attempt).await;
        }
        Err(fault(
            "APIError",
            "the model's stream was cut again and again",
            Remedy::OtherModel,
        ))
    }

    /// Asks once; nothing if the answer breaks off.
    async fn ask(&self, body: Bytes) -> Result<Option<Answer>, SessionFault> {
        let provider = self.model.provider();
        let asked = self.gateway.ask(&self.session.id, provider, body).await;
        let mut stream: ModelAnswer = asked.map_err(refused)?;
        let id = self.session.next_message();
        let mut assembler = assembler(self.wire, provider);
        let (mut length, mut reasoning) = (0, String::new());
        while let Some(piece) = stream.next().await {
            let events = match piece {
                Ok(events) => events,
                Err(AnswerCut::Dropped) => return Ok(None),
                Err(AnswerCut::Final(reason)) => return Err(refused(reason)),
            };
            let mut delta = Delta::default();
            for event in &events {
                if event.trim_ascii() == b"[DONE]" {
                    continue;
                }
                // The rest of the answer without this event would be another answer.
                let Ok(event) = serde_json::from_slice::<Value>(event) else {
                    return Ok(None);
                };
                assembler.take(&event, &mut delta);
            }
            length += delta.len();
            if length > MAX_ANSWER || assembler.parts() > MAX_PARTS {
                let text = "the answer is longer than any model's limit";
                return Err(fault("MessageOutputLengthError", text, Remedy::None));
            }
            reasoning.push_str(&delta.thought);
            // Only a part of the answer is a sign of life.
            if delta.len() > 0 {
                self.session.tell(SessionEvent::Alive);
            }
            for (field, text) in [("text", &delta.text), ("reasoning", &delta.thought)] {
                if !text.is_empty() {
                    self.session.recorder.delta(&id, field, text);
                }
            }
        }
        let (mut blocks, finish) = assembler.finish();
        if finish != Finish::ToolCalls {
            // What a filter stopped may hold whole calls. They are not run, and no provider takes a history with a call that has
            // no result.
            blocks.retain(|block| !matches!(block, Block::Call(_)));
        }
        tell_apart(&mut blocks);
        Ok(Some(Answer {
            id,
            blocks,
            reasoning,
            finish,
            fault: None,
        }))
    }
}

fn fault(name: &str, message: &str, remedy: Remedy) -> SessionFault {
    SessionFault {
        name: name.to_owned(),
        message: message.to_owned(),
        remedy,
    }
}

/// Gives calls of one answer that have the same id ids of their own: no provider takes two results of one call back.
fn tell_apart(blocks: &mut [Block]) {
    let mut seen = HashSet::new();
    for block in blocks {
        if let Block::Call(call) = block {
            let given = call.id.clone();
            let mut number = 1;
            while !seen.insert(call.id.clone()) {
                number += 1;
                call.id = format!("{given}_{number}");
            }
        }
    }
}

/// A number that is the same for calls of a tool with the same arguments.
fn number_of(call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.name, Value::Object(call.input()).to_string()).hash(&mut hasher);
    hasher.finish()
}

/// The fault of a call that the gateway refuses.
fn refused(reason: Rejection) -> SessionFault {
    let (name, remedy) = match reason {
        Rejection::NoHealthyModel | Rejection::SwitchedOff => ("APIError", Remedy::OtherProvider),
        Rejection::PromptTooLong => ("ContextOverflowError", Remedy::LessToRead),
        _ => ("APIError", Remedy::None),
    };
    fault(name, reason.marker(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_the_same_id_are_told_apart() {
        let call = |id: &str| Block::Call(ToolCall::new(id.to_owned(), "read".to_owned(), "{}"));
        let mut blocks = [call("a"), call("a_2"), call("b"), call("a"), call("a")];
        tell_apart(&mut blocks);
        let ids: Vec<&str> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::Call(call) => Some(call.id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["a", "a_2", "b", "a_3", "a_4"]);
    }
}
