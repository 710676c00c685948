//! Both formats of `OpenAI`: counts of tokens, and errors inside of a stream.

use conclave_resilience::classify::{FailureClass, classify, classify_event};
use conclave_shared::pricing::TokenUsage;
use serde_json::Value;

use super::{Seen, counts::count};

/// Takes over the tokens of the prompt and of the answer, which stand under these names with their details beside them. In our kinds,
/// which do not overlap: `OpenAI`'s prompt contains what the cache served, and its answer contains the reasoning.
pub(super) fn take_counts(seen: &mut Seen, usage: &Value, prompt: &str, answer: &str) {
    let (input, output) = (count(&usage[prompt]), count(&usage[answer]));
    if input.is_none() && output.is_none() {
        return;
    }
    let detail = |of: &str, name: &str| count(&usage[format!("{of}_details")][name]).unwrap_or_default();
    let cache_read = detail(prompt, "cached_tokens");
    let cache_write = detail(prompt, "cache_write_tokens");
    let reasoning = detail(answer, "reasoning_tokens");
    let uncached = input.unwrap_or_default().saturating_sub(cache_read);
    seen.usage = Some(TokenUsage {
        input: uncached.saturating_sub(cache_write),
        output: output.unwrap_or_default().saturating_sub(reasoning),
        reasoning,
        cache_read,
        cache_write,
    });
    (seen.counted.prompt, seen.counted.answer) = (input.is_some(), output.is_some());
}

/// The facts about an answer in one piece that says this of its usage.
pub(super) fn counted(usage: &Value, prompt: &str, answer: &str) -> Seen {
    let mut seen = Seen::default();
    take_counts(&mut seen, usage, prompt, answer);
    seen
}

/// The words of an error object (or text), and its class.
pub(super) fn failed(seen: &mut Seen, error: &Value) -> FailureClass {
    let words = error["message"].as_str().or_else(|| error.as_str());
    words.unwrap_or_default().clone_into(&mut seen.failure);
    class_of(error)
}

/// The class of an error object (or text).
fn class_of(error: &Value) -> FailureClass {
    let message = error["message"].as_str().unwrap_or_default();
    // Some gateways put the status of their own upstream here.
    if let Some(status) = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) {
        return classify(status, message);
    }
    let kind = error["code"].as_str().or_else(|| error["type"].as_str());
    classify_event(kind.unwrap_or_default(), message)
}
