//! Anthropic's parameters, which differ by generation of models.

use conclave_shared::effort::{Level, ThinkingOff, ThinkingRequest};
use serde_json::{Value, json};

use super::{Fields, Parameters};

/// The least budget of thinking that the API takes.
const MIN_BUDGET: u64 = 1024;

/// Writes the parameters for the model.
pub(super) fn write(fields: &mut Fields<'_>, parameters: &Parameters<'_>) {
    let thinking = match parameters.request {
        ThinkingRequest::Untold if parameters.renames => None,
        ThinkingRequest::Untold => {
            parameters.sample(fields);
            return;
        }
        ThinkingRequest::Off(ThinkingOff::Disabled) => Some(json!({"type": "disabled"})),
        ThinkingRequest::Off(ThinkingOff::BetweenTools) => Some(json!({"type": "between_tools"})),
        ThinkingRequest::Off(ThinkingOff::Unsent | ThinkingOff::Never) | ThinkingRequest::Effort(_) => None,
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
    let level = match parameters.request {
        ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level) => Some(level),
        _ => None,
    };
    set_effort(fields, level.filter(|level| *level > Level::None));
    parameters.fit_limit(fields, "max_tokens");
    parameters.sample(fields);
    if let ThinkingRequest::Budget(tokens) = parameters.request {
        fit_budget(fields, tokens);
        if lacks_opening_thought(fields) {
            fields.remove("thinking");
        }
    }
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

/// A thinking budget has to stay below the output limit, and above the least that the API takes.
fn fit_budget(fields: &mut Fields<'_>, tokens: u64) {
    let limit = fields.get("max_tokens").and_then(|limit| limit.as_u64());
    let Some(limit) = limit.filter(|limit| tokens >= *limit) else {
        return;
    };
    if limit > MIN_BUDGET {
        let tokens = (limit / 2).max(MIN_BUDGET);
        fields.set("thinking", json!({"type": "enabled", "budget_tokens": tokens}));
    } else {
        fields.remove("thinking");
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
