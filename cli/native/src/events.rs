//! The record of a session: events in the form that `OpenCode` has for them, so that one reader knows both.

use conclave_engine::ports::{SessionFault, SessionId};
use conclave_journal::Journal;
use serde_json::{Value, json};

use crate::history::{Answer, Block, ToolCall, ToolResult};

/// Writes what happens in one session.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    journal: Journal,
    session: SessionId,
}

impl Recorder {
    pub(crate) const fn new(journal: Journal, session: SessionId) -> Self {
        Self { journal, session }
    }

    fn event(&self, kind: &str, mut properties: Value, size: usize) {
        properties["sessionID"] = json!(self.session.0);
        // What is around the text is short.
        self.journal
            .append(json!({"type": kind, "properties": properties}), size + 200);
    }

    fn part(&self, message: &str, mut part: Value, size: usize) {
        part["sessionID"] = json!(self.session.0);
        part["messageID"] = json!(message);
        self.event("message.part.updated", json!({"part": part}), size);
    }

    pub(crate) fn created(&self, title: &str) {
        self.event("session.created", json!({"info": {"title": title}}), title.len());
    }

    pub(crate) fn prompted(&self, message: &str, agent: &str, model: &str, parts: &[String]) {
        let info = json!({"id": message, "role": "user", "agent": agent, "model": model});
        self.event("message.updated", json!({"info": info}), 0);
        for text in parts {
            self.part(message, json!({"type": "text", "text": text}), text.len());
        }
        self.event("session.status", json!({"status": {"type": "busy"}}), 0);
    }

    pub(crate) fn delta(&self, message: &str, field: &str, text: &str) {
        let properties = json!({"messageID": message, "field": field, "delta": text});
        self.event("message.part.delta", properties, text.len());
    }

    pub(crate) fn retrying(&self, attempt: u64, reason: &str) {
        let status = json!({"type": "retry", "attempt": attempt, "message": reason});
        self.event("session.status", json!({"status": status}), 0);
    }

    /// An answer that has ended; its calls are not answered yet.
    pub(crate) fn answered(&self, answer: &Answer) {
        for block in &answer.blocks {
            match block {
                Block::Text(text) => self.part(&answer.id, json!({"type": "text", "text": text}), text.len()),
                // Signed reasoning is opaque; what was said of it came as deltas.
                Block::Thought(_) => self.part(&answer.id, json!({"type": "reasoning"}), 0),
                Block::Call(call) => self.call(&answer.id, call, json!({"status": "running"}), 0),
            }
        }
        let finish = answer.finish.as_str();
        self.part(&answer.id, json!({"type": "step-finish", "reason": finish}), 0);
        let info = json!({"id": answer.id, "role": "assistant", "finish": finish});
        self.event("message.updated", json!({"info": info}), 0);
    }

    fn call(&self, message: &str, call: &ToolCall, mut state: Value, size: usize) {
        state["input"] = Value::Object(call.input());
        let part = json!({"type": "tool", "tool": call.name, "callID": call.id, "state": state});
        self.part(message, part, size + call.name.len());
    }

    /// The result of a call of an answer.
    pub(crate) fn result(&self, message: &str, call: &ToolCall, result: &ToolResult) {
        let (status, field) = if result.failed {
            ("error", "error")
        } else {
            ("completed", "output")
        };
        let state = json!({"status": status, field: result.text});
        self.call(message, call, state, result.text.len());
    }

    pub(crate) fn failed(&self, fault: &SessionFault) {
        let error = json!({"name": fault.name, "data": {"message": fault.message}});
        self.event("session.error", json!({"error": error}), fault.message.len());
    }

    pub(crate) fn idle(&self) {
        self.event("session.idle", json!({}), 0);
    }
}
