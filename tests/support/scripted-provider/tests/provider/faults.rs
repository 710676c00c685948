//! Every fault, in every format.

use crate::client::{FORMATS, Outcome, ask, body, request, said};
use conclave_scripted_provider::{Answer, Fault, Format, Position, Scripted, ScriptedProvider, Usage};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Longer than anything may take; a test that waits so long has failed.
const LONG: Duration = Duration::from_mins(1);

const TEXT: &str = "The first sentence of a longer answer. The second sentence of a longer answer. The third one.";

async fn provider(fault: Fault) -> ScriptedProvider {
    let calls = Answer::call("read", json!({"filePath": "a"})).and_call("read", json!({"filePath": "b"}));
    let script = Scripted::new().always("security", calls).otherwise(Answer::text(TEXT));
    let provider = ScriptedProvider::builder().model(script).start().await.unwrap();
    provider.inject(fault);
    provider
}

async fn plain(provider: &ScriptedProvider, format: Format) -> Outcome {
    ask(&provider.url(), format, &body(format, "m", "s", &["x"], &["read"])).await
}

async fn calling(provider: &ScriptedProvider, format: Format) -> Outcome {
    ask(
        &provider.url(),
        format,
        &body(format, "m", "s", &["# Reviewer: security"], &["read"]),
    )
    .await
}

#[tokio::test]
async fn statuses_have_provider_like_bodies() {
    for format in FORMATS {
        for code in [400, 401, 403, 404, 413, 429, 500, 503, 529] {
            let provider = provider(Fault::status(code).retry_after(7)).await;
            let outcome = plain(&provider, format).await;
            assert_eq!(
                (outcome.status, outcome.retry_after.as_deref()),
                (code, Some("7")),
                "{format:?}"
            );
            let error: Value = serde_json::from_str(&outcome.body).unwrap();
            assert!(
                !error["error"]["message"].as_str().unwrap().is_empty(),
                "{format:?} {code}"
            );
            assert!(
                !error["error"]["type"].as_str().unwrap().is_empty(),
                "{format:?} {code}"
            );
            if format == Format::Messages {
                assert!(
                    error["request_id"].as_str().unwrap().contains("504"),
                    "digits that look like a status"
                );
            }
            assert!(provider.violations().is_empty(), "a fault is not the client's mistake");
            assert_eq!(provider.books().model("m").usage, Usage::default());
            assert_eq!(provider.requests()[0].status, Some(code));
        }
    }
}

