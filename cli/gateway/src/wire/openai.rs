//! Both formats of `OpenAI`: counts of tokens, and errors inside of a stream.

use conclave_resilience::classify::{FailureClass, classify, classify_event};
use conclave_shared::pricing::TokenUsage;
use serde_json::Value;

use super::counts::count;

/// The tokens in our kinds, which do not overlap: `OpenAI`'s prompt contains what the cache served, and its answer contains
/// the reasoning. Each count comes with its details.
pub(super) fn token_usage(
    (input, of_input): (Option<u64>, &Value),
    (output, of_output): (Option<u64>, &Value),
) -> TokenUsage {
    let cache_read = count(&of_input["cached_tokens"]).unwrap_or_default();
    let cache_write = count(&of_input["cache_write_tokens"]).unwrap_or_default();
    let reasoning = count(&of_output["reasoning_tokens"]).unwrap_or_default();
    let uncached = input.unwrap_or_default().saturating_sub(cache_read);
    TokenUsage {
        input: uncached.saturating_sub(cache_write),
        output: output.unwrap_or_default().saturating_sub(reasoning),
        reasoning,
        cache_read,
        cache_write,
    }
}

/// The class of an error object (or text).
pub(super) fn class_of(error: &Value) -> FailureClass {
    let message = error["message"].as_str().unwrap_or_default();
    // Some gateways put the status of their own upstream here.
    if let Some(status) = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) {
        return classify(status, message);
    }
    let kind = error["code"].as_str().or_else(|| error["type"].as_str());
    classify_event(kind.unwrap_or_default(), message)
}
