//! Anthropic's parameters, which differ by generation of models.

use conclave_shared::effort::{Level, ThinkingOff, ThinkingRequest};
use serde_json::{Value, json};

use super::{Fields, Parameters};

/// Writes the parameters for the model.
pub(super) fn write(fields: &mut Fields<'_>, parameters: &Parameters<'_>) {
    if let Some(request) = parameters.thinking {
        think(fields, request);
    }
    parameters.fit_limit(fields, "max_tokens");
    parameters.sample(fields);
}

fn think(fields: &mut Fields<'_>, request: ThinkingRequest) {
    let thinking = match request {
        ThinkingRequest::Off(ThinkingOff::Disabled) => Some(json!({"type": "disabled"})),
        ThinkingRequest::Off(ThinkingOff::BetweenTools) => Some(json!({"type": "between_tools"})),
        ThinkingRequest::Untold
        | ThinkingRequest::Off(ThinkingOff::Unsent | ThinkingOff::Never)
        | ThinkingRequest::Effort(_) => None,
        ThinkingRequest::Budget(_) if lacks_opening_thought(fields) => None,
        ThinkingRequest::Budget(tokens) => Some(json!({"type": "enabled", "budget_tokens": tokens})),
        ThinkingRequest::Adaptive { summarized: true, .. } => {
            Some(json!({"type": "adaptive", "display": "summarized"}))
        }
        ThinkingRequest::Adaptive { .. } => Some(json!({"type": "adaptive"})),
    };
    match thinking {
        Some(thinking) => fields.set("thinking", thinking),
        None => fields.remove("thinking"),
    }
    let level = match request {
        ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level) => Some(level),
        _ => None,
    };
    set_effort(fields, level.filter(|level| *level > Level::None));
}

/// Sets or removes the effort and nothing else of its object, which may also hold an output format.
fn set_effort(fields: &mut Fields<'_>, level: Option<Level>) {
    let mut config = fields.get("output_config").unwrap_or_else(|| json!({}));
    let Some(object) = config.as_object_mut() else {
        return;
    };
    match level {
        Some(level) => {
            object.insert("effort".to_owned(), Value::from(level.as_str()));
        }
        None => {
            object.shift_remove("effort");
        }
    }
    if object.is_empty() {
        fields.remove("output_config");
    } else {
        fields.set("output_config", config);
    }
}

/// Returns whether the turn that is under way called a tool without a thought in front. With a thinking budget the API wants the turn
/// to begin with one, and after the reasoning of another model was taken out there is none. What follows in the turn may be without.
fn lacks_opening_thought(fields: &Fields<'_>) -> bool {
    let messages = fields.get("messages").unwrap_or_default();
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    let is_result = |block: &Value| block["type"] == "tool_result";
    let begins_turn = |message: &Value| {
        let blocks = message["content"].as_array();
        message["role"] == "user" && !blocks.is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(is_result))
    };
    let turn = messages.iter().rposition(begins_turn).unwrap_or_default();
    let first = messages[turn.min(messages.len())..]
        .iter()
        .find(|message| message["role"] == "assistant");
    let Some(blocks) = first.and_then(|message| message["content"].as_array()) else {
        return false;
    };
    let thinks = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    !blocks.first().is_some_and(thinks)
}
