//! The words of a provider about a call that it refuses.

use serde_json::Value;

/// Maximum length of what is shown of them, in characters.
const MAX: usize = 200;

/// The message in an error body, as one short line, if it has the shape of one.
pub(crate) fn message(body: &Value) -> Option<String> {
    let said = body["error"]["message"]
        .as_str()
        .or_else(|| body["errors"][0]["message"].as_str())
        .or_else(|| body["message"].as_str())?;
    Some(short(said))
}

/// A text as one short line.
pub(crate) fn short(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(MAX)
        .collect()
}
