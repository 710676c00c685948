//! `OpenAI` Chat Completions: the stream.

use super::{DECLINED, Frame, Reply, Stage, pieces};
use crate::model::Stop;
use serde_json::{Value, json};

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let id = reply.id("chatcmpl", 1);
    let chunk = |choices: Value| {
        json!({"id": id, "object": "chat.completion.chunk", "created": 1_790_000_000, "model": reply.model,
               "choices": choices})
    };
    let delta = |stage: Stage, chars: usize, delta: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
        Frame::plain(stage, chars, &chunk(choices).to_string())
    };
    let mut frames = vec![delta(Stage::Start, 0, json!({"role": "assistant", "content": ""}))];
    for piece in reply.answer.thinking.iter().flat_map(|thinking| pieces(thinking)) {
        let chars = piece.chars().count();
        frames.push(delta(Stage::Content, chars, json!({"reasoning_content": piece})));
    }
    for piece in [&reply.answer.text, &reply.answer.second_text]
        .into_iter()
        .flat_map(|text| pieces(text))
    {
        let chars = piece.chars().count();
        frames.push(delta(Stage::Content, chars, json!({"content": piece})));
    }
    for (at, call) in reply.answer.tool_calls.iter().enumerate() {
        let head = json!({"tool_calls": [{"index": at, "id": reply.id("call", at), "type": "function",
                                          "function": {"name": call.name, "arguments": ""}}]});
        frames.push(delta(Stage::Content, call.name.chars().count(), head));
        let arguments = pieces(&call.input.to_string());
        let last = arguments.len() - 1;
        for (nth, piece) in arguments.into_iter().enumerate() {
            let stage = if nth == last { Stage::CallDone } else { Stage::Content };
            let chars = piece.chars().count();
            let part = json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]});
            frames.push(delta(stage, chars, part));
        }
    }
    if reply.answer.stop == Stop::Declined {
        frames.push(delta(Stage::Content, 0, json!({"refusal": DECLINED})));
    }
    let reason = match reply.answer.stop {
        Stop::EndTurn | Stop::Declined => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
        Stop::Paused => "paused",
    };
    let stop = chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]));
    frames.push(Frame::plain(Stage::Stop, 0, &stop.to_string()));
    if reply.wants_usage {
        let usage = reply.usage;
        let mut last = chunk(json!([]));
        last["usage"] = json!({
            "prompt_tokens": usage.prompt(), "completion_tokens": usage.output,
            "total_tokens": usage.prompt() + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens()}});
        frames.push(Frame::plain(Stage::Terminal, 0, &last.to_string()));
    }
    frames.push(Frame::plain(Stage::Terminal, 0, "[DONE]"));
    frames
}
