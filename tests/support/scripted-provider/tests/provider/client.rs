//! A client of the three formats, and a little SSE reader of its own.

use conclave_scripted_provider::Format;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "test-key";

pub(crate) const FORMATS: [Format; 3] = [Format::Messages, Format::ChatCompletions, Format::Responses];

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    /// The text of an error.
    pub(crate) body: String,
    /// The data of each event; what is no JSON is a string.
    pub(crate) events: Vec<Value>,
    /// The connection broke inside the body.
    pub(crate) broken: bool,
    pub(crate) retry_after: Option<String>,
}

/// An answer, put together from events.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) thinking: String,
    /// Id, name and arguments.
    pub(crate) calls: Vec<(String, String, Value)>,
    pub(crate) stop: Option<String>,
    /// The terminal event came.
    pub(crate) complete: bool,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) deltas: usize,
}

pub(crate) fn path(format: Format) -> &'static str {
    match format {
        Format::Messages => "/v1/messages",
        Format::ChatCompletions => "/v1/chat/completions",
        Format::Responses => "/v1/responses",
    }
}

/// A request with the right headers.
pub(crate) fn request(url: &str, format: Format, body: &Value) -> RequestBuilder {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{url}{}", path(format))).json(body);
    match format {
        Format::Messages => request
            .header("x-api-key", KEY)
            .header("anthropic-version", "2023-06-01"),
        _ => request.bearer_auth(KEY),
    }
}

pub(crate) async fn ask(url: &str, format: Format, body: &Value) -> Outcome {
    read(request(url, format, body).send().await.unwrap()).await
}

pub(crate) async fn read(mut response: Response) -> Outcome {
    let status = response.status().as_u16();
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let retry_after = header("retry-after");
    let stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let mut bytes = Vec::new();
    let broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Outcome {
        status,
        events: if stream { events(&body) } else { Vec::new() },
        body,
        broken,
        retry_after,
    }
}

/// The data of each complete event.
pub(crate) fn events(body: &str) -> Vec<Value> {
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("data:") {
            data.push(rest.strip_prefix(' ').unwrap_or(rest));
        } else if line.is_empty() && !data.is_empty() {
            let text = data.join("\n");
            events.push(serde_json::from_str(&text).unwrap_or(Value::String(text)));
            data.clear();
        }
    }
    events
}

/// Puts the answer together.
pub(crate) fn said(format: Format, events: &[Value]) -> Said {
    match format {
        Format::Messages => said_in_messages(events),
        Format::ChatCompletions => said_in_chat(events),
        Format::Responses => said_in_responses(events),
    }
}

fn said_in_messages(events: &[Value]) -> Said {
    let mut said = Said::default();
    let mut arguments: Vec<String> = Vec::new();
    let mut open: Option<u64> = None;
    for event in events {
        match event["type"].as_str().unwrap() {
            "message_start" => {
                let usage = &event["message"]["usage"];
                said.input = usage["input_tokens"].as_u64().unwrap();
                said.cache_read = usage["cache_read_input_tokens"].as_u64().unwrap();
                said.cache_write = usage["cache_creation_input_tokens"].as_u64().unwrap();
            }
            "content_block_start" => {
                assert_eq!(open, None, "one block at a time");
                open = event["index"].as_u64();
                let block = &event["content_block"];
                if block["type"] == "tool_use" {
                    let name = block["name"].as_str().unwrap().to_owned();
                    said.calls
                        .push((block["id"].as_str().unwrap().to_owned(), name, Value::Null));
                    arguments.push(String::new());
                }
            }
            "content_block_delta" => {
                assert_eq!(event["index"].as_u64(), open, "a delta of the open block");
                said.deltas += 1;
                let delta = &event["delta"];
                match delta["type"].as_str().unwrap() {
                    "text_delta" => said.text += delta["text"].as_str().unwrap(),
                    "thinking_delta" => said.thinking += delta["thinking"].as_str().unwrap(),
                    "input_json_delta" => *arguments.last_mut().unwrap() += delta["partial_json"].as_str().unwrap(),
                    "signature_delta" => assert!(!delta["signature"].as_str().unwrap().is_empty()),
                    other => panic!("unknown delta {other}"),
                }
            }
            "content_block_stop" => {
                assert_eq!(event["index"].as_u64(), open.take(), "the open block ends");
            }
            "message_delta" => {
                said.stop = event["delta"]["stop_reason"].as_str().map(str::to_owned);
                said.output = event["usage"]["output_tokens"].as_u64().unwrap();
            }
            "message_stop" => said.complete = true,
            "ping" => {}
            other => panic!("unknown event {other}"),
        }
    }
    for (call, text) in said.calls.iter_mut().zip(&arguments) {
        call.2 = serde_json::from_str(text).unwrap_or(Value::Null);
    }
    said
}

