//! Errors inside a stream, as `OpenAI`'s formats have them.

use conclave_resilience::classify::{FailureClass, classify, classify_event};
use serde_json::Value;

/// What an error object (or text) means.
pub(super) fn class_of(error: &Value) -> FailureClass {
    let message = error["message"].as_str().unwrap_or_default();
    // Some gateways put the status of their own upstream here.
    if let Some(status) = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) {
        return classify(status, message);
    }
    let kind = error["code"].as_str().or_else(|| error["type"].as_str());
    classify_event(kind.unwrap_or_default(), message)
}
