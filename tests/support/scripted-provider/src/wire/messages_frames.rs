//! Anthropic Messages: the stream.

use super::{Frame, Reply, Stage, pieces};
use crate::model::Stop;
use serde_json::{Value, json};

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let usage = reply.usage;
    let mut frames = vec![
        Frame::named(
            Stage::Start,
            0,
            &json!({"type": "message_start", "message": {
                "id": reply.id("msg", 1), "type": "message", "role": "assistant", "model": reply.model, "content": [],
                "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
                          "cache_read_input_tokens": usage.cache_read, "output_tokens": 1}}}),
        ),
        Frame::named(Stage::Start, 0, &json!({"type": "ping"})),
    ];
    let mut index = 0;
    if let Some(thinking) = &reply.answer.thinking {
        let deltas = pieces(thinking)
            .into_iter()
            .map(|piece| {
                (
                    piece.chars().count(),
                    json!({"type": "thinking_delta", "thinking": piece}),
                )
            })
            .chain([(
                0,
                json!({"type": "signature_delta", "signature": reply.id("sig", index)}),
            )]);
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(&mut frames, &mut index, &start, deltas, Stage::Content);
    }
    for text in [&reply.answer.text, &reply.answer.second_text] {
        if text.is_empty() {
            continue;
        }
        let deltas = pieces(text)
            .into_iter()
            .map(|piece| (piece.chars().count(), json!({"type": "text_delta", "text": piece})));
        let start = json!({"type": "text", "text": ""});
        block(&mut frames, &mut index, &start, deltas, Stage::Content);
    }
    for (at, call) in reply.answer.tool_calls.iter().enumerate() {
        let deltas = pieces(&call.input.to_string()).into_iter().map(|piece| {
            (
                piece.chars().count(),
                json!({"type": "input_json_delta", "partial_json": piece}),
            )
        });
        let start = json!({"type": "tool_use", "id": reply.id("toolu", at), "name": call.name, "input": {}});
        block(&mut frames, &mut index, &start, deltas, Stage::CallDone);
    }
    let reason = match reply.answer.stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal | Stop::Declined => "refusal",
        Stop::Paused => "pause_turn",
    };
    frames.push(Frame::named(
        Stage::Stop,
        0,
        &json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
                "usage": {"output_tokens": usage.output}}),
    ));
    frames.push(Frame::named(Stage::Terminal, 0, &json!({"type": "message_stop"})));
    frames
}

fn block(
    frames: &mut Vec<Frame>,
    index: &mut usize,
    start: &Value,
    deltas: impl Iterator<Item = (usize, Value)>,
    done: Stage,
) {
    let name_chars = start["name"].as_str().map_or(0, |name| name.chars().count());
    frames.push(Frame::named(
        Stage::Content,
        name_chars,
        &json!({"type": "content_block_start", "index": index, "content_block": start}),
    ));
    frames.extend(deltas.map(|(chars, delta)| {
        let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
        Frame::named(Stage::Content, chars, &data)
    }));
    let stop = json!({"type": "content_block_stop", "index": index});
    frames.push(Frame::named(done, 0, &stop));
    *index += 1;
}
