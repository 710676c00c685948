//! GraphQL: documents are validated and executed by a library, against the published schema.

mod connection;
mod context;
mod mutations;
mod nodes;
mod objects;

use std::sync::LazyLock;

use apollo_compiler::resolvers::Execution;
use apollo_compiler::response::JsonMap;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};

use crate::log::ViolationKind;
use crate::state::State;
use crate::state::people::Token;
use context::Context;
use nodes::Node;

static SCHEMA: LazyLock<Valid<Schema>> = LazyLock::new(|| {
    let text = include_str!("../../../../fixtures/github/graphql-subset.graphql");
    Schema::parse_and_validate(text, "graphql-subset.graphql").expect("the published schema is valid")
});

/// An error of a field: GitHub puts a `type` beside the message.
#[derive(Debug, Clone)]
struct Failure {
    kind: &'static str,
    message: String,
}

impl Failure {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

/// Between the type and the message of an error, while it travels through the library.
const MARK: char = '\u{1}';

/// The answer to a document, with what broke the contract.
pub(crate) struct Answer {
    pub(crate) body: Value,
    pub(crate) violations: Vec<(ViolationKind, String)>,
}

/// Executes a request's document.
pub(crate) fn execute(state: &mut State, token: &Token, request: &Value) -> Answer {
    let refuse = |message: String| Answer {
        body: json!({ "errors": [{ "message": message }] }),
        violations: vec![(ViolationKind::Request, message)],
    };
    let Some(text) = request["query"].as_str() else {
        return refuse("A query attribute must be specified and must be a string.".to_owned());
    };
    let document = match ExecutableDocument::parse_and_validate(&SCHEMA, text, "query.graphql") {
        Ok(document) => document,
        Err(errors) => {
            return refuse(
                errors
                    .errors
                    .iter()
                    .map(|error| error.to_json().message)
                    .collect::<Vec<_>>()
                    .join("; "),
            );
        }
    };
    let variables: JsonMap = serde_json::from_value(request["variables"].clone()).unwrap_or_default();
    let execution = Execution::new(&SCHEMA, &document).raw_variable_values(&variables);
    let operation = request["operationName"].as_str();
    let Ok(execution) = execution.operation_name(operation) else {
        return refuse(format!("No operation named {operation:?}"));
    };
    let is_mutation = document
        .operations
        .get(operation)
        .is_ok_and(|operation| operation.is_mutation());
    let context = Context::new(state, token);
    let root = if is_mutation {
        Node::Mutation(&context)
    } else {
        Node::Query(&context)
    };
    match execution.execute_sync(&root) {
        Ok(response) => translate(serde_json::to_value(&response).unwrap_or_default()),
        Err(error) => refuse(format!("Variables do not fit: {}", error.message())),
    }
}

/// Gives errors their types, and finds those that only a mistake explains.
fn translate(mut body: Value) -> Answer {
    let mut violations = Vec::new();
    let mut is_undefined = false;
    for error in body["errors"].as_array_mut().into_iter().flatten() {
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        // The library puts its own words in front of a resolver's.
        let own = message.strip_prefix("resolver error: ").unwrap_or(&message);
        let Some((kind, message)) = own.split_once(MARK) else {
            violations.push((ViolationKind::Response, message));
            continue;
        };
        error["message"] = json!(message);
        // What does not fit the schema has a code in place of a type.
        if kind == "undefinedField" {
            is_undefined = true;
            error["extensions"] = json!({ "code": kind });
        } else {
            error["type"] = json!(kind);
        }
        if kind.ends_with("PAGINATION") || kind.ends_with("BOUNDARIES") {
            violations.push((ViolationKind::Request, message.to_owned()));
        }
    }
    if is_undefined && let Some(fields) = body.as_object_mut() {
        fields.shift_remove("data");
    }
    if body["errors"].is_null()
        && let Some(fields) = body.as_object_mut()
    {
        fields.shift_remove("errors");
    }
    Answer { body, violations }
}
