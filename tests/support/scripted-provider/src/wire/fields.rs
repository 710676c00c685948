//! Reading JSON with messages like a provider's.

use super::Refusal;
use serde_json::{Map, Value};

/// The body as an object whose keys are all known.
pub(super) fn object<'a>(body: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, Refusal> {
    let object = body
        .as_object()
        .ok_or_else(|| Refusal::bad("The request body must be a JSON object"))?;
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Refusal::bad(format!("{key}: Extra inputs are not permitted"))),
        None => Ok(object),
    }
}

/// A non-empty string.
pub(super) fn text<'a>(value: &'a Value, name: &str, place: &str) -> Result<&'a str, Refusal> {
    value[name]
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Refusal::bad(format!("{place}{name}: Field required")))
}

/// A list with at least one element.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], Refusal> {
    value[name]
        .as_array()
        .filter(|list| !list.is_empty())
        .map(Vec::as_slice)
        .ok_or_else(|| Refusal::bad(format!("{name}: Field required, at least one element")))
}

/// The provider is asked for a stream.
pub(super) fn check_stream(body: &Value) -> Result<(), Refusal> {
    if body["stream"] == Value::Bool(true) {
        Ok(())
    } else {
        Err(Refusal::bad("stream: must be true, this provider only streams"))
    }
}

/// A number of tokens, at least one; `None` if it is not given.
pub(super) fn token_limit(body: &Value, name: &str) -> Result<Option<u64>, Refusal> {
    match &body[name] {
        Value::Null => Ok(None),
        value => match value.as_u64() {
            Some(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(Refusal::bad(format!(
                "{name}: Input should be greater than or equal to 1"
            ))),
        },
    }
}

/// The names of tools, from `name_of` each; every name well-formed and once.
pub(super) fn tool_names(tools: &Value, name_of: impl Fn(&Value) -> &Value) -> Result<Vec<String>, Refusal> {
    let mut names: Vec<String> = Vec::new();
    let tools = match tools {
        Value::Null => return Ok(names),
        tools => tools
            .as_array()
            .ok_or_else(|| Refusal::bad("tools: Input should be a valid list"))?,
    };
    for (index, tool) in tools.iter().enumerate() {
        let name = name_of(tool).as_str().unwrap_or_default();
        let valid =
            (1..=128).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !valid {
            return Err(Refusal::bad(format!("tools.{index}.name: Invalid tool name")));
        }
        if names.iter().any(|other| other == name) {
            return Err(Refusal::bad("tools: Tool names must be unique"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Arguments that came as a string of JSON; an empty string is no arguments.
pub(super) fn arguments(value: &Value, place: &str) -> Result<Value, Refusal> {
    let text = value
        .as_str()
        .ok_or_else(|| Refusal::bad(format!("{place}.arguments: expected a string")))?;
    if text.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|_| Refusal::bad(format!("{place}.arguments: not valid JSON")))
}
