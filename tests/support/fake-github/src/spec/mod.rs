//! GitHub's published REST description as the judge of requests and answers.
//!
//! The document is read once per process. Each operation compiles its schemas on first use, since a test touches few.

mod adapt;
mod exceptions;
mod fill;
mod request;
mod response;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::template::Template;

const DOCUMENT: &str = include_str!("../../../../fixtures/github/openapi-subset.json");

static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec::read(DOCUMENT));

/// The document, prepared for checks.
pub(crate) struct Spec {
    pub(crate) operations: Vec<Operation>,
    /// The component schemas as published, for skeletons of entities.
    components: Value,
}

/// One method on one path.
pub(crate) struct Operation {
    pub(crate) method: String,
    /// The path as the document spells it: `/repos/{owner}/{repo}/statuses/{sha}`.
    pub(crate) path: String,
    template: Template,
    parameters: Vec<Parameter>,
    body: Option<BodyRule>,
    /// The schema of each declared status, if it declares one.
    responses: BTreeMap<u16, Option<CheckedSchema>>,
}

struct Parameter {
    name: String,
    in_path: bool,
    required: bool,
    schema: Value,
}

struct BodyRule {
    required: bool,
    schema: CheckedSchema,
}

/// A schema with the validator that is compiled from it when it is first needed.
struct CheckedSchema {
    schema: Value,
    components: Arc<Value>,
    validator: OnceLock<Validator>,
}

impl CheckedSchema {
    fn new(schema: Value, components: &Arc<Value>) -> Self {
        Self {
            schema,
            components: Arc::clone(components),
            validator: OnceLock::new(),
        }
    }

    fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| {
            jsonschema::options()
                .with_draft(jsonschema::Draft::Draft7)
                .should_validate_formats(true)
                .should_ignore_unknown_formats(true)
                .build(&adapt::root(&self.schema, &self.components))
                .expect("the adapted schema compiles")
        })
    }
}

impl Spec {
    /// The document that comes with this repository.
    pub(crate) fn shared() -> &'static Self {
        &SPEC
    }

    /// Returns the operation of a request with the decoded parameters of its path.
    pub(crate) fn find(&self, method: &str, path: &str) -> Option<(&Operation, BTreeMap<String, String>)> {
        let mut candidates = self.operations.iter().filter(|operation| operation.method == method);
        candidates.find_map(|operation| Some((operation, operation.template.matches(path)?)))
    }

    fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("the OpenAPI subset is JSON");
        let published = &document["components"]["schemas"];
        let mut for_answers = published.clone();
        exceptions::correct_schemas(&mut for_answers);
        let requests = Arc::new(adapt::components(published));
        let answers = Arc::new(adapt::components(&for_answers));
        let mut operations: Vec<Operation> = entries(&document["paths"])
            .flat_map(|(path, methods)| entries(methods).map(move |(method, operation)| (path, method, operation)))
            .map(|(path, method, operation)| {
                let reader = Reader {
                    document: &document,
                    requests: &requests,
                    answers: &answers,
                };
                reader.operation(path, method, operation)
            })
            .collect();
        // A literal segment wins over a parameter: `/pulls/comments/{comment_id}` over `/pulls/{pull_number}/comments`.
        operations.sort_by_key(|operation| operation.template.parameter_count());
        Self {
            operations,
            components: published.clone(),
        }
    }
}

impl Operation {
    /// The name of the operation in messages and tables: `GET /user`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

struct Reader<'a> {
    document: &'a Value,
    requests: &'a Arc<Value>,
    answers: &'a Arc<Value>,
}

impl Reader<'_> {
    fn operation(&self, path: &str, method: &str, operation: &Value) -> Operation {
        let method = method.to_uppercase();
        let name = format!("{method} {path}");
        let body = operation.get("requestBody").map(|body| {
            let mut schema = body["content"]["application/json"]["schema"].clone();
            exceptions::correct_body(&name, &mut schema);
            BodyRule {
                required: body["required"] == json!(true),
                schema: CheckedSchema::new(adapt::schema(&schema), self.requests),
            }
        });
        let responses = entries(&operation["responses"])
            .filter_map(|(status, response)| Some((status.parse().ok()?, self.resolve(response))))
            .map(|(status, response)| {
                let schema = response.pointer("/content/application~1json/schema");
                let checked = schema.map(|schema| CheckedSchema::new(adapt::schema(schema), self.answers));
                (status, checked)
            })
            .collect();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        Operation {
            template: Template::parse(path),
            path: path.to_owned(),
            method,
            parameters: parameters.map(|parameter| self.parameter(parameter)).collect(),
            body,
            responses,
        }
    }

    fn parameter(&self, parameter: &Value) -> Parameter {
        let parameter = self.resolve(parameter);
        Parameter {
            name: parameter["name"].as_str().unwrap_or_default().to_owned(),
            in_path: parameter["in"] == json!("path"),
            required: parameter["required"] == json!(true),
            schema: parameter["schema"].clone(),
        }
    }

    /// Follows a reference within the document.
    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let found = reference.and_then(|pointer| self.document.pointer(pointer));
        found.unwrap_or(value)
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
