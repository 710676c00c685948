//! What the provider refuses, and that it remembers it.

use crate::client::{FORMATS, KEY, ask, body, path, read, request};
use conclave_scripted_provider::{Format, ScriptedProvider};
use serde_json::{Value, json};

async fn provider() -> ScriptedProvider {
    ScriptedProvider::builder()
        .api_key(KEY)
        .models(["m", "claude-opus-4-7", "claude-sonnet-4-5"])
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_wrong_or_missing_key_is_401_in_each_format() {
    for format in FORMATS {
        let provider = provider().await;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let post = || {
            client
                .post(format!("{}{}", provider.url(), path(format)))
                .header("anthropic-version", "2023-06-01")
                .json(&body(format, "m", "s", &["x"], &[]))
        };
        let missing = read(post().send().await.unwrap()).await;
        let wrong = read(post().header("x-api-key", "no").bearer_auth("no").send().await.unwrap()).await;
        for outcome in [missing, wrong] {
            let error: Value = serde_json::from_str(&outcome.body).unwrap();
            assert_eq!(outcome.status, 401, "{format:?}");
            let kind = if format == Format::Messages {
                "authentication_error"
            } else {
                "invalid_request_error"
            };
            assert_eq!(error["error"]["type"], kind, "{format:?}");
        }
        assert_eq!(provider.violations().len(), 2, "{format:?}");
        assert!(provider.books().entries.is_empty(), "{format:?}");
    }
}

#[tokio::test]
async fn the_key_of_one_format_does_not_open_another() {
    let provider = provider().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client
        .post(format!("{}/v1/messages", provider.url()))
        .header("anthropic-version", "2023-06-01")
        .bearer_auth(KEY)
        .json(&body(Format::Messages, "m", "s", &["x"], &[]))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn anthropic_version_is_needed() {
    let provider = provider().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client
        .post(format!("{}/v1/messages", provider.url()))
        .header("x-api-key", KEY)
        .json(&body(Format::Messages, "m", "s", &["x"], &[]))
        .send()
        .await
        .unwrap();
    let outcome = read(response).await;
    assert_eq!(outcome.status, 400);
    assert!(provider.violations()[0].message.contains("anthropic-version"));
}

#[tokio::test]
async fn an_unknown_model_is_404() {
    for format in FORMATS {
        let provider = provider().await;
        let outcome = ask(&provider.url(), format, &body(format, "gone", "s", &["x"], &[])).await;
        assert_eq!(outcome.status, 404, "{format:?}");
        assert!(outcome.body.contains("gone"), "{format:?}");
    }
}

/// Changes a valid body of a format, and expects the refusal to say this.
async fn refuses(format: Format, change: impl FnOnce(&mut Value), says: &str) {
    let provider = provider().await;
    let mut body = body(format, "m", "s", &["x"], &["read"]);
    change(&mut body);
    let outcome = ask(&provider.url(), format, &body).await;
    assert_eq!(outcome.status, 400, "{format:?}: {says}: {}", outcome.body);
    let error: Value = serde_json::from_str(&outcome.body).unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains(says), "{format:?}: {says}: {message}");
    assert_eq!(provider.violations()[0].message, message);
}

fn push(body: &mut Value, list: &str, mut items: Value) {
    let more = items.as_array_mut().unwrap();
    body[list].as_array_mut().unwrap().append(more);
}

#[tokio::test]
async fn common_mistakes_are_refused_in_each_format() {
    for format in FORMATS {
        refuses(format, |body| body["stream"] = json!(false), "stream").await;
        refuses(format, |body| body["model"] = json!(""), "model").await;
        let list = if format == Format::Responses {
            "input"
        } else {
            "messages"
        };
        refuses(format, |body| body[list] = json!([]), list).await;
        refuses(format, |body| push(body, "tools", body["tools"].clone()), "unique").await;
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused() {
    for format in FORMATS {
        let provider = provider().await;
        let sent = request(&provider.url(), format, &json!({}))
            .body("{")
            .send()
            .await
            .unwrap();
        assert_eq!(sent.status(), 400, "{format:?}");
    }
}

#[tokio::test]
async fn messages_refuses_what_anthropic_refuses() {
    let user = json!({"role": "user", "content": "more"});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]});
    let result =
        |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]});
    let format = Format::Messages;
    refuses(format, |b| push(b, "messages", json!([user])), "alternate").await;
    refuses(
        format,
        |b| b["messages"] = json!([{"role": "assistant", "content": "x"}]),
        "first message",
    )
    .await;
    refuses(format, |b| push(b, "messages", json!([call])), "without `tool_result`").await;
    refuses(
        format,
        |b| push(b, "messages", json!([call, user])),
        "without `tool_result`",
    )
    .await;
    refuses(
        format,
        |b| push(b, "messages", json!([call, result("t2")])),
        "unexpected `tool_use_id`",
    )
    .await;
    refuses(
        format,
        |b| {
            push(
                b,
                "messages",
                json!([{"role": "assistant", "content": "x"}, result("t1")]),
            );
        },
        "unexpected `tool_use_id`",
    )
    .await;
    refuses(
        format,
        |b| push(b, "messages", json!([call, result("t1"), call, result("t1")])),
        "unique",
    )
    .await;
    refuses(
        format,
        |b| b["messages"][0]["content"] = json!([{"type": "text", "text": ""}]),
        "non-empty",
    )
    .await;
    refuses(format, |b| b["surprise"] = json!(1), "surprise: Extra inputs").await;
    refuses(format, |b| b["max_tokens"] = Value::Null, "max_tokens").await;
    refuses(format, |b| b["tools"][0]["input_schema"] = Value::Null, "input_schema").await;
    let mark = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    refuses(
        format,
        |b| b["system"] = json!([mark, mark, mark, mark, mark]),
        "maximum of 4",
    )
    .await;
    let unsigned = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]});
    refuses(format, |b| push(b, "messages", json!([unsigned, user])), "signature").await;
}

