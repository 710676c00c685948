//! JSON as models write it: a comma too many, line breaks inside of a text, or a name twice in one object.

use std::collections::BTreeSet;

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Error, Map, Number, Value};

/// Reads JSON, and where it cannot be read so, without commas before a closing bracket and with control characters inside of
/// texts as they are meant.
pub fn read_leniently(text: &str) -> Result<Value, Error> {
    let text = text.trim();
    serde_json::from_str(text).or_else(|error| serde_json::from_str(&mended(text)).map_err(|_| error))
}

fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len() + 16);
    let (mut in_text, mut is_escaped) = (false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = in_text,
            '"' => in_text = !in_text,
            '\n' | '\r' | '\t' if in_text => {
                mended.push_str(match character {
                    '\n' => "\\n",
                    '\r' => "\\r",
                    _ => "\\t",
                });
                continue;
            }
            ',' if !in_text && text[at + 1..].trim_start().starts_with(['}', ']']) => continue,
            _ => {}
        }
        mended.push(character);
    }
    mended
}

/// Reads JSON in which no object has two names of one form: only one of their values would count, without a word about which.
pub fn read_strictly(text: &str, form: fn(&str) -> String) -> Result<Value, Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = UniqueNames(form).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The name that an object in this text has twice, in upper or lower case, and the line in which that is seen.
pub(crate) fn repeated_name(text: &str) -> Option<(String, usize)> {
    let error = read_strictly(text, str::to_ascii_lowercase).err()?;
    let said = error.to_string();
    let (name, _) = said.strip_prefix(THE_KEY)?.rsplit_once(IS_THERE_TWICE)?;
    Some((name.to_owned(), error.line().max(1)))
}

const THE_KEY: &str = "the key `";
const IS_THERE_TWICE: &str = "` is there twice";

/// Reads values in which no object has two names of one form.
#[derive(Clone, Copy)]
struct UniqueNames(fn(&str) -> String);

impl<'de> DeserializeSeed<'de> for UniqueNames {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueNames {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let (mut map, mut names) = (Map::new(), BTreeSet::new());
        while let Some(name) = fields.next_key::<String>()? {
            if !names.insert((self.0)(&name)) {
                return Err(de::Error::custom(format!("{THE_KEY}{name}{IS_THERE_TWICE}")));
            }
            map.insert(name, fields.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comma_too_many_and_a_raw_line_break_are_read_and_half_a_text_is_not() {
        for (text, value) in [
            (r#" {"a": [1, 2]} "#, json!({"a": [1, 2]})),
            ("{\"a\": [1, 2,\n],}", json!({"a": [1, 2]})),
            ("{\"a\": \"x\n\ty, } \\\" z\"}", json!({"a": "x\n\ty, } \" z"})),
        ] {
            assert_eq!(read_leniently(text).expect(text), value);
        }
        for text in ["", "{\"a\": ", "{\"a\": \"x}", "{,}x"] {
            assert!(read_leniently(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_there_twice_is_found_in_every_case_and_depth() {
        let text = "{\"a\": [1, {\n\"b`\": {}, \"B`\": -2}]}";
        assert_eq!(repeated_name(text), Some(("B`".to_owned(), 2)));
        assert_eq!(
            read_strictly(text, str::to_owned).ok(),
            serde_json::from_str::<Value>(text).ok()
        );
        for none in [
            "{\"a\": {\"a\": null}, \"b\": [true, 0.5, \"a\"]}",
            "{\"a\": 1, \"b\"",
            "{} {}",
        ] {
            assert_eq!(repeated_name(none), None, "{none}");
        }
        read_strictly("{} {}", str::to_owned).expect_err("two values");
    }
}
