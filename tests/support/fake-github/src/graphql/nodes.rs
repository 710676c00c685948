//! What the library asks for, field by field.

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use serde_json::{Value, json};

use super::context::Context;
use super::{Failure, MARK, connection, mutations, objects};
use crate::ids::{Kind, PullRef, RepositoryId};
use crate::rules::permission;
use crate::state::State;
use crate::state::people::Token;

/// An object of an answer.
pub(super) enum Node<'a, 's> {
    Query(&'a Context<'s>),
    Mutation(&'a Context<'s>),
    Repository(&'a Context<'s>, RepositoryId),
    Pull(&'a Context<'s>, PullRef),
    /// An object whose fields are known; the name of its type, and the fields.
    Tree(&'a Context<'s>, String, Value),
}

/// The value of a field.
pub(super) enum Found<'a, 's> {
    Node(Node<'a, 's>),
    Value(Value),
}

impl<'a, 's> Node<'a, 's> {
    fn context(&self) -> &'a Context<'s> {
        match self {
            Self::Query(context)
            | Self::Mutation(context)
            | Self::Repository(context, _)
            | Self::Pull(context, _)
            | Self::Tree(context, ..) => context,
        }
    }

    fn find(&self, info: &ResolveInfo<'_>) -> Result<Found<'a, 's>, Failure> {
        let field = info.field_name();
        let argument = |name: &str| {
            info.arguments()
                .get(name)
                .and_then(JsonValue::as_str)
                .unwrap_or_default()
        };
        Ok(match self {
            Self::Query(context) => match field {
                "viewer" => Found::Value(context.read(|state| objects::viewer(state, context.token.user))),
                "id" => Found::Value(json!("MDU6UXVlcnk=")),
                "rateLimit" => Found::Value(json!({
                    "cost": 1, "limit": 5000, "remaining": 4999, "used": 1, "resetAt": "2026-01-01T01:00:00Z"
                })),
                "repository" => Found::Node(Node::Repository(
                    context,
                    repository(context, argument("owner"), argument("name"))?,
                )),
                _ => node(context, argument("id"))?,
            },
            Self::Mutation(context) => {
                let arguments: Value = serde_json::to_value(info.arguments()).unwrap_or_default();
                Found::Value(mutations::run(context, field, &arguments["input"])?)
            }
            Self::Repository(context, id) => {
                if field == "pullRequest" {
                    let number = info.arguments().get("number").and_then(JsonValue::as_u64).unwrap_or(0);
                    let at = PullRef {
                        repository: *id,
                        number,
                    };
                    let exists = context.read(|state| state.repository(*id).pulls.contains_key(&number));
                    let message = format!("Could not resolve to a PullRequest with the number of {number}.");
                    exists
                        .then_some(Found::Node(Node::Pull(context, at)))
                        .ok_or_else(|| Failure::new("NOT_FOUND", message))?
                } else {
                    Found::Value(context.read(|state| repository_field(state, context.token, *id, field)))
                }
            }
            Self::Pull(context, at) => {
                Found::Value(context.read(|state| objects::pull_field(state, context.token, *at, field)))
            }
            Self::Tree(_, _, value) => Found::Value(value[field].clone()),
        })
    }
}

impl ObjectValue for Node<'_, '_> {
    fn type_name(&self) -> &str {
        match self {
            Self::Query(_) => "Query",
            Self::Mutation(_) => "Mutation",
            Self::Repository(..) => "Repository",
            Self::Pull(..) => "PullRequest",
            Self::Tree(_, name, _) => name,
        }
    }

    fn resolve_field<'b>(&'b self, info: &'b ResolveInfo<'b>) -> Result<ResolvedValue<'b>, FieldError> {
        let failure = |failure: Failure| FieldError {
            message: format!("{}{MARK}{}", failure.kind, failure.message),
        };
        let (field, context) = (info.field_name(), self.context());
        if context.is_missing(self.type_name(), field) {
            let message = format!("Field '{field}' doesn't exist on type '{}'", self.type_name());
            return Err(failure(Failure::new("undefinedField", message)));
        }
        let declared = info.field_definition().ty.inner_named_type().as_str();
        match self.find(info).map_err(failure)? {
            Found::Node(node) => Ok(ResolvedValue::object(node)),
            Found::Value(Value::Array(nodes)) if declared.ends_with("Connection") => {
                let page = connection::page(field, &nodes, info.arguments()).map_err(failure)?;
                Ok(wrap(context, declared, page))
            }
            Found::Value(value) => Ok(wrap(context, declared, value)),
        }
    }
}

/// Makes an object of everything that has fields.
fn wrap<'a, 's: 'a>(context: &'a Context<'s>, declared: &str, value: Value) -> ResolvedValue<'a> {
    match value {
        Value::Object(_) => {
            let name = value["__typename"].as_str().unwrap_or(declared).to_owned();
            ResolvedValue::object(Node::Tree(context, name, value))
        }
        Value::Array(values) => ResolvedValue::list(
            values
                .into_iter()
                .map(|value| wrap(context, declared, value))
                .collect::<Vec<_>>(),
        ),
        value => ResolvedValue::leaf(JsonValue::from(value)),
    }
}

fn repository(context: &Context<'_>, owner: &str, name: &str) -> Result<RepositoryId, Failure> {
    let found = context.read(|state| {
        let found = state.find_repository(owner, name).map(|(id, _)| id);
        found.filter(|id| permission::can_see(state, Some(context.token), *id))
    });
    let message = format!("Could not resolve to a Repository with the name '{owner}/{name}'.");
    found.ok_or_else(|| Failure::new("NOT_FOUND", message))
}

fn repository_field(state: &State, token: &Token, id: RepositoryId, field: &str) -> Value {
    let repository = state.repository(id);
    match field {
        "id" => json!(Kind::Repository.node(id.0)),
        "databaseId" => json!(id.0),
        "nameWithOwner" => json!(state.full_name(id)),
        "url" => json!(format!("{}/{}", state.url, state.full_name(id))),
        "isFork" => json!(repository.fork_of.is_some()),
        "visibility" => json!(if repository.private { "PRIVATE" } else { "PUBLIC" }),
        // Apps have no role.
        "viewerPermission" if token.kind.is_app() => Value::Null,
        "viewerPermission" => json!(repository.role(token.user).map(|role| role.name().to_uppercase())),
        _ => Value::Null,
    }
}

/// Any object by its node id.
fn node<'a, 's>(context: &'a Context<'s>, id: &str) -> Result<Found<'a, 's>, Failure> {
    let token = context.token;
    let found = context.read(|state| {
        if let Some(number) = Kind::Pull.parse(id) {
            return state
                .find_pull(|pull| pull.id == number)
                .map(|at| Found::Node(Node::Pull(context, at)));
        }
        if let Some(number) = Kind::Repository.parse(id) {
            let id = RepositoryId(number);
            return state
                .repositories
                .contains_key(&id)
                .then_some(Found::Node(Node::Repository(context, id)));
        }
        mutations::subject(state, token, id).map(Found::Value)
    });
    found.ok_or_else(|| mutations::unknown(id))
}