#[tokio::test]
async fn messages_refuses_parameters_of_another_model() {
    let format = Format::Messages;
    let model = |body: &mut Value, name: &str| body["model"] = json!(name);
    refuses(
        format,
        |b| {
            model(b, "claude-opus-4-7");
            b["temperature"] = json!(0.1);
        },
        "temperature",
    )
    .await;
    refuses(
        format,
        |b| {
            model(b, "claude-sonnet-4-5");
            b["thinking"] = json!({"type": "adaptive"});
        },
        "adaptive",
    )
    .await;
    refuses(
        format,
        |b| b["thinking"] = json!({"type": "enabled", "budget_tokens": 16000}),
        "budget_tokens",
    )
    .await;
}

#[tokio::test]
async fn chat_refuses_calls_and_results_that_do_not_fit() {
    let call = json!({"role": "assistant", "content": "", "tool_calls":
        [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]});
    let broken = json!({"role": "assistant", "content": "", "tool_calls":
        [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c2", "content": "x"});
    let user = json!({"role": "user", "content": "more"});
    let format = Format::ChatCompletions;
    refuses(
        format,
        |b| push(b, "messages", json!([call, user])),
        "must be followed by tool messages",
    )
    .await;
    refuses(
        format,
        |b| push(b, "messages", json!([call])),
        "must be followed by tool messages",
    )
    .await;
    refuses(
        format,
        |b| push(b, "messages", json!([call, result])),
        "must be a response",
    )
    .await;
    refuses(format, |b| push(b, "messages", json!([broken])), "not valid JSON").await;
    refuses(
        format,
        |b| push(b, "messages", json!([{"role": "wizard", "content": "x"}])),
        "wizard",
    )
    .await;
}

#[tokio::test]
async fn responses_refuses_calls_and_results_that_do_not_fit() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "c2", "output": "x"});
    let format = Format::Responses;
    refuses(format, |b| push(b, "input", json!([call])), "No tool output found").await;
    refuses(
        format,
        |b| push(b, "input", json!([call, result])),
        "No tool call found",
    )
    .await;
    refuses(format, |b| push(b, "input", json!([{"type": "riddle"}])), "riddle").await;
}
