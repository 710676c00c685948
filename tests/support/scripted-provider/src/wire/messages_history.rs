//! Anthropic Messages: the history, and whether calls and results fit together.

use super::Refusal;
use super::fields::text;
use crate::model::{Message, Part, Role, ToolCall};
use serde_json::{Value, json};
use std::collections::HashSet;

/// A message, and its blocks as they count for the cache.
pub(super) fn read_message(index: usize, raw: &Value) -> Result<(Message, Vec<Value>), Refusal> {
    let place = format!("messages.{index}");
    let role = match raw["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => {
            return Err(Refusal::bad(format!(
                "{place}.role: Input should be 'user' or 'assistant'"
            )));
        }
    };
    let blocks = match &raw["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) if !blocks.is_empty() => blocks.clone(),
        _ => {
            return Err(Refusal::bad(format!(
                "{place}: all messages must have non-empty content"
            )));
        }
    };
    let parts = blocks
        .iter()
        .enumerate()
        .map(|(at, block)| read_block(role, block, &format!("{place}.content.{at}")))
        .collect::<Result<_, _>>()?;
    Ok((Message { role, parts }, blocks))
}

fn read_block(role: Role, block: &Value, place: &str) -> Result<Part, Refusal> {
    if let Some(mark) = block.get("cache_control")
        && mark["type"] != "ephemeral"
    {
        return Err(Refusal::bad(format!(
            "{place}.cache_control.type: Input should be 'ephemeral'"
        )));
    }
    match (block["type"].as_str().unwrap_or_default(), role) {
        ("text", _) => match block["text"].as_str() {
            Some(text) if !text.trim().is_empty() => Ok(Part::Text(text.to_owned())),
            _ => Err(Refusal::bad(format!("{place}: text content blocks must be non-empty"))),
        },
        ("thinking", Role::Assistant) => {
            text(block, "signature", &format!("{place}."))?;
            let thinking = block["thinking"].as_str().unwrap_or_default();
            Ok(Part::Thinking(thinking.to_owned()))
        }
        ("tool_use", Role::Assistant) => {
            if !block["input"].is_object() {
                return Err(Refusal::bad(format!(
                    "{place}.input: Input should be a valid dictionary"
                )));
            }
            Ok(Part::ToolCall(ToolCall {
                id: text(block, "id", &format!("{place}."))?.to_owned(),
                name: text(block, "name", &format!("{place}."))?.to_owned(),
                input: block["input"].clone(),
            }))
        }
        ("tool_result", Role::User) => Ok(Part::ToolResult {
            id: text(block, "tool_use_id", &format!("{place}."))?.to_owned(),
            text: result_text(&block["content"], place)?,
            is_error: block["is_error"] == Value::Bool(true),
        }),
        (other, _) => Err(Refusal::bad(format!(
            "{place}.type: unexpected `{other}` for this role"
        ))),
    }
}

fn result_text(content: &Value, place: &str) -> Result<String, Refusal> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(blocks) => Ok(blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n")),
        _ => Err(Refusal::bad(format!(
            "{place}.content: Input should be a valid string or list"
        ))),
    }
}

/// Every call is answered by the next message, and every result answers a call of the message before.
pub(super) fn check_calls(messages: &[Message]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut used: HashSet<&str> = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let results: Vec<&str> = ids(message, |part| match part {
            Part::ToolResult { id, .. } => Some(id),
            _ => None,
        });
        if let Some(id) = results.iter().find(|id| !open.contains(id)) {
            return Err(Refusal::bad(format!(
                "messages.{index}.content: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        }
        if (1..results.len()).any(|at| results[..at].contains(&results[at])) {
            return Err(Refusal::bad(format!(
                "messages.{index}.content: each `tool_use` must have a single result"
            )));
        }
        check_answered(index, &open, &results)?;
        open = ids(message, |part| match part {
            Part::ToolCall(call) => Some(&call.id),
            _ => None,
        });
        if !open.iter().all(|id| used.insert(id)) {
            return Err(Refusal::bad(format!("messages.{index}: `tool_use` ids must be unique")));
        }
    }
    check_answered(messages.len(), &open, &[])
}

fn check_answered(index: usize, open: &[&str], results: &[&str]) -> Result<(), Refusal> {
    match open.iter().find(|id| !results.contains(id)) {
        Some(id) => Err(Refusal::bad(format!(
            "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}.",
            index.saturating_sub(1)
        ))),
        None => Ok(()),
    }
}

fn ids(message: &Message, id: impl Fn(&Part) -> Option<&String>) -> Vec<&str> {
    message
        .parts
        .iter()
        .filter_map(|part| id(part).map(String::as_str))
        .collect()
}
