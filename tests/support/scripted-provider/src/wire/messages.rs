//! Anthropic Messages: the request.

use super::fields::{check_stream, list, object, text, token_limit, tool_names};
use super::messages_history::{check_calls, read_message};
use super::{Parsed, Refusal, header};
use crate::agent;
use crate::cache::{Prompt, Segment};
use crate::model::{Format, Message, ModelRequest, Role};
use axum::http::HeaderMap;
use serde_json::Value;

const KNOWN: [&str; 19] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "thinking",
    "output_config",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "cache_control",
];
const MAX_MARKS: usize = 4;

pub(super) fn parse(headers: &HeaderMap, body: &Value) -> Result<Parsed, Refusal> {
    match header(headers, "anthropic-version") {
        Some("2023-06-01") => {}
        Some(_) => return Err(Refusal::bad("anthropic-version: not a valid version")),
        None => return Err(Refusal::bad("anthropic-version: header is required")),
    }
    object(body, &KNOWN)?;
    let model = text(body, "model", "")?.to_owned();
    let max_tokens = token_limit(body, "max_tokens")?.ok_or_else(|| Refusal::bad("max_tokens: Field required"))?;
    check_stream(body)?;
    check_parameters(&model, max_tokens, body)?;
    let system = system_blocks(&body["system"])?;
    let tools = tool_names(&body["tools"], |tool| &tool["name"])?;
    let mut prompt = Prompt {
        partition: model.clone(),
        segments: Vec::new(),
        by_marks: true,
    };
    for (index, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        if !tool["input_schema"].is_object() {
            return Err(Refusal::bad(format!("tools.{index}.input_schema: Field required")));
        }
        prompt.segments.push(segment("tool", tool));
    }
    for block in &system {
        prompt.segments.push(segment("system", block));
    }
    let mut messages: Vec<Message> = Vec::new();
    for (index, raw) in list(body, "messages")?.iter().enumerate() {
        let (message, blocks) = read_message(index, raw)?;
        if messages.last().is_some_and(|last| last.role == message.role) {
            return Err(Refusal::bad(format!(
                "messages.{index}: roles must alternate between \"user\" and \"assistant\""
            )));
        }
        let role = raw["role"].as_str().unwrap_or_default();
        prompt.segments.extend(blocks.iter().map(|block| segment(role, block)));
        messages.push(message);
    }
    if messages[0].role != Role::User {
        return Err(Refusal::bad("messages: first message must use the \"user\" role"));
    }
    check_calls(&messages)?;
    let marks = prompt.segments.iter().filter(|segment| segment.marked).count();
    if marks > MAX_MARKS {
        return Err(Refusal::bad(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        )));
    }
    let system = system
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    Ok(Parsed {
        request: ModelRequest {
            format: Format::Messages,
            model,
            agent: agent::recognise(&system, &messages),
            turn: agent::turn(&messages),
            system,
            messages,
            tools,
            max_tokens: Some(max_tokens),
        },
        prompt,
        wants_usage: true,
    })
}

/// The system prompt as blocks; a bare string is one.
fn system_blocks(system: &Value) -> Result<Vec<Value>, Refusal> {
    match system {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![serde_json::json!({"type": "text", "text": text})]),
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                if block["type"] != "text" || block["text"].as_str().is_none_or(str::is_empty) {
                    return Err(Refusal::bad(format!(
                        "system.{index}: text content blocks must be non-empty"
                    )));
                }
            }
            Ok(blocks.clone())
        }
        _ => Err(Refusal::bad("system: Input should be a valid string or list")),
    }
}

/// The parameters that depend on the model, as measured for the models of this table; others take anything.
fn check_parameters(model: &str, max_tokens: u64, body: &Value) -> Result<(), Refusal> {
    let thinking = &body["thinking"];
    if let Some(budget) = thinking["budget_tokens"].as_u64()
        && max_tokens <= budget
    {
        return Err(Refusal::bad(
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ));
    }
    let adaptive = thinking["type"] == "adaptive";
    let has_effort = !body["output_config"]["effort"].is_null();
    match model {
        "claude-opus-4-7" if !body["temperature"].is_null() => {
            Err(Refusal::bad("`temperature` is deprecated for this model."))
        }
        "claude-opus-4-6" | "claude-sonnet-4-6" if !thinking["display"].is_null() => {
            Err(Refusal::bad("thinking.display: Extra inputs are not permitted"))
        }
        "claude-sonnet-4-5" if adaptive => Err(Refusal::bad("adaptive thinking is not supported on this model")),
        "claude-sonnet-4-5" if has_effort => Err(Refusal::bad("This model does not support the effort parameter.")),
        _ => Ok(()),
    }
}

/// A block without its mark, which is no part of what is cached.
fn segment(place: &str, block: &Value) -> Segment {
    let mut bare = block.clone();
    let marked = bare
        .as_object_mut()
        .and_then(|block| block.remove("cache_control"))
        .is_some();
    let chars = match bare["text"].as_str() {
        Some(text) => text.chars().count(),
        None => bare.to_string().chars().count(),
    };
    Segment {
        content: format!("{place} {bare}"),
        chars,
        marked,
    }
}
