//! Reading merge requests.

use serde_json::{Value, json};

use crate::MergeRequestRef;
use crate::ProjectId;
use crate::call::Call;
use crate::entities::{merge_request as entity, people, repository};
use crate::reply::{ApiError, Outcome, Reply};
use crate::state::clock::print;
use crate::state::merge_request::MergeRequest;

/// `GET /projects/:id/merge_requests`; filters that no review asks for are accepted and change nothing.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let project = call.project()?;
    let iids = call.query_list("iids");
    let labels = call.query_list("labels");
    let is = |name: &str, value: &str| call.query_text(name).is_none_or(|wanted| wanted == value);
    let is_id_of = |name: &str, ids: &[u64]| {
        call.query_text(name)
            .is_none_or(|wanted| ids.iter().any(|id| id.to_string() == wanted))
    };
    let me = call.caller.as_ref().map(|caller| caller.user);
    let fits = |merge_request: &&MergeRequest| {
        let state = call.query_text("state").unwrap_or("all");
        let scope = match call.query_text("scope") {
            Some("created_by_me" | "created-by-me") => me == Some(merge_request.author),
            Some("reviews_for_me") => me.is_some_and(|me| merge_request.is_reviewer(me)),
            Some("assigned_to_me" | "assigned-to-me") => me.is_some_and(|me| merge_request.assignees.contains(&me)),
            _ => true,
        };
        scope
            && (state == "all" || state == merge_request.state.name())
            && is("source_branch", &merge_request.source_branch)
            && is("target_branch", &merge_request.target_branch)
            && is("author_username", &call.state.user(merge_request.author).username)
            && is_id_of("author_id", &[merge_request.author])
            && is_id_of(
                "reviewer_id",
                &merge_request
                    .reviewers
                    .iter()
                    .map(|reviewer| reviewer.user)
                    .collect::<Vec<_>>(),
            )
            && iids
                .as_ref()
                .is_none_or(|iids| iids.contains(&merge_request.iid.to_string().as_str()))
            && labels.as_ref().is_none_or(|labels| {
                labels
                    .iter()
                    .all(|label| merge_request.labels.iter().any(|own| own == label))
            })
            && call
                .query_text("search")
                .is_none_or(|text| merge_request.title.contains(text) || merge_request.description.contains(text))
    };
    let mut found: Vec<&MergeRequest> = call
        .state
        .project(project)
        .merge_requests
        .values()
        .filter(fits)
        .collect();
    if call.query_text("order_by") == Some("updated_at") {
        found.sort_by_key(|merge_request| merge_request.updated_at);
    }
    if call.query_text("sort") != Some("asc") {
        found.reverse();
    }
    let key = |merge_request: &MergeRequest| MergeRequestRef {
        project: ProjectId(project),
        iid: merge_request.iid,
    };
    Ok(Reply::list(
        found
            .into_iter()
            .map(|merge_request| entity::listed(call.state, key(merge_request)))
            .collect(),
    ))
}

/// `GET /projects/:id/merge_requests/:iid`; each read brings an unprepared merge request closer to being prepared.
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.caller.as_ref().map(|caller| caller.user);
    let reply = Reply::json(200, entity::full(call.state, key, user));
    let unprepared = &mut call.state.merge_request_mut(key).unprepared_reads;
    *unprepared = unprepared.saturating_sub(1);
    Ok(reply)
}

/// `GET .../resource_state_events`
pub(super) fn state_events(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let events = &call.merge_request_of(key).state_events;
    Ok(Reply::list(
        events
            .iter()
            .map(|event| entity::state_event(call.state, key, event))
            .collect(),
    ))
}

/// `GET .../reviewers`
pub(super) fn reviewers(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let row = |reviewer: &crate::state::merge_request::Reviewer| {
        json!({
            "user": people::basic(call.state, reviewer.user),
            "state": reviewer.state,
            "created_at": print(reviewer.created_at),
        })
    };
    Ok(Reply::list(
        call.merge_request_of(key).reviewers.iter().map(row).collect(),
    ))
}

/// `GET .../commits`, newest first
pub(super) fn commits(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let commits = &call.merge_request_of(key).version().commits;
    let row = |commit| repository::commit(call.state, key.project.0, commit);
    Ok(Reply::list(commits.iter().map(row).collect()))
}

/// `GET .../versions`, newest first
pub(super) fn versions(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let merge_request = call.merge_request_of(key);
    let row = |version| repository::version(merge_request, version);
    Ok(Reply::list(merge_request.versions.iter().rev().map(row).collect()))
}

/// `GET .../versions/:version_id`
pub(super) fn version(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let wanted = call.path_number("version_id");
    let merge_request = call.merge_request_of(key);
    let version = merge_request.versions.iter().find(|version| Some(version.id) == wanted);
    let version = version.ok_or_else(ApiError::nothing_here)?;
    let mut value = repository::version(merge_request, version);
    let commits = version
        .commits
        .iter()
        .map(|commit| repository::commit(call.state, key.project.0, commit));
    value["commits"] = commits.collect();
    value["diffs"] = Value::Array(repository::diffs(
        &version.diffs,
        &call.state.options.diff_limits,
        call.query_flag("unidiff"),
    ));
    Ok(Reply::json(200, value))
}

/// `GET .../diffs`
pub(super) fn diffs(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let files = &call.merge_request_of(key).version().diffs;
    Ok(Reply::list(repository::diffs(
        files,
        &call.state.options.diff_limits,
        call.query_flag("unidiff"),
    )))
}

/// `GET .../raw_diffs`
pub(super) fn raw_diffs(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let text = repository::raw_diffs(
        &call.merge_request_of(key).version().diffs,
        &call.state.options.diff_limits,
    );
    Ok(Reply::raw(200, "text/plain", text.into_bytes()))
}
