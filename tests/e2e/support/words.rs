//! Words of one forge that have no place in a job of another.

use regex::Regex;
use serde_json::Value;

/// The lines of a text with a word that is the other forge's.
pub(crate) fn foreign_words(is_github: bool, text: &str) -> Vec<String> {
    let foreign = if is_github {
        // A merge request's number has `!` before it.
        r"(?i:merge[ -]requests?)|\bMRs?\b|(^|[\s(`])![0-9]+|GitLab|GITLAB_|GIT_DEPTH|\bCI_[A-Z]+"
    } else {
        r"(?i:pull[ -]requests?)|GitHub|GITHUB_"
    };
    let foreign = Regex::new(foreign).unwrap();
    let lines = text.lines().filter(|line| foreign.is_match(line));
    lines.map(str::to_owned).collect()
}

/// All texts in a JSON document, without the names of its fields.
pub(crate) fn texts_in(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
