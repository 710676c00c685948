//! GitLab's `OpenAPI` document as the judge of requests and responses.
//!
//! The document is read once per process. Each operation compiles its schemas on first use, since a test touches few.

mod adapt;
mod exceptions;
mod request;
mod response;
mod template;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

pub(crate) use request::{IncomingBody, Problem};
pub(crate) use template::Template;

/// The prefix of every path of the document.
pub(crate) const API_PREFIX: &str = "/api/v4";

const DOCUMENT: &str = include_str!("../../../../fixtures/gitlab/openapi-subset.yaml");

static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec::read(DOCUMENT));

/// The document, prepared for checks.
pub(crate) struct Spec {
    pub(crate) operations: Vec<Operation>,
}

/// One method on one path.
pub(crate) struct Operation {
    pub(crate) method: String,
    /// The path as the document spells it, without the prefix: `/projects/{id}/statuses/{sha}`.
    pub(crate) path: String,
    pub(crate) template: Template,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<BodyRule>,
    pub(crate) responses: BTreeMap<u16, ResponseRule>,
}

/// A path or query parameter.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) in_path: bool,
    pub(crate) required: bool,
    pub(crate) schema: Value,
}

/// What the document says about a request body.
pub(crate) struct BodyRule {
    pub(crate) required: bool,
    pub(crate) schema: CheckedSchema,
}

/// What the document says about one status code.
pub(crate) struct ResponseRule {
    pub(crate) json: Option<CheckedSchema>,
}

/// A schema with the validator that is compiled from it when it is first needed.
pub(crate) struct CheckedSchema {
    pub(crate) schema: Value,
    /// What the schema refers to.
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
    /// The document that comes with this crate.
    pub(crate) fn shared() -> &'static Self {
        &SPEC
    }

    /// Whether the operation pages its answer.
    pub(crate) fn find(&self, method: &str, path: &str) -> Option<(&Operation, BTreeMap<String, String>)> {
        self.operations
            .iter()
            .filter(|operation| operation.method == method)
            .find_map(|operation| {
                operation
                    .template
                    .matches(path)
                    .map(|parameters| (operation, parameters))
            })
    }

    /// Returns whether some method exists on the path.
    pub(crate) fn knows_path(&self, path: &str) -> bool {
        self.operations
            .iter()
            .any(|operation| operation.template.matches(path).is_some())
    }

    fn read(text: &str) -> Self {
        let document: Value = serde_norway::from_str(text).expect("the OpenAPI subset is YAML");
        let mut for_responses = document["components"]["schemas"].clone();
        exceptions::correct_schemas(&mut for_responses);
        let requests = Arc::new(adapt::components(
            &document["components"]["schemas"],
            adapt::Side::Request,
        ));
        let responses = Arc::new(adapt::components(&for_responses, adapt::Side::Response));
        let mut operations: Vec<Operation> = entries(&document["paths"])
            .flat_map(|(path, methods)| entries(methods).map(move |(method, operation)| (path, method, operation)))
            .map(|(path, method, operation)| read_operation(path, method, operation, &requests, &responses))
            .collect();
        // A literal segment wins over a parameter: `/draft_notes/bulk_publish` over `/draft_notes/{draft_note_id}`.
        operations.sort_by_key(|operation| operation.template.parameter_count());
        Self { operations }
    }
}

impl Operation {
    /// Returns whether the answer comes in pages.
    pub(crate) fn is_paged(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == "per_page")
    }

    /// The name of the operation in messages and tables: `GET /user`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

fn read_operation(
    path: &str,
    method: &str,
    operation: &Value,
    requests: &Arc<Value>,
    responses: &Arc<Value>,
) -> Operation {
    let path = path
        .strip_prefix(API_PREFIX)
        .expect("every path of the document has the prefix");
    let method = method.to_uppercase();
    let name = format!("{method} {path}");
    let body = operation.get("requestBody").map(|body| {
        let schema = &body["content"]["application/json"]["schema"];
        BodyRule {
            required: body["required"] == json!(true),
            schema: CheckedSchema::new(
                exceptions::correct_body(&name, &adapt::inline(schema, requests)),
                requests,
            ),
        }
    });
    let mut rules: BTreeMap<u16, ResponseRule> = entries(&operation["responses"])
        .filter_map(|(status, response)| Some((status.parse().ok()?, response)))
        .map(|(status, response)| {
            let schema = response.pointer("/content/application~1json/schema");
            let json = schema.map(|schema| {
                let schema = exceptions::correct_response(&name, schema);
                CheckedSchema::new(adapt::schema(&schema, adapt::Side::Response), responses)
            });
            (status, ResponseRule { json })
        })
        .collect();
    exceptions::correct_statuses(&name, &mut rules, responses);
    Operation {
        template: Template::parse(path),
        path: path.to_owned(),
        method,
        parameters: operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(read_parameter)
            .collect(),
        body,
        responses: rules,
    }
}

fn read_parameter(parameter: &Value) -> Parameter {
    Parameter {
        name: parameter["name"].as_str().unwrap_or_default().to_owned(),
        in_path: parameter["in"] == json!("path"),
        required: parameter["required"] == json!(true),
        schema: parameter["schema"].clone(),
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