#[tokio::test]
async fn overloaded_says_so_in_anthropics_words() {
    let provider = provider(Fault::status(529)).await;
    let error: Value = serde_json::from_str(&plain(&provider, Format::Messages).await.body).unwrap();
    assert_eq!(
        error["error"],
        json!({"type": "overloaded_error", "message": "Overloaded"})
    );
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_told_in_the_words_of_each_format() {
    for format in FORMATS {
        let provider = provider(Fault::context_overflow()).await;
        let outcome = plain(&provider, format).await;
        let words = if format == Format::Messages {
            "prompt is too long"
        } else {
            "context_length_exceeded"
        };
        assert_eq!(outcome.status, 400);
        assert!(outcome.body.contains(words), "{format:?}: {}", outcome.body);
    }
}

#[tokio::test]
async fn a_fault_hits_only_whom_it_names_and_as_often_as_it_says() {
    let provider = provider(
        Fault::status(503)
            .model("m")
            .agent("security")
            .turn(1)
            .path("/v1")
            .times(2),
    )
    .await;
    let format = Format::Messages;
    assert_eq!(plain(&provider, format).await.status, 200, "another agent");
    let other = body(format, "n", "s", &["# Reviewer: security"], &[]);
    assert_eq!(ask(&provider.url(), format, &other).await.status, 200, "another model");
    let prefixed = format!("{}/anthropic", provider.url());
    let same = body(format, "m", "s", &["# Reviewer: security"], &[]);
    assert_eq!(ask(&prefixed, format, &same).await.status, 200, "another path");
    for status in [503, 503, 200] {
        assert_eq!(calling(&provider, format).await.status, status);
    }
    provider.inject(Fault::status(500).format(Format::Responses));
    assert_eq!(calling(&provider, format).await.status, 200);
    assert_eq!(calling(&provider, Format::Responses).await.status, 500);
    provider.heal();
    assert_eq!(calling(&provider, Format::Responses).await.status, 200);
}

#[tokio::test]
async fn a_hang_sends_not_even_headers() {
    for format in FORMATS {
        let provider = provider(Fault::hang()).await;
        let sending = tokio::spawn(request(&provider.url(), format, &body(format, "m", "s", &["x"], &[])).send());
        assert!(provider.wait_for_requests(1, LONG).await);
        assert!(
            timeout(Duration::from_millis(150), sending).await.is_err(),
            "{format:?}"
        );
        assert_eq!(provider.requests()[0].status, None);
    }
}

#[tokio::test]
async fn a_hang_ends_when_the_provider_goes() {
    let provider = provider(Fault::hang()).await;
    let body = body(Format::Messages, "m", "s", &["x"], &[]);
    let sending = tokio::spawn(request(&provider.url(), Format::Messages, &body).send());
    assert!(provider.wait_for_requests(1, LONG).await);
    drop(provider);
    assert!(timeout(LONG, sending).await.is_ok());
}

#[tokio::test]
async fn a_cut_breaks_the_connection_inside_the_text() {
    for format in FORMATS {
        let provider = provider(Fault::cut()).await;
        let outcome = plain(&provider, format).await;
        let said = said(format, &outcome.events);
        assert!(outcome.broken && outcome.status == 200, "{format:?}");
        assert!(
            !said.text.is_empty() && said.text.len() < TEXT.len() && TEXT.starts_with(&said.text),
            "{format:?}"
        );
        assert!(!said.complete && said.stop.is_none(), "{format:?}");
        let model = provider.books().model("m");
        assert_eq!((model.requests, model.interrupted), (0, 1), "{format:?}");
        assert_eq!(
            model.interrupted_usage.output,
            said.text.chars().count().div_ceil(4) as u64,
            "{format:?}"
        );
        assert!(model.interrupted_usage.prompt() > 0, "{format:?}");
    }
}

#[tokio::test]
async fn a_clean_end_lacks_only_the_terminal_event() {
    for format in FORMATS {
        let provider = provider(Fault::clean_end().at(Position::BeforeTerminal)).await;
        let outcome = plain(&provider, format).await;
        let said = said(format, &outcome.events);
        assert!(!outcome.broken && !said.complete, "{format:?}");
        assert_eq!(said.text, TEXT, "{format:?}");
        assert_eq!(
            said.stop.is_some(),
            format != Format::Responses,
            "{format:?}: the reason of the stop was told"
        );
    }
}

#[tokio::test]
async fn positions_are_where_they_say() {
    for format in FORMATS {
        let at = async |position| {
            let provider = provider(Fault::cut().at(position)).await;
            let outcome = calling(&provider, format).await;
            assert!(outcome.broken, "{format:?} {position:?}");
            (outcome.events.len(), said(format, &outcome.events))
        };
        let (events, _) = at(Position::BeforeFirstFrame).await;
        assert_eq!(events, 0, "{format:?}");
        let (events, start) = at(Position::AfterStart).await;
        assert!(events > 0 && start.calls.is_empty(), "{format:?}");
        let (_, half) = at(Position::MidContent).await;
        assert!(!half.complete && half.stop.is_none(), "{format:?}");
        let (_, one) = at(Position::AfterToolCall).await;
        assert_eq!(one.calls.len(), 1, "{format:?}");
        assert_eq!(
            one.calls[0].2,
            json!({"filePath": "a"}),
            "{format:?}: the call is whole"
        );
        let (_, all) = at(Position::BeforeTerminal).await;
        assert_eq!(all.calls.len(), 2, "{format:?}");
    }
}

#[tokio::test]
async fn a_stall_keeps_the_connection_and_says_nothing_more() {
    for format in FORMATS {
        let provider = provider(Fault::stall()).await;
        let body = body(format, "m", "s", &["x"], &[]);
        let mut response = request(&provider.url(), format, &body).send().await.unwrap();
        let first = timeout(LONG, response.chunk()).await.expect("in time");
        assert!(first.unwrap().is_some(), "{format:?}");
        let more = timeout(Duration::from_millis(200), async {
            while let Ok(Some(_)) = response.chunk().await {}
        });
        assert!(more.await.is_err(), "{format:?}");
    }
}

#[tokio::test]
async fn garbage_is_no_event_of_the_format() {
    for format in FORMATS {
        let provider = provider(Fault::garbage().at(Position::AfterStart)).await;
        let outcome = plain(&provider, format).await;
        assert!(!outcome.broken && outcome.body.contains("<html>"), "{format:?}");
        assert!(
            outcome
                .events
                .iter()
                .any(|event| event.as_str().is_some_and(|text| text != "[DONE]")),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn error_frames_have_the_form_of_the_format() {
    for format in FORMATS {
        let provider = provider(Fault::error_frame("overloaded_error", "Overloaded").at(Position::AfterStart)).await;
        let outcome = plain(&provider, format).await;
        let last = outcome.events.last().unwrap();
        let error = match format {
            Format::Responses => &last["response"]["error"],
            _ => &last["error"],
        };
        let kind = if format == Format::Messages { "type" } else { "code" };
        assert_eq!(
            (error[kind].as_str(), error["message"].as_str()),
            (Some("overloaded_error"), Some("Overloaded"))
        );
    }
}

#[tokio::test]
async fn the_output_limit_halves_the_text_and_drops_the_calls() {
    for (format, stop) in FORMATS.into_iter().zip(["max_tokens", "length", "response.incomplete"]) {
        let provider = provider(Fault::max_tokens()).await;
        let said_plain = said(format, &plain(&provider, format).await.events);
        assert_eq!(said_plain.stop.as_deref(), Some(stop));
        assert_eq!(said_plain.text, TEXT[..TEXT.len().div_ceil(2)]);
        let said_calls = said(format, &calling(&provider, format).await.events);
        assert!(said_calls.calls.is_empty() && !said_calls.text.is_empty());
    }
}

#[tokio::test]
async fn an_empty_answer_is_well_formed() {
    for format in FORMATS {
        let provider = provider(Fault::empty()).await;
        let said = said(format, &plain(&provider, format).await.events);
        assert!(
            said.complete && said.text.is_empty() && said.calls.is_empty(),
            "{format:?}"
        );
        assert_eq!(said.output, 0, "{format:?}");
    }
}

#[tokio::test]
async fn a_slow_answer_takes_its_time_and_is_whole() {
    let provider = provider(Fault::slow(Duration::from_millis(120), 200.0)).await;
    let begin = Instant::now();
    let said = said(Format::Messages, &plain(&provider, Format::Messages).await.events);
    assert!(begin.elapsed() >= Duration::from_millis(220), "{:?}", begin.elapsed());
    assert_eq!(said.text, TEXT);
}
