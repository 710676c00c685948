//! The parameters of `OpenAI`'s Responses, which differ by family of models.

use serde_json::{Map, Value};

use super::clamp;

/// The parameters that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// No reasoning at all: the models before it.
    Plain,
    /// `o1` and its kind: reasoning without a verbosity.
    Early,
    /// Models made for code: no effort below `low`, and one verbosity.
    Codex,
    /// The first of the fifth generation: efforts from `minimal` to `high`.
    First,
    /// Everything newer: `none` in place of `minimal`. One that is not known is taken for a new one.
    Latest,
}

fn family(model: &str) -> Family {
    let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    if model.contains("codex") {
        Family::Codex
    } else if begins(&["gpt-3", "gpt-4", "chatgpt-4"]) {
        Family::Plain
    } else if begins(&["o1", "o3", "o4"]) {
        Family::Early
    } else if model == "gpt-5" || begins(&["gpt-5-"]) {
        Family::First
    } else {
        Family::Latest
    }
}

/// The nearest effort that the family takes.
fn effort(family: Family, asked: &str) -> &str {
    match (family, asked) {
        (Family::Early | Family::Codex, "none" | "minimal") | (Family::Latest, "minimal") => "low",
        (Family::First, "none") => "minimal",
        (Family::Early | Family::First, "xhigh" | "max") => "high",
        _ => asked,
    }
}

/// Makes the parameters valid for the model.
pub(super) fn adapt(fields: &mut Map<String, Value>, model: &str, max_output: Option<u64>) {
    let family = family(model);
    if family == Family::Plain {
        fields.shift_remove("reasoning");
        forget(fields, "include", |list| {
            if let Some(list) = list.as_array_mut() {
                list.retain(|entry| entry != "reasoning.encrypted_content");
            }
        });
    } else {
        fields.shift_remove("temperature");
        fields.shift_remove("top_p");
        if let Some(asked) = fields
            .get_mut("reasoning")
            .and_then(|reasoning| reasoning.get_mut("effort"))
            && let Some(text) = asked.as_str()
        {
            *asked = Value::from(effort(family, text));
        }
    }
    match family {
        Family::Plain | Family::Early => forget(fields, "text", |text| {
            if let Some(text) = text.as_object_mut() {
                text.shift_remove("verbosity");
            }
        }),
        Family::Codex => {
            if let Some(verbosity) = fields.get_mut("text").and_then(|text| text.get_mut("verbosity")) {
                *verbosity = Value::from("medium");
            }
        }
        Family::First | Family::Latest => {}
    }
    clamp(fields, "max_output_tokens", max_output);
}

/// Changes a field, and removes it if nothing is left in it.
fn forget(fields: &mut Map<String, Value>, name: &str, change: impl FnOnce(&mut Value)) {
    let Some(value) = fields.get_mut(name) else { return };
    change(value);
    let empty = match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    };
    if empty {
        fields.shift_remove(name);
    }
}
