//! `OpenAI` Responses: the stream.

use super::{DECLINED, Frame, Reply, Stage, pieces};
use crate::model::Stop;
use serde_json::{Value, json};

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let mut stream = Stream::default();
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({"id": reply.id("resp", 1), "object": "response", "created_at": 1_790_000_000, "status": status,
               "model": reply.model, "output": output, "usage": usage})
    };
    for kind in ["response.created", "response.in_progress"] {
        let event = json!({"type": kind, "response": response("in_progress", &[], Value::Null)});
        stream.push(Stage::Start, 0, event);
    }
    if let Some(thinking) = &reply.answer.thinking {
        stream.reasoning(&reply.id("rs", 1), thinking);
    }
    if !reply.answer.text.is_empty() {
        stream.message(&reply.id("msg", 1), &reply.answer.text);
    }
    if !reply.answer.second_text.is_empty() {
        stream.message(&reply.id("msg", 2), &reply.answer.second_text);
    }
    if reply.answer.stop == Stop::Declined {
        stream.refusal(&reply.id("msg", 3));
    }
    for (at, call) in reply.answer.tool_calls.iter().enumerate() {
        stream.call(
            &reply.id("fc", at),
            &reply.id("call", at),
            &call.name,
            &call.input.to_string(),
        );
    }
    let usage = reply.usage;
    let usage = json!({
        "input_tokens": usage.prompt(), "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens()},
        "total_tokens": usage.prompt() + usage.output});
    let reason = match reply.answer.stop {
        Stop::MaxTokens => Some("max_output_tokens"),
        Stop::Refusal => Some("content_filter"),
        Stop::EndTurn | Stop::ToolUse | Stop::Paused | Stop::Declined => None,
    };
    let event = if let Some(reason) = reason {
        let mut response = response("incomplete", &stream.output, usage);
        response["incomplete_details"] = json!({"reason": reason});
        json!({"type": "response.incomplete", "response": response})
    } else {
        let status = if reply.answer.stop == Stop::Paused {
            "incomplete"
        } else {
            "completed"
        };
        json!({"type": "response.completed", "response": response(status, &stream.output, usage)})
    };
    stream.push(Stage::Terminal, 0, event);
    stream.frames
}

#[derive(Default)]
struct Stream {
    frames: Vec<Frame>,
    output: Vec<Value>,
}

impl Stream {
    fn push(&mut self, stage: Stage, chars: usize, mut event: Value) {
        event["sequence_number"] = json!(self.frames.len());
        self.frames.push(Frame::named(stage, chars, &event));
    }

    fn added(&mut self, chars: usize, item: &Value) {
        let event = json!({"type": "response.output_item.added", "output_index": self.output.len(), "item": item});
        self.push(Stage::Content, chars, event);
    }

    fn done(&mut self, stage: Stage, item: Value) {
        let event = json!({"type": "response.output_item.done", "output_index": self.output.len(), "item": item});
        self.push(stage, 0, event);
        self.output.push(item);
    }

    /// The deltas of a text, with the fields that say where it belongs.
    fn deltas(&mut self, kind: &str, place: &Value, text: &str) {
        for piece in pieces(text) {
            let mut event = place.clone();
            event["type"] = json!(kind);
            let chars = piece.chars().count();
            event["delta"] = json!(piece);
            self.push(Stage::Content, chars, event);
        }
    }

    /// One event with the fields that say where it belongs, and one more.
    fn single(&mut self, kind: &str, place: &Value, field: &str, value: Value) {
        let mut event = place.clone();
        event["type"] = json!(kind);
        event[field] = value;
        self.push(Stage::Content, 0, event);
    }

    fn reasoning(&mut self, id: &str, text: &str) {
        self.added(0, &json!({"id": id, "type": "reasoning", "summary": []}));
        let place = json!({"item_id": id, "output_index": self.output.len(), "summary_index": 0});
        let empty = json!({"type": "summary_text", "text": ""});
        self.single("response.reasoning_summary_part.added", &place, "part", empty);
        self.deltas("response.reasoning_summary_text.delta", &place, text);
        self.single("response.reasoning_summary_text.done", &place, "text", json!(text));
        let part = json!({"type": "summary_text", "text": text});
        self.single("response.reasoning_summary_part.done", &place, "part", part.clone());
        let item = json!({"id": id, "type": "reasoning", "summary": [part], "encrypted_content": format!("enc-{id}")});
        self.done(Stage::Content, item);
    }

    fn message(&mut self, id: &str, text: &str) {
        let open = json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        self.added(0, &open);
        let place = json!({"item_id": id, "output_index": self.output.len(), "content_index": 0});
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        self.single("response.content_part.added", &place, "part", part(""));
        self.deltas("response.output_text.delta", &place, text);
        self.single("response.output_text.done", &place, "text", json!(text));
        self.single("response.content_part.done", &place, "part", part(text));
        let item = json!({"id": id, "type": "message", "status": "completed", "role": "assistant",
                          "content": [part(text)]});
        self.done(Stage::Content, item);
    }

    fn refusal(&mut self, id: &str) {
        let open = json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        self.added(0, &open);
        let place = json!({"item_id": id, "output_index": self.output.len(), "content_index": 0});
        let part = |text: &str| json!({"type": "refusal", "refusal": text});
        self.single("response.content_part.added", &place, "part", part(""));
        self.deltas("response.refusal.delta", &place, DECLINED);
        self.single("response.refusal.done", &place, "refusal", json!(DECLINED));
        self.single("response.content_part.done", &place, "part", part(DECLINED));
        let item = json!({"id": id, "type": "message", "status": "completed", "role": "assistant",
                          "content": [part(DECLINED)]});
        self.done(Stage::Content, item);
    }

    fn call(&mut self, id: &str, call_id: &str, name: &str, arguments: &str) {
        let item = |status: &str, arguments: &str| {
            json!({"id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                   "arguments": arguments})
        };
        self.added(name.chars().count(), &item("in_progress", ""));
        let place = json!({"item_id": id, "output_index": self.output.len()});
        self.deltas("response.function_call_arguments.delta", &place, arguments);
        self.single(
            "response.function_call_arguments.done",
            &place,
            "arguments",
            json!(arguments),
        );
        self.done(Stage::CallDone, item("completed", arguments));
    }
}
