//! Creating, changing and deleting merge requests.

use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::merge_request as entity;
use crate::options::Tier;
use crate::reply::{ApiError, Outcome, Reply};
use crate::review::opening;
use crate::review::quick_actions::{Summary, change_state};
use crate::state::State;
use crate::state::merge_request::{MergeRequest, MergeRequestState, Reviewer};
use crate::state::people::AccessLevel;
use crate::{MergeRequestRef, NewMergeRequest, ProjectId, UserId};

/// `POST /projects/:id/merge_requests`; in a fork with `target_project_id` the merge request goes to the origin.
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let source = call.project()?;
    let user = call.require(source, AccessLevel::Developer)?;
    let target = call.body["target_project_id"].as_u64().unwrap_or(source);
    let text = |name: &str| call.body_text(name).unwrap_or_default().to_owned();
    let (source_branch, target_branch) = (text("source_branch"), text("target_branch"));
    let Some(project) = call.state.projects.get(&target) else {
        return Err(ApiError::not_found("Project"));
    };
    if call
        .state
        .project(source)
        .repository
        .branch_head(&source_branch)
        .is_none()
    {
        return Err(ApiError::bad_request(json!([format!(
            "Source branch \"{source_branch}\" does not exist"
        )])));
    }
    if project.repository.branch_head(&target_branch).is_none() {
        return Err(ApiError::bad_request(json!([format!(
            "Target branch \"{target_branch}\" does not exist"
        )])));
    }
    let open = project.merge_requests.values().find(|merge_request| {
        merge_request.state == MergeRequestState::Opened
            && merge_request.source_project == source
            && merge_request.source_branch == source_branch
            && merge_request.target_branch == target_branch
    });
    if let Some(open) = open {
        let text = format!(
            "Another open merge request already exists for this source branch: !{}",
            open.iid
        );
        return Err(ApiError::conflict(json!([text])));
    }
    let new = NewMergeRequest {
        title: text("title"),
        description: text("description"),
        author: UserId(user),
        source_branch,
        target_branch,
        source_project: Some(ProjectId(source)),
        unprepared_reads: 0,
    };
    let key = opening::create_merge_request(call.state, ProjectId(target), new);
    apply(call.state, key, user, &call.body);
    Ok(Reply::json(201, entity::full(call.state, key, Some(user))))
}

/// `PUT /projects/:id/merge_requests/:iid`
pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.user()?;
    let author = call.merge_request_of(key).author == user;
    if !author {
        call.require(key.project.0, AccessLevel::Developer)?;
    }
    if call.body.as_object().is_none_or(serde_json::Map::is_empty) {
        return Err(ApiError::invalid_parameters(
            "title, description, labels, reviewer_ids, state_event, ... are missing, at least one parameter must be provided",
        ));
    }
    if call.body["title"].as_str().is_some_and(str::is_empty) {
        return Err(ApiError::bad_request(json!({ "title": ["can't be blank"] })));
    }
    apply(call.state, key, user, &call.body);
    Ok(Reply::json(200, entity::full(call.state, key, Some(user))))
}

/// `DELETE /projects/:id/merge_requests/:iid`
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    call.require(key.project.0, AccessLevel::Owner)?;
    call.state.project_mut(key.project.0).merge_requests.remove(&key.iid);
    Ok(Reply::empty(204))
}

fn apply(state: &mut State, key: MergeRequestRef, user: u64, body: &Value) {
    let created_at = state.now();
    let known: Vec<u64> = state.users.keys().copied().collect();
    let premium = state.options.tier == Tier::Premium;
    let current = state.merge_request(key).state;
    let merge_request = state.merge_request_mut(key);
    merge_request.updated_at = created_at;
    for (name, place) in [
        ("title", &mut merge_request.title),
        ("description", &mut merge_request.description),
        ("target_branch", &mut merge_request.target_branch),
    ] {
        if let Some(text) = body[name].as_str() {
            text.clone_into(place);
        }
    }
    apply_labels(merge_request, body);
    if let Some(ids) = ids(&body["assignee_ids"]) {
        merge_request.assignees = ids.into_iter().filter(|id| known.contains(id)).collect();
    }
    if let Some(ids) = ids(&body["reviewer_ids"]) {
        let mut ids: Vec<u64> = ids.into_iter().filter(|id| known.contains(id)).collect();
        // More than one reviewer needs Premium; the rest is dropped without a word.
        ids.truncate(if premium { usize::MAX } else { 1 });
        merge_request.reviewers.retain(|reviewer| ids.contains(&reviewer.user));
        for user in ids {
            if !merge_request.is_reviewer(user) {
                merge_request.reviewers.push(Reviewer {
                    user,
                    state: "unreviewed".to_owned(),
                    created_at,
                });
            }
        }
    }
    let to = match body["state_event"].as_str() {
        Some("close") if current == MergeRequestState::Opened => MergeRequestState::Closed,
        Some("reopen") if current == MergeRequestState::Closed => MergeRequestState::Opened,
        _ => return,
    };
    change_state(state, key, user, to, &mut Summary::default());
}

fn apply_labels(merge_request: &mut MergeRequest, body: &Value) {
    if let Some(names) = names(&body["labels"]) {
        merge_request.labels = names;
    }
    for name in names(&body["add_labels"]).unwrap_or_default() {
        if !merge_request.labels.contains(&name) {
            merge_request.labels.push(name);
        }
    }
    let removed = names(&body["remove_labels"]).unwrap_or_default();
    merge_request.labels.retain(|label| !removed.contains(label));
}

/// Names in an array or in one comma-separated string.
fn names(value: &Value) -> Option<Vec<String>> {
    let names: Vec<&str> = match value {
        Value::String(text) => text.split(',').collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    Some(
        names
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn ids(value: &Value) -> Option<Vec<u64>> {
    value
        .as_array()
        .map(|ids| ids.iter().filter_map(Value::as_u64).collect())
}
