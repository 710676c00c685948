//! A project's branches and approval settings. The subset of GitLab's document does not have these operations, so nothing checks
//! them but the tests; they answer as GitLab's documentation describes them.

use serde_json::{Value, json};

use crate::auth;
use crate::call::Call;
use crate::incoming::Incoming;
use crate::reply::{ApiError, Outcome, Reply};
use crate::spec::Template;
use crate::state::State;

/// `GET /projects/:id/repository/branches/:branch`
const BRANCH: &str = "/projects/{id}/repository/branches/{branch}";
/// `GET /projects/:id/approvals`; only Enterprise servers have it.
const APPROVALS: &str = "/projects/{id}/approvals";

/// What answers an operation.
type Handler = fn(&Call<'_>) -> Outcome;

/// Answers one of these operations; nothing for any other path.
pub(crate) fn handle(state: &mut State, incoming: &Incoming, path: &str) -> Option<Reply> {
    let matched = |template: &str| Template::parse(template).matches(path);
    let handlers: [(&str, Handler); 2] = [(BRANCH, branch), (APPROVALS, approvals)];
    let (handler, path) = handlers
        .into_iter()
        .find_map(|(template, handler)| Some((handler, matched(template)?)))?;
    let call = Call {
        caller: auth::holder(state, &incoming.credentials),
        state,
        path,
        query: Vec::new(),
        body: Value::Null,
    };
    Some(handler(&call).unwrap_or_else(|error| error.reply()))
}

fn branch(call: &Call<'_>) -> Outcome {
    call.user()?;
    let project = call.state.project(call.project()?);
    let name = call.path_text("branch");
    let head = project.repository.branch_head(name);
    let head = head.ok_or_else(|| ApiError::not_found("Branch"))?;
    let protected = !project.settings.unprotected_branches.iter().any(|open| open == name);
    Ok(Reply::json(
        200,
        json!({
            "name": name,
            "merged": false,
            "protected": protected && name == project.default_branch,
            "default": name == project.default_branch,
            "developers_can_push": false,
            "developers_can_merge": false,
            "can_push": false,
            "web_url": format!("{}/{}/-/tree/{name}", call.state.url, project.path_with_namespace),
            "commit": { "id": head, "short_id": &head[..8], "title": "", "parent_ids": [] },
        }),
    ))
}

fn approvals(call: &Call<'_>) -> Outcome {
    call.user()?;
    let project = call.project()?;
    if !call.state.options.is_enterprise() {
        return Err(ApiError::nothing_here());
    }
    let settings = &call.state.project(project).settings.approvals;
    Ok(Reply::json(
        200,
        json!({
            "approvals_before_merge": settings.required,
            "reset_approvals_on_push": settings.reset_on_push,
            "selective_code_owner_removals": false,
            "disable_overriding_approvers_per_merge_request": false,
            "merge_requests_author_approval": settings.author_may_approve,
            "merge_requests_disable_committers_approval": !settings.committers_may_approve,
            "require_password_to_approve": false,
            "require_reauthentication_to_approve": false,
        }),
    ))
}
