//! All components are there, and what is off is off.

use std::collections::BTreeSet;

use conclave_engine::plugin;
use conclave_plugin_local::Range;

use super::*;
use crate::run::report::RunSubject;

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::new(variables.iter().map(|(name, value)| (name.into(), value.into())))
}

fn components(variables: &[(&str, &str)]) -> Result<Components, Failure> {
    let source = Source {
        origin: Origin::Local {
            directory: ".".into(),
            range: Range::WorkingTree,
            scratch: "/nowhere".into(),
        },
        project: "project".to_owned(),
        secret: None,
    };
    let environment = environment(variables);
    let subject = RunSubject {
        project: "project".to_owned(),
        forge: "local",
        merge_request: None,
    };
    let report = RunReport::begin(&environment, &subject);
    Components::new(&source, Some((&RunRecording::Off, &report)), &environment)
}

#[track_caller]
fn refused(variables: &[(&str, &str)]) -> String {
    match components(variables) {
        Ok(_) => panic!("it must be refused"),
        Err(failure) => failure.to_string(),
    }
}

#[tokio::test]
async fn every_plugin_is_registered_in_its_place() {
    let components = components(&[("ANTHROPIC_API_KEY", "k")]).expect("settings");
    let names: Vec<_> = components.plugins.iter().map(|plugin| plugin.name()).collect();
    let expected = [
        "panel",
        "providers",
        "cloudflare",
        "coordinator_tools",
        "reviewer_config",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn configuring_needs_no_server_and_says_what_is_missing() {
    let components = components(&[
        ("CLOUDFLARE_GATEWAY_ID", "g"),
        ("CLOUDFLARE_ACCOUNT_ID", "a"),
        ("CF_AIG_TOKEN", "t"),
    ]);
    let components = components.expect("settings");
    let assembled = plugin::configure(&components.plugins).expect("no conflict");
    let providers: BTreeSet<String> = ["anthropic", "cloudflare-workers-ai", "openai"]
        .map(str::to_owned)
        .into();
    assert_eq!(
        assembled.providers(),
        providers,
        "no provider's key is needed behind AI Gateway"
    );
    assert!(assembled.reviewers().contains("security"));

    let components = self::components(&[]).expect("keys are missed later");
    let error = plugin::configure(&components.plugins).expect_err("no key").to_string();
    assert!(
        error.starts_with("providers: no model provider has credentials"),
        "{error}"
    );
}

#[tokio::test]
async fn keys_beside_a_gateway_are_left_alone_and_named() {
    let gateway = [
        ("CONCLAVE_AI_GATEWAY_URL", "http://127.0.0.1:1/v1/a/g"),
        ("CF_AIG_TOKEN", "t"),
    ];
    assert!(components(&gateway).expect("settings").notes.is_empty());
    let with_key = [gateway[0], gateway[1], ("OPENAI_API_KEY", "k")];
    let notes = components(&with_key).expect("settings").notes;
    assert!(notes[0].starts_with("OPENAI_API_KEY is not used"), "{notes:?}");
    let all = [
        gateway[0],
        gateway[1],
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:2/v1"),
        ("CLOUDFLARE_API_TOKEN", "k"),
        ("CONCLAVE_COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1/a/g/compat"),
        ("CONCLAVE_COMPATIBLE_API_KEY", "k"),
    ];
    let notes = components(&all).expect("settings").notes;
    let said = "OPENAI_API_KEY, OPENAI_BASE_URL, CLOUDFLARE_API_TOKEN and CONCLAVE_COMPATIBLE_API_KEY are not used";
    assert!(notes[0].starts_with(said), "{notes:?}");
}

#[tokio::test]
async fn an_endpoint_of_ones_own_is_a_provider_beside_a_gateway_too() {
    let components = components(&[
        ("CONCLAVE_AI_GATEWAY_URL", "http://127.0.0.1:1/v1/a/g"),
        ("CF_AIG_TOKEN", "t"),
        ("CONCLAVE_COMPATIBLE_BASE_URL", "http://127.0.0.1:2/v1"),
    ])
    .expect("settings");
    let assembled = plugin::configure(&components.plugins).expect("no conflict");
    let names: Vec<String> = assembled.providers().into_iter().collect();
    assert_eq!(names, ["anthropic", "cloudflare-workers-ai", "compatible", "openai"]);
}

#[tokio::test]
async fn half_a_setting_is_an_error_that_names_the_other_half() {
    for (variables, expected) in [
        (
            [("CLOUDFLARE_GATEWAY_ID", "g"), ("CF_AIG_TOKEN", "t")],
            "CLOUDFLARE_ACCOUNT_ID is not",
        ),
        (
            [("CLOUDFLARE_GATEWAY_ID", "g"), ("CLOUDFLARE_ACCOUNT_ID", "a")],
            "CF_AIG_TOKEN is not",
        ),
        (
            [("CONCLAVE_AI_GATEWAY_URL", "gateway.example"), ("CF_AIG_TOKEN", "t")],
            "CONCLAVE_AI_GATEWAY_URL is not an address",
        ),
    ] {
        let error = refused(&variables);
        assert!(error.contains(expected), "{error}");
    }
    // A review needs neither the configuration service nor the tracker.
    let addresses = [
        ("CONCLAVE_CONFIG_URL", "config.example"),
        ("CONCLAVE_TRACKER_URL", "tracker.example"),
        ("CONCLAVE_TRACKER_TOKEN", "t"),
        ("ANTHROPIC_API_KEY", "k"),
    ];
    let mut wrong = components(&addresses).expect("settings");
    assert!(
        wrong.notes[0].starts_with("no telemetry is sent: CONCLAVE_TRACKER_URL is not an address"),
        "{:?}",
        wrong.notes
    );
    for plugin in &mut wrong.plugins {
        let _ = plugin.bootstrap().await;
    }
    let unanswered = wrong.follower.unanswered().expect("the review says so");
    assert!(unanswered.is_broken, "the bot does not approve");
    assert!(
        unanswered
            .reason
            .contains("CONCLAVE_CONFIG_URL is not an address: it has to begin with https://"),
        "{}",
        unanswered.reason
    );
    // Telemetry is no part of a review: without it the review goes on, and says so.
    let tracker = [
        ("CONCLAVE_TRACKER_URL", "https://t.example"),
        ("ANTHROPIC_API_KEY", "k"),
    ];
    let notes = components(&tracker).expect("settings").notes;
    assert!(notes[0].contains("CONCLAVE_TRACKER_TOKEN is not"), "{notes:?}");
}

#[cfg(feature = "otlp")]
#[tokio::test]
async fn a_collector_that_cannot_be_is_an_error_without_its_key() {
    let error = refused(&[
        ("ANTHROPIC_API_KEY", "k"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "just-a-secret"),
    ]);
    assert!(
        error.contains("OTEL_EXPORTER_OTLP_HEADERS is not a list of headers"),
        "{error}"
    );
    assert!(!error.contains("just-a-secret"), "{error}");
}
