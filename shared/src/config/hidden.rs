//! Characters in a document that a reader does not see: a name that looks like another one, a reason that reads otherwise than it is.

use serde_json::Value;

use super::{ConfigFault, fault::escape};
use crate::invisible::{ends_line, is_invisible, is_presentation_selector};

/// The first character of a text that may not be in a name or a reason, with its place, as the end of a sentence about the text.
///
/// The selector behind a sign such as `⚠️` is let in where a person writes a sentence.
pub fn hidden_character(text: &str) -> Option<String> {
    first(text, |character| !is_presentation_selector(character))
}

fn first(text: &str, counts: impl Fn(char) -> bool) -> Option<String> {
    let is_hidden = |character: char| is_invisible(character) || character.is_control() || ends_line(character);
    let (place, character) = text
        .chars()
        .enumerate()
        .find(|(_, character)| is_hidden(*character) && counts(*character))?;
    Some(format!(
        "has an invisible character, U+{:04X}, at character {}: leave it out",
        u32::from(character),
        place + 1
    ))
}

/// Faults of all names and texts of a document, in the order of its fields.
pub(super) fn faults(document: &Value) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    collect(document, "", &mut faults);
    faults
}

fn collect(value: &Value, pointer: &str, faults: &mut Vec<ConfigFault>) {
    match value {
        Value::String(text) => {
            if let Some(detail) = hidden_character(text) {
                faults.push(ConfigFault {
                    pointer: pointer.to_owned(),
                    detail,
                });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{index}"), faults);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                // The place is shown, so it must not hide anything itself.
                let shown: String = name.chars().flat_map(shown).collect();
                let place = format!("{pointer}/{}", escape(&shown));
                if let Some(detail) = first(name, |_| true) {
                    faults.push(ConfigFault {
                        pointer: place.clone(),
                        detail: format!("its name {detail}"),
                    });
                }
                collect(item, &place, faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A character as it is shown: one that cannot be seen by its number.
fn shown(character: char) -> Vec<char> {
    if first(character.encode_utf8(&mut [0; 4]), |_| true).is_some() {
        return format!("<U+{:04X}>", u32::from(character)).chars().collect();
    }
    vec![character]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{check, read};

    #[test]
    fn invisible_characters_are_refused_on_write_with_their_place_and_a_stored_document_still_counts() {
        let document = json!({"schema_version": 1,
            "providers": {"acme\u{200b}": {"enabled": false, "reason": "in\u{202e}cident"}, "vllm": {"enabled": true, "reason": "⚠️ slow\n"}},
            "reviewers": {"accessi\u{ad}bility": {"timeout_seconds": 9}},
            "projects": [{"paths": ["a\u{2066}/**"]}],
            "added_later\u{feff}": ["\u{2028}"]});
        let faults = check(&document).expect_err("hidden characters");
        let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        for place in [
            "/providers/acme<U+200B>",
            "/providers/acme<U+200B>/reason",
            "/providers/vllm/reason",
            "/reviewers/accessi<U+00AD>bility",
            "/projects/0/paths/0",
            "/added_later<U+FEFF>",
            "/added_later<U+FEFF>/0",
        ] {
            assert!(places.contains(&place), "{place}: {faults:?}");
        }
        let of = |place: &str| {
            faults
                .iter()
                .find(|fault| fault.pointer == place)
                .map(|fault| &fault.detail)
        };
        let detail = of("/providers/acme<U+200B>/reason").expect("a fault");
        assert_eq!(
            detail,
            "has an invisible character, U+202E, at character 3: leave it out"
        );
        assert!(faults.iter().all(|fault| hidden_character(&fault.pointer).is_none()
            && hidden_character(&fault.detail).is_none()
            || fault.pointer.starts_with("/reviewers/")));

        let plain = json!({"schema_version": 1, "providers": {"vllm": {"enabled": false, "reason": "⚠️ zu langsam – später"}},
            "models": {"light": ["vllm/qwen"]}});
        assert!(check(&plain).is_ok());
        let stored =
            json!({"schema_version": 1, "providers": {"vllm": {"enabled": false, "reason": "in\u{202e}cident"}}});
        assert!(read(&stored).is_ok(), "an update takes no document out of force");
    }
}
