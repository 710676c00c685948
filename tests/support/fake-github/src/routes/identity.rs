//! Accounts, the repository itself, and who may do what in it.

use crate::call::Call;
use crate::entities::{people, repository};
use crate::ids::UserId;
use crate::reply::{Outcome, Refusal, Reply};
use crate::rules::permission;
use crate::state::people::{TokenKind, UserKind};

/// `GET /user`: Apps are no users.
pub(super) fn viewer(call: &mut Call<'_>) -> Outcome {
    let token = call.token()?;
    if token.kind.is_app() {
        return Err(permission::not_accessible(&token));
    }
    let scopes = if token.kind == TokenKind::Classic { "repo" } else { "" };
    Ok(Reply::json(200, people::private(call.state, token.user)).header("x-oauth-scopes", scopes))
}

pub(super) fn user(call: &mut Call<'_>) -> Outcome {
    let id = find(call)?;
    Ok(Reply::json(200, people::public(call.state, id)))
}

pub(super) fn repository(call: &mut Call<'_>) -> Outcome {
    let id = call.repository()?;
    Ok(Reply::json(
        200,
        repository::repository(call.state, id, "full-repository"),
    ))
}

/// Bots are not collaborators; strangers have what everybody has.
pub(super) fn permission(call: &mut Call<'_>) -> Outcome {
    let id = find(call)?;
    let repository = call.state.repository(call.repository()?);
    if matches!(call.state.user(id).kind, UserKind::Bot(_)) {
        let message = format!("{} is not a user", call.part("username"));
        return Err(Refusal::new(404, message));
    }
    Ok(Reply::json(200, people::collaborator(call.state, repository, id)))
}

fn find(call: &Call<'_>) -> Result<UserId, Refusal> {
    call.state
        .find_user(call.part("username"))
        .ok_or_else(Refusal::not_found)
}
