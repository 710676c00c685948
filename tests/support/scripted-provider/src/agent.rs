//! Who asks: told from the prompts, as no header of the runtime names the agent.

use crate::model::{Message, Part, Role};

/// The agent whose system prompt has the line `# Review coordinator`.
pub const COORDINATOR: &str = "coordinator";

/// Anybody else: a title generator, a stray session.
pub const UNKNOWN: &str = "unknown";

/// The agent that sent this system prompt and history.
///
/// A reviewer shows in the last part of the first user message that begins with its role, or else in the last one: what comes
/// before it is text that the author of a merge request can write. More may follow: a client joins what is said to a model
/// that gave an empty answer.
pub(crate) fn recognise(system: &str, messages: &[Message]) -> String {
    if system.lines().any(|line| line.trim_end() == "# Review coordinator") {
        return COORDINATOR.to_owned();
    }
    let role_part = messages
        .iter()
        .find(|message| message.role == Role::User)
        .and_then(|message| {
            let mut texts = message.parts.iter().rev().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let last = texts.clone().next();
            texts.find(|text| text.starts_with("# Reviewer:")).or(last)
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
