//! The fields of a request's body, changed one by one.
//!
//! A body is long, and nearly all of it are messages and tools that stay as they are. So the fields are found without reading what is
//! in them, and what is not changed keeps every byte: providers' caches find it again.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// The fields of a body in their order.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    fields: Vec<(Cow<'a, str>, Field<'a>)>,
    changed: bool,
}

#[derive(Debug)]
enum Field<'a> {
    Raw(&'a RawValue),
    Value(Value),
}

impl<'a> Fields<'a> {
    /// The fields of a body; nothing if it is not a JSON object.
    pub(super) fn of(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// A copy of a field's value.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let (_, field) = self.fields.iter().find(|(known, _)| known == name)?;
        match field {
            Field::Raw(raw) => serde_json::from_str(raw.get()).ok(),
            Field::Value(value) => Some(value.clone()),
        }
    }

    /// Returns whether there is a field of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(known, _)| known == name)
    }

    /// Changes a field's value in place, if there is one.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let Some(before) = self.get(name) else { return };
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            self.set(name, after);
        }
    }

    /// Sets a field in the place of one of the same name, or at the end.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        if self.get(name).as_ref() == Some(&value) {
            return;
        }
        self.changed = true;
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, field)) => *field = Field::Value(value),
            None => self.fields.push((Cow::Owned(name.to_owned()), Field::Value(value))),
        }
    }

    /// Removes a field.
    pub(super) fn remove(&mut self, name: &str) {
        let before = self.fields.len();
        self.fields.retain(|(known, _)| known != name);
        self.changed |= self.fields.len() != before;
    }

    /// Gives a field another name, in its place.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some((name, _)) = self.fields.iter_mut().find(|(known, _)| known == from) {
            *name = Cow::Owned(to.to_owned());
            self.changed = true;
        }
    }

    /// The body; the one that it was made of if nothing has changed.
    pub(super) fn write(&self, body: &Bytes) -> Bytes {
        if !self.changed {
            return body.clone();
        }
        let mut text = String::with_capacity(body.len() + 256);
        for (name, field) in &self.fields {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&Value::from(name.as_ref()).to_string());
            text.push(':');
            match field {
                Field::Raw(raw) => text.push_str(raw.get()),
                Field::Value(value) => text.push_str(&value.to_string()),
            }
        }
        if text.is_empty() {
            text.push('{');
        }
        text.push('}');
        text.into()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    fields.push((name.0, Field::Raw(value)));
                }
                Ok(Fields { fields, changed: false })
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// A field's name, borrowed where it needs no unescaping.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_keeps_its_bytes_and_its_place() {
        let body = Bytes::from_static(b"{ \"model\":\"a\", \"messages\" : [ 1.0, \"\\u00e9\" ],\"n\":1e2}");
        let mut fields = Fields::of(&body).expect("an object");
        assert_eq!(fields.write(&body), body);
        fields.set("model", "a");
        fields.remove("nothing");
        fields.change("n", |_| ());
        assert_eq!(fields.write(&body), body, "nothing has changed");
        fields.set("model", "b");
        fields.rename("n", "m");
        fields.set("new", serde_json::json!({"x": 1}));
        let expected = "{\"model\":\"b\",\"messages\":[ 1.0, \"\\u00e9\" ],\"m\":1e2,\"new\":{\"x\":1}}";
        assert_eq!(fields.write(&body), expected);
        for name in ["model", "messages", "m", "new"] {
            fields.remove(name);
        }
        assert_eq!(fields.write(&body), "{}");
        assert!(Fields::of(b"[]").is_none());
        assert!(Fields::of(b"{\"a\":").is_none());
    }
}
