//! Checks of requests: path and query parameters, content type, body.

use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::{Map, Value, json};

use super::{BodyRule, Operation, Parameter};

/// A request body as it arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct IncomingBody {
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Why a request breaks the contract, in the words of GitLab's parameter validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self {
            status: 400,
            text: text.into(),
        }
    }
}

impl Operation {
    /// Checks the decoded path and query parameters.
    pub(crate) fn check_parameters<'a>(
        &self,
        path: impl Iterator<Item = (&'a String, &'a String)>,
        query: &[(String, String)],
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, value) in path {
            let parameter = self
                .parameters
                .iter()
                .find(|parameter| parameter.in_path && parameter.name == *name);
            problems.extend(parameter.and_then(|parameter| check_text(name, value, &parameter.schema)));
        }
        let declared = || self.parameters.iter().filter(|parameter| !parameter.in_path);
        for (name, value) in query {
            let bare = name.strip_suffix("[]").unwrap_or(name);
            match declared().find(|parameter| parameter.name == *name || parameter.name == bare) {
                Some(parameter) => problems.extend(check_text(bare, value, &parameter.schema)),
                None => problems.push(Problem::new(format!("{name} is not a parameter of {}", self.name()))),
            }
            if matches!(name.as_str(), "page" | "per_page") && value.parse().is_ok_and(|number: i64| number < 1) {
                problems.push(Problem::new(format!("{name} does not have a valid value")));
            }
        }
        let missing = |parameter: &&Parameter| {
            parameter.required
                && !query
                    .iter()
                    .any(|(name, value)| *name == parameter.name && !value.is_empty())
        };
        problems.extend(declared().filter(missing).map(|parameter| is_missing(&parameter.name)));
        problems
    }

    /// Reads the body and checks it against its schema.
    pub(crate) fn check_body(&self, incoming: &IncomingBody) -> Result<Value, Vec<Problem>> {
        let value = read_body(incoming, self.body.as_ref())?;
        let Some(rule) = &self.body else {
            return match value.as_object() {
                Some(object) if object.is_empty() => Ok(value),
                _ => Err(vec![Problem::new(format!("{} takes no body", self.name()))]),
            };
        };
        if !rule.required && value.as_object().is_some_and(Map::is_empty) {
            return Ok(value);
        }
        let problems: Vec<Problem> = rule
            .schema
            .validator()
            .iter_errors(&value)
            .map(|error| describe(&error))
            .collect();
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }
}

fn read_body(incoming: &IncomingBody, rule: Option<&BodyRule>) -> Result<Value, Vec<Problem>> {
    if incoming.bytes.is_empty() {
        return Ok(json!({}));
    }
    let content_type = incoming.content_type.as_deref().unwrap_or_default();
    let media_type = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match media_type.as_str() {
        "application/json" => match serde_json::from_slice(&incoming.bytes) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err(vec![Problem::new("the body is not a JSON object")]),
            Err(error) => Err(vec![Problem::new(format!(
                "message body does not match declared format: {error}"
            ))]),
        },
        "application/x-www-form-urlencoded" => {
            let mut value = json!({});
            for (name, text) in url::form_urlencoded::parse(&incoming.bytes) {
                insert_form_field(&mut value, &name, &text);
            }
            if let Some(rule) = rule {
                coerce(&mut value, &rule.schema.schema);
            }
            Ok(value)
        }
        _ => Err(vec![Problem {
            status: 415,
            text: format!("The provided content-type '{content_type}' is not supported."),
        }]),
    }
}

/// Puts `position[line_range][start]=x` or `labels[]=x` where it belongs.
fn insert_form_field(target: &mut Value, name: &str, text: &str) {
    let mut keys = name.split('[').map(|key| key.trim_end_matches(']'));
    let mut place = keys
        .next()
        .map(|key| &mut target[key])
        .expect("a split has a first part");
    for key in keys {
        if key.is_empty() {
            match place {
                Value::Array(values) => values.push(json!(text)),
                _ => *place = json!([text]),
            }
            return;
        }
        place = &mut place[key];
    }
    *place = json!(text);
}

/// Turns the texts of a form into the types that the schema declares.
fn coerce(value: &mut Value, schema: &Value) {
    let schema = schema["anyOf"].get(0).unwrap_or(schema);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                coerce(field, &schema["properties"][name.as_str()]);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                coerce(element, &schema["items"]);
            }
        }
        Value::String(text) => {
            let coerced = match schema["type"].as_str() {
                Some("integer") => text.parse::<i64>().ok().map(|number| json!(number)),
                Some("number") => text.parse::<f64>().ok().map(|number| json!(number)),
                Some("boolean") => parse_bool(text).map(|flag| json!(flag)),
                _ => None,
            };
            if let Some(coerced) = coerced {
                *value = coerced;
            }
        }
        _ => {}
    }
}

fn check_text(name: &str, text: &str, schema: &Value) -> Option<Problem> {
    if let Some(variants) = schema["oneOf"].as_array() {
        return if variants.iter().any(|variant| check_text(name, text, variant).is_none()) {
            None
        } else {
            Some(Problem::new(format!("{name} is invalid")))
        };
    }
    let valid = match schema["type"].as_str() {
        Some("integer") => text.parse::<i64>().is_ok(),
        Some("boolean") => parse_bool(text).is_some(),
        Some("array") => text
            .split(',')
            .all(|element| check_text(name, element, &schema["items"]).is_none()),
        _ => true,
    };
    if !valid {
        return Some(Problem::new(format!("{name} is invalid")));
    }
    let allowed = schema["enum"].as_array()?;
    let known = allowed.iter().any(|value| value.as_str() == Some(text));
    (!known).then(|| Problem::new(format!("{name} does not have a valid value")))
}

/// Says what is wrong the way Grape does: `position[base_sha] is missing`.
fn describe(error: &ValidationError<'_>) -> Problem {
    let place = grape_name(error.instance_path().as_str());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            is_missing(&if place.is_empty() {
                name.to_owned()
            } else {
                format!("{place}[{name}]")
            })
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let inside = if place.is_empty() {
                String::new()
            } else {
                format!(" of {place}")
            };
            Problem::new(format!("{} is not a parameter{inside}", unexpected.join(", ")))
        }
        ValidationErrorKind::AnyOf { context } => {
            // `null` or something: what is wrong with the something says more.
            let first = context.first().and_then(|errors| errors.first());
            first.map_or_else(|| Problem::new(format!("{place} is invalid")), describe)
        }
        ValidationErrorKind::Enum { .. } => Problem::new(format!("{place} does not have a valid value")),
        _ => Problem::new(format!("{place} is invalid")),
    }
}

fn grape_name(pointer: &str) -> String {
    let mut keys = pointer.split('/').skip(1);
    let mut name = keys.next().unwrap_or_default().to_owned();
    for key in keys {
        name.push('[');
        name.push_str(key);
        name.push(']');
    }
    name
}

fn is_missing(name: &str) -> Problem {
    Problem::new(format!("{name} is missing"))
}

fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}
