//! A document in a file: its text, and the JSON in it without keys that are there twice.

use std::{
    fmt,
    fs::OpenOptions,
    io::{ErrorKind, Read, Write},
};

use camino::Utf8Path;
use conclave_plugin_reviewer_config::{StoredDocument, empty_document};
use conclave_shared::config::ConfigFault;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

use crate::exit::Failure;

/// The text of a file or, for `-`, of standard input.
pub(super) fn text(file: &Utf8Path) -> Result<String, Failure> {
    let text = if file == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(Failure::io(format!("read {file}")))?;
    if text.trim().is_empty() {
        return Err(Failure::Settings(format!(
            "{file} is empty: the smallest document is {}",
            empty_document()
        )));
    }
    Ok(text)
}

/// Keeps a copy of a stored document in the current directory, and returns the file's name. Two copies of one document are one file.
pub(super) fn keep(stored: &StoredDocument) -> Result<String, Failure> {
    let plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let tag: String = stored.tag.chars().filter(plain).take(80).collect();
    let name = format!("conclave-config-{tag}.replaced");
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&name)
        .and_then(|mut file| file.write_all(stored.text.as_bytes()));
    match written {
        Err(error)
            if error.kind() == ErrorKind::AlreadyExists
                && std::fs::read(&name).is_ok_and(|kept| kept == stored.text.as_bytes()) =>
        {
            Ok(name)
        }
        written => written.map(|()| name.clone()).map_err(Failure::io(format!(
            "keep a copy of the stored document in {name}, so nothing was changed"
        ))),
    }
}

/// The JSON of a text. A key that is there twice is a fault: only one of its values would count, without a word about which.
pub(super) fn parse(text: &str) -> Result<Value, ConfigFault> {
    serde_json::from_str::<Unique>(text)
        .map(|unique| unique.0)
        .map_err(|error| ConfigFault {
            pointer: String::new(),
            detail: format!("is not JSON that can be used: {error}"),
        })
}

/// A value in which each object has each key once.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is there twice")));
            }
            let Unique(value) = fields.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_a_fault_with_its_place() {
        let text = r#"{"schema_version":1,"limits":{"sessions":2.5,"list":[null,true,-3,"x",{}]}}"#;
        let plain: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(parse(text), Ok(plain));
        for text in ["{\"a\":1,\n\"a\":2}", "{\"b\":[{\n\"a\":{},\"a\":{}}]}"] {
            let detail = parse(text).expect_err(text).detail;
            assert!(detail.contains("`a` is there twice at line 2"), "{detail}");
        }
        let broken = parse("{").expect_err("broken").detail;
        assert!(broken.starts_with("is not JSON that can be used: EOF"), "{broken}");
    }
}
