//! Error bodies as providers write them, with the digits and ids that a client must not trip over.

use crate::model::Format;
use serde_json::{Value, json};

/// The body of an error status.
pub(crate) fn body(format: Format, status: u16, message: &str, request_id: &str) -> Value {
    match format {
        Format::Messages => json!({"type": "error", "error": {"type": messages_type(status), "message": message},
                                   "request_id": request_id}),
        Format::ChatCompletions | Format::Responses => {
            let (kind, code) = openai_type(status, message);
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
    }
}

/// What a provider says with this status.
pub(crate) fn message(format: Format, status: u16, model: &str, request_id: &str) -> String {
    let anthropic = format == Format::Messages;
    match status {
        400 => "messages.1: the request could not be processed (took 1500 ms)".to_owned(),
        401 if anthropic => "invalid x-api-key".to_owned(),
        401 => "Incorrect API key provided: sk-proj-********************1504.".to_owned(),
        403 => "Your account does not have access to this resource.".to_owned(),
        404 if anthropic => format!("model: {model}"),
        404 => format!("The model `{model}` does not exist or you do not have access to it."),
        413 => "Request exceeds the maximum size".to_owned(),
        429 if anthropic => {
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute.".to_owned()
        }
        429 => format!(
            "Rate limit reached for {model} on tokens per min (TPM): Limit 30000, Used 29504, Requested 1500. Please \
             try again in 2.008s."
        ),
        529 => "Overloaded".to_owned(),
        503 => "The server is currently overloaded. Please try again later.".to_owned(),
        _ if anthropic => "Internal server error".to_owned(),
        _ => format!(
            "The server had an error while processing your request. Include the request ID {request_id} in your message."
        ),
    }
}

/// What a provider says about a prompt that does not fit.
pub(crate) fn overflow(format: Format, prompt_tokens: u64) -> String {
    match format {
        Format::Messages => format!(
            "prompt is too long: {} tokens > 200000 maximum",
            200_000 + prompt_tokens
        ),
        _ => format!(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in {} tokens. Please \
             reduce the length of the messages.",
            128_000 + prompt_tokens
        ),
    }
}

/// The error event inside a stream.
pub(crate) fn frame(format: Format, kind: &str, message: &str) -> String {
    match format {
        Format::Messages => {
            let data = json!({"type": "error", "error": {"type": kind, "message": message}});
            format!("event: error\ndata: {data}\n\n")
        }
        Format::ChatCompletions => {
            let data = json!({"error": {"message": message, "type": kind, "param": null, "code": kind}});
            format!("data: {data}\n\n")
        }
        Format::Responses => {
            let data = json!({"type": "response.failed", "sequence_number": 99, "response": {"status": "failed",
                              "error": {"code": kind, "message": message}}});
            format!("event: response.failed\ndata: {data}\n\n")
        }
    }
}

fn messages_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        status if status >= 500 => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16, message: &str) -> (&'static str, Value) {
    match status {
        400 if message.starts_with("This model's maximum context length") => {
            ("invalid_request_error", json!("context_length_exceeded"))
        }
        401 => ("invalid_request_error", json!("invalid_api_key")),
        404 => ("invalid_request_error", json!("model_not_found")),
        429 => ("tokens", json!("rate_limit_exceeded")),
        status if status >= 500 => ("server_error", Value::Null),
        _ => ("invalid_request_error", Value::Null),
    }
}
