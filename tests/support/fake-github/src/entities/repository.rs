//! Repositories.

use serde_json::{Value, json};

use super::{fill, people};
use crate::ids::{Kind, RepositoryId};
use crate::state::State;

/// A repository in one of the forms that the document has.
pub(crate) fn repository(state: &State, id: RepositoryId, component: &str) -> Value {
    let repository = state.repository(id);
    let name = state.full_name(id);
    let html_url = format!("{}/{name}", state.url);
    let mut known = json!({
        "id": id.0,
        "node_id": Kind::Repository.node(id.0),
        "name": repository.name,
        "full_name": name,
        "private": repository.private,
        "visibility": if repository.private { "private" } else { "public" },
        "owner": people::simple(state, repository.owner),
        "fork": repository.fork_of.is_some(),
        "url": format!("{}/repos/{name}", state.api_url),
        "html_url": html_url,
        "clone_url": format!("{html_url}.git"),
        "default_branch": repository.git.default_branch(),
        "has_issues": true,
    });
    if component == "full-repository"
        && let Some(parent) = repository.fork_of
    {
        known["parent"] = self::repository(state, parent, "repository");
        known["source"] = known["parent"].clone();
    }
    fill(component, known)
}
