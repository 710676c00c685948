//! The parameters of `OpenAI`'s Responses, which differ by family of models.

use conclave_shared::effort::{Level, ThinkingOff, ThinkingRequest};
use serde_json::{Value, json};

use super::{Fields, Parameters};

/// The field of an answer that carries reasoning which only the model can read: it comes back with the next request.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The parameters that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// No reasoning at all: the models before it.
    Plain,
    /// `o1` and its kind: reasoning without a verbosity.
    Early,
    /// Models made for code: one verbosity.
    Codex,
    /// Everything newer. One that is not known is taken for a new one.
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
    } else {
        Family::Latest
    }
}

/// Writes the parameters for the model.
pub(super) fn write(fields: &mut Fields<'_>, parameters: &Parameters<'_>) {
    match parameters.request {
        // It thinks only when it is asked to, and may not know the parameter.
        ThinkingRequest::Off(ThinkingOff::Unsent) => fields.remove("reasoning"),
        ThinkingRequest::Effort(Level::None) | ThinkingRequest::Off(_) => {
            fields.set("reasoning", json!({"effort": Level::None.as_str()}));
        }
        ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level) => {
            fields.set("reasoning", json!({"effort": level.as_str(), "summary": "auto"}));
            include_encrypted(fields);
        }
        ThinkingRequest::Budget(_) | ThinkingRequest::Untold => {}
    }
    if parameters.renames {
        rename(fields, family(parameters.model.model()));
    }
    parameters.fit_limit(fields, "max_output_tokens");
    parameters.sample(fields);
}

/// Asks for the reasoning in the form that comes back: nothing of a review is kept at the provider.
fn include_encrypted(fields: &mut Fields<'_>) {
    let mut include = fields.get("include").unwrap_or_else(|| json!([]));
    if let Some(list) = include.as_array_mut()
        && !list.iter().any(|entry| entry == ENCRYPTED)
    {
        list.push(Value::from(ENCRYPTED));
    }
    fields.set("include", include);
}

/// Removes what was written for another family of models.
fn rename(fields: &mut Fields<'_>, family: Family) {
    if family == Family::Plain {
        fields.remove("reasoning");
        forget(fields, "include", |list| {
            if let Some(list) = list.as_array_mut() {
                list.retain(|entry| entry != ENCRYPTED);
            }
        });
    }
    match family {
        Family::Plain | Family::Early => forget(fields, "text", |text| {
            if let Some(text) = text.as_object_mut() {
                text.shift_remove("verbosity");
            }
        }),
        Family::Codex => fields.change("text", |text| {
            if let Some(verbosity) = text.get_mut("verbosity") {
                *verbosity = Value::from("medium");
            }
        }),
        Family::Latest => {}
    }
}

/// Changes a field, and removes it if nothing is left in it.
fn forget(fields: &mut Fields<'_>, name: &str, change: impl FnOnce(&mut Value)) {
    fields.change(name, change);
    let is_empty = fields.get(name).is_some_and(|value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    });
    if is_empty {
        fields.remove(name);
    }
}
