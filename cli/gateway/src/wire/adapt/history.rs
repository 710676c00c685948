//! Reasoning of other models in the history.

use serde_json::json;

use super::Fields;

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
