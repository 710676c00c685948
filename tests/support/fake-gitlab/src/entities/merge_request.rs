//! Merge requests, approvals and reviewers.

use serde_json::{Value, json};

use super::people::{author, basic};
use crate::MergeRequestRef;
use crate::options::Tier;
use crate::review::{merge_status, states};
use crate::state::State;
use crate::state::clock::print;
use crate::state::merge_request::{MergeRequest, MergeRequestState, StateEvent};
use crate::state::people::AccessLevel;

/// A row of the list.
pub(crate) fn listed(state: &State, key: MergeRequestRef) -> Value {
    let merge_request = state.merge_request(key);
    let path = &state.project(key.project.0).path_with_namespace;
    let iid = merge_request.iid;
    let closed = last_event(merge_request, MergeRequestState::Closed, "closed");
    let merged = last_event(merge_request, MergeRequestState::Merged, "merged");
    let who = |event: Option<&StateEvent>| event.map(|event| basic(state, event.user));
    let when = |event: Option<&StateEvent>| event.map(|event| print(event.created_at));
    let reviewers: Vec<Value> = merge_request
        .reviewers
        .iter()
        .map(|reviewer| basic(state, reviewer.user))
        .collect();
    let assignees: Vec<Value> = merge_request.assignees.iter().map(|user| basic(state, *user)).collect();
    let status = merge_status::detailed(state, key);
    json!({
        "id": merge_request.id,
        "iid": iid,
        "project_id": key.project.0,
        "title": merge_request.title,
        "description": merge_request.description,
        "state": merge_request.state.name(),
        "created_at": print(merge_request.created_at),
        "updated_at": print(merge_request.updated_at),
        "merged_by": who(merged),
        "merge_user": who(merged),
        "merged_at": when(merged),
        "closed_by": who(closed),
        "closed_at": when(closed),
        "target_branch": merge_request.target_branch,
        "source_branch": merge_request.source_branch,
        "user_notes_count": merge_request.notes().filter(|(_, note)| !note.system).count(),
        "upvotes": 0,
        "downvotes": 0,
        "author": author(state, merge_request.author),
        "assignee": assignees.first(),
        "assignees": assignees,
        "reviewers": reviewers,
        "source_project_id": merge_request.source_project,
        "target_project_id": key.project.0,
        "labels": merge_request.labels,
        "draft": merge_request.is_draft(),
        "imported": false,
        "imported_from": "none",
        "work_in_progress": merge_request.is_draft(),
        "milestone": null,
        "merge_when_pipeline_succeeds": false,
        "merge_status": if merge_request.has_conflicts { "cannot_be_merged" } else { "can_be_merged" },
        "detailed_merge_status": status,
        "merge_after": null,
        "sha": merge_request.head(),
        "merge_commit_sha": null,
        "squash_commit_sha": null,
        "discussion_locked": null,
        "should_remove_source_branch": null,
        "force_remove_source_branch": false,
        "prepared_at": (merge_request.unprepared_reads == 0).then(|| print(merge_request.created_at)),
        "reference": format!("!{iid}"),
        "references": { "short": format!("!{iid}"), "relative": format!("!{iid}"), "full": format!("{path}!{iid}") },
        "web_url": format!("{}/{path}/-/merge_requests/{iid}", state.url),
        "time_stats": {
            "time_estimate": 0, "total_time_spent": 0, "human_time_estimate": null, "human_total_time_spent": null,
        },
        "squash": false,
        "squash_on_merge": false,
        "task_completion_status": { "count": 0, "completed_count": 0 },
        "has_conflicts": merge_request.has_conflicts,
        "blocking_discussions_resolved": merge_request.threads_resolved(),
    })
}

