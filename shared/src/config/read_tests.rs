//! Everything that is wrong at once, each with its place; whatever is thrown at it.

use proptest::prelude::*;

use super::*;
use crate::config::{EffectiveConfig, ProjectRules};

fn faults(value: &Value) -> Vec<(String, String)> {
    let faults = read(value).expect_err("faults");
    faults.into_iter().map(|fault| (fault.pointer, fault.detail)).collect()
}

fn pointers(value: &Value) -> Vec<String> {
    faults(value).into_iter().map(|(pointer, _)| pointer).collect()
}

#[test]
fn a_good_document_is_read() {
    let document = read(&json!({"schema_version": 1, "limits": {"sessions": 3}, "later": true})).expect("good");
    assert_eq!(document.limits.sessions, 3);
}

#[test]
fn what_cannot_be_read_and_what_is_not_allowed_is_named_at_once() {
    let value = json!({
        "schema_version": 1,
        "reviewers": {"security": {"models": ["a/x", 5, "nonsense", "b/y"], "timeout_seconds": "long"}, "../x": {}},
        "providers": {"a/b": {"enabled": true}, "openai": {"enabled": "no"}, "anthropic": {}},
        "failback": {"a/x": "y"},
        "limits": {"sessions": -1, "panel_seconds": 0},
        "panels": {"lite": [7, "secrity", true, "tests", "tests"]},
    });
    let mut found = pointers(&value);
    found.sort();
    assert_eq!(
        found,
        [
            "/failback/a~1x",
            "/limits/panel_seconds",
            "/limits/sessions",
            "/panels/lite/0",
            "/panels/lite/1",
            "/panels/lite/2",
            "/panels/lite/4",
            "/providers/anthropic",
            "/providers/a~1b",
            "/providers/openai/enabled",
            "/reviewers/..~1x",
            "/reviewers/security/models/1",
            "/reviewers/security/models/2",
            "/reviewers/security/timeout_seconds",
        ]
    );
    let details = faults(&value);
    let of = |pointer: &str| {
        details
            .iter()
            .find(|(at, _)| at == pointer)
            .map(|(_, detail)| detail.clone())
    };
    assert_eq!(
        of("/reviewers/security/timeout_seconds").as_deref(),
        Some("cannot be read: invalid type: string \"long\", expected u64")
    );
    assert!(of("/failback/a~1x").expect("there").contains("write `provider/model`"));
    assert_eq!(
        of("/providers/anthropic").as_deref(),
        Some("cannot be read: missing field `enabled`")
    );
}

#[test]
fn a_field_that_cannot_be_read_or_is_missing_hides_no_other_fault_of_its_object() {
    let value = json!({"schema_version": 1, "prices": {
        "a/x": {"as_of": 5, "input": -1, "output": "free", "cache_read": "x"},
        "b/y": {"input": -1},
        "c/z": {"as_of": "2026-13-01", "input": 1, "output": {}, "long_context": {"above": "many", "input": -1}},
    }});
    let mut found = pointers(&value);
    found.sort();
    found.dedup();
    assert_eq!(
        found,
        [
            "/prices/a~1x/as_of",
            "/prices/a~1x/cache_read",
            "/prices/a~1x/input",
            "/prices/a~1x/output",
            "/prices/b~1y",
            "/prices/b~1y/input",
            "/prices/c~1z/as_of",
            "/prices/c~1z/long_context",
            "/prices/c~1z/long_context/above",
            "/prices/c~1z/long_context/input",
            "/prices/c~1z/output",
        ]
    );
}

#[test]
fn what_is_behind_something_that_was_taken_out_keeps_its_place() {
    let value = json!({"schema_version": 1, "projects": [
        {"paths": ["a"], "limits": {"sessions": 0}},
        {"no_paths": true},
        "nonsense",
        {"paths": [1, "a[", 2, "b["], "limits": {"sessions": "x"}},
    ]});
    let mut found = pointers(&value);
    found.sort();
    assert_eq!(
        found,
        [
            "/projects/0/limits/sessions",
            "/projects/1",
            "/projects/2",
            "/projects/3/limits/sessions",
            "/projects/3/paths/0",
            "/projects/3/paths/1",
            "/projects/3/paths/2",
            "/projects/3/paths/3",
        ]
    );
}

#[test]
fn a_missing_or_wrong_version_hides_nothing_else() {
    assert_eq!(pointers(&json!({"limits": {"sessions": 0}})), ["", "/limits/sessions"]);
    assert_eq!(
        pointers(&json!({"schema_version": "one", "limits": {"sessions": 0}})),
        ["/schema_version", "/limits/sessions"]
    );
    assert_eq!(pointers(&json!({"schema_version": 99})), ["/schema_version"]);
    for value in [json!([]), json!(null), json!("x"), json!(7)] {
        assert_eq!(pointers(&value), [""], "{value}");
    }
}

