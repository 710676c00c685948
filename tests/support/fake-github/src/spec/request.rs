//! Checks of requests: path and query parameters, and the body.

use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::{Map, Value, json};

use super::{Operation, Parameter};
use crate::reply::Refusal;

impl Operation {
    /// Checks the decoded path and query parameters.
    pub(crate) fn check_parameters<'a>(
        &self,
        path: impl Iterator<Item = (&'a String, &'a String)>,
        query: &[(String, String)],
    ) -> Vec<String> {
        let find = |name: &str, in_path: bool| {
            let mut declared = self.parameters.iter();
            declared.find(|parameter| parameter.name == *name && parameter.in_path == in_path)
        };
        let mut problems: Vec<String> = path
            .filter_map(|(name, value)| check_text(name, value, &find(name, true)?.schema))
            .collect();
        for (name, value) in query {
            match find(name, false) {
                Some(parameter) => problems.extend(check_text(name, value, &parameter.schema)),
                None => problems.push(format!("{name:?} is not a parameter of {}", self.name())),
            }
            if name == "per_page" && value.parse().is_ok_and(|count: i64| !(1..=100).contains(&count)) {
                problems.push(format!("per_page is {value}, and a page has 1 to 100 rows"));
            }
        }
        let is_missing = |parameter: &&Parameter| {
            let given = || query.iter().any(|(name, _)| *name == parameter.name);
            parameter.required && !parameter.in_path && !given()
        };
        let missing = self.parameters.iter().filter(is_missing);
        problems.extend(missing.map(|parameter| format!("{:?} wasn't supplied.", parameter.name)));
        problems
    }

    /// Reads the body and checks it against its schema.
    pub(crate) fn check_body(&self, bytes: &[u8]) -> Result<Value, Refusal> {
        let malformed = |message: &str| Refusal::new(400, message).violating(message);
        let value = match bytes {
            [] => json!({}),
            bytes => serde_json::from_slice(bytes).map_err(|_| malformed("Problems parsing JSON"))?,
        };
        let Some(fields) = value.as_object() else {
            return Err(malformed("Body should be a JSON object"));
        };
        let problems = match &self.body {
            None if fields.is_empty() => Vec::new(),
            None => vec![format!("{} takes no body", self.name())],
            Some(rule) if !rule.required && Map::is_empty(fields) => Vec::new(),
            Some(rule) => rule
                .schema
                .validator()
                .iter_errors(&value)
                .map(|error| describe(&error))
                .collect(),
        };
        if problems.is_empty() {
            return Ok(value);
        }
        let problems = problems.join("\n");
        Err(Refusal::new(422, format!("Invalid request.\n\n{problems}")).violating(problems))
    }
}

fn check_text(name: &str, text: &str, schema: &Value) -> Option<String> {
    let fits = match schema["type"].as_str() {
        Some("integer") => text.parse::<i64>().is_ok(),
        Some("boolean") => matches!(text, "true" | "false"),
        _ => true,
    };
    let allowed = schema["enum"].as_array();
    let known = allowed.is_none_or(|values| values.iter().any(|value| value.as_str() == Some(text)));
    (!fits || !known).then(|| format!("{name} is {text:?}, which is not valid"))
}

/// Says what is wrong in the words of GitHub.
fn describe(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str().trim_start_matches('/');
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let name = if place.is_empty() {
                name.to_owned()
            } else {
                format!("{place}/{name}")
            };
            format!("{name:?} wasn't supplied.")
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let place = if place.is_empty() {
                String::new()
            } else {
                format!("{place}/")
            };
            let names = unexpected.iter().map(|name| format!("\"{place}{name}\""));
            format!("{} is not a permitted key.", names.collect::<Vec<_>>().join(", "))
        }
        _ => format!("For 'properties/{place}', {error}."),
    }
}
