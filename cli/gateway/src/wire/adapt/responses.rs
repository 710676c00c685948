//! The parameters of `OpenAI`'s Responses, which differ by family of models.

use conclave_shared::{
    effort::{Level, ThinkingOff, ThinkingRequest},
    pricing,
};
use serde_json::{Value, json};

use super::{Fields, Parameters};

/// The field of an answer that carries reasoning which only the model can read: it comes back with the next request.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The verbosities that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// None: the models before GPT-5.
    Early,
    /// Models made for code: one.
    Codex,
    /// All: everything newer.
    Latest,
}

fn family(model: &str) -> Family {
    let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    if model.contains("codex") {
        Family::Codex
    } else if begins(&["gpt-3", "gpt-4", "chatgpt-4", "o1", "o3", "o4"]) {
        Family::Early
    } else {
        Family::Latest
    }
}

/// Writes the parameters for the model.
pub(super) fn write(fields: &mut Fields<'_>, parameters: &Parameters<'_>) {
    let facts = pricing::facts(parameters.model);
    match parameters.thinking {
        None => {}
        // A budget of tokens has no name here.
        Some(ThinkingRequest::Untold | ThinkingRequest::Budget(_)) => {
            fields.remove("reasoning");
            // A model that does not reason refuses to be asked for its reasoning.
            if parameters.bare || facts.is_none_or(|facts| !facts.reasoning) {
                forget_encrypted(fields);
            }
        }
        // It thinks only when it is asked to, and may not know the parameter.
        Some(ThinkingRequest::Off(ThinkingOff::Unsent)) => fields.remove("reasoning"),
        Some(ThinkingRequest::Effort(Level::None) | ThinkingRequest::Off(_)) => {
            fields.set("reasoning", json!({"effort": Level::None.as_str()}));
        }
        Some(ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level)) => {
            fields.set("reasoning", json!({"effort": level.as_str(), "summary": "auto"}));
            include_encrypted(fields);
        }
    }
    // The runtime writes a verbosity because of the model's name.
    if parameters.bare || facts.is_none() {
        forget_verbosity(fields);
    } else if parameters.renames {
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

fn forget_encrypted(fields: &mut Fields<'_>) {
    forget(fields, "include", |list| {
        if let Some(list) = list.as_array_mut() {
            list.retain(|entry| entry != ENCRYPTED);
        }
    });
}

/// Changes what was written for another family of models.
fn rename(fields: &mut Fields<'_>, family: Family) {
    match family {
        Family::Early => forget_verbosity(fields),
        Family::Codex => fields.change("text", |text| {
            if let Some(verbosity) = text.get_mut("verbosity") {
                *verbosity = Value::from("medium");
            }
        }),
        Family::Latest => {}
    }
}

fn forget_verbosity(fields: &mut Fields<'_>) {
    forget(fields, "text", |text| {
        if let Some(text) = text.as_object_mut() {
            text.shift_remove("verbosity");
        }
    });
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
