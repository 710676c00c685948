//! The forms in which models submit: what is meant is the same, so it is read the same.
//!
//! Nothing is decided here. A place left empty is one left out, and a name in another spelling is that name.

use conclave_shared::reviewer::ReviewerName;
use serde_json::{Map, Value};

use super::TOOL_SUBMIT_REVIEW;
use crate::json::read_leniently;

/// Maximum depth to which a submission may be wrapped: `{"input": {"review": {…}}}`.
const MAX_WRAPS: usize = 3;

/// The arguments of a submission in their own form, given the ids that it may speak of.
pub(super) fn in_own_form(arguments: Value, ids: &[&str]) -> Value {
    let mut arguments = unwrapped(arguments);
    let Some(fields) = arguments.as_object_mut() else {
        return arguments;
    };
    if let Some(summary) = fields.get_mut("summary") {
        join(summary);
    }
    for list in ["decisions", "earlier", "answers"] {
        let Some(entries) = fields.get_mut(list) else { continue };
        parse_text(entries);
        // An empty list is an answer.
        if is_empty(entries) && !entries.is_array() {
            fields.remove(list);
            continue;
        }
        for entry in entries.as_array_mut().into_iter().flatten() {
            parse_text(entry);
            if let Some(entry) = entry.as_object_mut() {
                tidy(entry, ids);
            }
        }
    }
    arguments
}

/// The submission that a text is as a whole: JSON, in a fence, or as a call that was written down. Not one among other words,
/// which may be a quote.
pub(super) fn in_text(text: &str) -> Option<Value> {
    let text = text.trim();
    let inside = text
        .strip_prefix("<tool_call>")
        .map_or(text, |rest| rest.strip_suffix("</tool_call>").unwrap_or(rest).trim());
    let inside = inside.strip_prefix("```").map_or(inside, |rest| {
        let rest = rest.trim_end_matches('`');
        rest.split_once('\n').map_or(rest, |(_, code)| code)
    });
    let value = read_leniently(inside).ok()?;
    if let Some(name) = value.get("name").and_then(Value::as_str)
        && !name.to_ascii_lowercase().ends_with(TOOL_SUBMIT_REVIEW)
    {
        return None;
    }
    let arguments = value.get("arguments").cloned().unwrap_or(value);
    unwrapped(arguments)
        .as_object()
        .filter(|fields| fields.contains_key("decisions"))
        .map(|fields| Value::Object(fields.clone()))
}

/// The arguments without what is around them: a text that holds them, or an object with nothing else in it.
fn unwrapped(mut arguments: Value) -> Value {
    for _ in 0..MAX_WRAPS {
        parse_text(&mut arguments);
        let Some(fields) = arguments.as_object_mut() else { break };
        let is_wrap = fields.len() == 1
            && !["summary", "decisions", "earlier", "answers"]
                .iter()
                .any(|own| fields.contains_key(*own));
        let Some(inside) = fields.values_mut().next().filter(|_| is_wrap) else {
            break;
        };
        parse_text(inside);
        if !inside.is_object() {
            break;
        }
        arguments = inside.take();
    }
    arguments
}

/// Replaces a text that is JSON of an object or a list by what it holds.
fn parse_text(value: &mut Value) {
    let Some(text) = value.as_str().map(str::trim) else {
        return;
    };
    if text.starts_with(['{', '['])
        && let Ok(read) = read_leniently(text)
    {
        *value = read;
    }
}

/// Makes one text of a list of texts.
fn join(value: &mut Value) {
    if let Some(parts) = value.as_array() {
        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
        *value = Value::String(parts.join(" "));
    }
}

