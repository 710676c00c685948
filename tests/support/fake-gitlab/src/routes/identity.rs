//! Who am I, what server is this, which project, which members.

use serde_json::json;

use crate::call::Call;
use crate::entities::{people, project as project_entity};
use crate::reply::{ApiError, Outcome, Reply};
use crate::state::people::TokenKind;

/// `GET /user`
pub(super) fn user(call: &mut Call<'_>) -> Outcome {
    Ok(Reply::json(200, people::public(call.state, call.user()?)))
}

/// `GET /version` and `GET /metadata`
pub(super) fn metadata(call: &mut Call<'_>) -> Outcome {
    call.user()?;
    let version = &call.state.options.version;
    Ok(Reply::json(
        200,
        json!({
            "version": version,
            "revision": "0123456789a",
            "kas": { "enabled": false, "externalUrl": null, "externalK8sProxyUrl": null, "version": null },
            "enterprise": call.state.options.is_enterprise(),
        }),
    ))
}

/// `GET /job`
pub(super) fn job(call: &mut Call<'_>) -> Outcome {
    let user = call.user()?;
    match call.caller.as_ref().map(|caller| &caller.token) {
        Some(TokenKind::Job(job)) => Ok(Reply::json(200, people::job(call.state, user, job))),
        _ => Err(ApiError::unauthorized()),
    }
}

/// `GET /projects/:id`; a former path leads to the new place.
pub(super) fn project(call: &mut Call<'_>) -> Outcome {
    let wanted = call.path_text("id");
    let moved = call
        .state
        .projects
        .values()
        .find(|project| project.former_paths.iter().any(|path| path == wanted));
    if let Some(project) = moved {
        let location = format!("{}/api/v4/projects/{}", call.state.url, project.id);
        let text = format!("This resource has been moved permanently to {location}");
        return Ok(Reply::raw(301, "text/plain", text.into_bytes()).header("location", &location));
    }
    let id = call.project()?;
    let user = call.caller.as_ref().map(|caller| caller.user);
    Ok(Reply::json(200, project_entity::project(call.state, id, user)))
}

/// `GET /projects/:id/members/all/:user_id`
pub(super) fn member(call: &mut Call<'_>) -> Outcome {
    let project = call.project()?;
    let user = call.path_number("user_id").ok_or_else(ApiError::nothing_here)?;
    match call.state.access_level(project, user) {
        Some(level) => Ok(Reply::json(200, people::member(call.state, user, level))),
        None => Err(ApiError::nothing_here()),
    }
}
