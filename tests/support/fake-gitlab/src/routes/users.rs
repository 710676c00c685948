//! Looking for a user by name. The subset of GitLab's document does not have this operation, so nothing checks it but the
//! tests; it answers as GitLab's documentation describes it.

use serde_json::{Value, json};

use crate::auth;
use crate::entities::people;
use crate::incoming::Incoming;
use crate::reply::{ApiError, Reply};
use crate::state::State;

/// The path below the prefix.
pub(crate) const PATH: &str = "/users";

/// The beginning of the path of one user.
pub(crate) const BELOW: &str = "/users/";

/// `GET /users/:id`; unlike the authors of notes it tells whether the account is a bot.
pub(crate) fn read(state: &State, incoming: &Incoming, id: &str) -> Reply {
    if auth::peek(state, &incoming.credentials).is_none() {
        return ApiError::unauthorized().reply();
    }
    let user = id.parse().ok().filter(|id| state.users.contains_key(id));
    match user {
        Some(id) => Reply::json(200, people::author(state, id)),
        None => ApiError::not_found("User").reply(),
    }
}

/// `GET /users?username=NAME`: one user, or none. The name is compared as a whole, in any case.
pub(crate) fn find(state: &State, incoming: &Incoming, query: &[(String, String)]) -> Reply {
    if auth::peek(state, &incoming.credentials).is_none() {
        return ApiError::unauthorized().reply();
    }
    let Some((_, name)) = query.iter().find(|(key, _)| key == "username") else {
        return Reply::json(
            403,
            json!({ "message": "403 Forbidden - Not authorized to access /api/v4/users" }),
        );
    };
    let found = state
        .users
        .values()
        .find(|user| user.username.eq_ignore_ascii_case(name));
    let users: Vec<Value> = found.map(|user| people::basic(state, user.id)).into_iter().collect();
    Reply::json(200, Value::Array(users))
}
