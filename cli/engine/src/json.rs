//! JSON as models write it: a comma too many, or line breaks inside of a text.

use serde_json::{Error, Value};

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
}
