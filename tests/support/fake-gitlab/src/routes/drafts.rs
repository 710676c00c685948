//! Draft notes: seen by their author only, until they are published.

use serde_json::json;

use crate::MergeRequestRef;
use crate::call::Call;
use crate::entities::note as entity;
use crate::reply::{ApiError, Outcome, Reply};
use crate::review::notes::{self, NewNote, Place};
use crate::review::states;
use crate::state::note::DraftNote;
use crate::state::position::Position;

/// `GET .../draft_notes`, never paged
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.user()?;
    let mine = call
        .merge_request_of(key)
        .drafts
        .iter()
        .filter(|draft| draft.author == user);
    Ok(Reply::list(
        mine.map(|draft| entity::draft(call.state, key, draft)).collect(),
    ))
}

/// `POST .../draft_notes`; whether the position is on the diff shows only when the draft is published.
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let author = call.require_commenter(key.project.0)?;
    let note = call.body_text("note").unwrap_or_default().to_owned();
    if note.trim().is_empty() {
        return Err(ApiError::bad_request(json!({ "note": ["can't be blank"] })));
    }
    let discussion_id = call.body_text("in_reply_to_discussion_id").map(str::to_owned);
    if discussion_id
        .as_ref()
        .is_some_and(|id| call.merge_request_of(key).discussion(id).is_none())
    {
        return Err(ApiError::bad_request(
            json!({ "base": ["Thread to reply to cannot be found"] }),
        ));
    }
    let draft = DraftNote {
        id: call.state.take_id(),
        author,
        note,
        commit_id: call.body_text("commit_id").map(str::to_owned),
        position: Position::read(&call.body["position"]),
        discussion_id,
        resolve_discussion: call.body["resolve_discussion"].as_bool().unwrap_or_default(),
    };
    let reply = Reply::json(201, entity::draft(call.state, key, &draft));
    call.state.merge_request_mut(key).drafts.push(draft);
    Ok(reply)
}

/// `GET .../draft_notes/:draft_note_id`
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let (key, draft) = find(call)?;
    Ok(Reply::json(200, entity::draft(call.state, key, &draft)))
}

/// `PUT .../draft_notes/:draft_note_id`; leaving `position` out removes it.
pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let (key, draft) = find(call)?;
    let Some(note) = call.body_text("note").map(str::to_owned) else {
        return Err(ApiError::bad_request("Missing params to modify"));
    };
    let changed = DraftNote {
        note,
        position: Position::read(&call.body["position"]),
        ..draft
    };
    let reply = Reply::json(200, entity::draft(call.state, key, &changed));
    for stored in call
        .state
        .merge_request_mut(key)
        .drafts
        .iter_mut()
        .filter(|stored| stored.id == changed.id)
    {
        stored.clone_from(&changed);
    }
    Ok(reply)
}

/// `DELETE .../draft_notes/:draft_note_id`
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let (key, draft) = find(call)?;
    call.state
        .merge_request_mut(key)
        .drafts
        .retain(|stored| stored.id != draft.id);
    Ok(Reply::empty(204))
}

/// `PUT .../draft_notes/:draft_note_id/publish`
pub(super) fn publish_one(call: &mut Call<'_>) -> Outcome {
    let (key, draft) = find(call)?;
    notes::publish(call.state, key, draft.author, Some(draft.id))?;
    Ok(Reply::empty(204))
}

/// `POST .../draft_notes/bulk_publish`; no drafts at all is a success, too.
pub(super) fn publish_all(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.require_commenter(key.project.0)?;
    notes::publish(call.state, key, user, None)?;
    if !call.state.options.bulk_publish_takes_body {
        return Ok(Reply::empty(204));
    }
    if let Some(body) = call.body_text("note").filter(|note| !note.trim().is_empty()) {
        let new = NewNote {
            author: user,
            body: body.to_owned(),
            place: Place::Plain,
            internal: call.body["internal"].as_bool().unwrap_or_default(),
            commit_id: None,
            from_draft: true,
        };
        notes::create(call.state, key, new)?;
    }
    let merge_request = call.merge_request_of(key);
    let ignored = merge_request.author == user && !merge_request.is_reviewer(user);
    if let Some(name) = call.body_text("reviewer_state").filter(|_| !ignored).map(str::to_owned) {
        // As with the quick action, how this went is not reported.
        states::set_reviewer_state(call.state, key, user, &name).ok();
    }
    Ok(Reply::empty(204))
}

fn find(call: &Call<'_>) -> Result<(MergeRequestRef, DraftNote), ApiError> {
    let key = call.merge_request()?;
    let user = call.user()?;
    let id = call.path_number("draft_note_id");
    let draft = call
        .merge_request_of(key)
        .drafts
        .iter()
        .find(|draft| draft.author == user && Some(draft.id) == id);
    draft
        .cloned()
        .map(|draft| (key, draft))
        .ok_or_else(ApiError::nothing_here)
}
