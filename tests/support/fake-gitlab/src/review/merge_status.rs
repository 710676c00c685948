//! `detailed_merge_status`: the first check that fails.

use crate::MergeRequestRef;
use crate::options::Tier;
use crate::state::State;
use crate::state::merge_request::MergeRequestState;

/// The status as the API spells it.
pub(crate) fn detailed(state: &State, key: MergeRequestRef) -> &'static str {
    let merge_request = state.merge_request(key);
    let settings = &state.project(key.project.0).settings;
    let premium = state.options.tier == Tier::Premium;
    if merge_request.state != MergeRequestState::Opened {
        return "not_open";
    }
    if merge_request.unprepared_reads > 0 {
        return "preparing";
    }
    if merge_request.is_draft() {
        return "draft_status";
    }
    if settings.all_threads_must_be_resolved && !merge_request.threads_resolved() {
        return "discussions_not_resolved";
    }
    if premium && !merge_request.blocks.is_empty() && !merge_request.block_bypassed {
        return "requested_changes";
    }
    if premium && (merge_request.approvals.len() as u64) < settings.approvals.required {
        return "not_approved";
    }
    if merge_request.has_conflicts {
        return "conflict";
    }
    "mergeable"
}
