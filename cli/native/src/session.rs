//! One session: what was said in it, and what is under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conclave_engine::ports::{EarlierMessage, FileRead, Remedy, SessionAnswer, SessionEvent, SessionFault, SessionId};
use tokio::{sync::mpsc, task::AbortHandle};

use crate::{
    events::Recorder,
    history::{Answer, Entry, Finish, ToolResult},
};

/// The error of a turn that was ended from outside.
const ABORTED: &str = "MessageAbortedError";
/// The result of a call that an end from outside has left without one. `OpenCode` says the same.
const CALL_ABORTED: &str = "Tool execution aborted";

/// A session. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) recorder: Recorder,
    watcher: mpsc::UnboundedSender<SessionEvent>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    history: Vec<Entry>,
    /// Number of messages so far; a message's id is made of it.
    messages: u64,
    /// Number of turns so far.
    turns: u64,
    running: Option<Running>,
}

/// A turn that is under way.
#[derive(Debug)]
struct Running {
    turn: u64,
    task: AbortHandle,
}

impl Session {
    pub(crate) fn new(id: SessionId, recorder: Recorder) -> (Self, mpsc::UnboundedReceiver<SessionEvent>) {
        let (watcher, events) = mpsc::unbounded_channel();
        let session = Self {
            id,
            recorder,
            watcher,
            state: Arc::default(),
        };
        (session, events)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is behind the lock is never left half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event. A watcher that has gone does not care any more.
    pub(crate) fn tell(&self, event: SessionEvent) {
        let _ = self.watcher.send(event);
    }

    /// Sends an event of a turn, unless the turn was ended meanwhile: to its watcher it would be one of the next turn.
    pub(crate) fn tell_of(&self, turn: u64, event: SessionEvent) {
        let state = self.state();
        if state.running.as_ref().is_some_and(|running| running.turn == turn) {
            self.tell(event);
        }
    }

    /// The name of the next message.
    pub(crate) fn next_message(&self) -> String {
        let mut state = self.state();
        state.messages += 1;
        self.message(state.messages)
    }

    fn message(&self, number: u64) -> String {
        format!("{}_msg_{number}", self.id)
    }

    /// Adds an entry to what a turn has brought, unless the turn was ended meanwhile: its task may go on for a moment.
    pub(crate) fn add(&self, turn: u64, entry: Entry) {
        let mut state = self.state();
        if state.running.as_ref().is_some_and(|running| running.turn == turn) {
            state.history.push(entry);
        }
    }

    /// A copy of what was said so far.
    pub(crate) fn history(&self) -> Vec<Entry> {
        self.state().history.clone()
    }

    /// Returns whether a turn is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.state().running.is_some()
    }

    /// Begins a turn with its prompt and the task that runs it, unless one is under way.
    pub(crate) fn begin(&self, prompt: Vec<String>, start: impl FnOnce(u64) -> AbortHandle) -> bool {
        let mut state = self.state();
        if state.running.is_some() {
            return false;
        }
        state.history.push(Entry::Prompt(prompt));
        state.turns += 1;
        let turn = state.turns;
        state.running = Some(Running {
            turn,
            task: start(turn),
        });
        true
    }

    /// Ends a turn: with its last entry, or with what went wrong.
    pub(crate) fn end(&self, turn: u64, fault: Option<SessionFault>) {
        let mut state = self.state();
        if state.running.take_if(|running| running.turn == turn).is_none() {
            return;
        }
        self.close(state, fault);
    }

    /// Notes the fault, and that the session is idle.
    fn close(&self, mut state: MutexGuard<'_, State>, fault: Option<SessionFault>) {
        if let Some(fault) = &fault {
            state.messages += 1;
            let answer = Answer {
                id: self.message(state.messages),
                blocks: Vec::new(),
                reasoning: String::new(),
                finish: Finish::None,
                fault: Some(fault.clone()),
            };
            state.history.push(Entry::Answer(answer));
        }
        drop(state);
        if let Some(fault) = fault {
            self.recorder.failed(&fault);
            self.tell(SessionEvent::Error(fault));
        }
        self.recorder.idle();
        self.tell(SessionEvent::Idle);
    }

    /// Ends what the session is doing. Calls without a result get one that says so, because a model wants one for each.
    pub(crate) fn abort(&self) {
        let mut state = self.state();
        let Some(running) = state.running.take() else { return };
        running.task.abort();
        if let Some(Entry::Answer(answer)) = state.history.last() {
            let results: Vec<ToolResult> = answer
                .calls()
                .map(|call| ToolResult {
                    id: call.id.clone(),
                    text: CALL_ABORTED.to_owned(),
                    failed: true,
                    reads: Vec::new(),
                })
                .collect();
            if !results.is_empty() {
                state.history.push(Entry::Results(results));
            }
        }
        let fault = SessionFault {
            name: ABORTED.to_owned(),
            message: "The turn was ended.".to_owned(),
            remedy: Remedy::None,
        };
        self.close(state, Some(fault));
    }

    /// The last answer.
    pub(crate) fn last_answer(&self) -> SessionAnswer {
        let state = self.state();
        let history = &state.history;
        // An answer whose calls have results is one step of several.
        let last = match history.last() {
            Some(Entry::Answer(_)) => history.len() - 1,
            Some(Entry::Results(_)) if history.len() > 1 => history.len() - 2,
            _ => return SessionAnswer::default(),
        };
        let Some(Entry::Answer(answer)) = history.get(last) else {
            return SessionAnswer::default();
        };
        SessionAnswer {
            message: Some(answer.id.clone()),
            text: answer.text(),
            reasoning: answer.reasoning.clone(),
            finish: (answer.finish != Finish::None).then(|| answer.finish.as_str().to_owned()),
            complete: true,
            fault: answer.fault.clone(),
            reads: reads(history),
            earlier: history[..last].iter().filter_map(earlier).collect(),
        }
    }
}

fn reads(history: &[Entry]) -> Vec<FileRead> {
    let results = history.iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results),
        Entry::Prompt(_) | Entry::Answer(_) => None,
    });
    results.flatten().flat_map(|result| result.reads.clone()).collect()
}

/// A message before the last one.
fn earlier(entry: &Entry) -> Option<EarlierMessage> {
    let Entry::Answer(answer) = entry else { return None };
    let text = answer.text();
    (!text.trim().is_empty()).then(|| EarlierMessage {
        id: answer.id.clone(),
        text,
    })
}
