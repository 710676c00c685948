//! Emoji on merge requests and notes.

use crate::MergeRequestRef;
use crate::call::Call;
use crate::entities::note as entity;
use crate::reply::{ApiError, Outcome, Reply};
use crate::state::note::Award;

/// What carries the emoji: the merge request, or one of its notes.
struct Awardable {
    key: MergeRequestRef,
    note: Option<u64>,
}

impl Awardable {
    fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let key = call.merge_request()?;
        let note = if call.path.contains_key("note_id") {
            Some(super::notes::find(call, key)?)
        } else {
            None
        };
        Ok(Self { key, note })
    }

    fn id_and_kind(&self, call: &Call<'_>) -> (u64, &'static str) {
        self.note
            .map_or((call.merge_request_of(self.key).id, "MergeRequest"), |note| {
                (note, "Note")
            })
    }

    fn awards<'a>(&self, call: &'a Call<'_>) -> &'a [Award] {
        let merge_request = call.merge_request_of(self.key);
        match self.note {
            None => &merge_request.awards,
            Some(note) => merge_request.note(note).map_or(&[], |note| note.awards.as_slice()),
        }
    }

    fn awards_mut<'a>(&self, call: &'a mut Call<'_>) -> Option<&'a mut Vec<Award>> {
        let merge_request = call.state.merge_request_mut(self.key);
        match self.note {
            None => Some(&mut merge_request.awards),
            Some(note) => merge_request.note_mut(note).map(|note| &mut note.awards),
        }
    }
}

/// `GET .../award_emoji`
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let awardable = Awardable::of(call)?;
    let (id, kind) = awardable.id_and_kind(call);
    let rows = awardable
        .awards(call)
        .iter()
        .map(|award| entity::award(call.state, id, kind, award));
    Ok(Reply::list(rows.collect()))
}

/// `POST .../award_emoji`; a second emoji of the same name is 404, of all codes.
pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let awardable = Awardable::of(call)?;
    let user = call.require_commenter(awardable.key.project.0)?;
    let name = call.body_text("name").unwrap_or_default().trim_matches(':').to_owned();
    if name.is_empty()
        || !name
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "_+-".contains(sign))
    {
        return Err(ApiError::not_found("Award Emoji Name is not a valid emoji name"));
    }
    if awardable
        .awards(call)
        .iter()
        .any(|award| award.user == user && award.name == name)
    {
        return Err(ApiError::not_found("Award Emoji Name has already been taken"));
    }
    let award = Award {
        id: call.state.take_id(),
        name,
        user,
        created_at: call.state.now(),
    };
    let (id, kind) = awardable.id_and_kind(call);
    let reply = Reply::json(201, entity::award(call.state, id, kind, &award));
    if let Some(awards) = awardable.awards_mut(call) {
        awards.push(award);
    }
    Ok(reply)
}

/// `GET .../award_emoji/:award_id`
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let awardable = Awardable::of(call)?;
    let (id, kind) = awardable.id_and_kind(call);
    let wanted = call.path_number("award_id");
    let award = awardable.awards(call).iter().find(|award| Some(award.id) == wanted);
    let award = award.ok_or_else(|| ApiError::not_found("Award Emoji"))?;
    Ok(Reply::json(200, entity::award(call.state, id, kind, award)))
}

/// `DELETE .../award_emoji/:award_id`, by its author only
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let awardable = Awardable::of(call)?;
    let user = call.user()?;
    let wanted = call.path_number("award_id");
    let award = awardable.awards(call).iter().find(|award| Some(award.id) == wanted);
    let award = award.ok_or_else(|| ApiError::not_found("Award Emoji"))?;
    if award.user != user {
        return Err(ApiError::unauthorized());
    }
    let id = award.id;
    if let Some(awards) = awardable.awards_mut(call) {
        awards.retain(|award| award.id != id);
    }
    Ok(Reply::empty(204))
}
