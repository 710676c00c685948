//! The failures that a stream reports, in the forms in which servers write them.

use conclave_resilience::classify::{FailureClass, ProviderFault, classify, classify_event};
use serde_json::Value;

use super::Seen;

/// The end of the names of Bedrock's errors.
const EXCEPTION: &str = "Exception";

/// The words of an error object (or text), and its class.
pub(super) fn failed(seen: &mut Seen, error: &Value) -> FailureClass {
    let words = ["message", "detail"].iter().find_map(|name| error[*name].as_str());
    words
        .or_else(|| error.as_str())
        .unwrap_or_default()
        .clone_into(&mut seen.failure);
    class_of(error)
}

/// The words of an event that holds an error, or is one, and its class.
pub(super) fn failed_event(seen: &mut Seen, event: &Value) -> FailureClass {
    let fields = event.as_object().into_iter().flatten();
    let exceptions = fields
        .filter(|(name, _)| name.ends_with(EXCEPTION))
        .map(|(_, value)| value);
    let places = [&event["error"], &event["errors"][0], &event["x_groq"]["error"]];
    let mut errors = places.into_iter().chain(exceptions);
    let error = errors.find(|error| error.is_object() || error.is_string());
    failed(seen, error.unwrap_or(event))
}

/// The words of what a server has sent in place of an event, and its class: of this fault where it does not say another one.
pub(crate) fn failed_text(seen: &mut Seen, said: &[u8], fault: ProviderFault) -> FailureClass {
    let text = String::from_utf8_lossy(said);
    let text = text.trim();
    let (error, fault) = without_name(text).map_or((text, fault), |error| (error, ProviderFault::ServerError));
    if let Ok(event @ (Value::Object(_) | Value::String(_))) = serde_json::from_str(error) {
        return failed_event(seen, &event);
    }
    // Anything but a text is without words.
    if !error.contains(char::REPLACEMENT_CHARACTER) {
        error.clone_into(&mut seen.failure);
    }
    fault.into()
}

/// Returns whether what a server has sent in place of an event is an error object from its beginning to its end.
pub(crate) fn is_whole_error(said: &[u8]) -> bool {
    let text = String::from_utf8_lossy(said);
    let error = without_name(text.trim()).unwrap_or(text.trim());
    serde_json::from_str::<Value>(error).is_ok_and(|error| error.is_object())
}

/// An error that stands in a field of this name, as llama.cpp writes it.
fn without_name(text: &str) -> Option<&str> {
    text.strip_prefix("error:").map(str::trim_start)
}

/// Returns whether an object of Chat Completions without choices is about the answer, as counts and what providers add beside
/// it are. Any other one is an error, whatever its form.
pub(super) fn is_aside(event: &Value) -> bool {
    const ERRORS: [&str; 7] = [
        "error",
        "errors",
        "message",
        "detail",
        "code",
        "statusCode",
        "status_code",
    ];
    const ADDED: [&str; 8] = [
        "usage",
        "prompt_filter_results",
        "prompt_annotations",
        "x_groq",
        "citations",
        "search_results",
        "timings",
        "time_info",
    ];
    let has = |name: &&str| !event[*name].is_null();
    let fails = ERRORS.iter().any(has)
        || event["type"] == "error"
        || !event["x_groq"]["error"].is_null()
        || event
            .as_object()
            .is_some_and(|fields| fields.keys().any(|name| name.ends_with(EXCEPTION)));
    let is_chunk = event["object"]
        .as_str()
        .is_some_and(|object| object.starts_with("chat.completion"))
        || (event["id"].is_string() && ["created", "model"].iter().any(has));
    let is_ping = matches!(
        event["type"].as_str(),
        Some("ping" | "keepalive" | "keep-alive" | "heartbeat")
    );
    !fails && (is_chunk || is_ping || ADDED.iter().any(has))
}

/// The class of an error object (or text).
fn class_of(error: &Value) -> FailureClass {
    const STATUSES: [&str; 5] = ["code", "statusCode", "status_code", "status", "originalStatusCode"];
    let message = error["message"].as_str().unwrap_or_default();
    // Some gateways put the status of their own upstream here.
    let mut statuses = STATUSES.iter().filter_map(|name| error[*name].as_u64());
    let status = statuses.find(|status| (400..600).contains(status));
    if let Some(status) = status.and_then(|status| u16::try_from(status).ok()) {
        return classify(status, message);
    }
    let kind = error["code"].as_str().or_else(|| error["type"].as_str());
    classify_event(kind.unwrap_or_default(), message)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
