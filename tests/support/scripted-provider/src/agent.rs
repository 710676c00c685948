//! Who asks: told from the prompts, as no header of the runtime names the agent.

use crate::model::{Message, Part, Role};

/// The agent whose system prompt has the line `# Review coordinator`.
pub const COORDINATOR: &str = "coordinator";

/// Anybody else: a title generator, a stray session.
pub const UNKNOWN: &str = "unknown";

/// The agent that sent this system prompt and history.
///
/// A reviewer shows in the last text part of the first user message only: what comes before it is text that the author
/// of a merge request can write.
pub(crate) fn recognise(system: &str, messages: &[Message]) -> String {
    if system.lines().any(|line| line.trim_end() == "# Review coordinator") {
        return COORDINATOR.to_owned();
    }
    let role_part = messages
        .iter()
        .find(|message| message.role == Role::User)
        .and_then(|message| {
            message.parts.iter().rev().find_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
    role_part
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("# Reviewer:")))
        .map(str::trim)
        .filter(|name| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .unwrap_or(UNKNOWN)
        .to_owned()
}

/// The turn that this history asks for.
pub(crate) fn turn(messages: &[Message]) -> usize {
    messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .count()
        + 1
}
