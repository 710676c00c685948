//! The one GraphQL mutation that REST lacks: taking back a request for changes.

use serde_json::{Value, json};

use crate::MergeRequestRef;
use crate::ProjectId;
use crate::incoming::Incoming;
use crate::options::Tier;
use crate::reply::{ApiError, Reply};
use crate::review::states;
use crate::state::State;
use crate::state::people::{AccessLevel, Scope, TokenKind};

const MUTATION: &str = "mergeRequestDestroyRequestedChanges";

/// `POST /api/graphql`. Project and iid come as variables, at the top or inside `input`.
pub(crate) fn handle(state: &mut State, incoming: &Incoming) -> Reply {
    if !state.options.graphql || incoming.method != "POST" {
        return Reply::json(404, json!({ "error": "404 Not Found" }));
    }
    let token = incoming
        .credentials
        .access
        .as_ref()
        .and_then(|text| state.tokens.get(text));
    let user = match token {
        Some(token) if !token.revoked => match &token.kind {
            TokenKind::Access(scopes) if scopes.contains(&Scope::Api) => token.user,
            _ => return Reply::json(200, errors("Insufficient scopes")),
        },
        _ => return Reply::json(401, json!({ "errors": [{ "message": "Invalid token" }] })),
    };
    let body: Value = serde_json::from_slice(&incoming.body.bytes).unwrap_or_default();
    if !body["query"].as_str().is_some_and(|query| query.contains(MUTATION)) {
        return Reply::json(200, errors("Field doesn't exist on type 'Mutation'"));
    }
    let problem = remove(state, user, &body["variables"]).err();
    match problem {
        Some(error) if error.status == 404 => Reply::json(
            200,
            errors(
                "The resource that you are attempting to access does not exist or you don't have permission to \
                    perform this action",
            ),
        ),
        problem => {
            let list: Vec<&Value> = problem.iter().map(|error| &error.body["message"]).collect();
            Reply::json(200, json!({ "data": { MUTATION: { "errors": list } } }))
        }
    }
}

fn remove(state: &mut State, user: u64, variables: &Value) -> Result<(), ApiError> {
    let input = if variables["input"].is_object() {
        &variables["input"]
    } else {
        variables
    };
    let path = input["projectPath"].as_str().unwrap_or_default();
    let iid = input["iid"]
        .as_str()
        .and_then(|iid| iid.parse().ok())
        .or_else(|| input["iid"].as_u64());
    let project = state
        .projects
        .values()
        .find(|project| project.path_with_namespace == path);
    let found = project
        .zip(iid)
        .filter(|(project, iid)| project.merge_requests.contains_key(iid));
    let Some((project, iid)) = found else {
        return Err(ApiError::nothing_here());
    };
    let key = MergeRequestRef {
        project: ProjectId(project.id),
        iid,
    };
    if !state.has_access(key.project.0, user, AccessLevel::Developer) {
        return Err(ApiError::nothing_here());
    }
    if state.options.tier != Tier::Premium {
        return Err(ApiError::bad_request("Invalid permissions"));
    }
    if states::remove_block(state, key, user) {
        Ok(())
    } else {
        Err(ApiError::bad_request("No requested changes found"))
    }
}

fn errors(message: &str) -> Value {
    json!({ "errors": [{ "message": message }] })
}
