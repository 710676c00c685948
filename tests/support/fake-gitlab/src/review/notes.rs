//! Creating notes: limits, quick actions, placement, replies.

use serde_json::{Map, Value};

use super::quick_actions::{self, PublishDrafts, Summary};
use super::{placement, states, suggestions};
use crate::MergeRequestRef;
use crate::reply::ApiError;
use crate::state::State;
use crate::state::note::{Discussion, DraftNote, Note, NoteKind, Resolution, Suggestion};
use crate::state::position::Position;

/// A note that somebody wants to post.
#[derive(Debug, Clone)]
pub(crate) struct NewNote {
    pub(crate) author: u64,
    pub(crate) body: String,
    pub(crate) place: Place,
    pub(crate) internal: bool,
    pub(crate) commit_id: Option<String>,
    /// The note is published from a draft, which changes what quick actions may do.
    pub(crate) from_draft: bool,
}

/// Where a note goes.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A note of its own.
    Plain,
    /// A new resolvable thread.
    Thread,
    /// A new thread on the diff.
    Diff(Box<Position>),
    /// The thread with this id.
    Reply(String),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Posted {
    /// The note was stored in the discussion.
    Note { discussion: String, note: u64 },
    /// The body held nothing but quick actions.
    CommandsOnly(Summary),
}

/// Posts a note and runs the quick actions in its body.
pub(crate) fn create(state: &mut State, key: MergeRequestRef, new: NewNote) -> Result<Posted, ApiError> {
    check_body(state, key, &new.body)?;
    if let Place::Diff(position) = &new.place {
        check_position(state, key, position)?;
    }
    if let Place::Reply(discussion) = &new.place {
        let discussion = state.merge_request(key).discussion(discussion);
        let first = discussion.ok_or_else(|| ApiError::not_found("Discussion"))?.first();
        if first.system {
            return Err(ApiError::bad_request("Discussion can not be replied to."));
        }
    }
    let (body, summary) = run_commands(state, key, new.author, &new.body, new.from_draft);
    if body.trim().is_empty() {
        return Ok(Posted::CommandsOnly(
            summary.expect("a body that became empty held quick actions"),
        ));
    }
    let changes = summary.map(|summary| summary.changes).unwrap_or_default();
    Ok(store(state, key, new, body, changes))
}

/// Runs the quick actions of a body; returns the rest of it, and what the commands did if there were any.
pub(crate) fn run_commands(
    state: &mut State,
    key: MergeRequestRef,
    user: u64,
    body: &str,
    from_draft: bool,
) -> (String, Option<Summary>) {
    let (rest, commands) = quick_actions::extract(body);
    // A note that is published from a draft publishes no others.
    let publish_all: Option<PublishDrafts> =
        (!from_draft).then_some(|state, key, user| publish(state, key, user, None));
    if commands.is_empty() {
        return (body.to_owned(), None);
    }
    (
        rest,
        Some(quick_actions::execute(state, key, user, &commands, publish_all)),
    )
}

