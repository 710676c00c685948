//! `OpenAI` Responses: the request.

use super::fields::{arguments, check_stream, list, text, token_limit, tool_names};
use super::{Parsed, Refusal};
use crate::agent;
use crate::cache::{Prompt, Segment};
use crate::model::{Format, Message, ModelRequest, Part, Role, ToolCall};
use serde_json::Value;

pub(super) fn parse(body: &Value) -> Result<Parsed, Refusal> {
    let model = text(body, "model", "")?.to_owned();
    check_stream(body)?;
    let max_tokens = token_limit(body, "max_output_tokens")?;
    let tools = tool_names(&body["tools"], |tool| &tool["name"])?;
    let mut history = History::default();
    history.system.extend(body["instructions"].as_str().map(str::to_owned));
    let input = list(body, "input")?;
    for (index, item) in input.iter().enumerate() {
        history.add(index, item)?;
    }
    if let Some(id) = history.open.first() {
        return Err(Refusal::bad(format!("No tool output found for function call {id}.")));
    }
    let History { system, messages, .. } = history;
    if messages.is_empty() {
        return Err(Refusal::bad("input: at least one user message is needed"));
    }
    let system = system.join("\n");
    let segments = body["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(input)
        .map(|piece| {
            let content = piece.to_string();
            let chars = content.chars().count();
            Segment {
                content,
                chars,
                marked: false,
            }
        });
    // The key routes a request to the machine that has the cache: another key, another cache.
    let cache_key = body["prompt_cache_key"].as_str().unwrap_or_default();
    Ok(Parsed {
        prompt: Prompt {
            partition: format!("{model}\n{cache_key}"),
            segments: segments.collect(),
            by_marks: false,
        },
        request: ModelRequest {
            format: Format::Responses,
            model,
            agent: agent::recognise(&system, &messages),
            turn: agent::turn(&messages),
            system,
            messages,
            tools,
            max_tokens,
        },
        wants_usage: true,
    })
}

#[derive(Default)]
struct History {
    system: Vec<String>,
    messages: Vec<Message>,
    open: Vec<String>,
}

impl History {
    fn add(&mut self, index: usize, item: &Value) -> Result<(), Refusal> {
        let place = format!("input.{index}");
        match item["type"].as_str().unwrap_or("message") {
            "message" => self.add_message(item, &place)?,
            "reasoning" => {
                let summary = item["summary"].as_array().into_iter().flatten();
                let thinking: Vec<&str> = summary.filter_map(|part| part["text"].as_str()).collect();
                self.push(Role::Assistant, Part::Thinking(thinking.join("\n")));
            }
            "function_call" => {
                let id = text(item, "call_id", &format!("{place}."))?.to_owned();
                self.open.push(id.clone());
                let call = ToolCall {
                    id,
                    name: text(item, "name", &format!("{place}."))?.to_owned(),
                    input: arguments(&item["arguments"], &place)?,
                };
                self.push(Role::Assistant, Part::ToolCall(call));
            }
            "function_call_output" => {
                let id = text(item, "call_id", &format!("{place}."))?;
                let at = self.open.iter().position(|open| open == id).ok_or_else(|| {
                    Refusal::bad(format!(
                        "No tool call found for function call output with call_id {id}."
                    ))
                })?;
                self.open.remove(at);
                let part = Part::ToolResult {
                    id: id.to_owned(),
                    text: texts(&item["output"], &place)?.join("\n"),
                    is_error: false,
                };
                self.push(Role::User, part);
            }
            other => return Err(Refusal::bad(format!("Invalid value: '{other}'. {place}.type"))),
        }
        Ok(())
    }

    fn add_message(&mut self, item: &Value, place: &str) -> Result<(), Refusal> {
        let texts = texts(&item["content"], place)?;
        let role = match item["role"].as_str().unwrap_or_default() {
            "system" | "developer" => {
                self.system.extend(texts);
                return Ok(());
            }
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => return Err(Refusal::bad(format!("Invalid value: '{other}'. {place}.role"))),
        };
        if texts.is_empty() {
            return Err(Refusal::bad(format!("{place}.content: must not be empty")));
        }
        for text in texts {
            self.push(role, Part::Text(text));
        }
        Ok(())
    }

    /// Items of one side in a row are one message.
    fn push(&mut self, role: Role, part: Part) {
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.parts.push(part),
            _ => self.messages.push(Message {
                role,
                parts: vec![part],
            }),
        }
    }
}

fn texts(content: &Value, place: &str) -> Result<Vec<String>, Refusal> {
    match content {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match (part["type"].as_str(), part["text"].as_str()) {
                (Some("input_text" | "output_text"), Some(text)) => Ok(text.to_owned()),
                _ => Err(Refusal::bad(format!("{place}.content: only text parts are taken"))),
            })
            .collect(),
        _ => Err(Refusal::bad(format!("{place}.content: expected a string or a list"))),
    }
}
