//! Routes.

use super::*;
use crate::config::{ProviderSwitch, ReviewerSettings};

fn names(route: &ModelRoute) -> Vec<&str> {
    route.models.iter().map(ModelId::as_str).collect()
}

fn credentials(providers: &[&str]) -> BTreeSet<String> {
    providers.iter().map(ToString::to_string).collect()
}

fn off(reason: &str) -> ProviderSwitch {
    ProviderSwitch {
        enabled: false,
        reason: Some(reason.to_owned()),
    }
}

#[test]
fn each_preference_is_followed_by_its_chain() {
    let document = ConfigDocument::default();
    let credentials = credentials(&["anthropic", "openai"]);
    let input = RouteInput {
        document: &document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let route = route("security", input).expect("a route");
    assert_eq!(
        names(&route),
        [
            "anthropic/claude-sonnet-5",
            "anthropic/claude-sonnet-4-6",
            "anthropic/claude-sonnet-4-5",
            "openai/gpt-5.3-codex",
            "openai/gpt-5.2"
        ]
    );
    assert_eq!(route.effort, Effort::Medium);
    assert_eq!(
        route.after(route.first()).first().map(ModelId::as_str),
        Some("anthropic/claude-sonnet-4-6")
    );
}

#[test]
fn a_switched_off_provider_is_left_out_with_its_reason() {
    let mut document = ConfigDocument::default();
    document.providers.insert("anthropic".into(), off("incident 7"));
    let credentials = credentials(&["anthropic", "openai"]);
    let input = RouteInput {
        document: &document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let route = route("coordinator", input).expect("a route");
    assert_eq!(
        names(&route),
        [
            "openai/gpt-6-sol",
            "openai/gpt-5.6-sol",
            "openai/gpt-5.5",
            "openai/gpt-5.4",
            "openai/gpt-5.2"
        ]
    );
    assert_eq!(route.effort, Effort::High);
    assert_eq!(route.skipped[0].reason, "anthropic is switched off: incident 7");
}

#[test]
fn one_providers_key_is_enough_for_every_standing_reviewer() {
    let document = ConfigDocument::default();
    for provider in ["anthropic", "openai"] {
        let credentials = credentials(&[provider]);
        for reviewer in crate::reviewer::ReviewerName::STANDING.iter().chain(&["coordinator"]) {
            let input = RouteInput {
                document: &document,
                preset: Preset::Current,
                credentials: &credentials,
                trivial: false,
                classes: &NO_CLASSES,
            };
            assert!(route(reviewer, input).is_ok(), "{reviewer} with only {provider}");
        }
    }
}

#[test]
fn the_explanation_says_who_chose_and_who_stands_in_for_whom() {
    let mut document = ConfigDocument::default();
    document.providers.insert("openai".into(), off("incident 7"));
    let only = "vllm/qwen".parse().expect("valid");
    document.reviewers.insert(
        "security".into(),
        ReviewerSettings {
            models: vec![only],
            ..ReviewerSettings::default()
        },
    );
    let credentials = credentials(&["anthropic"]);
    let input = RouteInput {
        document: &document,
        preset: Preset::Yardstick,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let explained = explain_route("performance", input);
    assert_eq!(
        (explained.source, explained.tier),
        (ModelSource::Preset, ModelTier::Standard)
    );
    let lines: Vec<(String, bool, Option<String>)> = explained
        .considered
        .into_iter()
        .map(|considered| {
            let stands_in = matches!(considered.reason, ModelReason::StandsInFor(_));
            (
                considered.model.to_string(),
                stands_in,
                considered.skipped.map(|skip| skip.reason),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("anthropic/claude-sonnet-4-6".into(), false, None),
            ("anthropic/claude-sonnet-4-5".into(), true, None),
            (
                "openai/gpt-5.3-codex".into(),
                false,
                Some("openai is switched off: incident 7".into())
            ),
            (
                "openai/gpt-5.2".into(),
                true,
                Some("openai is switched off: incident 7".into())
            ),
        ]
    );
    let explained = explain_route("security", input);
    assert_eq!(explained.source, ModelSource::Remote);
    let skipped = explained.considered[0].skipped.as_ref().expect("nobody has its key");
    assert_eq!(skipped.reason, "no credentials for vllm");
}

#[test]
fn a_class_can_be_given_other_models_and_a_reviewers_own_still_win() {
    let document: ConfigDocument = serde_json::from_str(
        r#"{"schema_version":1,"models":{"standard":["openai/gpt-5.4"]},"reviewers":{"tests":{"models":["openai/x"]}}}"#,
    )
    .expect("valid");
    let credentials = credentials(&["anthropic", "openai"]);
    let first = |reviewer: &str, trivial: bool| {
        let input = RouteInput {
            document: &document,
            preset: Preset::Current,
            credentials: &credentials,
            trivial,
            classes: &NO_CLASSES,
        };
        route(reviewer, input).expect("a route").first().to_string()
    };
    assert_eq!(first("security", false), "openai/gpt-5.4");
    assert_eq!(first("tests", false), "openai/x");
    assert_eq!(first("coordinator", false), "anthropic/claude-opus-5-5");
    assert_eq!(first("coordinator", true), "openai/gpt-5.4");
    let input = RouteInput {
        document: &document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    assert_eq!(explain_route("security", input).source, ModelSource::Class);
}

#[test]
fn a_reviewer_of_a_project_has_the_models_of_the_class_that_it_asks_for() {
    let document = ConfigDocument::default();
    let credentials = credentials(&["anthropic"]);
    let first = |classes: &BTreeMap<String, ModelTier>| {
        let input = RouteInput {
            document: &document,
            preset: Preset::Current,
            credentials: &credentials,
            trivial: false,
            classes,
        };
        route("accessibility", input).expect("a route").first().to_string()
    };
    assert_eq!(first(&NO_CLASSES), "anthropic/claude-sonnet-5");
    let light = BTreeMap::from([("accessibility".to_owned(), ModelTier::Light)]);
    assert_eq!(first(&light), "anthropic/claude-haiku-4-5");
    let top = BTreeMap::from([("accessibility".to_owned(), ModelTier::Top)]);
    assert_eq!(first(&top), "anthropic/claude-opus-5-5");
}

#[test]
fn nothing_left_names_everything_that_was_considered() {
    let mut document = ConfigDocument::default();
    let only = "anthropic/claude-opus-4-6".parse().expect("valid");
    document.reviewers.insert(
        "security".into(),
        ReviewerSettings {
            models: vec![only],
            ..ReviewerSettings::default()
        },
    );
    document.providers.insert("anthropic".into(), off("down"));
    let credentials = credentials(&["anthropic"]);
    let input = RouteInput {
        document: &document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let error = route("security", input).expect_err("nothing is left");
    assert_eq!(
        error.to_string(),
        "no model is left for `security`: anthropic/claude-opus-4-6 (anthropic is switched off: down)"
    );
}

#[test]
fn a_documents_chain_replaces_the_built_in_one_and_a_cycle_ends() {
    let mut document = ConfigDocument::default();
    let sonnet: ModelId = "anthropic/claude-sonnet-5".parse().expect("valid");
    let haiku: ModelId = "anthropic/claude-haiku-4-5".parse().expect("valid");
    document.failback.insert(sonnet.to_string(), Some(haiku.clone()));
    document.failback.insert(haiku.to_string(), Some(sonnet));
    let credentials = credentials(&["anthropic"]);
    let input = RouteInput {
        document: &document,
        preset: Preset::Current,
        credentials: &credentials,
        trivial: false,
        classes: &NO_CLASSES,
    };
    let route = route("security", input).expect("a route");
    assert_eq!(
        names(&route),
        ["anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5"]
    );
}

#[test]
fn a_reviewers_own_effort_goes_before_that_of_its_class_and_a_trivial_change_gets_little() {
    let document: ConfigDocument = serde_json::from_str(
        r#"{"schema_version":1,"effort":{"standard":"max"},"reviewers":{"tests":{"effort":"high"}}}"#,
    )
    .expect("valid");
    let credentials = credentials(&["anthropic"]);
    let classes = [("queries".to_owned(), ModelTier::Light)].into();
    let of = |reviewer: &str, trivial| {
        let input = RouteInput {
            document: &document,
            preset: Preset::Current,
            credentials: &credentials,
            trivial,
            classes: &classes,
        };
        assert_eq!(explain_route(reviewer, input).effort, effort(reviewer, input));
        effort(reviewer, input)
    };
    for (reviewer, ordinary, trivial) in [
        ("security", Effort::Max, Effort::Low),
        ("tests", Effort::High, Effort::High),
        ("coordinator", Effort::High, Effort::Low),
        ("release", Effort::None, Effort::None),
        ("queries", Effort::None, Effort::None),
    ] {
        assert_eq!(
            (of(reviewer, false), of(reviewer, true)),
            (ordinary, trivial),
            "{reviewer}"
        );
    }
}
