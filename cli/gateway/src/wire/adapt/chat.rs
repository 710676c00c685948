//! The parameters of Chat Completions.

use std::collections::BTreeSet;

use conclave_resilience::classify::Concession;
use conclave_shared::{
    effort::{Level, ThinkingOff, ThinkingRequest},
    model::ModelId,
};

use super::{Fields, Parameters, history};

/// Writes the parameters for the model.
pub(super) fn write(fields: &mut Fields<'_>, parameters: &Parameters<'_>) {
    match parameters.thinking {
        None => {}
        Some(ThinkingRequest::Adaptive { level, .. } | ThinkingRequest::Effort(level)) => {
            fields.set("reasoning_effort", level.as_str());
        }
        // It thinks only when it is asked to, and may not know the parameter. A budget of tokens has no name here.
        Some(ThinkingRequest::Off(ThinkingOff::Unsent) | ThinkingRequest::Untold | ThinkingRequest::Budget(_)) => {
            fields.remove("reasoning_effort");
        }
        Some(ThinkingRequest::Off(_)) => fields.set("reasoning_effort", Level::None.as_str()),
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        parameters.fit_limit(fields, name);
    }
    parameters.sample(fields);
}

/// Changes what the model has refused, or is known to refuse.
pub(super) fn concede(fields: &mut Fields<'_>, model: &ModelId, concessions: &BTreeSet<Concession>) {
    let has = |concession| concessions.contains(&concession);
    if has(Concession::NoThoughts) {
        history::strip_thoughts(fields);
    }
    if has(Concession::UnsignedCalls) {
        history::mark_unsigned_calls(fields);
    }
    if has(Concession::StrictTurns) {
        history::separate_turns(fields);
    }
    if has(Concession::NoUsage) {
        fields.remove("stream_options");
    }
    if has(Concession::NewerLimit) || wants_newer_limit(model) {
        use_newer_limit(fields);
    }
}

/// Returns whether the model takes `max_completion_tokens` only, as `OpenAI`'s reasoning models do.
fn wants_newer_limit(model: &ModelId) -> bool {
    let families = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
    model.provider() == "openai" && families.iter().any(|family| model.model().starts_with(family))
}

/// Gives the output limit its newer name.
fn use_newer_limit(fields: &mut Fields<'_>) {
    if fields.has("max_completion_tokens") {
        fields.remove("max_tokens");
    } else {
        fields.rename("max_tokens", "max_completion_tokens");
    }
}
