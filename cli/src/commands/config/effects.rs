//! The effects of a configuration change besides its own text: providers that come on or go off, reviewers that lose their models.

use std::collections::{BTreeMap, BTreeSet};

use conclave_shared::{
    config::{ConfigDocument, NO_CLASSES, Preset, ProviderSwitch, RouteInput, known_providers, read, route},
    reviewer::ReviewerName,
};
use serde_json::Value;

/// The switches of a revision with what was written to KV by hand since then, and without what was deleted there. What is in force tells
/// that; there, names are spelled as they count.
pub(super) fn with_by_hand(
    recorded: &BTreeMap<String, ProviderSwitch>,
    document: &Value,
    in_force: &BTreeMap<String, ProviderSwitch>,
) -> BTreeMap<String, ProviderSwitch> {
    let mut expected = read(document).unwrap_or_default();
    expected.providers.extend(recorded.clone());
    expected.correct_names();
    let mut switches = recorded.clone();
    for (name, switch) in in_force {
        if expected.providers.get(name) != Some(switch) {
            switches.insert(name.clone(), switch.clone());
        }
    }
    for name in expected.providers.keys().filter(|name| !in_force.contains_key(*name)) {
        switches.remove(name);
    }
    switches
}

/// The switches of a revision, and those that are off, by whichever way.
pub(super) fn with_switched_off(
    mut recorded: BTreeMap<String, ProviderSwitch>,
    in_force: BTreeMap<String, ProviderSwitch>,
) -> BTreeMap<String, ProviderSwitch> {
    recorded.extend(in_force.into_iter().filter(|(_, switch)| !switch.enabled));
    recorded
}

/// The questions about what a rollback changes besides the document: the providers that it switches on and off, and the reviewers that
/// it leaves without a model.
pub(super) fn rollback_questions(switched_on: &[String], switched_off: &[String], left_alone: &[&str]) -> Vec<String> {
    let mut questions = Vec::new();
    if !switched_on.is_empty() {
        questions.push(format!(
            "This switches on again: {}. Do you want that?",
            switched_on.join(", ")
        ));
    }
    let mut parts = Vec::new();
    if !switched_off.is_empty() {
        parts.push(format!("This switches off: {}.", switched_off.join(", ")));
    }
    if !left_alone.is_empty() {
        parts.push(format!(
            "No model is left for {}, even with the keys of every provider.",
            left_alone.join(", ")
        ));
    }
    if !parts.is_empty() {
        questions.push(format!("{} Do you want that?", parts.join(" ")));
    }
    questions
}

/// Returns the providers that are off and would be on, for all projects.
pub(super) fn on_again(before: &Value, after: &Value) -> Vec<String> {
    let off = |whole: &Value| -> BTreeSet<String> {
        // A switch wins over the document.
        let places = ["/document/providers", "/switches"];
        let switches = places.iter().filter_map(|place| whole.pointer(place)?.as_object());
        let merged: BTreeMap<&String, &Value> = switches.flatten().collect();
        let off = merged.into_iter().filter(|(_, switch)| switch["enabled"] == false);
        off.map(|(name, _)| name.clone()).collect()
    };
    off(before).difference(&off(after)).cloned().collect()
}

/// The reviewers for whom no model would be left without a provider, whatever keys a job has.
pub(super) fn without_model(document: &ConfigDocument, provider: &str) -> Vec<&'static str> {
    let mut without = document.clone();
    let switch = ProviderSwitch {
        enabled: false,
        reason: None,
    };
    without.providers.insert(provider.to_owned(), switch);
    lost(document, &without)
}

/// The reviewers that would have no model any more after a change of document and switches, for all projects. A document that cannot be
/// used counts as the empty one, as in reviews.
pub(super) fn left_without(before: &Value, after: &Value) -> Vec<&'static str> {
    let in_force = |whole: &Value| {
        let mut document = read(&whole["document"]).unwrap_or_default();
        let switches = serde_json::from_value::<BTreeMap<String, ProviderSwitch>>(whole["switches"].clone());
        document.providers.extend(switches.unwrap_or_default());
        document
    };
    lost(&in_force(before), &in_force(after))
}

