//! What comes out is what came in.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, Wire};
use conclave_shared::pricing::TokenUsage;
use futures_util::future::join_all;

use crate::{
    client::{Outcome, RUN_KEY, body, call, read},
    raw::{Raw, WHOLE, in_pieces},
    rig::{CREDENTIAL, FORMATS, LLAMA, OPUS_NEW, SOL, config, model, provider, rig, session, until, wire_of},
};

#[tokio::test]
async fn all_formats_pass_byte_by_byte() {
    for name in FORMATS {
        let id = model(name);
        let wire = wire_of(id.provider());
        let body = body(wire, id.model(), "x").to_string();
        let rig = rig().await;
        let passed = rig.ask(name, "x").await;
        assert!(passed.is_whole(), "{passed:?}");
        let sent = rig.provider.requests()[0].text();
        assert_eq!(
            sent == body,
            name != SOL,
            "{name}: the request as it came, but for Responses' cache key"
        );
        // Another provider with the same script: one alone would have the prompt in its cache the second time.
        let alone = provider().await;
        let direct = call(&format!("{}/v1", alone.url()), wire, CREDENTIAL, "ses_a", sent);
        let direct = read(direct.send().await.unwrap()).await;
        assert_eq!(passed.body, direct.body, "{name}");
        assert!(rig.provider.violations().is_empty());
    }
}

#[tokio::test]
async fn pieces_of_any_size_and_any_line_ends_pass_unchanged() {
    let crlf = WHOLE.replace('\n', "\r\n");
    for text in [WHOLE.to_owned(), crlf] {
        for size in [1, 7, 64, 100_000] {
            let sent = text.clone();
            let raw = Raw::start(move |_| in_pieces(&sent, size)).await;
            let gateway = Gateway::start(config(&raw.url)).await.unwrap();
            gateway.assign(&session("ses_a"), "security", &[model(OPUS_NEW)]);
            let body = body(Wire::Anthropic, "claude-opus-4-7", "x").to_string();
            let request = call(&gateway.base_url("anthropic"), Wire::Anthropic, RUN_KEY, "ses_a", body);
            let outcome = read(request.send().await.unwrap()).await;
            assert_eq!(
                (outcome.body.as_str(), outcome.broken),
                (text.as_str(), false),
                "in pieces of {size}"
            );
            let expected = TokenUsage {
                input: 100,
                output: 42,
                reasoning: 0,
                cache_read: 700,
                cache_write: 300,
            };
            assert_eq!(gateway.usage(&session("ses_a"))[0].tokens, expected);
        }
    }
}

#[tokio::test]
async fn a_hundred_answers_at_once() {
    let rig = rig().await;
    let names: Vec<String> = (0..100).map(|number| format!("ses_{number}")).collect();
    for name in &names {
        rig.gateway.assign(&session(name), "security", &[model(OPUS_NEW)]);
    }
    let calls = names.iter().enumerate().map(|(number, name)| {
        let used = if number % 2 == 0 { OPUS_NEW } else { LLAMA };
        let id = model(used);
        let body = body(wire_of(id.provider()), id.model(), &format!("question {number}"));
        let rig = &rig;
        async move { rig.send(used, name, &body).await }
    });
    let outcomes = join_all(calls).await;
    assert!(outcomes.iter().all(Outcome::is_whole), "{outcomes:?}");
    let mut total = TokenUsage::default();
    for name in &names {
        let usage = rig.gateway.usage(&session(name));
        assert_eq!((usage.len(), usage[0].calls), (1, 1), "{name}");
        total += usage[0].tokens;
    }
    let provided = [OPUS_NEW, LLAMA].map(|name| rig.provided(name).total());
    assert_eq!(total.total(), provided.iter().sum::<u64>());
    until("the end of all calls", || {
        names.iter().all(|name| rig.gateway.idle_for(&session(name)).is_none())
    })
    .await;
}

#[tokio::test]
async fn a_large_body_passes() {
    let rig = rig().await;
    let outcome = rig.ask(OPUS_NEW, &"0123456789".repeat(500_000)).await;
    assert!(outcome.is_whole());
    assert!(rig.provider.requests()[0].body.len() > 5_000_000);
}
