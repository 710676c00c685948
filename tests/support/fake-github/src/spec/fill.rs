//! Skeletons of entities: what a schema requires and the stand-in does not model gets a plain value of its type.

use serde_json::{Map, Value, json};

use super::Spec;

/// The time of everything that has no time of its own.
const EPOCH: &str = "2026-01-01T00:00:00Z";

impl Spec {
    /// Completes the known properties of a component to an entity with every required property. Addresses that are not
    /// known are made of the entity's own `url`.
    pub(crate) fn fill(&self, component: &str, known: Value) -> Value {
        self.complete(&self.components[component], known)
    }

    fn complete(&self, schema: &Value, known: Value) -> Value {
        let Value::Object(mut known) = known else {
            return known;
        };
        let base = known
            .get("url")
            .and_then(Value::as_str)
            .unwrap_or("http://localhost")
            .to_owned();
        let required = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        for name in required {
            let property = &schema["properties"][name];
            let value = match known.remove(name) {
                Some(value) => value,
                None => self.default(name, property, &base),
            };
            known.insert(name.to_owned(), value);
        }
        Value::Object(known)
    }

    fn default(&self, name: &str, schema: &Value, base: &str) -> Value {
        if schema["nullable"] == json!(true) {
            return Value::Null;
        }
        if let Some(component) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return self.default(name, &self.components[component], base);
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[0].clone();
        }
        match schema["type"].as_str() {
            Some("integer" | "number") => json!(0),
            Some("boolean") => json!(false),
            Some("array") => json!([]),
            Some("string") if schema["format"] == "date-time" => json!(EPOCH),
            Some("string") if schema["format"] == "uri" || name.ends_with("_url") => {
                let last = name.strip_suffix("_url").unwrap_or(name);
                json!(format!("{base}/{last}"))
            }
            Some("string") => json!(""),
            Some("object") => self.complete(schema, Value::Object(Map::new())),
            _ => Value::Null,
        }
    }
}
