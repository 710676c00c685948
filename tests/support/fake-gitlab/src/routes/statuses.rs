//! Commit statuses.

use std::collections::BTreeMap;

use serde_json::json;

use crate::call::Call;
use crate::entities::project as entity;
use crate::reply::{ApiError, Outcome, Reply};
use crate::state::people::AccessLevel;
use crate::state::project::CommitStatus;

/// `GET /projects/:id/repository/commits/:sha/statuses`; the newest of each name unless `all` is set
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let project = call.project()?;
    let repository = &call.state.project(project).repository;
    let sha = repository
        .resolve(call.path_text("sha"))
        .ok_or_else(|| ApiError::not_found("Commit"))?;
    let is = |name: &str, value: Option<&str>| call.query_text(name).is_none_or(|wanted| Some(wanted) == value);
    let found =
        call.state.project(project).statuses.iter().filter(|status| {
            status.sha == sha && is("name", Some(&status.name)) && is("ref", status.reference.as_deref())
        });
    let mut rows: Vec<&CommitStatus> = if call.query_flag("all") {
        found.collect()
    } else {
        let newest: BTreeMap<&str, &CommitStatus> = found.map(|status| (status.name.as_str(), status)).collect();
        newest.into_values().collect()
    };
    rows.sort_by_key(|status| status.id);
    if call.query_text("sort") == Some("desc") {
        rows.reverse();
    }
    Ok(Reply::list(
        rows.into_iter()
            .map(|status| entity::status(call.state, status))
            .collect(),
    ))
}

/// `POST /projects/:id/statuses/:sha`
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let project = call.project()?;
    let author = call.require(project, AccessLevel::Developer)?;
    let repository = &call.state.project(project).repository;
    let sha = repository
        .resolve(call.path_text("sha"))
        .ok_or_else(|| ApiError::not_found("Commit"))?;
    let text = |name: &str| call.body_text(name).map(str::to_owned);
    let name = text("name")
        .or_else(|| text("context"))
        .unwrap_or_else(|| "default".to_owned());
    let state = text("state").unwrap_or_default();
    let reference = text("ref");
    let (target_url, description) = (text("target_url"), text("description"));
    let coverage = call.body["coverage"].as_f64();
    let wanted_pipeline = call.body["pipeline_id"].as_u64();
    let last = call
        .state
        .project(project)
        .statuses
        .iter()
        .rev()
        .find(|status| status.sha == sha && status.name == name);
    if last.is_some_and(|last| last.state == state) {
        let event = if state == "running" { "run" } else { "enqueue" };
        let text = format!(
            "Cannot transition status via :{event} from :{state} (Reason(s): Status cannot transition via \"{event}\")"
        );
        return Err(ApiError::bad_request(json!({ "name": [text] })));
    }
    let known_pipeline = wanted_pipeline.or_else(|| last.map(|last| last.pipeline_id));
    let (id, created_at) = (call.state.take_id(), call.state.now());
    let pipeline_id = known_pipeline.unwrap_or_else(|| call.state.take_id());
    let status = CommitStatus {
        id,
        sha,
        reference,
        name,
        state,
        target_url,
        description,
        coverage,
        pipeline_id,
        author,
        created_at,
    };
    let reply = Reply::json(201, entity::status(call.state, &status));
    call.state.project_mut(project).statuses.push(status);
    Ok(reply)
}