/// The reviewers that have a model with one document, and none with another.
fn lost(before: &ConfigDocument, after: &ConfigDocument) -> Vec<&'static str> {
    let left = |document: &ConfigDocument, name: &str| {
        let credentials: BTreeSet<String> = known_providers(document);
        let input = RouteInput {
            document,
            preset: Preset::Current,
            credentials: &credentials,
            trivial: false,
            classes: &NO_CLASSES,
        };
        route(name, input).is_ok()
    };
    let names = ReviewerName::STANDING.into_iter().chain([ReviewerName::COORDINATOR]);
    names.filter(|name| left(before, name) && !left(after, name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn going_back_names_the_providers_that_come_on_again() {
        let whole = |document: &[&str], switches: &[&str]| {
            let off = |names: &[&str]| -> Value {
                let off = names
                    .iter()
                    .map(|name| ((*name).to_owned(), json!({ "enabled": false })));
                Value::Object(off.collect())
            };
            json!({ "document": { "providers": off(document) }, "switches": off(switches) })
        };
        let now = whole(&["openai"], &["anthropic", "vllm"]);
        assert_eq!(on_again(&now, &whole(&[], &["vllm"])), ["anthropic", "openai"]);
        assert_eq!(on_again(&now, &whole(&["anthropic"], &["openai", "vllm"])), [""; 0]);
        assert_eq!(on_again(&whole(&[], &[]), &now), [""; 0]);
        let switched_on = json!({ "document": { "providers": { "openai": { "enabled": false } } },
            "switches": { "openai": { "enabled": true } } });
        assert_eq!(on_again(&now, &switched_on), ["anthropic", "openai", "vllm"]);
    }

    #[test]
    fn switches_that_were_typed_or_deleted_by_hand_are_told_from_those_of_the_revision() {
        type Switches = &'static [(&'static str, bool)];
        let switches = |names: &[(&str, bool)]| -> BTreeMap<String, ProviderSwitch> {
            let switches = names.iter().map(|(name, enabled)| {
                let switch = ProviderSwitch {
                    enabled: *enabled,
                    reason: None,
                };
                ((*name).to_owned(), switch)
            });
            switches.collect()
        };
        let document = json!({ "schema_version": 1, "providers": { "vllm": { "enabled": false } },
            "models": { "light": ["vllm/qwen"] } });
        let cases: [(Switches, Switches, Switches); 6] = [
            // Of the document and of the revision: nothing was done by hand.
            (
                &[("openai", false)],
                &[("openai", false), ("vllm", false)],
                &[("openai", false)],
            ),
            (
                &[("OpenAI", false)],
                &[("openai", false), ("vllm", false)],
                &[("OpenAI", false)],
            ),
            (&[], &[("anthropic", false), ("vllm", false)], &[("anthropic", false)]),
            (&[], &[("vllm", true)], &[("vllm", true)]),
            (
                &[("openai", false)],
                &[("openai", true), ("vllm", false)],
                &[("openai", true)],
            ),
            (&[("openai", false)], &[("vllm", false)], &[]),
        ];
        for (recorded, in_force, expected) in cases {
            let now = with_by_hand(&switches(recorded), &document, &switches(in_force));
            assert_eq!(now, switches(expected), "{recorded:?} {in_force:?}");
        }
        let garbled = with_by_hand(&switches(&[]), &json!("reviewers: {}"), &switches(&[("openai", false)]));
        assert_eq!(garbled, switches(&[("openai", false)]));
    }

    #[test]
    fn going_back_names_the_reviewers_that_it_leaves_without_a_model() {
        let whole = |switches: Value| json!({ "document": { "schema_version": 1, "reviewers": { "tests": { "models": ["vllm/qwen"] } } }, "switches": switches });
        let off = |name: &str| json!({ name: { "enabled": false, "reason": "incident 7" } });
        assert_eq!(left_without(&whole(json!({})), &whole(off("vllm"))), ["tests"]);
        assert_eq!(left_without(&whole(off("vllm")), &whole(json!({}))), [""; 0]);
        assert_eq!(on_again(&whole(off("vllm")), &whole(json!({}))), ["vllm"]);
        assert_eq!(left_without(&json!({ "document": "no document" }), &json!({})), [""; 0]);
    }

    #[test]
    fn who_would_have_no_model_left_is_known_beforehand() {
        let document: ConfigDocument = serde_json::from_str(
            r#"{"schema_version":1,"providers":{"openai":{"enabled":false}},
                "reviewers":{"tests":{"models":["vllm/qwen"]}}}"#,
        )
        .expect("valid");
        let left_alone = without_model(&document, "anthropic");
        assert!(
            left_alone.contains(&"security") && left_alone.contains(&"coordinator"),
            "{left_alone:?}"
        );
        assert!(
            !left_alone.contains(&"tests") && !left_alone.contains(&"documentation"),
            "{left_alone:?}"
        );
        assert_eq!(without_model(&document, "vllm"), ["tests"]);
        assert_eq!(without_model(&ConfigDocument::default(), "anthropic"), [""; 0]);
    }
}