fn said_in_chat(events: &[Value]) -> Said {
    let mut said = Said::default();
    let mut arguments: Vec<String> = Vec::new();
    for event in events {
        if event == "[DONE]" {
            said.complete = true;
            continue;
        }
        if let Some(usage) = event.get("usage") {
            said.cache_read = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
            said.input = usage["prompt_tokens"].as_u64().unwrap() - said.cache_read;
            said.output = usage["completion_tokens"].as_u64().unwrap();
        }
        let Some(choice) = event["choices"].get(0) else {
            continue;
        };
        let delta = &choice["delta"];
        said.text += delta["content"].as_str().unwrap_or_default();
        said.thinking += delta["reasoning_content"].as_str().unwrap_or_default();
        said.deltas += 1;
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(part["index"].as_u64().unwrap()).unwrap();
            if let Some(id) = part["id"].as_str() {
                assert_eq!(at, said.calls.len(), "calls in order");
                let name = part["function"]["name"].as_str().unwrap().to_owned();
                said.calls.push((id.to_owned(), name, Value::Null));
                arguments.push(String::new());
            }
            arguments[at] += part["function"]["arguments"].as_str().unwrap();
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            said.stop = Some(reason.to_owned());
        }
    }
    for (call, text) in said.calls.iter_mut().zip(&arguments) {
        call.2 = serde_json::from_str(text).unwrap_or(Value::Null);
    }
    said
}

fn said_in_responses(events: &[Value]) -> Said {
    let mut said = Said::default();
    let mut added: Vec<&str> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(
            event["sequence_number"].as_u64(),
            u64::try_from(at).ok(),
            "numbered without gaps"
        );
        let kind = event["type"].as_str().unwrap();
        if kind.contains("delta") {
            said.deltas += 1;
            assert!(
                added.contains(&event["item_id"].as_str().unwrap()),
                "an item begins before its deltas"
            );
        }
        match kind {
            "response.output_item.added" => added.push(event["item"]["id"].as_str().unwrap()),
            "response.output_text.delta" => said.text += event["delta"].as_str().unwrap(),
            "response.reasoning_summary_text.delta" => said.thinking += event["delta"].as_str().unwrap(),
            "response.output_item.done" if event["item"]["type"] == "function_call" => {
                let item = &event["item"];
                said.calls.push((
                    item["call_id"].as_str().unwrap().to_owned(),
                    item["name"].as_str().unwrap().to_owned(),
                    serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
                ));
            }
            "response.completed" | "response.incomplete" => {
                said.complete = true;
                said.stop = Some(kind.to_owned());
                let usage = &event["response"]["usage"];
                said.cache_read = usage["input_tokens_details"]["cached_tokens"].as_u64().unwrap();
                said.input = usage["input_tokens"].as_u64().unwrap() - said.cache_read;
                said.output = usage["output_tokens"].as_u64().unwrap();
            }
            _ => {}
        }
    }
    said
}

/// A body with one user message of these text parts.
pub(crate) fn body(format: Format, model: &str, system: &str, parts: &[&str], tools: &[&str]) -> Value {
    match format {
        Format::Messages => json!({
            "model": model, "max_tokens": 1000, "stream": true,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content":
                parts.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>()}],
            "tools": tools.iter().map(|name| json!({"name": name, "description": "a tool",
                "input_schema": {"type": "object"}})).collect::<Vec<_>>()}),
        Format::ChatCompletions => json!({
            "model": model, "max_tokens": 1000, "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": system}, {"role": "user", "content":
                parts.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>()}],
            "tools": tools.iter().map(|name| json!({"type": "function", "function":
                {"name": name, "parameters": {"type": "object"}}})).collect::<Vec<_>>()}),
        Format::Responses => json!({
            "model": model, "max_output_tokens": 1000, "stream": true,
            "input": [{"role": "developer", "content": system}, {"role": "user", "content":
                parts.iter().map(|text| json!({"type": "input_text", "text": text})).collect::<Vec<_>>()}],
            "tools": tools.iter().map(|name| json!({"type": "function", "name": name,
                "parameters": {"type": "object"}})).collect::<Vec<_>>()}),
    }
}

/// The body of the next turn: what was said, and a result for each call.
pub(crate) fn continued(format: Format, body: &Value, said: &Said, results: &[&str]) -> Value {
    let mut body = body.clone();
    let list = if format == Format::Responses {
        "input"
    } else {
        "messages"
    };
    let history = body[list].as_array_mut().unwrap();
    assert_eq!(said.calls.len(), results.len(), "a result for each call");
    match format {
        Format::Messages => {
            let mut blocks: Vec<Value> = Vec::new();
            if !said.text.is_empty() {
                blocks.push(json!({"type": "text", "text": said.text}));
            }
            blocks.extend(
                said.calls
                    .iter()
                    .map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input})),
            );
            history.push(json!({"role": "assistant", "content": blocks}));
            let answers = said
                .calls
                .iter()
                .zip(results)
                .map(|((id, ..), text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}));
            history.push(json!({"role": "user", "content": answers.collect::<Vec<_>>()}));
        }
        Format::ChatCompletions => {
            let calls = said.calls.iter().map(|(id, name, input)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}})
            });
            history.push(json!({"role": "assistant", "content": said.text, "tool_calls": calls.collect::<Vec<_>>()}));
            for ((id, ..), text) in said.calls.iter().zip(results) {
                history.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
            }
        }
        Format::Responses => {
            if !said.text.is_empty() {
                history.push(json!({"role": "assistant", "content": [{"type": "output_text", "text": said.text}]}));
            }
            for (id, name, input) in &said.calls {
                let arguments = input.to_string();
                history.push(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
            }
            for ((id, ..), text) in said.calls.iter().zip(results) {
                history.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
            }
        }
    }
    body
}
