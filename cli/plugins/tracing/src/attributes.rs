//! What spans say: names and numbers of ours, never a text from outside.
//!
//! Names are those of OpenTelemetry's conventions for generative AI where there is one, so that backends know them.

use conclave_engine::ports::{CallOutcome, ModelCall};
use conclave_shared::{
    model::ModelId,
    pricing::TokenUsage,
    telemetry::{ReviewerCompleted, RunCompleted, RunStarted},
};
use opentelemetry::{KeyValue, Value};

fn number(name: &'static str, value: u64) -> KeyValue {
    KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX))
}

fn text(name: &'static str, value: impl Into<Value>) -> KeyValue {
    KeyValue::new(name, value)
}

fn tokens(usage: &TokenUsage) -> Vec<KeyValue> {
    vec![
        // By the conventions, cached tokens are part of the input.
        number(
            "gen_ai.usage.input_tokens",
            usage.input + usage.cache_read + usage.cache_write,
        ),
        number("gen_ai.usage.output_tokens", usage.output + usage.reasoning),
        number("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        number("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
    ]
}

/// The run, once it is planned; nothing before, because what is said twice would be there twice.
pub(crate) fn run_started(run: &RunStarted) -> Vec<KeyValue> {
    let Some(tier) = run.tier else { return Vec::new() };
    vec![
        text("conclave.tier", tier.as_str()),
        text("conclave.forge", run.forge.clone()),
        number("conclave.reviewers", run.reviewers.len() as u64),
    ]
}

/// The run, once it is judged.
pub(crate) fn run_completed(run: &RunCompleted) -> Vec<KeyValue> {
    // The tier was said at its start; said again, it would be there twice.
    let mut attributes = vec![
        text("conclave.verdict", run.verdict.as_str()),
        KeyValue::new("conclave.cost_usd", run.cost_usd),
        number("conclave.files", run.files),
        number("conclave.lines", run.lines),
        number("conclave.findings.critical", run.critical),
        number("conclave.findings.warning", run.warning),
        number("conclave.findings.suggestion", run.suggestion),
        KeyValue::new("conclave.degraded", run.degraded),
    ];
    attributes.extend(tokens(&run.tokens));
    attributes
}

/// A session at its first prompt.
pub(crate) fn session(reviewer: &str, model: &ModelId) -> Vec<KeyValue> {
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", reviewer.to_owned()),
    ];
    attributes.extend(asked(model));
    attributes
}

/// Another prompt of a session.
pub(crate) fn prompt(model: &ModelId, attempt: u32) -> Vec<KeyValue> {
    let mut attributes = vec![number("conclave.attempt", u64::from(attempt))];
    attributes.extend(asked(model));
    attributes
}

fn asked(model: &ModelId) -> [KeyValue; 2] {
    [
        text("gen_ai.provider.name", model.provider().to_owned()),
        text("gen_ai.request.model", model.model().to_owned()),
    ]
}

/// A session at its end.
pub(crate) fn session_ended(session: &ReviewerCompleted) -> Vec<KeyValue> {
    let (mut used, mut cost, mut calls) = (TokenUsage::default(), 0.0, 0);
    for entry in &session.usage {
        used.input += entry.tokens.input;
        used.output += entry.tokens.output;
        used.reasoning += entry.tokens.reasoning;
        used.cache_read += entry.tokens.cache_read;
        used.cache_write += entry.tokens.cache_write;
        cost += entry.cost_usd;
        calls += entry.calls;
    }
    let mut attributes = vec![
        text("conclave.outcome", session.outcome.as_str()),
        KeyValue::new("conclave.cost_usd", cost),
        number("conclave.calls", calls),
    ];
    attributes.extend(tokens(&used));
    attributes
}

/// A request to a provider.
pub(crate) fn call(call: &ModelCall) -> Vec<KeyValue> {
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.response.model", call.model.model().to_owned()),
        text("gen_ai.agent.name", call.reviewer.clone()),
        KeyValue::new("conclave.cost_usd", call.cost_usd),
        text("conclave.outcome", outcome(&call.outcome).to_owned()),
    ];
    attributes.extend(asked(&call.asked));
    attributes.extend(tokens(&call.tokens));
    attributes
}

/// An outcome in a word.
pub(crate) fn outcome(outcome: &CallOutcome) -> &str {
    match outcome {
        CallOutcome::Complete => "ok",
        CallOutcome::Failed(class) => class,
        CallOutcome::Cancelled => "cancelled",
    }
}
