//! Accounts, apps and teams.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::fill;
use crate::ids::{AppId, Kind, RepositoryId, UserId};
use crate::state::State;
use crate::state::people::{Access, UserKind};
use crate::state::repository::Repository;

fn facts(state: &State, id: UserId) -> Value {
    let user = state.user(id);
    let login = user.rest_login();
    let address = utf8_percent_encode(&login, NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-");
    let kind = if matches!(user.kind, UserKind::Bot(_)) {
        Kind::Bot
    } else {
        Kind::User
    };
    json!({
        "id": id.0,
        "node_id": kind.node(id.0),
        "login": login,
        "type": user.type_name(),
        "url": format!("{}/users/{address}", state.api_url),
        "html_url": format!("{}/{address}", state.url),
        "user_view_type": "public",
    })
}

/// An account as it stands in other entities.
pub(crate) fn simple(state: &State, id: UserId) -> Value {
    fill("simple-user", facts(state, id))
}

/// The author of a text: nothing once the account was deleted.
pub(crate) fn author(state: &State, id: UserId) -> Value {
    if state.user(id).deleted {
        Value::Null
    } else {
        simple(state, id)
    }
}

/// An account on its own.
pub(crate) fn public(state: &State, id: UserId) -> Value {
    fill("public-user", facts(state, id))
}

/// The account whose token it is.
pub(crate) fn private(state: &State, id: UserId) -> Value {
    fill("private-user", facts(state, id))
}

/// A person in a repository, with what that person may do.
pub(crate) fn collaborator(state: &State, repository: &Repository, id: UserId) -> Value {
    let role = repository.role(id);
    let permission = role.map_or("none", crate::state::people::Role::permission);
    let name = role.map_or("none", crate::state::people::Role::name);
    let user = super::with(
        fill("nullable-collaborator", facts(state, id)),
        json!({ "role_name": name }),
    );
    json!({ "permission": permission, "role_name": name, "user": user })
}

/// An App.
pub(crate) fn app(state: &State, id: AppId) -> Value {
    let app = &state.apps[&id];
    let own = state.tokens.values().find(|token| token.app == Some(id));
    let text = |access: &Access| if *access == Access::Read { "read" } else { "write" };
    let permissions = own.map(|token| {
        token
            .permissions
            .0
            .iter()
            .map(|(name, access)| (name.clone(), json!(text(access))))
    });
    let permissions: Value = permissions.map_or_else(|| json!({}), |entries| Value::Object(entries.collect()));
    fill(
        "nullable-integration",
        json!({
            "id": id.0,
            "slug": app.slug,
            "name": app.slug,
            "html_url": format!("{}/apps/{}", state.url, app.slug),
            "external_url": state.url,
            "owner": simple(state, app.bot),
            "permissions": permissions,
        }),
    )
}

/// A team that was asked for a review.
pub(crate) fn team(state: &State, repository: RepositoryId, slug: &str, component: &str) -> Value {
    let owner = &state.user(state.repository(repository).owner).login;
    let facts = json!({
        "slug": slug,
        "name": slug,
        "url": format!("{}/orgs/{owner}/teams/{slug}", state.api_url),
        "html_url": format!("{}/orgs/{owner}/teams/{slug}", state.url),
        "type": "organization",
        "permission": "pull",
    });
    fill(component, facts)
}
