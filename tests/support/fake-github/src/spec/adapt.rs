//! Schemas of `OpenAPI` 3.0 as JSON Schema: `nullable` becomes a type, undeclared properties are refused.

use serde_json::{Map, Value, json};

/// Adapts every component schema.
pub(super) fn components(schemas: &Value) -> Value {
    let adapted = super::entries(schemas).map(|(name, value)| {
        let mut adapted = schema(value);
        // The rules of a branch are put together with `allOf`, where each part sees the properties of the other.
        if name.starts_with("repository-rule-") {
            adapted["additionalProperties"] = json!(true);
        }
        (name.clone(), adapted)
    });
    Value::Object(adapted.collect())
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

/// Adapts one schema and everything inside it.
pub(super) fn schema(value: &Value) -> Value {
    let Some(object) = value.as_object() else {
        return value.clone();
    };
    if object.contains_key("$ref") {
        return json!({ "$ref": object["$ref"] });
    }
    let mut adapted = Map::new();
    for (key, value) in object {
        let kept = match key.as_str() {
            "properties" => {
                let properties = super::entries(value).map(|(name, property)| (name.clone(), schema(property)));
                Value::Object(properties.collect())
            }
            "items" | "additionalProperties" => schema(value),
            "oneOf" | "anyOf" | "allOf" => value.as_array().into_iter().flatten().map(schema).collect(),
            "type" | "required" | "enum" | "format" | "minimum" | "maximum" | "maxLength" | "minLength"
            | "maxItems" | "pattern" => value.clone(),
            _ => continue,
        };
        // Two variants of an answer may both fit; what matters is that one of them does.
        let key = if key == "oneOf" { "anyOf" } else { key };
        adapted.insert(key.to_owned(), kept);
    }
    if adapted.contains_key("properties") && !adapted.contains_key("additionalProperties") {
        adapted.insert("additionalProperties".to_owned(), json!(false));
    }
    let adapted = Value::Object(adapted);
    if object.get("nullable") == Some(&json!(true)) {
        json!({ "anyOf": [adapted, { "type": "null" }] })
    } else {
        adapted
    }
}
