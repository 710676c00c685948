//! Notes, discussions and drafts.

use serde_json::{Value, json};

use super::people::basic;
use crate::MergeRequestRef;
use crate::review::placement;
use crate::state::State;
use crate::state::clock::print;
use crate::state::note::{Discussion, DraftNote, Note, Suggestion};

/// A note.
pub(crate) fn note(state: &State, key: MergeRequestRef, note: &Note) -> Value {
    let merge_request = state.merge_request(key);
    let resolution = note.resolution.as_ref();
    let mut value = json!({
        "id": note.id,
        "type": note.kind.name(),
        "body": note.body,
        "attachment": null,
        "author": basic(state, note.author),
        "created_at": print(note.created_at),
        "updated_at": print(note.updated_at),
        "system": note.system,
        "noteable_id": merge_request.id,
        "noteable_type": "MergeRequest",
        "project_id": key.project.0,
        "commit_id": note.commit_id,
        "resolvable": note.is_resolvable(),
        "confidential": note.internal,
        "internal": note.internal,
        "imported": false,
        "imported_from": "none",
        "noteable_iid": merge_request.iid,
        "commands_changes": note.commands_changes,
    });
    if let Some(position) = &note.position {
        value["position"] = position.json();
        value["suggestions"] = note.suggestions.iter().map(suggestion).collect();
    }
    if note.is_resolvable() {
        value["resolved"] = json!(resolution.is_some());
        value["resolved_by"] = resolution.map_or(Value::Null, |resolution| basic(state, resolution.by));
        value["resolved_at"] = resolution.map_or(Value::Null, |resolution| json!(print(resolution.at)));
    }
    value
}

fn suggestion(suggestion: &Suggestion) -> Value {
    json!({
        "id": suggestion.id,
        "from_line": suggestion.from_line,
        "to_line": suggestion.to_line,
        "appliable": suggestion.from_content != suggestion.to_content,
        "applied": false,
        "from_content": suggestion.from_content,
        "to_content": suggestion.to_content,
    })
}

/// A discussion with the notes that the caller may read.
pub(crate) fn discussion(state: &State, key: MergeRequestRef, discussion: &Discussion, internal: bool) -> Value {
    let readable = discussion.notes.iter().filter(|note| internal || !note.internal);
    let mut value = json!({
        "id": discussion.id,
        "individual_note": discussion.is_individual(),
        "notes": readable.map(|entry| note(state, key, entry)).collect::<Vec<_>>(),
    });
    if discussion.is_resolvable() {
        value["resolvable"] = json!(true);
        value["resolved"] = json!(discussion.is_resolved());
    }
    value
}

/// A draft note.
pub(crate) fn draft(state: &State, key: MergeRequestRef, draft: &DraftNote) -> Value {
    let merge_request = state.merge_request(key);
    let repository = &state.project(key.project.0).repository;
    let code = draft
        .position
        .as_ref()
        .and_then(|position| placement::code_of(merge_request, repository, state.options.unfold_context, position));
    json!({
        "id": draft.id,
        "author_id": draft.author,
        "merge_request_id": merge_request.id,
        "resolve_discussion": draft.resolve_discussion,
        "discussion_id": draft.discussion_id,
        "note": draft.note,
        "commit_id": draft.commit_id,
        "line_code": code,
        "position": draft.position.as_ref().map(crate::state::position::Position::json),
    })
}
