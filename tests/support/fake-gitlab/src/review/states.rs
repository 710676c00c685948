//! Approvals, reviewer states and block records.

use serde_json::Map;

use crate::MergeRequestRef;
use crate::state::State;
use crate::state::merge_request::{Approval, MergeRequestState, REVIEWER_STATES};
use crate::state::note::{Discussion, Note, NoteKind};
use crate::state::people::AccessLevel;

/// Whether the user could approve now.
pub(crate) fn may_approve(state: &State, key: MergeRequestRef, user: u64) -> bool {
    let merge_request = state.merge_request(key);
    let settings = &state.project(key.project.0).settings.approvals;
    state.has_access(key.project.0, user, AccessLevel::Developer)
        && merge_request.state == MergeRequestState::Opened
        && (merge_request.author != user || settings.author_may_approve)
        && !(merge_request.has_approved(user) && state.options.second_approval_is_refused)
}

/// Approves; false when the user may not. An approval takes back the user's own request for changes.
pub(crate) fn approve(state: &mut State, key: MergeRequestRef, user: u64) -> bool {
    if !may_approve(state, key, user) {
        return false;
    }
    let approved_at = state.now();
    let merge_request = state.merge_request_mut(key);
    if !merge_request.has_approved(user) {
        merge_request.approvals.push(Approval { user, approved_at });
    }
    merge_request.blocks.retain(|blocker| *blocker != user);
    if let Some(reviewer) = merge_request.reviewer_mut(user) {
        "approved".clone_into(&mut reviewer.state);
    }
    add_system_note(state, key, user, "approved this merge request");
    true
}

/// Takes an approval back; false when there is none. The block record is another matter and stays.
pub(crate) fn unapprove(state: &mut State, key: MergeRequestRef, user: u64) -> bool {
    let merge_request = state.merge_request_mut(key);
    if !merge_request.has_approved(user) {
        return false;
    }
    merge_request.approvals.retain(|approval| approval.user != user);
    if let Some(reviewer) = merge_request.reviewer_mut(user) {
        "unapproved".clone_into(&mut reviewer.state);
    }
    add_system_note(state, key, user, "unapproved this merge request");
    true
}

/// Why a reviewer state was not set, in GitLab's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewerStateError {
    InvalidPermissions,
    /// The block record may stand all the same.
    ReviewerNotFound,
    /// The word is not a reviewer state.
    Unknown,
}

/// Sets the caller's reviewer state. Block records come and go before the reviewer is looked up.
pub(crate) fn set_reviewer_state(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    name: &str,
) -> Result<(), ReviewerStateError> {
    if !REVIEWER_STATES.contains(&name) {
        return Err(ReviewerStateError::Unknown);
    }
    let merge_request = state.merge_request(key);
    let involved = merge_request.author == user || merge_request.assignees.contains(&user);
    if !involved && !state.has_access(key.project.0, user, AccessLevel::Developer) {
        return Err(ReviewerStateError::InvalidPermissions);
    }
    let clears = name == "approved" || (name == "reviewed" && state.options.reviewed_clears_block);
    let merge_request = state.merge_request_mut(key);
    if name == "requested_changes" && !merge_request.blocks.contains(&user) {
        merge_request.blocks.push(user);
        add_system_note(state, key, user, "requested changes");
    } else if clears {
        merge_request.blocks.retain(|blocker| *blocker != user);
    }
    let merge_request = state.merge_request_mut(key);
    let Some(reviewer) = merge_request.reviewer_mut(user) else {
        return Err(ReviewerStateError::ReviewerNotFound);
    };
    name.clone_into(&mut reviewer.state);
    if name == "requested_changes" {
        merge_request.approvals.retain(|approval| approval.user != user);
    }
    Ok(())
}

/// Takes back the user's request for changes the way the web interface's *Remove* does.
pub(crate) fn remove_block(state: &mut State, key: MergeRequestRef, user: u64) -> bool {
    let merge_request = state.merge_request_mut(key);
    if !merge_request.blocks.contains(&user) {
        return false;
    }
    merge_request.blocks.retain(|blocker| *blocker != user);
    if let Some(reviewer) = merge_request.reviewer_mut(user) {
        "unreviewed".clone_into(&mut reviewer.state);
    }
    true
}

/// Records activity as a system note.
pub(crate) fn add_system_note(state: &mut State, key: MergeRequestRef, author: u64, body: &str) {
    let created_at = state.now();
    let note = Note {
        id: state.take_id(),
        kind: NoteKind::Plain,
        body: body.to_owned(),
        author,
        created_at,
        updated_at: created_at,
        system: true,
        internal: false,
        commit_id: None,
        position: None,
        resolution: None,
        commands_changes: Map::new(),
        suggestions: Vec::new(),
    };
    let id = state.take_discussion_id();
    let merge_request = state.merge_request_mut(key);
    merge_request.discussions.push(Discussion { id, notes: vec![note] });
    merge_request.updated_at = created_at;
}
