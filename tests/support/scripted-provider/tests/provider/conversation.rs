//! Conversations without HTTP, for the demo model.

use conclave_scripted_provider::{Format, Message, ModelRequest, Part, Role, ToolCall};
use serde_json::Value;

/// The first turn of an agent.
pub(crate) fn request(agent: &str, tools: &[&str]) -> ModelRequest {
    ModelRequest {
        format: Format::Messages,
        model: "m".to_owned(),
        agent: agent.to_owned(),
        turn: 1,
        system: String::new(),
        messages: vec![Message {
            role: Role::User,
            parts: vec![Part::Text("go".to_owned())],
        }],
        tools: tools.iter().map(|&name| name.to_owned()).collect(),
        max_tokens: None,
    }
}

/// One more turn: a call and its result.
pub(crate) fn with_exchange(mut request: ModelRequest, tool: &str, input: &Value, result: &str) -> ModelRequest {
    let id = format!("t{}", request.messages.len());
    request.messages.push(Message {
        role: Role::Assistant,
        parts: vec![Part::ToolCall(ToolCall {
            id: id.clone(),
            name: tool.to_owned(),
            input: input.clone(),
        })],
    });
    request.messages.push(Message {
        role: Role::User,
        parts: vec![Part::ToolResult {
            id,
            text: result.to_owned(),
            is_error: false,
        }],
    });
    request.turn += 1;
    request
}

/// A file as the runtime's `read` tool shows it.
pub(crate) fn read_output(path: &str, text: &str) -> String {
    let lines: String = text
        .lines()
        .enumerate()
        .fold(String::new(), |all, (at, line)| format!("{all}{}: {line}\n", at + 1));
    format!(
        "<path>/ws/{path}</path>\n<type>file</type>\n<content>\n{lines}\n(End of file - total {} lines)\n</content>\n\n\
         <system-reminder>\n99: SELECT * FROM reminders\n</system-reminder>",
        text.lines().count()
    )
}
