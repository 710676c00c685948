//! Refusal of text that two readers take for two different things, in each format.
//!
//! A rule is worth nothing where the package manager sees another file than the rule. No package manager writes such a text,
//! so a lock file that has it counts as one that cannot be read.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// A document in which no object has a key twice, nor a merge key (`<<`). Of two equal keys, some readers take the first one
/// and others the last one. It holds the text of a scalar, which may be a key.
pub(super) struct Unambiguous(Option<String>);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

/// A scalar, as the text that it has as a key.
fn scalar(value: &dyn ToString) -> Unambiguous {
    Unambiguous(Some(value.to_string()))
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Unambiguous;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("data without tags")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Unambiguous, E> {
        Ok(scalar(&value))
    }

    fn visit_none<E: Error>(self) -> Result<Unambiguous, E> {
        Ok(scalar(&"null"))
    }

    fn visit_unit<E: Error>(self) -> Result<Unambiguous, E> {
        Ok(scalar(&"null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unambiguous, A::Error> {
        while items.next_element::<Unambiguous>()?.is_some() {}
        Ok(Unambiguous(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Unambiguous, A::Error> {
        let mut keys = HashSet::new();
        while let Some(Unambiguous(key)) = fields.next_key()? {
            let key = key.ok_or_else(|| A::Error::custom("a key is not a word"))?;
            if key == "<<" {
                return Err(A::Error::custom("the key `<<` merges another object into this one"));
            }
            if keys.contains(&key) {
                let key = shortened(&key);
                return Err(A::Error::custom(format!("the key `{key}` stands twice in one object")));
            }
            fields.next_value::<Unambiguous>()?;
            keys.insert(key);
        }
        Ok(Unambiguous(None))
    }
}

/// Refuses characters that some readers take for the end of a line or for a space, others for a part of a word. Package
/// managers write them as escapes, if at all.
pub(super) fn refuse_characters(text: &str) -> Result<(), String> {
    let is_refused =
        |character: &char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}');
    for (index, line) in without_mark(text).lines().enumerate() {
        if let Some(character) = line.chars().find(is_refused) {
            let (line, code) = (index + 1, u32::from(character));
            return Err(format!(
                "line {line} has a character that does not belong there (U+{code:04X})"
            ));
        }
    }
    Ok(())
}

/// The text without the byte-order mark that it may begin with.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A line as a message can show it.
pub(super) fn shortened(line: &str) -> String {
    line.chars()
        .filter(|character| !character.is_control())
        .take(60)
        .collect()
}
