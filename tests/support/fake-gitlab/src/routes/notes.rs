//! Notes of a merge request.

use serde_json::{Value, json};

use crate::MergeRequestRef;
use crate::call::Call;
use crate::entities::note as entity;
use crate::reply::{ApiError, Outcome, Reply};
use crate::review::notes::{self, NewNote, Place, Posted};
use crate::review::quick_actions::Summary;
use crate::state::note::Note;
use crate::state::people::AccessLevel;

/// `GET .../notes`, newest first by default
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let internal = call.reads_internal_notes(key.project.0);
    let filter = call.query_text("activity_filter").unwrap_or("all_notes");
    let mut found: Vec<&Note> = call
        .merge_request_of(key)
        .notes()
        .map(|(_, note)| note)
        .filter(|note| match filter {
            "only_comments" => !note.system,
            "only_activity" => note.system,
            _ => true,
        })
        .collect();
    match call.query_text("order_by") {
        Some("updated_at") => found.sort_by_key(|note| (note.updated_at, note.id)),
        _ => found.sort_by_key(|note| (note.created_at, note.id)),
    }
    if call.query_text("sort") != Some("asc") {
        found.reverse();
    }
    let row = |note: &Note| {
        if note.internal && !internal {
            Value::Null
        } else {
            entity::note(call.state, key, note)
        }
    };
    Ok(Reply::list(found.into_iter().map(row).collect()))
}

/// `POST .../notes`
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let author = call.require_commenter(key.project.0)?;
    let internal = [&call.body["internal"], &call.body["confidential"]].contains(&&Value::Bool(true));
    let new = NewNote {
        author,
        body: call.body_text("body").unwrap_or_default().to_owned(),
        place: Place::Plain,
        internal,
        commit_id: None,
        from_draft: false,
    };
    match notes::create(call.state, key, new)? {
        Posted::Note { note, .. } => show(call, key, note, 201),
        Posted::CommandsOnly(summary) => commands_only(&summary),
    }
}

/// `GET .../notes/:note_id`
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let id = find(call, key)?;
    show(call, key, id, 200)
}

/// `PUT .../notes/:note_id`
pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let id = find(call, key)?;
    let Some(body) = call.body_text("body").map(str::to_owned) else {
        return Err(ApiError::invalid_parameters("body is missing"));
    };
    edit(call, key, id, &body)
}

/// `DELETE .../notes/:note_id`, also below a discussion
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let id = find(call, key)?;
    require_admin(call, key, id)?;
    let merge_request = call.state.merge_request_mut(key);
    for discussion in &mut merge_request.discussions {
        discussion.notes.retain(|note| note.id != id);
    }
    merge_request
        .discussions
        .retain(|discussion| !discussion.notes.is_empty());
    Ok(Reply::empty(204))
}

/// Replaces the body of a note and runs the quick actions in the new one.
pub(super) fn edit(call: &mut Call<'_>, key: MergeRequestRef, id: u64, body: &str) -> Outcome {
    let user = require_admin(call, key, id)?;
    notes::check_body(call.state, key, body)?;
    let (rest, summary) = notes::run_commands(call.state, key, user, body, false);
    if rest.trim().is_empty() {
        return commands_only(&summary.unwrap_or_default());
    }
    let position = call
        .merge_request_of(key)
        .note(id)
        .and_then(|note| note.position.clone());
    let suggestions = notes::find_suggestions(call.state, key, position.as_ref(), &rest);
    let updated_at = call.state.now();
    if let Some(note) = call.state.merge_request_mut(key).note_mut(id) {
        note.body = rest;
        note.updated_at = updated_at;
        note.suggestions = suggestions;
    }
    show(call, key, id, 200)
}

/// The note of the path, if the caller may read it.
pub(super) fn find(call: &Call<'_>, key: MergeRequestRef) -> Result<u64, ApiError> {
    let id = call.path_number("note_id").unwrap_or_default();
    let internal = call.reads_internal_notes(key.project.0);
    let note = call
        .merge_request_of(key)
        .note(id)
        .filter(|note| internal || !note.internal);
    note.map(|note| note.id).ok_or_else(|| ApiError::not_found("Note"))
}

/// The answer with one note.
pub(super) fn show(call: &Call<'_>, key: MergeRequestRef, id: u64, status: u16) -> Outcome {
    let note = call
        .merge_request_of(key)
        .note(id)
        .ok_or_else(|| ApiError::not_found("Note"))?;
    Ok(Reply::json(status, entity::note(call.state, key, note)))
}

/// Only the author and maintainers change a note; nobody changes a system note.
fn require_admin(call: &Call<'_>, key: MergeRequestRef, id: u64) -> Result<u64, ApiError> {
    let user = call.user()?;
    let note = call
        .merge_request_of(key)
        .note(id)
        .ok_or_else(|| ApiError::not_found("Note"))?;
    let maintains = call.state.has_access(key.project.0, user, AccessLevel::Maintainer);
    let allowed = !note.system && (note.author == user || maintains);
    if allowed { Ok(user) } else { Err(ApiError::forbidden()) }
}

/// 202 when every command worked, 400 otherwise. There is no note, so there is no note id either.
fn commands_only(summary: &Summary) -> Outcome {
    if summary.failed {
        return Err(ApiError::bad_request(format!(
            "400 Bad request - {}",
            summary.messages.join(", ")
        )));
    }
    Ok(Reply::json(
        202,
        json!({ "commands_changes": summary.changes, "summary": summary.messages }),
    ))
}
