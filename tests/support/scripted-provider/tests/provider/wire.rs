//! Each wire format, read back by an independent reader.

use crate::client::{FORMATS, KEY, ask, body, continued, request, said};
use conclave_scripted_provider::{Answer, Format, Scripted, ScriptedProvider, Stop};
use serde_json::json;

async fn provider(answer: Answer) -> ScriptedProvider {
    let script = Scripted::new()
        .on("unknown", 1, answer)
        .otherwise(Answer::text("second turn"));
    ScriptedProvider::builder()
        .api_key(KEY)
        .model(script)
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn text_arrives_in_several_pieces_with_usage_and_the_terminal_event() {
    for format in FORMATS {
        let text = "The quick brown fox < & > jumps over \"the\" lazy dog, äöü €.".repeat(5);
        let provider = provider(Answer::text(&text)).await;
        let outcome = ask(&provider.url(), format, &body(format, "m", "You are.", &["hello"], &[])).await;
        let said = said(format, &outcome.events);
        assert_eq!((outcome.status, outcome.broken), (200, false), "{format:?}");
        assert_eq!(said.text, text, "{format:?}");
        assert!(said.deltas > 3 && said.complete, "{format:?}: {said:?}");
        assert_eq!(said.output, text.chars().count().div_ceil(4) as u64, "{format:?}");
        assert!(said.input + said.cache_write > 0, "{format:?}");
        let stop = ["end_turn", "stop", "response.completed"];
        assert!(stop.contains(&said.stop.as_deref().unwrap()), "{format:?}");
        assert_eq!(provider.violations(), [], "{format:?}");
    }
}

#[tokio::test]
async fn thinking_text_and_parallel_calls_come_in_one_turn_and_can_be_answered() {
    for format in FORMATS {
        let answer = Answer::call("read", json!({"filePath": "a b/ü.rs"}))
            .and_call("spawn_reviewers", json!({}))
            .with_text("calling")
            .with_thinking("let me think hard about it");
        let provider = provider(answer).await;
        let first = body(format, "m", "You are.", &["hello"], &["read", "spawn_reviewers"]);
        let turn = said(format, &ask(&provider.url(), format, &first).await.events);
        assert_eq!(
            (turn.text.as_str(), turn.thinking.as_str()),
            ("calling", "let me think hard about it")
        );
        let names: Vec<&str> = turn.calls.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, ["read", "spawn_reviewers"], "{format:?}");
        assert_eq!(turn.calls[0].2, json!({"filePath": "a b/ü.rs"}), "{format:?}");
        assert_eq!(turn.calls[1].2, json!({}), "{format:?}");
        assert_ne!(turn.calls[0].0, turn.calls[1].0, "ids differ");
        let next = continued(format, &first, &turn, &["one", "two"]);
        let second = said(format, &ask(&provider.url(), format, &next).await.events);
        assert_eq!(second.text, "second turn", "{format:?}: {:?}", provider.violations());
        let turns: Vec<usize> = provider.requests().iter().map(|request| request.turn).collect();
        assert_eq!(turns, [1, 2], "{format:?}");
    }
}

#[tokio::test]
async fn the_output_limit_has_its_own_stop_in_each_format() {
    for (format, stop) in FORMATS.into_iter().zip(["max_tokens", "length", "response.incomplete"]) {
        let provider = provider(Answer::text("cut off").with_stop(Stop::MaxTokens)).await;
        let outcome = ask(&provider.url(), format, &body(format, "m", "s", &["hello"], &[])).await;
        let said = said(format, &outcome.events);
        assert_eq!((said.stop.as_deref(), said.complete), (Some(stop), true));
    }
}

#[tokio::test]
async fn chat_completions_sends_usage_only_when_asked() {
    let provider = provider(Answer::text("hi")).await;
    let mut body = body(Format::ChatCompletions, "m", "s", &["hello"], &[]);
    body.as_object_mut().unwrap().remove("stream_options");
    let outcome = ask(&provider.url(), Format::ChatCompletions, &body).await;
    assert!(outcome.events.iter().all(|event| event.get("usage").is_none()));
    assert_eq!(outcome.events.last().unwrap(), "[DONE]");
}

#[tokio::test]
async fn thinking_can_be_sent_back_in_each_format() {
    let thought = [
        (
            Format::Messages,
            "messages",
            json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hmm", "signature": "c2ln"}, {"type": "text", "text": "a"}]}),
        ),
        (
            Format::ChatCompletions,
            "messages",
            json!({"role": "assistant", "content": "a", "reasoning_content": "hmm"}),
        ),
        (
            Format::Responses,
            "input",
            json!({"type": "reasoning", "encrypted_content": "E",
            "summary": [{"type": "summary_text", "text": "hmm"}]}),
        ),
    ];
    for (format, list, message) in thought {
        let provider = provider(Answer::text("hi")).await;
        let mut body = body(format, "m", "s", &["hello"], &[]);
        let history = body[list].as_array_mut().unwrap();
        history.push(message);
        history.push(json!({"role": "user", "content": "Continue."}));
        let outcome = ask(&provider.url(), format, &body).await;
        assert_eq!(
            said(format, &outcome.events).text,
            "second turn",
            "{format:?} {:?}",
            provider.violations()
        );
    }
}

#[tokio::test]
async fn endpoints_work_below_a_prefix_and_other_paths_do_not_exist() {
    let provider = provider(Answer::text("hi")).await;
    let url = format!("{}/openai", provider.url());
    let body = body(Format::Responses, "m", "s", &["hello"], &[]);
    assert_eq!(ask(&url, Format::Responses, &body).await.status, 200);
    assert_eq!(provider.requests()[0].path, "/openai/v1/responses");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let lost = client
        .post(format!("{}/v2/messages", provider.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(lost.status(), 404);
    assert_eq!(provider.violations().len(), 1);
    let health = client.get(format!("{}/health", provider.url())).send().await.unwrap();
    assert_eq!(health.text().await.unwrap(), "ok");
}

#[tokio::test]
async fn requests_keep_the_body_byte_by_byte_and_no_key() {
    let provider = provider(Answer::text("hi")).await;
    let raw = r#"{ "model":"m",  "max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hé"}] }"#;
    let sent = request(&provider.url(), Format::Messages, &json!({}))
        .header("x-session-id", "ses_1")
        .body(raw)
        .send()
        .await
        .unwrap();
    assert_eq!(sent.status(), 200);
    let record = &provider.requests()[0];
    assert_eq!(record.body, raw.as_bytes());
    assert_eq!(
        (record.header("x-session-id"), record.header("x-api-key")),
        (Some("ses_1"), None)
    );
    assert_eq!((record.model.as_str(), record.status), ("m", Some(200)));
    assert_eq!(provider.books().entries[0].session.as_deref(), Some("ses_1"));
}

#[tokio::test]
async fn equal_requests_get_equal_answers_ids_included() {
    for format in FORMATS {
        let provider = provider(Answer::call("read", json!({"a": 1}))).await;
        let body = body(format, "m", "s", &["hello"], &["read"]);
        let one = said(format, &ask(&provider.url(), format, &body).await.events);
        let two = said(format, &ask(&provider.url(), format, &body).await.events);
        assert_eq!(one.calls, two.calls, "{format:?}");
    }
}
