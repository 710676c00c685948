//! The JSON Schema of the document, from the types that hold it.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{ConfigDocument, SCHEMA_VERSION};

/// The schema. What it cannot say (chains that turn, patterns, entries that contradict each other) validation does.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = settings.into_generator().into_root_schema_for::<ConfigDocument>();
    schema.insert("title".to_owned(), "Configuration of Conclave's reviews".into());
    let mut schema = schema.to_value();
    schema["properties"]["schema_version"] = serde_json::json!({
        "description": format!("The shape of the document; {SCHEMA_VERSION} today."),
        "type": "integer",
        "minimum": 1,
        "maximum": SCHEMA_VERSION,
    });
    schema
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
