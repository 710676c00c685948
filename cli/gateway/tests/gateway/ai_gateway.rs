//! Behind an AI Gateway that takes nothing that it must not get.

use conclave_engine::ports::UsageLedger;
use conclave_gateway::{Gateway, Upstream};
use conclave_scripted_provider::{AiGateway, Answer, Scripted, ScriptedProvider};

use crate::{
    client::{RUN_KEY, body, call, read},
    rig::{TEXT, config, model, session, wire_of},
};

#[tokio::test]
async fn only_the_gateways_own_headers_reach_it_whatever_the_runtime_sends() {
    let provider = ScriptedProvider::builder()
        .api_key("stored-key-of-the-provider")
        .behind(AiGateway::new("acc", "gw", "the-aig-token"))
        .model(Scripted::new().otherwise(Answer::text(TEXT)))
        .start()
        .await
        .unwrap();
    let mut config = config("http://unused");
    config.providers = [
        ("anthropic", "anthropic/v1"),
        ("openai", "openai"),
        ("workers", "workers-ai/v1"),
    ]
    .map(|(name, path)| Upstream {
        name: name.to_owned(),
        wire: wire_of(name),
        base_url: format!("{}/v1/acc/gw/{path}", provider.url()).parse().unwrap(),
        credential: None,
        extra_headers: vec![
            (
                "cf-aig-authorization".to_owned(),
                "Bearer the-aig-token".to_owned().into(),
            ),
            (
                "cf-aig-metadata".to_owned(),
                r#"{"userId":"0f8fad5b-d9cb-869f-a165-70867728950e"}"#.to_owned().into(),
            ),
        ],
    })
    .to_vec();
    let gateway = Gateway::start(config).await.unwrap();
    gateway.assign(&session("ses_a"), "security", &[]);
    for name in [
        "anthropic/claude-opus-4-7",
        "openai/gpt-5.4",
        "workers/@cf/meta/llama-4",
    ] {
        let model = model(name);
        let wire = wire_of(model.provider());
        let body = body(wire, model.model(), "x").to_string();
        let request = call(&gateway.base_url(model.provider()), wire, RUN_KEY, "ses_a", body)
            .header("cf-access-token", "the-runtimes-own")
            .header("cf-aig-metadata", r#"{"userId":"somebody"}"#)
            .header("cookie", "a=b");
        let outcome = read(request.send().await.unwrap()).await;
        assert!(outcome.is_whole(), "{name}: {outcome:?}");
    }
    // The stand-in refuses what is missing or too much.
    assert_eq!(provider.violations(), []);
    let requests = provider.requests();
    let paths: Vec<_> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/v1/acc/gw/anthropic/v1/messages",
            "/v1/acc/gw/openai/responses",
            "/v1/acc/gw/workers-ai/v1/chat/completions"
        ]
    );
}
