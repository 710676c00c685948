//! The table of answers, and who is taken for whom.

use crate::client::{FORMATS, KEY, ask, body, said};
use conclave_scripted_provider::{Answer, COORDINATOR, Format, Model, ModelRequest, Scripted, ScriptedProvider};
use std::time::Duration;

struct Mirror;

impl Model for Mirror {
    fn answer(&self, request: &ModelRequest) -> Answer {
        Answer::text(format!(
            "{} {} {}",
            request.agent,
            request.turn,
            request.tools.join(",")
        ))
    }
}

async fn agent(format: Format, system: &str, parts: &[&str]) -> String {
    let provider = ScriptedProvider::builder().model(Mirror).start().await.unwrap();
    let outcome = ask(&provider.url(), format, &body(format, "m", system, parts, &["read"])).await;
    said(format, &outcome.events).text
}

#[tokio::test]
async fn agents_are_told_from_the_prompts() {
    for format in FORMATS {
        let shared = "context\n# Reviewer: performance\n";
        assert_eq!(
            agent(format, "s", &[shared, "# Reviewer: security\nLook."]).await,
            "security 1 read"
        );
        assert_eq!(
            agent(format, "s", &["Look.\n# Reviewer: code_quality"]).await,
            "code_quality 1 read"
        );
        assert_eq!(
            agent(format, "s", &[shared, "Look."]).await,
            "unknown 1 read",
            "only the last part counts"
        );
        assert_eq!(
            agent(format, "You.\n# Review coordinator\n", &["go"]).await,
            "coordinator 1 read"
        );
        assert_eq!(
            agent(format, "s", &["# Review coordinator"]).await,
            "unknown 1 read",
            "not in a user's text"
        );
    }
}

#[tokio::test]
async fn the_table_goes_before_the_model_and_can_change() {
    let provider = ScriptedProvider::builder()
        .api_key(KEY)
        .model(Mirror)
        .start()
        .await
        .unwrap();
    let turn = async |text: &str| {
        let body = body(Format::Messages, "m", "# Review coordinator", &[text], &[]);
        said(
            Format::Messages,
            &ask(&provider.url(), Format::Messages, &body).await.events,
        )
        .text
    };
    assert_eq!(turn("a").await, "coordinator 1 ");
    provider.set_always(COORDINATOR, Answer::text("always"));
    assert_eq!(turn("a").await, "always");
    provider.set(COORDINATOR, 1, Answer::text("first"));
    assert_eq!(turn("a").await, "first");
}

#[tokio::test]
async fn a_table_alone_has_defaults() {
    let script = Scripted::new()
        .always("security", Answer::text("mine"))
        .otherwise(Answer::text("other"));
    let provider = ScriptedProvider::builder().model(script).start().await.unwrap();
    for (part, text) in [("# Reviewer: security", "mine"), ("hello", "other")] {
        let outcome = ask(
            &provider.url(),
            Format::Responses,
            &body(Format::Responses, "m", "s", &[part], &[]),
        )
        .await;
        assert_eq!(said(Format::Responses, &outcome.events).text, text);
    }
}

#[tokio::test]
async fn it_can_be_waited_for_and_shuts_down_with_the_last_handle() {
    let provider = ScriptedProvider::builder().start().await.unwrap();
    let url = provider.url();
    assert!(!provider.wait_for_requests(1, Duration::from_millis(20)).await);
    let clone = provider.clone();
    drop(provider);
    let body = body(Format::Messages, "m", "s", &["x"], &[]);
    let client = crate::client::request(&url, Format::Messages, &body);
    assert_eq!(client.send().await.unwrap().status(), 200);
    assert!(clone.wait_for_requests(1, Duration::from_mins(1)).await);
    drop(clone);
    let gone = async {
        while crate::client::request(&url, Format::Messages, &body)
            .send()
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_mins(1), gone).await.is_ok(),
        "it still answers"
    );
}
