//! The state of a merge request as one value. Users appear by name, versions by number (1 is the oldest).

use serde::Serialize;

use crate::MergeRequestRef;
use crate::review::merge_status;
use crate::state::State;
use crate::state::merge_request::MergeRequest;
use crate::state::note::{Discussion, Note};
use crate::state::position::Position;

/// A merge request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MergeRequestSnapshot {
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// `opened`, `closed`, `merged` or `locked`.
    pub state: String,
    /// The labels.
    pub labels: Vec<String>,
    /// The head of the diff.
    pub sha: String,
    /// How many versions there are.
    pub versions: usize,
    /// The first merge check that fails, or `mergeable`.
    pub detailed_merge_status: String,
    /// Plain notes by people and bots.
    pub notes: Vec<NoteSnapshot>,
    /// Activity.
    pub system_notes: Vec<NoteSnapshot>,
    /// Threads, on the diff and off it.
    pub threads: Vec<ThreadSnapshot>,
    /// Draft notes of everybody.
    pub drafts: Vec<DraftSnapshot>,
    /// Who approved.
    pub approved_by: Vec<String>,
    /// Who requested changes and did not take it back.
    pub requested_changes_by: Vec<String>,
    /// The reviewers.
    pub reviewers: Vec<ReviewerSnapshot>,
    /// Quick actions that ran, whoever wrote them.
    pub executed_commands: Vec<CommandSnapshot>,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoteSnapshot {
    /// The id.
    pub id: u64,
    /// The author's name.
    pub author: String,
    /// The text.
    pub body: String,
    /// Only Reporters and above can read it.
    pub internal: bool,
    /// The text was changed after it was posted.
    pub edited: bool,
    /// How many suggestions it holds.
    pub suggestions: usize,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadSnapshot {
    /// The discussion id.
    pub id: String,
    /// Whether every note is resolved.
    pub resolved: bool,
    /// Who resolved it.
    pub resolved_by: Option<String>,
    /// Where it stands; nothing off the diff.
    pub position: Option<PositionSnapshot>,
    /// The notes, oldest first.
    pub notes: Vec<NoteSnapshot>,
}

/// A place on the diff.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PositionSnapshot {
    /// `text`, `file` or `image`.
    pub kind: String,
    /// The version it belongs to; 1 is the oldest.
    pub version: Option<usize>,
    /// Whether the version is not the newest.
    pub outdated: bool,
    /// The path before the change.
    pub old_path: Option<String>,
    /// The path after the change.
    pub new_path: Option<String>,
    /// The line before the change.
    pub old_line: Option<u64>,
    /// The line after the change.
    pub new_line: Option<u64>,
    /// Whether it covers several lines.
    pub multi_line: bool,
}

/// A draft note.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DraftSnapshot {
    /// The author's name.
    pub author: String,
    /// The text.
    pub body: String,
}

/// A reviewer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewerSnapshot {
    /// The name.
    pub user: String,
    /// The state as the API spells it.
    pub state: String,
}

/// A quick action that ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandSnapshot {
    /// Whose note it was in.
    pub user: String,
    /// `/approve`, `/submit_review requested_changes`, ...
    pub command: String,
}

/// Takes the snapshot.
pub(crate) fn take(state: &State, key: MergeRequestRef) -> MergeRequestSnapshot {
    let merge_request = state.merge_request(key);
    let name = |id: u64| state.user(id).username.clone();
    let plain = |system: bool| {
        let individual = merge_request
            .discussions
            .iter()
            .filter(|discussion| discussion.is_individual());
        let notes = individual
            .flat_map(|discussion| &discussion.notes)
            .filter(move |note| note.system == system);
        notes.map(|entry| note(state, entry)).collect()
    };
    MergeRequestSnapshot {
        title: merge_request.title.clone(),
        description: merge_request.description.clone(),
        state: merge_request.state.name().to_owned(),
        labels: merge_request.labels.clone(),
        sha: merge_request.head().to_owned(),
        versions: merge_request.versions.len(),
        detailed_merge_status: merge_status::detailed(state, key).to_owned(),
        notes: plain(false),
        system_notes: plain(true),
        threads: merge_request
            .discussions
            .iter()
            .filter(|discussion| !discussion.is_individual())
            .map(|discussion| thread(state, merge_request, discussion))
            .collect(),
        drafts: merge_request
            .drafts
            .iter()
            .map(|draft| DraftSnapshot {
                author: name(draft.author),
                body: draft.note.clone(),
            })
            .collect(),
        approved_by: merge_request
            .approvals
            .iter()
            .map(|approval| name(approval.user))
            .collect(),
        requested_changes_by: merge_request.blocks.iter().map(|user| name(*user)).collect(),
        reviewers: merge_request
            .reviewers
            .iter()
            .map(|reviewer| ReviewerSnapshot {
                user: name(reviewer.user),
                state: reviewer.state.clone(),
            })
            .collect(),
        executed_commands: merge_request
            .executed_commands
            .iter()
            .map(|entry| CommandSnapshot {
                user: name(entry.user),
                command: entry.command.clone(),
            })
            .collect(),
    }
}

fn note(state: &State, note: &Note) -> NoteSnapshot {
    NoteSnapshot {
        id: note.id,
        author: state.user(note.author).username.clone(),
        body: note.body.clone(),
        internal: note.internal,
        edited: note.updated_at != note.created_at,
        suggestions: note.suggestions.len(),
    }
}

fn thread(state: &State, merge_request: &MergeRequest, discussion: &Discussion) -> ThreadSnapshot {
    let resolution = discussion.notes.iter().find_map(|note| note.resolution.as_ref());
    ThreadSnapshot {
        id: discussion.id.clone(),
        resolved: discussion.is_resolved(),
        resolved_by: resolution.map(|resolution| state.user(resolution.by).username.clone()),
        position: discussion
            .first()
            .position
            .as_ref()
            .map(|place| position(merge_request, place)),
        notes: discussion.notes.iter().map(|entry| note(state, entry)).collect(),
    }
}

fn position(merge_request: &MergeRequest, position: &Position) -> PositionSnapshot {
    let index = merge_request
        .versions
        .iter()
        .rposition(|version| version.head == position.head_sha);
    PositionSnapshot {
        kind: position.kind.name().to_owned(),
        version: index.map(|index| index + 1),
        outdated: position.head_sha != merge_request.head(),
        old_path: position.old_path.clone(),
        new_path: position.new_path.clone(),
        old_line: position.old_line,
        new_line: position.new_line,
        multi_line: position.line_range.is_some(),
    }
}
