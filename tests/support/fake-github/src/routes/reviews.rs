//! Reviews.

use serde_json::Value;

use super::comments::new_comment;
use crate::call::Call;
use crate::entities::review;
use crate::ids::{Kind, PullRef};
use crate::reply::{Outcome, Refusal, Reply};
use crate::rules::posts;
use crate::rules::reviews::{self, NewReview};
use crate::state::pull::{Review, ReviewState};

/// Every review in the order of submission; a pending one is visible to its author only.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    let reviews = call
        .state
        .pull(at)
        .reviews
        .iter()
        .filter(|review| is_visible(call, review));
    let rows = reviews.map(|one| review::review(call.state, at, one));
    Ok(Reply::list(rows.collect()))
}

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.pull()?, call.token()?);
    let comments = call.body["comments"].as_array().into_iter().flatten();
    let new = NewReview {
        state: wanted_state(&call.body["event"]),
        body: call.text("body"),
        commit: call.body["commit_id"].as_str().map(str::to_owned),
        comments: comments.map(new_comment).collect(),
    };
    let id = reviews::create(call.state, &token, at, new)?;
    answer(call, at, id)
}

/// Reads a review, changes its text, or deletes it while it is pending.
pub(super) fn one(call: &mut Call<'_>, method: &str) -> Outcome {
    let (at, id) = locate(call)?;
    match method {
        "GET" => answer(call, at, id),
        "PUT" => {
            let (token, body) = (call.token()?, call.text("body"));
            if body.chars().count() > posts::MAX_BODY {
                return Err(Refusal::unprocessable([
                    "Body is too long (maximum is 65536 characters)",
                ]));
            }
            posts::edit(call.state, &token, at, (Kind::Review, id), &body)?;
            answer(call, at, id)
        }
        _ => {
            let deleted = call.state.pull(at).review(id).cloned().ok_or_else(Refusal::not_found)?;
            if deleted.state != ReviewState::Pending {
                return Err(Refusal::unprocessable([
                    "Can not delete a non-pending pull request review",
                ]));
            }
            let reply = answer(call, at, id);
            let pull = call.state.pull_mut(at);
            pull.reviews.retain(|review| review.post.id != id);
            for thread in &mut pull.threads {
                thread.comments.retain(|comment| comment.review != id);
            }
            pull.threads.retain(|thread| !thread.comments.is_empty());
            reply
        }
    }
}

/// The comments of a review, in the legacy form without lines.
pub(super) fn comments(call: &mut Call<'_>) -> Outcome {
    let (at, id) = locate(call)?;
    let own = call
        .state
        .pull(at)
        .review_comments()
        .filter(|(_, comment)| comment.review == id);
    let rows = own.map(|(thread, comment)| review::comment(call.state, at, thread, comment, true));
    Ok(Reply::list(rows.collect()))
}

pub(super) fn dismiss(call: &mut Call<'_>) -> Outcome {
    let (at, id) = locate(call)?;
    let token = call.token()?;
    reviews::dismiss(call.state, &token, at, id)?;
    answer(call, at, id)
}

pub(super) fn submit(call: &mut Call<'_>) -> Outcome {
    let (at, id) = locate(call)?;
    let token = call.token()?;
    let to = wanted_state(&call.body["event"]);
    let body = call.body["body"].as_str().map(str::to_owned);
    reviews::submit(call.state, &token, at, id, (to, body.as_deref()))?;
    answer(call, at, id)
}

fn wanted_state(event: &Value) -> ReviewState {
    match event.as_str() {
        Some("APPROVE") => ReviewState::Approved,
        Some("REQUEST_CHANGES") => ReviewState::ChangesRequested,
        Some("COMMENT") => ReviewState::Commented,
        _ => ReviewState::Pending,
    }
}

fn is_visible(call: &Call<'_>, review: &Review) -> bool {
    let is_author = call
        .token
        .as_ref()
        .is_some_and(|token| token.user == review.post.author);
    is_author || review.state != ReviewState::Pending
}

fn locate(call: &Call<'_>) -> Result<(PullRef, u64), Refusal> {
    let (at, id) = (call.pull()?, call.number("review_id"));
    let review = call.state.pull(at).review(id).filter(|review| is_visible(call, review));
    review.map(|_| (at, id)).ok_or_else(Refusal::not_found)
}

fn answer(call: &Call<'_>, at: PullRef, id: u64) -> Outcome {
    let found = call.state.pull(at).review(id).ok_or_else(Refusal::not_found)?;
    Ok(Reply::json(200, review::review(call.state, at, found)))
}
