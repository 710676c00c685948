//! The JSON of REST, made of the state: what is known is named here, the rest is filled in by the schema.

pub(crate) mod checks;
pub(crate) mod commit;
pub(crate) mod people;
pub(crate) mod pull;
pub(crate) mod repository;
pub(crate) mod review;

use serde_json::{Value, json};

use crate::spec::Spec;

/// An entity of the document with the properties that are known.
fn fill(component: &str, known: Value) -> Value {
    Spec::shared().fill(component, known)
}

/// Adds or replaces properties.
fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

fn link(url: &str) -> Value {
    json!({ "href": url })
}