fn tidy(entry: &mut Map<String, Value>, ids: &[&str]) {
    if let Some(code) = entry.get_mut("refuted_by") {
        parse_text(code);
    }
    entry.retain(|_, value| !is_empty(value));
    for name in ["id", "merge_into"] {
        if let Some(Value::String(id)) = entry.get_mut(name) {
            let inside = id.trim_matches(|character: char| !character.is_ascii_alphanumeric());
            if let Some(known) = ids.iter().find(|known| known.eq_ignore_ascii_case(inside)) {
                *id = (*known).to_owned();
            }
        }
    }
    for name in ["action", "severity", "status", "reason_code"] {
        if let Some(Value::String(word)) = entry.get_mut(name) {
            *word = word.trim().to_lowercase().replace([' ', '-'], "_");
        }
    }
    for name in ["production_risk", "light"] {
        let Some(flag) = entry.get_mut(name) else { continue };
        match flag.as_str().map(|word| word.trim().to_lowercase()).as_deref() {
            Some("true" | "yes") => *flag = Value::Bool(true),
            Some("false" | "no") => *flag = Value::Bool(false),
            _ => {}
        }
    }
    // A section is a matter of order alone.
    let is_section = |value: &Value| value.as_str().is_some_and(|name| ReviewerName::new(name).is_ok());
    if entry.get("section").is_some_and(|section| !is_section(section)) {
        entry.remove("section");
    }
}

/// Returns whether nothing is said there.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_meant_is_read_in_every_form() {
        let plain = json!({"summary": "s", "decisions": [{"id": "F1", "action": "keep"}]});
        let with = |field: &str, value: Value| {
            let mut arguments = plain.clone();
            arguments["decisions"][0][field] = value;
            arguments
        };
        for other in [
            plain.clone(),
            json!({"review": plain}),
            json!({"input": {"review": plain}}),
            json!({"input": plain.to_string()}),
            Value::String(plain.to_string()),
            json!({"summary": ["s"], "decisions": plain["decisions"]}),
            json!({"summary": "s", "decisions": plain["decisions"].to_string()}),
            json!({"summary": "s", "decisions": "[{\"id\": \"F1\", \"action\": \"keep\",},]"}),
            json!({"summary": "s", "decisions": plain["decisions"], "earlier": ""}),
            with("id", json!(" [f1] ")),
            with("action", json!("KEEP")),
            with("severity", json!("")),
            with("section", json!("no section!")),
            with("merge_into", json!(" ")),
            with("refuted_by", json!({})),
            with("refuted_by", json!({"file": "", "lines": "", "quote": ""})),
            with("refuted_by", json!("")),
        ] {
            assert_eq!(in_own_form(other.clone(), &["F1", "E1"]), plain, "{other}");
        }
        assert_eq!(
            in_own_form(with("production_risk", json!("false")), &["F1"])["decisions"][0]["production_risk"],
            json!(false)
        );
        // What is said stays, and what cannot be known is not guessed.
        for other in [
            with("id", json!("F7")),
            with("refuted_by", json!({"file": "a", "lines": "1", "quote": "x"})),
            with("action", json!("delete")),
            json!({"decisions": "all of them"}),
            json!("nothing"),
        ] {
            assert_eq!(in_own_form(other.clone(), &["F1"]), other);
        }
    }

    #[test]
    fn a_text_is_a_submission_only_as_a_whole() {
        let plain = json!({"summary": "s", "decisions": [{"id": "F1", "action": "keep"}]});
        for text in [
            plain.to_string(),
            format!("```json\n{plain:#}\n```"),
            format!(
                "<tool_call>\n{}\n</tool_call>",
                json!({"name": "submit_review", "arguments": plain})
            ),
            json!({"name": "functions.submit_review", "arguments": plain.to_string()}).to_string(),
        ] {
            assert_eq!(in_text(&text), Some(plain.clone()), "{text}");
        }
        for text in [
            "I keep F1.".to_owned(),
            format!("The author wrote {plain}, which is no submission."),
            json!({"name": "read", "arguments": plain}).to_string(),
            json!({"summary": "s"}).to_string(),
        ] {
            assert_eq!(in_text(&text), None, "{text}");
        }
    }
}
