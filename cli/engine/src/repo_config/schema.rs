//! The JSON Schema of `.conclave.toml`, from the types that hold its settings.

use conclave_shared::{
    config::{ModelTier, Preset},
    reviewer::ReviewerName,
    sandbox::SandboxLevel,
};
use schemars::{
    Schema, SchemaGenerator,
    generate::SchemaSettings,
    json_schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

use super::RepoConfig;

/// A language as people call it: letters first, at most 40 characters.
pub(super) const LANGUAGE: &str = r"^\p{L}[\p{L} ()-]{1,39}$";
/// The same for the schema, in what every dialect of regular expressions knows: some have no classes of Unicode, Python's among them.
/// Beyond ASCII every character is a letter to it.
pub(super) const LANGUAGE_IN_SCHEMA: &str = r"^[^\x00-@\[-`{-\x7f][^\x00-\x1f!-'*-,.-@\[-`{-\x7f]{1,39}$";
/// Anything but white space alone.
pub(super) const NOT_BLANK: &str = r"\S";

/// The schema.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with_transform(WithoutNull);
    let mut schema = settings.into_generator().into_root_schema_for::<RepoConfig>();
    schema.insert("title".to_owned(), ".conclave.toml".into());
    schema.to_value()
}

/// The reviewers that can be named.
pub(super) fn reviewer_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string", "enum": ReviewerName::STANDING}})
}

/// The name of a reviewer that a project adds.
pub(super) fn own_name(_: &mut SchemaGenerator) -> Schema {
    let mut taken = ReviewerName::STANDING.to_vec();
    taken.push(ReviewerName::COORDINATOR);
    taken.extend(ReviewerName::RULES);
    json_schema!({"type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$", "not": {"enum": taken}})
}

/// The classes of models that can be named.
pub(super) fn model_class(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ModelTier::ALL.map(ModelTier::as_str), "default": "standard"})
}

/// The presets that can be named.
pub(super) fn preset(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Preset::ALL.map(Preset::as_str)})
}

/// The sandboxes that can be asked for.
pub(super) fn required_sandbox(_: &mut SchemaGenerator) -> Schema {
    let levels = [SandboxLevel::Enforced, SandboxLevel::Partial].map(SandboxLevel::as_str);
    json_schema!({"type": "string", "enum": levels})
}

/// TOML has no null: what is optional is left out.
#[derive(Debug, Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(object) = schema.as_object_mut() {
            if object.get("default").is_some_and(holds_null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| option.get("type").is_none_or(|name| name != "null"));
                if let [only] = options.as_slice()
                    && let Some(reference) = only.get("$ref").cloned()
                {
                    object.remove("anyOf");
                    object.insert("allOf".to_owned(), serde_json::json!([{"$ref": reference}]));
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(fields) => fields.values().any(holds_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
