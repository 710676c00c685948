//! Opening a merge request: its number, and the first version of its diff.

use super::versions;
use crate::state::State;
use crate::state::merge_request::{MergeRequest, MergeRequestState};
use crate::{MergeRequestRef, NewMergeRequest, ProjectId};

/// Opens a merge request; the branches exist.
pub(crate) fn create_merge_request(state: &mut State, project: ProjectId, new: NewMergeRequest) -> MergeRequestRef {
    let last = state.project(project.0).merge_requests.keys().next_back().copied();
    let iid = last.unwrap_or_default() + 1;
    let source = new.source_project.unwrap_or(project).0;
    let head = versions::fetch_source(state, project.0, source, &new.source_branch, iid);
    let head = head.unwrap_or_else(|| panic!("there is no branch {}", new.source_branch));
    let version = versions::build(state, project.0, &new.target_branch, &head);
    let (id, created_at) = (state.take_id(), state.now());
    let merge_request = MergeRequest {
        id,
        iid,
        title: new.title,
        description: new.description,
        state: MergeRequestState::Opened,
        author: new.author.0,
        source_branch: new.source_branch,
        target_branch: new.target_branch,
        source_project: source,
        labels: Vec::new(),
        assignees: Vec::new(),
        reviewers: Vec::new(),
        approvals: Vec::new(),
        blocks: Vec::new(),
        block_bypassed: false,
        has_conflicts: false,
        versions: vec![version],
        discussions: Vec::new(),
        drafts: Vec::new(),
        state_events: Vec::new(),
        executed_commands: Vec::new(),
        unprepared_reads: new.unprepared_reads,
        created_at,
        updated_at: created_at,
    };
    state.project_mut(project.0).merge_requests.insert(iid, merge_request);
    MergeRequestRef { project, iid }
}