/// One merge request, as `user` sees it.
pub(crate) fn full(state: &State, key: MergeRequestRef, user: Option<u64>) -> Value {
    let merge_request = state.merge_request(key);
    let prepared = merge_request.unprepared_reads == 0;
    let version = merge_request.version();
    let may_merge = user.is_some_and(|user| state.has_access(key.project.0, user, AccessLevel::Developer));
    let mut value = listed(state, key);
    value["subscribed"] = json!(false);
    value["changes_count"] = if prepared {
        json!(changes_count(state, version.diffs.len()))
    } else {
        Value::Null
    };
    value["latest_build_started_at"] = Value::Null;
    value["latest_build_finished_at"] = Value::Null;
    value["first_deployed_to_production_at"] = Value::Null;
    value["pipeline"] = Value::Null;
    value["head_pipeline"] = Value::Null;
    value["diff_refs"] = if prepared {
        json!({ "base_sha": version.base, "head_sha": version.head, "start_sha": version.start })
    } else {
        Value::Null
    };
    value["merge_error"] = Value::Null;
    value["first_contribution"] = json!(false);
    value["user"] = json!({ "can_merge": may_merge });
    value
}

fn changes_count(state: &State, files: usize) -> String {
    let limit = state.options.diff_limits.files;
    if files > limit {
        format!("{limit}+")
    } else {
        files.to_string()
    }
}

fn last_event<'a>(merge_request: &'a MergeRequest, now: MergeRequestState, event: &str) -> Option<&'a StateEvent> {
    let events = merge_request.state_events.iter().rev();
    events
        .filter(|_| merge_request.state == now)
        .find(|entry| entry.state == event)
}

/// A state event.
pub(crate) fn state_event(state: &State, key: MergeRequestRef, event: &StateEvent) -> Value {
    json!({
        "id": event.id,
        "user": basic(state, event.user),
        "created_at": print(event.created_at),
        "resource_type": "MergeRequest",
        "resource_id": state.merge_request(key).id,
        "source_commit": null,
        "source_merge_request_id": null,
        "state": event.state,
    })
}

/// Approvals as `user` sees them.
pub(crate) fn approvals(state: &State, key: MergeRequestRef, user: Option<u64>) -> Value {
    let merge_request = state.merge_request(key);
    let required = required_approvals(state, key);
    let given = merge_request.approvals.len() as u64;
    let by: Vec<Value> = merge_request
        .approvals
        .iter()
        .map(|approval| json!({ "user": basic(state, approval.user), "approved_at": print(approval.approved_at) }))
        .collect();
    let mut value = json!({
        "user_has_approved": user.is_some_and(|user| merge_request.has_approved(user)),
        "user_can_approve": user.is_some_and(|user| states::may_approve(state, key, user)),
        "approved": if required == 0 { given > 0 } else { given >= required },
        "approved_by": by,
    });
    // Enterprise servers, whatever their tier, add the merge request's own fields and what the rules still ask for.
    if state.options.is_enterprise() {
        let listed = listed(state, key);
        for name in [
            "id",
            "iid",
            "project_id",
            "title",
            "description",
            "state",
            "created_at",
            "updated_at",
            "merge_status",
        ] {
            value[name] = listed[name].clone();
        }
        value["approvals_required"] = json!(required);
        value["approvals_left"] = json!(required.saturating_sub(given));
        value["suggested_approvers"] = json!([]);
        value["approval_rules_left"] = json!([]);
    }
    value
}

/// The approval rules: one that every member of Developer rank may satisfy.
pub(crate) fn approval_state(state: &State, key: MergeRequestRef) -> Value {
    let merge_request = state.merge_request(key);
    let required = required_approvals(state, key);
    let approved_by: Vec<Value> = merge_request
        .approvals
        .iter()
        .map(|approval| basic(state, approval.user))
        .collect();
    let approved = approved_by.len() as u64 >= required;
    json!({
        "approval_rules_overwritten": false,
        "rules": [{
            "id": merge_request.id,
            "name": "All Members",
            "rule_type": "any_approver",
            "eligible_approvers": [],
            "approvals_required": required,
            "users": [],
            "groups": [],
            "contains_hidden_groups": false,
            "report_type": null,
            "section": null,
            "source_rule": null,
            "overridden": false,
            "code_owner": false,
            "approved_by": approved_by,
            "approved": approved,
        }],
    })
}

fn required_approvals(state: &State, key: MergeRequestRef) -> u64 {
    match state.options.tier {
        Tier::Free => 0,
        Tier::Premium => state.project(key.project.0).settings.approvals.required,
    }
}
