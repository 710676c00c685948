//! The books: what is told in the stream is what is booked, and the cache does what a real one does.

use crate::client::{FORMATS, Said, ask, body, continued, said};
use conclave_scripted_provider::{Answer, Format, Scripted, ScriptedProvider, Usage};
use serde_json::{Value, json};

async fn provider() -> ScriptedProvider {
    let script = Scripted::new().on("unknown", 1, Answer::call("read", json!({"filePath": "a"})));
    ScriptedProvider::builder().model(script).start().await.unwrap()
}

async fn turn(provider: &ScriptedProvider, format: Format, body: &Value) -> Said {
    said(format, &ask(&provider.url(), format, body).await.events)
}

fn told(said: &Said) -> Usage {
    Usage {
        input: said.input,
        output: said.output,
        cache_read: said.cache_read,
        cache_write: said.cache_write,
    }
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

#[tokio::test]
async fn the_books_are_what_the_streams_told() {
    for format in FORMATS {
        let provider = provider().await;
        let first = body(format, "m", &"You are a reviewer. ".repeat(100), &["hello"], &["read"]);
        let one = turn(&provider, format, &first).await;
        let two = turn(
            &provider,
            format,
            &continued(format, &first, &one, &["the text of a file"]),
        )
        .await;
        let mut sum = told(&one);
        sum += told(&two);
        let model = provider.books().model("m");
        assert_eq!(
            (model.requests, model.usage, model.interrupted),
            (2, sum, 0),
            "{format:?}"
        );
        assert!(
            two.cache_read > 400,
            "{format:?}: the second turn reads the prefix of the first: {two:?}"
        );
        let entries = provider.books().entries;
        assert_eq!(
            (entries[1].turn, entries[1].agent.as_str(), entries[1].finished),
            (2, "unknown", true)
        );
        assert_eq!(provider.books().model("other").requests, 0);
    }
}

#[tokio::test]
async fn messages_writes_at_marks_and_reads_up_to_them() {
    let provider = provider().await;
    let make = |system: Vec<Value>, text: &str| {
        json!({"model": "m", "max_tokens": 9, "stream": true,
        "system": system, "messages": [{"role": "user", "content": text}]})
    };
    let shared = "x".repeat(4000);
    let one = turn(&provider, Format::Messages, &make(vec![marked(&shared)], "first")).await;
    assert_eq!((one.cache_write, one.cache_read, one.input), (1000, 0, 2));
    let two = turn(&provider, Format::Messages, &make(vec![marked(&shared)], "second!!")).await;
    assert_eq!((two.cache_write, two.cache_read, two.input), (0, 1000, 2));
    let bare = turn(
        &provider,
        Format::Messages,
        &make(vec![json!({"type": "text", "text": shared})], "third"),
    )
    .await;
    assert_eq!(
        (bare.cache_write, bare.cache_read, bare.input),
        (0, 0, 1002),
        "no mark, no cache"
    );
    let more = vec![marked(&shared), marked(&"y".repeat(400))];
    let four = turn(&provider, Format::Messages, &make(more, "first")).await;
    assert_eq!((four.cache_write, four.cache_read, four.input), (100, 1000, 2));
    let changed = vec![marked(&format!("{shared}!"))];
    let five = turn(&provider, Format::Messages, &make(changed, "first")).await;
    assert_eq!((five.cache_write, five.cache_read), (1001, 0));
}

#[tokio::test]
async fn messages_finds_an_entry_a_few_blocks_before_the_mark() {
    let provider = provider().await;
    let with = |blocks: Vec<Value>| {
        json!({"model": "m", "max_tokens": 9, "stream": true,
        "messages": [{"role": "user", "content": blocks}]})
    };
    let first = marked(&"a".repeat(400));
    let one = turn(&provider, Format::Messages, &with(vec![first])).await;
    assert_eq!(one.cache_write, 100);
    let plain = json!({"type": "text", "text": "a".repeat(400)});
    let two = turn(
        &provider,
        Format::Messages,
        &with(vec![plain, marked(&"b".repeat(400))]),
    )
    .await;
    assert_eq!(
        (two.cache_read, two.cache_write),
        (100, 100),
        "the mark itself is not part of the prefix"
    );
}

#[tokio::test]
async fn automatic_caches_go_in_steps_of_128_tokens() {
    for format in [Format::ChatCompletions, Format::Responses] {
        let provider = provider().await;
        let system = "z".repeat(128 * 4 * 3 + 50);
        let one = turn(&provider, format, &body(format, "m", &system, &["first"], &[])).await;
        let two = turn(&provider, format, &body(format, "m", &system, &["other"], &[])).await;
        let other = turn(&provider, format, &body(format, "n", &system, &["first"], &[])).await;
        assert_eq!(
            (one.cache_read, other.cache_read),
            (0, 0),
            "{format:?}: caches are per model"
        );
        assert_eq!(two.cache_read, 128 * 3, "{format:?}");
        assert_eq!(one.input, two.input + two.cache_read, "{format:?}");
    }
}

#[tokio::test]
async fn another_cache_key_is_another_cache() {
    let provider = provider().await;
    let keyed = |key: &str| {
        let mut body = body(Format::Responses, "m", &"z".repeat(3000), &["first"], &[]);
        body["prompt_cache_key"] = json!(key);
        body
    };
    assert_eq!(turn(&provider, Format::Responses, &keyed("a")).await.cache_read, 0);
    assert_eq!(turn(&provider, Format::Responses, &keyed("b")).await.cache_read, 0);
    assert!(turn(&provider, Format::Responses, &keyed("a")).await.cache_read > 0);
}
