//! Anthropic's parameters, which differ by generation of models.

use serde_json::{Map, Value, json};

use super::clamp;

/// The parameters that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// Thinking with a budget of tokens; no effort.
    Budget,
    /// Thinking of its own measure, with an effort up to `high` and `max`.
    Adaptive,
    /// The same with `display` and more efforts, but no sampling parameters.
    Latest,
}

/// The generation of a model. One that is not known is taken for a new one: those take the fewest parameters.
fn generation(model: &str) -> Generation {
    const ADAPTIVE: [&str; 2] = ["opus-4-6", "sonnet-4-6"];
    const BUDGET: [&str; 8] = [
        "opus-4-5",
        "sonnet-4-5",
        "haiku-4-5",
        "opus-4-1",
        "opus-4-2",
        "sonnet-4-2",
        "claude-3-",
        "haiku-3",
    ];
    let is_any = |names: &[&str]| names.iter().any(|name| model.contains(name));
    if is_any(&ADAPTIVE) {
        Generation::Adaptive
    } else if is_any(&BUDGET) {
        Generation::Budget
    } else {
        Generation::Latest
    }
}

/// The tokens that `OpenCode` gives to thinking for an effort, where the model wants a number.
fn budget(effort: &str) -> u64 {
    match effort {
        "max" | "xhigh" => 31_999,
        _ => 16_000,
    }
}

/// Makes the parameters valid for the model.
pub(super) fn adapt(fields: &mut Map<String, Value>, model: &str, max_output: Option<u64>) {
    let generation = generation(model);
    let effort = fields
        .get("output_config")
        .and_then(|config| config.get("effort"))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match generation {
        Generation::Latest => {
            for name in ["temperature", "top_p", "top_k"] {
                fields.shift_remove(name);
            }
            if thinking_is(fields, "enabled") {
                fields.insert("thinking".to_owned(), json!({"type": "adaptive"}));
            }
        }
        Generation::Adaptive => {
            if let Some(thinking) = fields.get_mut("thinking").and_then(Value::as_object_mut) {
                thinking.shift_remove("display");
            }
            if effort == "xhigh" {
                set_effort(fields, Some("high"));
            }
        }
        Generation::Budget => {
            set_effort(fields, None);
            if thinking_is(fields, "adaptive") {
                let tokens = budget(&effort);
                fields.insert(
                    "thinking".to_owned(),
                    json!({"type": "enabled", "budget_tokens": tokens}),
                );
                // The budget is part of the limit: the answer keeps what it had.
                if let Some(limit) = fields.get_mut("max_tokens")
                    && let Some(had) = limit.as_u64()
                {
                    *limit = Value::from(had.saturating_add(tokens));
                }
            }
        }
    }
    clamp(fields, "max_tokens", max_output);
    fit_budget(fields);
    if thinking_is(fields, "enabled") && lacks_opening_thought(fields) {
        fields.shift_remove("thinking");
    }
    if thinking_is(fields, "enabled") || thinking_is(fields, "adaptive") {
        fields.shift_remove("temperature");
    }
}

fn thinking_is(fields: &Map<String, Value>, kind: &str) -> bool {
    fields.get("thinking").is_some_and(|thinking| thinking["type"] == kind)
}

/// Sets or removes the effort and nothing else of its object, which may also hold an output format.
fn set_effort(fields: &mut Map<String, Value>, effort: Option<&str>) {
    let Some(config) = fields.get_mut("output_config").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(effort) = effort {
        config.insert("effort".to_owned(), Value::from(effort));
        return;
    }
    config.shift_remove("effort");
    if config.is_empty() {
        fields.shift_remove("output_config");
    }
}

/// A thinking budget has to stay below the output limit, and above the least that the API takes.
fn fit_budget(fields: &mut Map<String, Value>) {
    const LEAST: u64 = 1024;
    let Some(limit) = fields.get("max_tokens").and_then(Value::as_u64) else {
        return;
    };
    let Some(budget) = fields
        .get_mut("thinking")
        .and_then(|thinking| thinking.get_mut("budget_tokens"))
    else {
        return;
    };
    if budget.as_u64().is_some_and(|tokens| tokens >= limit) {
        if limit > LEAST {
            *budget = Value::from((limit / 2).max(LEAST));
        } else {
            fields.shift_remove("thinking");
        }
    }
}

/// Returns whether the turn that is under way called tools without a thought in front. With a thinking budget the API wants
/// one, and after the reasoning of another model was taken out there is none.
fn lacks_opening_thought(fields: &Map<String, Value>) -> bool {
    let last = fields
        .get("messages")
        .and_then(Value::as_array)
        .and_then(|messages| messages.iter().rev().find(|message| message["role"] == "assistant"));
    let Some(blocks) = last.and_then(|message| message["content"].as_array()) else {
        return false;
    };
    let thinks = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    blocks.iter().any(|block| block["type"] == "tool_use") && !blocks.first().is_some_and(thinks)
}