/// The checks that every note body has to pass.
pub(crate) fn check_body(state: &State, key: MergeRequestRef, body: &str) -> Result<(), ApiError> {
    let options = &state.options;
    if body.trim().is_empty() {
        return Err(ApiError::invalid_note(r#":note=>["can't be blank"]"#));
    }
    if body.chars().count() > options.note_characters {
        let limit = options.note_characters;
        return Err(ApiError::invalid_note(&format!(
            ":note=>[\"is too long (maximum is {limit} characters)\"]"
        )));
    }
    if state.merge_request(key).notes().count() >= options.notes_per_merge_request {
        return Err(ApiError::invalid_note(
            r#":base=>["Maximum number of comments exceeded"]"#,
        ));
    }
    Ok(())
}

/// Refuses a position that is not on the diff.
pub(crate) fn check_position(state: &State, key: MergeRequestRef, position: &Position) -> Result<(), ApiError> {
    let merge_request = state.merge_request(key);
    if merge_request.unprepared_reads > 0 {
        return Err(ApiError::invalid_note(
            r#":noteable=>["doesn't support new-style diff notes"]"#,
        ));
    }
    let repository = &state.project(key.project.0).repository;
    placement::validate(merge_request, repository, state.options.unfold_context, position)
        .map_err(|refusal| ApiError::invalid_note(&refusal))
}

fn store(
    state: &mut State,
    key: MergeRequestRef,
    new: NewNote,
    body: String,
    commands_changes: Map<String, Value>,
) -> Posted {
    let created_at = state.now();
    let id = state.take_id();
    let position = match &new.place {
        Place::Diff(position) => Some((**position).clone()),
        Place::Reply(discussion) => state
            .merge_request(key)
            .discussion(discussion)
            .and_then(|d| d.first().position.clone()),
        Place::Plain | Place::Thread => None,
    };
    let suggestions = find_suggestions(state, key, position.as_ref(), &body);
    let kind = match (&new.place, &position) {
        (Place::Plain, _) => NoteKind::Plain,
        (_, Some(_)) => NoteKind::Diff,
        (_, None) => NoteKind::Discussion,
    };
    let note = Note {
        id,
        kind,
        body,
        author: new.author,
        created_at,
        updated_at: created_at,
        system: false,
        internal: new.internal,
        commit_id: new.commit_id,
        position,
        resolution: None,
        commands_changes,
        suggestions,
    };
    let fresh_id = state.take_discussion_id();
    let merge_request = state.merge_request_mut(key);
    merge_request.updated_at = created_at;
    if let Place::Reply(discussion_id) = new.place {
        let discussion = merge_request.discussion_mut(&discussion_id).expect("checked before");
        // A reply turns a plain note into a thread, and reopens nothing.
        for first in discussion
            .notes
            .iter_mut()
            .filter(|first| first.kind == NoteKind::Plain)
        {
            first.kind = NoteKind::Discussion;
        }
        let resolution = discussion
            .is_resolved()
            .then(|| discussion.first().resolution.clone())
            .flatten();
        discussion.notes.push(Note { resolution, ..note });
        return Posted::Note {
            discussion: discussion_id,
            note: id,
        };
    }
    merge_request.discussions.push(Discussion {
        id: fresh_id.clone(),
        notes: vec![note],
    });
    Posted::Note {
        discussion: fresh_id,
        note: id,
    }
}

/// The suggestions of a body at a position, with ids.
pub(crate) fn find_suggestions(
    state: &mut State,
    key: MergeRequestRef,
    position: Option<&Position>,
    body: &str,
) -> Vec<Suggestion> {
    let Some(position) = position else { return Vec::new() };
    let blocks = suggestions::find(&state.project(key.project.0).repository, position, body);
    let with_id = |block: suggestions::Block| Suggestion {
        id: state.take_id(),
        from_line: block.from_line,
        to_line: block.to_line,
        from_content: block.from_content,
        to_content: block.to_content,
    };
    blocks.into_iter().map(with_id).collect()
}

/// Publishes drafts in their order. A draft on a bad line fails the rest, after earlier ones became notes.
pub(crate) fn publish(state: &mut State, key: MergeRequestRef, user: u64, only: Option<u64>) -> Result<(), ApiError> {
    let mine = |draft: &&DraftNote| draft.author == user && only.is_none_or(|id| draft.id == id);
    let drafts: Vec<DraftNote> = state.merge_request(key).drafts.iter().filter(mine).cloned().collect();
    let any = !drafts.is_empty();
    for draft in drafts {
        let id = draft.id;
        publish_one(state, key, draft)
            .map_err(|_| ApiError::crash("An error occurred while publishing the review."))?;
        state.merge_request_mut(key).drafts.retain(|draft| draft.id != id);
    }
    if any && only.is_none() && state.merge_request(key).is_reviewer(user) {
        // The only way this fails is a missing reviewer row, and there is one.
        states::set_reviewer_state(state, key, user, "reviewed").ok();
    }
    Ok(())
}

fn publish_one(state: &mut State, key: MergeRequestRef, draft: DraftNote) -> Result<(), ApiError> {
    let place = match (draft.discussion_id, draft.position) {
        (Some(discussion), _) => Place::Reply(discussion),
        (None, Some(position)) => Place::Diff(Box::new(position)),
        (None, None) => Place::Thread,
    };
    let new = NewNote {
        author: draft.author,
        body: draft.note,
        place: place.clone(),
        internal: false,
        commit_id: draft.commit_id,
        from_draft: true,
    };
    create(state, key, new)?;
    if let Place::Reply(id) = place {
        let at = state.now();
        let resolution = draft.resolve_discussion.then_some(Resolution { by: draft.author, at });
        if let Some(discussion) = state.merge_request_mut(key).discussion_mut(&id) {
            discussion.resolve(resolution.as_ref());
        }
    }
    Ok(())
}
