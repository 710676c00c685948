//! What the plugin contributes, to the header.

use conclave_engine::plugin::{Assembled, configure};

use super::*;

fn gateway() -> AiGateway {
    AiGateway {
        url: gateway_url("acc0unt", "my-gateway").expect("names"),
        token: "the-token".to_owned().into(),
        user: anonymous_user(b"secret", "group/project"),
        openai: ProviderWire::OpenAiResponses,
    }
}

fn assembled(gateway: Option<AiGateway>) -> Assembled {
    configure(&[Box::new(CloudflarePlugin::new(gateway))]).expect("no conflict")
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
    let assembled = assembled(Some(gateway));
    let names: Vec<_> = assembled.providers().into_iter().collect();
    assert_eq!(names, ["anthropic", "cloudflare-workers-ai", "openai"]);
}

#[test]
fn openai_is_asked_in_the_format_that_is_set() {
    let asked = |openai| {
        let plugin = CloudflarePlugin::new(Some(AiGateway { openai, ..gateway() }));
        let assembled = configure(&[Box::new(plugin)]).expect("no conflict");
        let providers = assembled.provider_specs();
        providers.iter().find(|spec| spec.name == OPENAI).map(|spec| spec.wire)
    };
    for wire in [ProviderWire::OpenAiChat, ProviderWire::OpenAiResponses] {
        assert_eq!(asked(wire), Some(wire));
    }
}

#[test]
fn an_endpoint_at_the_gateways_address_gets_its_token_and_one_elsewhere_keeps_its_key() {
    let gateway = gateway();
    let fronted = |address: &str| {
        gateway.front(ProviderSpec {
            name: "compatible".to_owned(),
            wire: ProviderWire::OpenAiChat,
            base_url: address.parse().expect("an address"),
            credential: Some("key".to_owned().into()),
            headers: Vec::new(),
        })
    };
    let inside = fronted("https://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway/compat");
    assert!(inside.credential.is_none());
    assert_eq!(inside.headers.len(), 2);
    for elsewhere in [
        "http://localhost:11434/v1",
        "https://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway-2/compat",
        "http://gateway.ai.cloudflare.com/v1/acc0unt/my-gateway/compat",
        "https://gateway.ai.cloudflare.com.example.org/v1/acc0unt/my-gateway/compat",
    ] {
        let outside = fronted(elsewhere);
        assert!(
            outside.credential.is_some() && outside.headers.is_empty(),
            "{elsewhere}"
        );
    }
}

#[test]
fn without_a_gateway_nothing_is_contributed() {
    let assembled = assembled(None);
    assert!(assembled.providers().is_empty());
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
