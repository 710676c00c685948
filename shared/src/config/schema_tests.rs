//! The published schema, the types and the validation say the same; and documents of every version stay readable.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::config::read;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[expect(clippy::disallowed_methods, reason = "tests read what is published")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "writes the file when it is asked to")]
fn the_published_config_schema_is_up_to_date() {
    let path = repository().join("docs/schema/config-document.schema.json");
    let current = format!("{:#}\n", schema());
    if std::env::var("CONCLAVE_WRITE_SCHEMA").is_ok() {
        std::fs::write(&path, &current).expect("written");
    }
    assert_eq!(
        text(&path),
        current,
        "renew it: CONCLAVE_WRITE_SCHEMA=1 cargo nextest run -p conclave-shared published_config_schema"
    );
}

#[test]
fn schema_and_validation_agree_about_shapes() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let with = |field: &str, value: Value| {
        let mut document = json!({"schema_version": 1});
        document[field] = value;
        document
    };
    for (document, good) in [
        (json!({"schema_version": 1}), true),
        (json!({}), false),
        (json!({"schema_version": 0}), false),
        (json!({"schema_version": 2}), false),
        (with("later_field", json!(1)), true),
        (with("limits", json!({"sessions": 4, "budget": {"run_usd": 1.5}})), true),
        (with("limits", json!({"sessions": -4})), false),
        (with("limits", json!({"sessions": "4"})), false),
        (with("providers", json!({"x": {"enabled": false, "reason": "y"}})), true),
        (with("providers", json!({"x": {}})), false),
        (with("failback", json!({"a/b": null, "a/c": "a/b"})), true),
        (with("failback", json!({"a/b": "b"})), false),
        (with("reviewers", json!({"security": {"models": ["a/b"]}})), true),
        (with("reviewers", json!({"security": {"models": ["b"]}})), false),
        (
            with(
                "prices",
                json!({"a/b": {"as_of": "2026-11-01", "input": 1, "output": 2}}),
            ),
            true,
        ),
        (
            with("prices", json!({"a/b": {"as_of": "soon", "input": 1, "output": 2}})),
            false,
        ),
        (with("prices", json!({"a/b": {"input": 1, "output": 2}})), false),
        (
            with(
                "prices",
                json!({"a/b": {"as_of": "2026-11-01", "input": -1, "output": 2}}),
            ),
            false,
        ),
        (
            with("projects", json!([{"paths": ["a/**"], "limits": {"sessions": 2}}])),
            true,
        ),
        (with("projects", json!([{"paths": []}])), false),
        (with("projects", json!([{"limits": {"sessions": 2}}])), false),
    ] {
        assert_eq!(validator.is_valid(&document), good, "the schema: {document}");
        assert_eq!(read(&document).is_ok(), good, "the code: {document}");
    }
}

/// All documents that were ever written, in `tests/fixtures/config`.
fn fixtures(prefix: &str) -> Vec<(String, Value)> {
    let directory = repository().join("tests/fixtures/config");
    let files = directory
        .read_dir()
        .expect("fixtures")
        .map(|file| file.expect("a file").path());
    let mut found: Vec<(String, Value)> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let document = serde_json::from_str(&text(&path)).expect("JSON");
            name.starts_with(prefix).then_some((name, document))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[test]
fn documents_of_every_version_are_still_read() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let known = fixtures("v1-");
    assert!(known.len() >= 3);
    for (name, document) in known {
        assert!(read(&document).is_ok(), "{name}: {:?}", read(&document));
        assert!(validator.is_valid(&document), "{name}");
    }
    for version in 1..=SCHEMA_VERSION {
        assert!(
            !fixtures(&format!("v{version}-")).is_empty(),
            "a document of version {version} is kept"
        );
    }
}

#[test]
fn a_document_of_a_later_version_is_refused_and_not_guessed_at() {
    for (name, document) in fixtures("later-") {
        let faults = read(&document).expect_err("later");
        assert!(
            faults.iter().any(|fault| fault.pointer == "/schema_version"),
            "{name}: {faults:?}"
        );
    }
}

/// The client as it was before there were entries for projects and prices. It stays as it is: clients lag behind.
mod first_client {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    #[derive(Deserialize)]
    pub(super) struct Effective {
        pub(super) config: Document,
        #[serde(default)]
        pub(super) warnings: Vec<String>,
    }

    #[derive(Deserialize)]
    pub(super) struct Document {
        pub(super) schema_version: u32,
        #[serde(default)]
        pub(super) revision: u64,
        #[serde(default)]
        pub(super) reviewers: BTreeMap<String, Reviewer>,
        #[serde(default)]
        pub(super) providers: BTreeMap<String, Switch>,
        #[serde(default)]
        pub(super) failback: BTreeMap<String, Option<String>>,
        #[serde(default)]
        pub(super) limits: Limits,
        #[serde(default)]
        pub(super) panels: BTreeMap<String, Vec<String>>,
    }

    #[derive(Deserialize)]
    pub(super) struct Reviewer {
        pub(super) enabled: Option<bool>,
        #[serde(default)]
        pub(super) models: Vec<String>,
    }

    #[derive(Deserialize)]
    pub(super) struct Switch {
        pub(super) enabled: bool,
    }

    #[derive(Default, Deserialize)]
    #[serde(default)]
    pub(super) struct Limits {
        pub(super) sessions: u32,
        pub(super) run_seconds: u64,
    }
}

#[test]
fn the_first_client_understands_the_answer_of_today() {
    let (_, newest) = fixtures("v1-").pop().expect("one");
    let document = read(&newest).expect("good");
    let (config, warnings) = crate::config::ProjectRules::new(document).of("platform/payments");
    let answer = crate::config::EffectiveConfig {
        config,
        warnings,
        document_fault: None,
    };
    let text = serde_json::to_string(&answer).expect("JSON");
    let read: first_client::Effective = serde_json::from_str(&text).expect("an old client reads it");
    let config = read.config;
    assert_eq!((config.schema_version, config.revision), (1, 12));
    assert_eq!(config.limits.sessions, 2, "what is otherwise in the project reaches it");
    assert_eq!(config.limits.run_seconds, 2400);
    assert_eq!(config.reviewers["security"].models, ["openai/gpt-6-sol"]);
    assert_eq!(config.reviewers["documentation"].enabled, Some(false));
    assert!(!config.providers["openai"].enabled);
    assert_eq!(config.failback["anthropic/claude-opus-4-6"], None);
    assert_eq!(config.panels["lite"], ["security", "code_quality"]);
    assert!(read.warnings.is_empty());
}
