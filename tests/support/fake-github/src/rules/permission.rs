//! Who may do what, by the kind of token.

use crate::ids::{RepositoryId, UserId};
use crate::reply::Refusal;
use crate::state::State;
use crate::state::people::{Access, Role, Token, UserKind};

const RESOURCES: [(&str, &[&str]); 14] = [
    ("/issues/", &["issues", "pull_requests"]),
    ("/commits/{ref}/check-runs", &["checks"]),
    ("/check-runs", &["checks"]),
    ("/commits/{ref}/status", &["statuses"]),
    ("/statuses/", &["statuses"]),
    ("/commits/{commit_sha}/pulls", &["pull_requests", "contents"]),
    ("/pulls", &["pull_requests"]),
    ("/commits/", &["contents"]),
    ("/compare/", &["contents"]),
    ("/contents/", &["contents"]),
    ("/branches/{branch}/protection", &["administration"]),
    ("/actions/permissions", &["administration"]),
    ("/actions/", &["actions"]),
    ("/code-scanning/", &["security_events"]),
];

/// Returns the permissions that an operation accepts.
fn needed(method: &str, path: &str) -> Vec<(&'static str, Access)> {
    let access = if method == "GET" { Access::Read } else { Access::Write };
    let below = path.strip_prefix("/repos/{owner}/{repo}").unwrap_or_default();
    let found = RESOURCES.iter().find(|(part, _)| below.contains(part));
    let names = found.map_or(&["metadata"][..], |(_, names)| names);
    names.iter().map(|name| (*name, access)).collect()
}

/// The `X-Accepted-GitHub-Permissions` header of an operation.
pub(crate) fn accepted(method: &str, path: &str) -> String {
    let name = |access| if access == Access::Read { "read" } else { "write" };
    let needed = needed(method, path);
    let texts: Vec<String> = needed
        .iter()
        .map(|(resource, access)| format!("{resource}={}", name(*access)))
        .collect();
    texts.join("; ")
}

/// The refusal of a token that has not the permission.
pub(crate) fn not_accessible(token: &Token) -> Refusal {
    let by = if token.kind.is_app() {
        "integration"
    } else {
        "personal access token"
    };
    Refusal::forbidden(&format!("Resource not accessible by {by}"))
}

/// Lets a request to a repository in, or says why not.
pub(crate) fn admit(
    state: &State,
    token: Option<&Token>,
    (method, path): (&str, &str),
    repository: RepositoryId,
) -> Result<(), Refusal> {
    if !can_see(state, token, repository) {
        return Err(Refusal::not_found());
    }
    let is_read = method == "GET";
    let Some(token) = token else {
        return if is_read {
            Ok(())
        } else {
            Err(Refusal::new(401, "Requires authentication"))
        };
    };
    let settings = path.contains("/protection") || path.contains("/actions/permissions");
    let is_public_read = is_read && !settings && !state.repository(repository).private;
    let needed = needed(method, path);
    let granted = match token.kind {
        crate::state::people::TokenKind::Classic => true,
        _ => needed
            .iter()
            .any(|(name, access)| token.permissions.allows(name, *access)),
    };
    if !granted && !is_public_read {
        return Err(not_accessible(token));
    }
    // Checks belong to Apps; people have statuses.
    if !is_read && path.contains("/check-runs") && !token.kind.is_app() {
        return Err(Refusal::forbidden("You must authenticate via a GitHub App."));
    }
    let of_writers = settings || !is_read && (path.contains("/statuses/") || path.contains("requested_reviewers"));
    if of_writers && !token.kind.is_app() && role(state, token.user, repository) < Some(Role::Write) {
        return Err(Refusal::not_found());
    }
    Ok(())
}

/// Whether a repository exists for somebody.
pub(crate) fn can_see(state: &State, token: Option<&Token>, repository: RepositoryId) -> bool {
    let is_public = !state.repository(repository).private;
    let is_member = |token: &Token| match token.repository {
        Some(own) => own == repository,
        None => role(state, token.user, repository).is_some(),
    };
    is_public || token.is_some_and(is_member)
}

/// The role of an account.
pub(crate) fn role(state: &State, user: UserId, repository: RepositoryId) -> Option<Role> {
    state.repository(repository).role(user)
}

/// Whether a token may push: what GitHub asks for to resolve threads and to dismiss reviews.
pub(crate) fn may_push(state: &State, token: &Token, repository: RepositoryId) -> bool {
    let granted =
        token.kind == crate::state::people::TokenKind::Classic || token.permissions.allows("contents", Access::Write);
    let in_reach = token.repository.is_none_or(|own| own == repository);
    let is_writer = token.kind.is_app() || role(state, token.user, repository) >= Some(Role::Write);
    granted && in_reach && is_writer
}

/// Whether the reviews of an account count: a person's by the role, an App's by what its tokens may do.
pub(crate) fn can_push(state: &State, user: UserId, repository: RepositoryId) -> bool {
    if !matches!(state.user(user).kind, UserKind::Bot(_)) {
        return role(state, user, repository) >= Some(Role::Write);
    }
    let mut own = state.tokens.values().filter(|token| token.user == user);
    state.options.app_approvals_count && own.any(|token| may_push(state, token, repository))
}
