//! A plain client that talks like the runtime.

use std::sync::LazyLock;

use bytes::Bytes;
use conclave_gateway::Wire;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

pub(crate) const RUN_KEY: &str = "run-key-of-this-run";

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The connection was dropped inside the body.
    pub(crate) broken: bool,
}

impl Outcome {
    /// The message of an error body.
    pub(crate) fn message(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["error"]["message"].as_str().unwrap().to_owned()
    }

    /// A whole answer, ended cleanly with its terminal event.
    pub(crate) fn is_whole(&self) -> bool {
        let ends = ["\"message_stop\"", "data: [DONE]", "\"response.completed\""];
        let terminal = ends.iter().any(|end| self.body.contains(end));
        self.status == 200 && !self.broken && terminal
    }
}

pub(crate) fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "messages",
        Wire::OpenAiChat => "chat/completions",
        Wire::OpenAiResponses => "responses",
    }
}

/// A body as the runtime sends it.
pub(crate) fn body(wire: Wire, model: &str, text: &str) -> Value {
    match wire {
        Wire::Anthropic => json!({"model": model, "max_tokens": 32000,
            "system": [{"type": "text", "text": "You review code.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
            "tools": [{"name": "read", "description": "reads", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"}, "stream": true}),
        Wire::OpenAiChat => json!({"model": model, "max_tokens": 8000,
            "messages": [{"role": "system", "content": "You review code."}, {"role": "user", "content": text}],
            "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
            "tool_choice": "auto", "stream": true, "stream_options": {"include_usage": true}}),
        Wire::OpenAiResponses => json!({"model": model,
            "input": [{"role": "developer", "content": "You review code."},
                      {"role": "user", "content": [{"type": "input_text", "text": text}]}],
            "max_output_tokens": 32000, "store": false, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "ses_a", "reasoning": {"effort": "medium", "summary": "auto"},
            "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": false}],
            "tool_choice": "auto", "stream": true}),
    }
}

/// One client for all tests, without a pool: a connection must not outlive the runtime of its test.
pub(crate) fn http() -> &'static reqwest::Client {
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
        let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
        builder.build().unwrap()
    });
    &CLIENT
}

/// A call with the headers of the runtime.
pub(crate) fn call(base_url: &str, wire: Wire, key: &str, session: &str, body: impl Into<Bytes>) -> RequestBuilder {
    let request = http()
        .post(format!("{base_url}/{}", path(wire)))
        .header("content-type", "application/json")
        .header("user-agent", "opencode/1.18.33")
        .header("accept", "*/*")
        .header("accept-encoding", "gzip, deflate, br, zstd")
        .header("x-session-id", session)
        .header("x-session-affinity", session)
        .header("x-parent-session-id", "ses_parent")
        .body(body.into());
    match wire {
        Wire::Anthropic => request
            .header("x-api-key", key)
            .header("anthropic-version", "2023-06-01")
            .header("anthropic-beta", "structured-outputs-2025-11-13"),
        Wire::OpenAiChat | Wire::OpenAiResponses => request.header("authorization", format!("Bearer {key}")),
    }
}

pub(crate) async fn read(mut response: Response) -> Outcome {
    let headers = response.headers().iter();
    let headers = headers
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    let broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    Outcome {
        status,
        headers,
        body: String::from_utf8(bytes).unwrap(),
        broken,
    }
}
