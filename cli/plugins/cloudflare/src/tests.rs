//! What the plugin contributes, to the header.

use conclave_engine::plugin::{Assembled, configure};
use conclave_shared::config::ConfigDocument;

use super::*;

fn gateway() -> AiGateway {
    AiGateway {
        url: gateway_url("acc0unt", "my-gateway").expect("names"),
        token: "the-token".to_owned().into(),
        user: anonymous_user(b"secret", "group/project"),
    }
}

fn assembled(gateway: Option<AiGateway>) -> (Assembled, ConfigDocument) {
    let mut document = ConfigDocument::default();
    let assembled = configure(&[Box::new(CloudflarePlugin::new(gateway))], &mut document).expect("no conflict");
    (assembled, document)
}

#[test]
fn every_provider_is_behind_the_gateway_and_none_has_a_key_of_its_own() {
    let gateway = gateway();
    let specs = PROVIDERS.map(|(name, wire, path)| gateway.provider(name, wire, path).expect("an address"));
    let addresses: Vec<_> = specs
        .iter()
        .map(|spec| (spec.name.as_str(), spec.base_url.as_str()))
        .collect();
    assert_eq!(
        addresses,
        [
            (
                "anthropic",
                "https://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway/anthropic/v1"
            ),
            (
                "openai",
                "https://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway/openai"
            ),
            (
                "cloudflare-workers-ai",
                "https://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway/workers-ai/v1"
            ),
        ]
    );
    for spec in specs {
        assert!(spec.credential.is_none());
        let headers: Vec<_> = spec
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose_secret()))
            .collect();
        let metadata = format!(r#"{{"userId":"{}"}}"#, gateway.user);
        assert_eq!(
            headers,
            [
                ("cf-aig-authorization", "Bearer the-token"),
                ("cf-aig-metadata", metadata.as_str())
            ]
        );
    }
    let (assembled, _) = assembled(Some(gateway));
    let names: Vec<_> = assembled.providers().into_iter().collect();
    assert_eq!(names, ["anthropic", "cloudflare-workers-ai", "openai"]);
}

#[test]
fn classes_and_chains_are_contributed() {
    let (_, document) = assembled(Some(gateway()));
    for tier in ModelTier::ALL {
        assert_eq!(document.models.of(tier), Preset::default().models(tier), "{tier:?}");
    }
    let chain = |model: &str| document.failback[model].as_ref().map(ModelId::as_str);
    assert_eq!(chain("anthropic/claude-opus-5-5"), Some("anthropic/claude-opus-4-8"));
    assert_eq!(chain("anthropic/claude-opus-4-6"), None, "the end of the family");
}

#[test]
fn without_a_gateway_nothing_is_contributed() {
    let (assembled, document) = assembled(None);
    assert!(assembled.providers().is_empty());
    assert_eq!(document, ConfigDocument::default());
}

#[test]
fn the_user_is_stable_and_tells_nothing() {
    let user = |secret: &str, project: &str| anonymous_user(secret.as_bytes(), project);
    assert_eq!(user("s", "group/project"), user("s", "group/project"));
    assert_ne!(user("s", "group/project"), user("s", "group/other"));
    assert_ne!(user("s", "group/project"), user("t", "group/project"));
    assert_eq!(user("s", "group/project").get_version_num(), 8);
}

#[test]
fn a_name_cannot_change_the_address() {
    for (account, gateway) in [
        ("", "g"),
        ("a", ""),
        ("a/b", "g"),
        ("a", "../x"),
        ("a", "g?x"),
        ("a", "g h"),
    ] {
        assert!(gateway_url(account, gateway).is_err(), "{account:?} {gateway:?}");
    }
}
