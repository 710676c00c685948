//! Discussions: threads, replies, resolving.

use serde_json::Value;

use super::notes::{edit, find, show};
use crate::MergeRequestRef;
use crate::call::Call;
use crate::entities::note as entity;
use crate::fault::server_error;
use crate::reply::{ApiError, Outcome, Reply};
use crate::review::notes::{self, NewNote, Place, Posted};
use crate::state::note::{Note, Resolution};
use crate::state::people::AccessLevel;
use crate::state::position::Position;

/// `GET .../discussions`, paged by discussion
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let internal = call.reads_internal_notes(key.project.0);
    let row = |discussion: &crate::state::note::Discussion| {
        if discussion.first().internal && !internal {
            Value::Null
        } else {
            entity::discussion(call.state, key, discussion, internal)
        }
    };
    Ok(Reply::list(
        call.merge_request_of(key).discussions.iter().map(row).collect(),
    ))
}

/// `POST .../discussions`
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let author = call.require_commenter(key.project.0)?;
    let place = match Position::read(&call.body["position"]) {
        Some(position) => Place::Diff(Box::new(position)),
        None => Place::Thread,
    };
    let new = new_note(call, author, place);
    match notes::create(call.state, key, new)? {
        Posted::Note { discussion, .. } => show_discussion(call, key, &discussion, 201),
        // Only /notes knows how to answer for commands; here the unsaved note has no discussion to show.
        Posted::CommandsOnly(_) => Ok(server_error()),
    }
}

/// `GET .../discussions/:discussion_id`
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    show_discussion(call, key, call.path_text("discussion_id"), 200)
}

/// `PUT .../discussions/:discussion_id`; an unknown id crashes the server.
pub(super) fn resolve(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.user()?;
    let id = call.path_text("discussion_id").to_owned();
    let Some(discussion) = call.merge_request_of(key).discussion(&id) else {
        return Ok(server_error());
    };
    if !discussion.is_resolvable() || !may_resolve(call, key, user) {
        return Err(ApiError::forbidden());
    }
    let resolution = resolution(call, user);
    if let Some(discussion) = call.state.merge_request_mut(key).discussion_mut(&id) {
        discussion.resolve(resolution.as_ref());
    }
    show_discussion(call, key, &id, 200)
}

/// `GET .../discussions/:discussion_id/notes`
pub(super) fn notes(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let internal = call.reads_internal_notes(key.project.0);
    let discussion = call.merge_request_of(key).discussion(call.path_text("discussion_id"));
    let discussion = discussion.ok_or_else(|| ApiError::not_found("Discussion"))?;
    let readable = discussion.notes.iter().filter(|note| internal || !note.internal);
    Ok(Reply::list(
        readable.map(|note| entity::note(call.state, key, note)).collect(),
    ))
}

/// `POST .../discussions/:discussion_id/notes`
pub(super) fn reply(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let author = call.require_commenter(key.project.0)?;
    let new = new_note(call, author, Place::Reply(call.path_text("discussion_id").to_owned()));
    match notes::create(call.state, key, new)? {
        Posted::Note { note, .. } => show(call, key, note, 201),
        Posted::CommandsOnly(_) => Ok(server_error()),
    }
}

/// `GET .../discussions/:discussion_id/notes/:note_id`
pub(super) fn read_note(call: &mut Call<'_>) -> Outcome {
    let (key, id) = find_in_discussion(call)?;
    show(call, key, id, 200)
}

/// `PUT .../discussions/:discussion_id/notes/:note_id` with exactly one of `body` and `resolved`
pub(super) fn update_note(call: &mut Call<'_>) -> Outcome {
    let (key, id) = find_in_discussion(call)?;
    let body = call.body_text("body").map(str::to_owned);
    let resolved = call.body["resolved"].as_bool();
    match (body, resolved) {
        (Some(body), None) => edit(call, key, id, &body),
        (None, Some(_)) => resolve_note(call, key, id),
        (Some(_), Some(_)) => Err(ApiError::invalid_parameters("body, resolved are mutually exclusive")),
        (None, None) => Err(ApiError::invalid_parameters(
            "body, resolved are missing, exactly one parameter must be provided",
        )),
    }
}

fn resolve_note(call: &mut Call<'_>, key: MergeRequestRef, id: u64) -> Outcome {
    let user = call.user()?;
    if !call.merge_request_of(key).note(id).is_some_and(Note::is_resolvable) {
        return Err(ApiError::bad_request("400 Bad request - Note is not resolvable"));
    }
    if !may_resolve(call, key, user) {
        return Err(ApiError::forbidden());
    }
    let resolution = resolution(call, user);
    if let Some(note) = call.state.merge_request_mut(key).note_mut(id) {
        note.resolution = resolution;
    }
    show(call, key, id, 200)
}

fn find_in_discussion(call: &Call<'_>) -> Result<(MergeRequestRef, u64), ApiError> {
    let key = call.merge_request()?;
    let discussion = call.merge_request_of(key).discussion(call.path_text("discussion_id"));
    let discussion = discussion.ok_or_else(|| ApiError::not_found("Discussion"))?;
    let id = find(call, key)?;
    if discussion.notes.iter().any(|note| note.id == id) {
        Ok((key, id))
    } else {
        Err(ApiError::not_found("Note"))
    }
}

fn new_note(call: &Call<'_>, author: u64, place: Place) -> NewNote {
    NewNote {
        author,
        body: call.body_text("body").unwrap_or_default().to_owned(),
        place,
        internal: false,
        commit_id: call.body_text("commit_id").map(str::to_owned),
        from_draft: false,
    }
}

/// Developers and the author of the merge request resolve threads.
fn may_resolve(call: &Call<'_>, key: MergeRequestRef, user: u64) -> bool {
    call.state.has_access(key.project.0, user, AccessLevel::Developer) || call.merge_request_of(key).author == user
}

fn resolution(call: &mut Call<'_>, by: u64) -> Option<Resolution> {
    let at = call.state.now();
    (call.body["resolved"] == Value::Bool(true)).then_some(Resolution { by, at })
}

fn show_discussion(call: &Call<'_>, key: MergeRequestRef, id: &str, status: u16) -> Outcome {
    let internal = call.reads_internal_notes(key.project.0);
    let discussion = call
        .merge_request_of(key)
        .discussion(id)
        .filter(|found| internal || !found.first().internal);
    let discussion = discussion.ok_or_else(|| ApiError::not_found("Discussion"))?;
    Ok(Reply::json(
        status,
        entity::discussion(call.state, key, discussion, internal),
    ))
}
