//! `OpenAI` Chat Completions: the request.

use super::fields::{arguments, check_stream, list, text, token_limit, tool_names};
use super::{Parsed, Refusal};
use crate::agent;
use crate::cache::{Prompt, Segment};
use crate::model::{Format, Message, ModelRequest, Part, Role, ToolCall};
use serde_json::Value;

pub(super) fn parse(body: &Value) -> Result<Parsed, Refusal> {
    let model = text(body, "model", "")?.to_owned();
    check_stream(body)?;
    let max_tokens = match token_limit(body, "max_completion_tokens")? {
        None => token_limit(body, "max_tokens")?,
        limit => limit,
    };
    let tools = tool_names(&body["tools"], |tool| &tool["function"]["name"])?;
    let mut history = History::default();
    let raw = list(body, "messages")?;
    for (index, message) in raw.iter().enumerate() {
        history.add(index, message)?;
    }
    history.check_answered(raw.len())?;
    let History { system, messages, .. } = history;
    if messages.is_empty() {
        return Err(Refusal::bad("messages: at least one user message is needed"));
    }
    let system = system.join("\n");
    let segments = body["tools"].as_array().into_iter().flatten().chain(raw).map(|piece| {
        let content = piece.to_string();
        let chars = content.chars().count();
        Segment {
            content,
            chars,
            marked: false,
        }
    });
    Ok(Parsed {
        prompt: Prompt {
            partition: model.clone(),
            segments: segments.collect(),
            by_marks: false,
        },
        request: ModelRequest {
            format: Format::ChatCompletions,
            model,
            agent: agent::recognise(&system, &messages),
            turn: agent::turn(&messages),
            system,
            messages,
            tools,
            max_tokens,
        },
        wants_usage: body["stream_options"]["include_usage"] == Value::Bool(true),
    })
}

#[derive(Default)]
struct History {
    system: Vec<String>,
    messages: Vec<Message>,
    open: Vec<String>,
}

impl History {
    fn add(&mut self, index: usize, raw: &Value) -> Result<(), Refusal> {
        let role = raw["role"].as_str().unwrap_or_default();
        if role != "tool" {
            self.check_answered(index)?;
        }
        match role {
            "system" | "developer" => {
                let parts = content(&raw["content"], index)?;
                self.system.extend(parts);
            }
            "user" => {
                let parts = content(&raw["content"], index)?;
                if parts.is_empty() {
                    return Err(Refusal::bad(format!("messages.{index}.content: must not be empty")));
                }
                self.messages.push(Message {
                    role: Role::User,
                    parts: parts.into_iter().flat_map(prompts).map(Part::Text).collect(),
                });
            }
            "assistant" => self.add_assistant(index, raw)?,
            "tool" => self.add_result(index, raw)?,
            _ => return Err(Refusal::bad(format!("Invalid value: '{role}'. messages.{index}.role"))),
        }
        Ok(())
    }

    fn add_assistant(&mut self, index: usize, raw: &Value) -> Result<(), Refusal> {
        if self.messages.last().is_some_and(|last| last.role == Role::Assistant) {
            return Err(Refusal::bad(format!(
                "messages.{index}: two assistant messages in a row"
            )));
        }
        let mut parts = Vec::new();
        if let Some(thinking) = raw["reasoning_content"].as_str() {
            parts.push(Part::Thinking(thinking.to_owned()));
        }
        parts.extend(content(&raw["content"], index)?.into_iter().map(Part::Text));
        for (at, call) in raw["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let place = format!("messages.{index}.tool_calls.{at}");
            if call["type"] != "function" {
                return Err(Refusal::bad(format!("{place}.type: must be 'function'")));
            }
            let id = text(call, "id", &format!("{place}."))?.to_owned();
            self.open.push(id.clone());
            parts.push(Part::ToolCall(ToolCall {
                id,
                name: text(&call["function"], "name", &format!("{place}.function."))?.to_owned(),
                input: arguments(&call["function"]["arguments"], &place)?,
            }));
        }
        if parts.is_empty() {
            return Err(Refusal::bad(format!(
                "messages.{index}: neither content nor tool_calls"
            )));
        }
        self.messages.push(Message {
            role: Role::Assistant,
            parts,
        });
        Ok(())
    }

    fn add_result(&mut self, index: usize, raw: &Value) -> Result<(), Refusal> {
        let id = text(raw, "tool_call_id", &format!("messages.{index}."))?;
        let Some(at) = self.open.iter().position(|open| open == id) else {
            return Err(Refusal::bad(format!(
                "Invalid parameter: messages with role 'tool' must be a response to a preceding message with \
                 'tool_calls'. messages.{index}"
            )));
        };
        self.open.remove(at);
        let part = Part::ToolResult {
            id: id.to_owned(),
            text: content(&raw["content"], index)?.join("\n"),
            is_error: false,
        };
        // All results of one turn are one message, as in the other formats.
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.parts.push(part),
            _ => self.messages.push(Message {
                role: Role::User,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    fn check_answered(&self, index: usize) -> Result<(), Refusal> {
        match self.open.first() {
            Some(id) => Err(Refusal::bad(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. No response before messages.{index}: {id}"
            ))),
            None => Ok(()),
        }
    }
}

/// The shared part of a prompt and the role behind it, which this format has in one text.
fn prompts(text: String) -> Vec<String> {
    match text.rfind("\n\n# Reviewer:") {
        Some(at) => vec![text[..at].to_owned(), text[at + 2..].to_owned()],
        None => vec![text],
    }
}

/// The texts of a content: a string, a list of text parts, or nothing.
fn content(value: &Value, index: usize) -> Result<Vec<String>, Refusal> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match (part["type"].as_str(), part["text"].as_str()) {
                (Some("text"), Some(text)) => Ok(text.to_owned()),
                _ => Err(Refusal::bad(format!(
                    "messages.{index}.content: only text parts are taken"
                ))),
            })
            .collect(),
        _ => Err(Refusal::bad(format!(
            "messages.{index}.content: expected a string or a list"
        ))),
    }
}
