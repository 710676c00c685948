//! What a token says about itself. The subset of GitLab's document does not have this operation, so nothing checks it but
//! the tests; it answers as GitLab's documentation describes it.

use serde_json::json;

use crate::auth;
use crate::incoming::Incoming;
use crate::reply::{ApiError, Reply};
use crate::state::State;
use crate::state::people::{Scope, TokenKind};

/// The path below the prefix.
pub(crate) const PATH: &str = "/personal_access_tokens/self";

/// `GET /personal_access_tokens/self`: any access token may ask it, whatever its scope.
pub(crate) fn own(state: &State, incoming: &Incoming) -> Reply {
    let refused = || ApiError::unauthorized().reply();
    if auth::peek(state, &incoming.credentials).is_none() {
        return refused();
    }
    let token = incoming
        .credentials
        .access
        .as_ref()
        .and_then(|text| state.tokens.get(text));
    let Some(token) = token.filter(|token| !token.revoked && !token.expired) else {
        return refused();
    };
    let TokenKind::Access(scopes) = &token.kind else {
        return refused();
    };
    let scopes: Vec<&str> = scopes
        .iter()
        .map(|scope| match scope {
            Scope::Api => "api",
            Scope::ReadApi => "read_api",
            Scope::ReadUser => "read_user",
        })
        .collect();
    Reply::json(
        200,
        json!({
            "id": 1,
            "name": "conclave",
            "description": null,
            "revoked": false,
            "created_at": "2026-01-01T00:00:00.000Z",
            "scopes": scopes,
            "user_id": token.user,
            "last_used_at": null,
            "active": true,
            "expires_at": token.expires_at,
        }),
    )
}