#[test]
fn endless_problems_end() {
    let value = json!({"schema_version": 1, "panels": {"lite": vec![0; 5000]}});
    assert_eq!(read(&value).expect_err("faults").len(), MAX_FAULTS);
}

#[test]
fn fields_that_nobody_knows_are_told() {
    let value = json!({"schema_version": 1, "reviwers": {}, "limits": {"sesions": 1, "breaker": {"x": 1}},
        "providers": {"openai": {"enabled": true, "why": "x"}},
        "projects": [{"paths": ["a"], "pahts": []}]});
    let mut found = unknown_fields(&value);
    found.sort();
    assert_eq!(
        found,
        [
            "/limits/breaker/x",
            "/limits/sesions",
            "/projects/0/pahts",
            "/providers/openai/why",
            "/reviwers"
        ]
    );
    assert_eq!(
        unknown_fields(&json!({"schema_version": 1, "limits": {"sessions": 1}})),
        [""; 0]
    );
}

/// JSON as people, and people's scripts, get it wrong: mostly the right names, values of every kind.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..2000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!("anthropic/claude-opus-4-7")),
        Just(json!("anthropic/claude-opus-4-6")),
        Just(json!("platform/**")),
        Just(json!("a[")),
        Just(json!("2026-11-01")),
        "[ -~äöü/~\\[\\]{}*!]{0,12}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        8 => prop::sample::select(vec![
            "schema_version", "revision", "reviewers", "providers", "failback", "models", "limits", "risk", "panels",
            "prices", "projects", "paths", "security", "coordinator", "enabled", "reason", "timeout_seconds", "top",
            "sessions", "panel_seconds", "breaker", "failures", "budget", "run_usd", "trivial_lines", "lite_lines",
            "security_paths", "not_security_paths", "lite", "full", "as_of", "input", "output", "long_context", "above",
            "anthropic/claude-opus-4-7", "anthropic/claude-opus-4-6", "a/b~c",
        ])
        .prop_map(str::to_owned),
        1 => ".{0,6}",
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            4 => prop::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A document whose fields have mostly values of the right shape.
fn nearly() -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec(
        (
            prop::sample::select(vec![
                "reviewers",
                "providers",
                "failback",
                "models",
                "limits",
                "risk",
                "panels",
                "prices",
                "projects",
            ]),
            anything(),
        ),
        0..8,
    );
    let entry = (prop::collection::vec("[a-z/*\\[{]{0,6}", 0..3), anything()).prop_map(|(paths, more)| {
        let mut entry = more.as_object().cloned().unwrap_or_default();
        entry.insert("paths".to_owned(), json!(paths));
        Value::Object(entry)
    });
    (fields, prop::collection::vec(entry, 0..4)).prop_map(|(fields, entries)| {
        let mut document = serde_json::Map::from_iter([("schema_version".to_owned(), json!(1))]);
        document.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if !entries.is_empty() {
            document.insert("projects".to_owned(), Value::from(entries));
        }
        Value::Object(document)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_read_every_problem_has_a_place_in_it(value in prop_oneof![anything(), nearly()]) {
        if let Err(faults) = read(&value) {
            prop_assert!(!faults.is_empty());
            for fault in faults {
                // What a fault is about is there, or (where a combination is wrong) the part that it is in.
                let parent = fault.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(
                    value.pointer(&fault.pointer).is_some() || value.pointer(parent).is_some(),
                    "{} in {value}", fault.pointer
                );
                prop_assert!(!fault.detail.is_empty());
            }
        }
    }

    #[test]
    fn what_was_good_is_good_for_every_project_and_read_again(
        value in nearly(), project in "[a-zA-Z]{0,4}(/[a-z]{0,4}){0,3}"
    ) {
        if let Ok(document) = read(&value) {
            let written = serde_json::to_value(&document).expect("JSON");
            prop_assert_eq!(&read(&written).expect("still good"), &document);
            let (of_project, _) = ProjectRules::new(document.clone()).of(&project);
            prop_assert!(validate(&of_project).is_empty());
            prop_assert!(of_project.projects.is_empty());
            let answer = EffectiveConfig { config: of_project.clone(), warnings: Vec::new(), document_fault: None };
            let text = serde_json::to_string(&answer).expect("JSON");
            let again: EffectiveConfig = serde_json::from_str(&text).expect("read by a client");
            prop_assert_eq!(&again.config, &of_project);
            let mut laid = ConfigDocument::default();
            laid.amend(of_project.clone());
            prop_assert!(validate(&laid).is_empty());
        }
    }
}
