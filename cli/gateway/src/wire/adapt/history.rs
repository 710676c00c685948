//! Changes of the history: reasoning that the model cannot read or does not take, and messages that follow each other.

use serde_json::{Value, json};

use super::Fields;
use crate::wire::carried::OF_THOUGHTS;

/// Google's word for a call without a signature, from its documentation of thought signatures.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The message of the model between two of the other side.
const BETWEEN: &str = "…";

/// Takes the signed reasoning out of a history whose signature the model does not know.
///
/// The model that made it has signed it. Text, calls and results stay. Reasoning in Chat Completions is plain text
/// without a signature, and stays too. What is taken out is the same in each call of a model, so that its own reasoning, which is
/// bound to all that came before it, stays valid.
pub(super) fn strip_foreign_reasoning(fields: &mut Fields<'_>, knows: impl Fn(&str) -> bool) {
    // Responses: reasoning is an item beside the messages.
    fields.change("input", |items| {
        if let Some(items) = items.as_array_mut() {
            items.retain(|item| item["type"] != "reasoning" || item["encrypted_content"].as_str().is_none_or(&knows));
        }
    });
    fields.change("messages", |messages| {
        for message in messages.as_array_mut().into_iter().flatten() {
            if message["role"] != "assistant" {
                continue;
            }
            let Some(blocks) = message["content"].as_array_mut() else {
                continue;
            };
            blocks.retain(|block| {
                let signature = match block["type"].as_str() {
                    Some("thinking") => &block["signature"],
                    Some("redacted_thinking") => &block["data"],
                    _ => return true,
                };
                signature.as_str().is_some_and(&knows)
            });
            // A message must say something, and without it two messages of the user would follow each other.
            if blocks.is_empty() {
                blocks.push(json!({"type": "text", "text": "(no answer)"}));
            }
        }
    });
}

/// Takes all thoughts out of a history of Chat Completions. Signatures of calls stay.
pub(super) fn strip_thoughts(fields: &mut Fields<'_>) {
    fields.change("messages", |messages| {
        let messages = messages.as_array_mut().into_iter().flatten();
        for message in messages.filter_map(Value::as_object_mut) {
            message.retain(|name, _| !OF_THOUGHTS.contains(&name.as_str()));
        }
    });
}

/// Marks the first call of each message that has no signature: Gemini takes this in place of one that another model's call cannot
/// have.
pub(super) fn mark_unsigned_calls(fields: &mut Fields<'_>) {
    fields.change("messages", |messages| {
        for message in messages.as_array_mut().into_iter().flatten() {
            if let Some(Value::Object(call)) = message.pointer_mut("/tool_calls/0") {
                call.entry("extra_content")
                    .or_insert_with(|| json!({"google": {"thought_signature": UNSIGNED}}));
            }
        }
    });
}

/// Puts a message of the model between each message of the user and one of the user or a call's result before it.
pub(super) fn separate_turns(fields: &mut Fields<'_>) {
    fields.change("messages", |messages| {
        let Some(messages) = messages.as_array_mut() else {
            return;
        };
        let all = std::mem::take(messages);
        for message in all {
            let is_from_user = message["role"] == "user";
            let follows = messages
                .last()
                .is_some_and(|last| last["role"] == "user" || last["role"] == "tool");
            if is_from_user && follows {
                messages.push(json!({"role": "assistant", "content": BETWEEN}));
            }
            messages.push(message);
        }
    });
}
