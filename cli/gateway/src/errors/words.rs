//! The words of a provider about a call that it refuses.

use conclave_shared::invisible::is_invisible;
use serde_json::Value;

/// Maximum length of what is shown of them, in characters.
const MAX: usize = 200;

/// The message in an error body, as one short line, if it has the shape of one.
pub(crate) fn message(body: &Value) -> Option<String> {
    // Google sends a list of one.
    let body = body.get(0).unwrap_or(body);
    let said = body["error"]["message"]
        .as_str()
        .or_else(|| body["errors"][0]["message"].as_str())
        .or_else(|| body["message"].as_str())
        .or_else(|| body["error"].as_str())
        .or_else(|| body["detail"].as_str())?;
    // What stands behind another endpoint says more.
    let cause = body["error"]["metadata"]["raw"].as_str().unwrap_or_default();
    let end = if cause.is_empty() { "" } else { ": " };
    Some(short(&format!("{said}{end}{cause}")))
}

/// The message in an error body, or what there is in its place.
pub(super) fn said(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    message(&parsed).unwrap_or_else(|| short(body))
}

/// Returns whether a body is a page, which no API sends.
pub(crate) fn is_page(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

/// A text as one short line.
pub(crate) fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut visible = text.chars().filter(|character| !is_invisible(*character));
    let mut line: String = visible.by_ref().take(MAX).collect();
    if visible.next().is_some() {
        line.push('…');
    }
    line
}
