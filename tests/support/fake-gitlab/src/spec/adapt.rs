//! From `OpenAPI` 3.0 schemas to JSON Schema.
//!
//! Requests become stricter (no unknown properties: a misspelled parameter must not pass), responses looser where the
//! document is known to be silent (every property may be `null`).

use serde_json::{Map, Value, json};

/// Which way a body travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// Set on a schema by the exceptions when more properties than the declared ones may appear.
pub(super) const OPEN: &str = "x-open";

/// Adapts every component schema.
pub(super) fn components(schemas: &Value, side: Side) -> Value {
    let adapted: Map<String, Value> = super::entries(schemas)
        .map(|(name, value)| (name.clone(), schema(value, side)))
        .collect();
    Value::Object(adapted)
}

/// A document whose root is `schema`, with the adapted components that it refers to: a validator is compiled from all that it is given.
pub(super) fn root(schema: &Value, components: &Value) -> Value {
    let mut needed = Map::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                open.extend(object.values());
                let reference = object.get("$ref").and_then(Value::as_str);
                if let Some((_, name)) = reference.and_then(|reference| reference.rsplit_once('/'))
                    && !needed.contains_key(name)
                    && let Some(component) = components.get(name)
                {
                    needed.insert(name.to_owned(), component.clone());
                    open.push(component);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    json!({ "allOf": [schema], "components": { "schemas": needed } })
}

/// Replaces a reference to a component by the component itself.
pub(super) fn inline(schema: &Value, components: &Value) -> Value {
    let name = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.rsplit('/').next());
    name.map_or_else(|| schema.clone(), |name| components[name].clone())
}

/// Adapts one schema and everything inside it.
pub(super) fn schema(value: &Value, side: Side) -> Value {
    let Some(object) = value.as_object() else {
        return value.clone();
    };
    if let Some(reference) = object.get("$ref") {
        return json!({ "$ref": reference });
    }
    let mut adapted = Map::new();
    for (key, value) in object {
        match key.as_str() {
            "example" | "nullable" | "description" | "default" | OPEN => {}
            "properties" => {
                let properties = super::entries(value).map(|(name, property)| {
                    let property = schema(property, side);
                    (
                        name.clone(),
                        if side == Side::Response {
                            or_null(&property)
                        } else {
                            property
                        },
                    )
                });
                adapted.insert(key.clone(), Value::Object(properties.collect()));
            }
            "items" => {
                adapted.insert(key.clone(), schema(value, side));
            }
            "oneOf" | "anyOf" | "allOf" => {
                let variants = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|variant| schema(variant, side));
                // An id is both a string and an integer in `oneOf`; what matters is that one of them fits.
                let key = if key == "oneOf" { "anyOf" } else { key };
                adapted.insert(key.to_owned(), Value::Array(variants.collect()));
            }
            _ => {
                adapted.insert(key.clone(), value.clone());
            }
        }
    }
    if adapted.contains_key("properties") && !object.contains_key(OPEN) {
        adapted.insert("additionalProperties".to_owned(), json!(false));
    }
    let adapted = Value::Object(adapted);
    if object.get("nullable") == Some(&json!(true)) {
        or_null(&adapted)
    } else {
        adapted
    }
}

fn or_null(schema: &Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}
