//! Approvals.

use serde_json::Value;

use crate::MergeRequestRef;
use crate::call::Call;
use crate::entities::merge_request as entity;
use crate::reply::{ApiError, Outcome, Reply};
use crate::review::{notes, states};
use crate::state::people::AccessLevel;

/// `GET .../approvals`
pub(super) fn read(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    Ok(answer(call, key, 200))
}

/// `GET .../approval_state`; only Enterprise servers have it.
pub(super) fn state(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    if !call.state.options.is_enterprise() {
        return Err(ApiError::nothing_here());
    }
    Ok(Reply::json(200, entity::approval_state(call.state, key)))
}

/// `POST .../approve`
pub(super) fn approve(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.require(key.project.0, AccessLevel::Developer)?;
    let head = call.merge_request_of(key).head().to_owned();
    if call.body_text("sha").is_some_and(|sha| sha != head) {
        return Err(ApiError::conflict(format!(
            "SHA does not match HEAD of source branch: {head}"
        )));
    }
    if call.body["publish_review"] == Value::Bool(true) {
        notes::publish(call.state, key, user, None).map_err(|_| ApiError::crash("Failed to publish review"))?;
    }
    if states::approve(call.state, key, user) {
        Ok(answer(call, key, 201))
    } else {
        Err(ApiError::unauthorized())
    }
}

/// `POST .../unapprove`
pub(super) fn unapprove(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.require(key.project.0, AccessLevel::Developer)?;
    if states::unapprove(call.state, key, user) {
        Ok(answer(call, key, 201))
    } else {
        Err(ApiError::nothing_here())
    }
}

/// `PUT .../reset_approvals`, for bots only
pub(super) fn reset(call: &mut Call<'_>) -> Outcome {
    let key = call.merge_request()?;
    let user = call.user()?;
    if !call.state.user(user).bot {
        return Err(ApiError::unauthorized());
    }
    call.state.merge_request_mut(key).approvals.clear();
    Ok(Reply::empty(202))
}

fn answer(call: &Call<'_>, key: MergeRequestRef, status: u16) -> Reply {
    let user = call.caller.as_ref().map(|caller| caller.user);
    Reply::json(status, entity::approvals(call.state, key, user))
}
