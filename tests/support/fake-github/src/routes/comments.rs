//! Review comments and issue comments: two namespaces of ids.

use serde_json::Value;

use crate::call::Call;
use crate::entities::review;
use crate::ids::{Kind, PullRef};
use crate::reply::{Outcome, Refusal, Reply};
use crate::rules::placement::Wanted;
use crate::rules::posts;
use crate::rules::reviews::{self, NewComment};
use crate::state::State;
use crate::state::pull::{Post, Side};

/// The comments that were submitted, in the order of their ids.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    let pull = call.state.pull(at);
    let since = call.query("since").unwrap_or_default();
    let visible = pull
        .review_comments()
        .filter(|(_, comment)| !pull.is_pending(comment) && comment.post.updated_at.as_str() >= since);
    let mut rows: Vec<Value> = visible
        .map(|(thread, comment)| review::comment(call.state, at, thread, comment, false))
        .collect();
    if call.query("sort").is_some() && call.query("direction") != Some("asc") {
        rows.reverse();
    }
    Ok(Reply::list(rows))
}

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.pull()?, call.token()?);
    let body = call.text("body");
    let id = if let Some(top) = call.body["in_reply_to"].as_u64() {
        reviews::reply(call.state, &token, at, top, &body)?
    } else {
        let new = new_comment(&call.body);
        reviews::create_comment(call.state, &token, at, &call.text("commit_id"), &new)?
    };
    created(call, id)
}

pub(super) fn reply(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.pull()?, call.token()?);
    let (top, body) = (call.number("comment_id"), call.text("body"));
    let id = reviews::reply(call.state, &token, at, top, &body)?;
    created(call, id)
}

/// Reads, changes or deletes a review comment.
pub(super) fn one(call: &mut Call<'_>, method: &str) -> Outcome {
    let id = call.number("comment_id");
    let at = locate(call, id)?;
    if method == "GET" {
        return Ok(Reply::json(200, comment(call.state, id)?));
    }
    let token = call.token()?;
    if method == "DELETE" {
        posts::delete(call.state, &token, at, Kind::ReviewComment, id)?;
        return Ok(Reply::empty(204));
    }
    let body = call.text("body");
    posts::check_body("PullRequestReviewComment", &body)?;
    posts::edit(call.state, &token, at, (Kind::ReviewComment, id), &body)?;
    Ok(Reply::json(200, comment(call.state, id)?))
}

pub(super) fn list_issue(call: &mut Call<'_>) -> Outcome {
    let at = call.pull()?;
    let since = call.query("since").unwrap_or_default();
    let comments = call
        .state
        .pull(at)
        .comments
        .iter()
        .filter(|post| post.updated_at.as_str() >= since);
    let rows = comments.map(|post| review::issue_comment(call.state, at, post));
    Ok(Reply::list(rows.collect()))
}

pub(super) fn create_issue(call: &mut Call<'_>) -> Outcome {
    let (at, token) = (call.pull()?, call.token()?);
    let body = call.text("body");
    posts::check_lock(call.state, &token, at)?;
    posts::check_body("IssueComment", &body)?;
    let post = posts::create(call.state, &token, at, Kind::IssueComment, &body);
    let value = review::issue_comment(call.state, at, &post);
    call.state.pull_mut(at).comments.push(post);
    let url = value["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, value).header("location", &url))
}

/// Reads, changes or deletes an issue comment.
pub(super) fn one_issue(call: &mut Call<'_>, method: &str) -> Outcome {
    let id = call.number("comment_id");
    let repository = call.repository()?;
    let has = |pull: &crate::state::pull::Pull| pull.comments.iter().any(|post| post.id == id);
    let at = call
        .state
        .find_pull(has)
        .filter(|at| at.repository == repository)
        .ok_or_else(Refusal::not_found)?;
    let read = |state: &State| -> Outcome {
        let post: Post = posts::find(state, at, Kind::IssueComment, id).ok_or_else(Refusal::not_found)?;
        Ok(Reply::json(200, review::issue_comment(state, at, &post)))
    };
    if method == "GET" {
        return read(call.state);
    }
    let token = call.token()?;
    if method == "DELETE" {
        posts::delete(call.state, &token, at, Kind::IssueComment, id)?;
        return Ok(Reply::empty(204));
    }
    let body = call.text("body");
    posts::check_body("IssueComment", &body)?;
    posts::edit(call.state, &token, at, (Kind::IssueComment, id), &body)?;
    read(call.state)
}

/// Reads a comment out of a body.
pub(super) fn new_comment(body: &Value) -> NewComment {
    let side = |name: &str| match body[name].as_str() {
        Some("LEFT") => Some(Side::Left),
        Some("RIGHT") => Some(Side::Right),
        _ => None,
    };
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let wanted = Wanted {
        path: text("path"),
        is_file: body["subject_type"] == "file",
        side: side("side"),
        line: body["line"].as_u64(),
        start_side: side("start_side"),
        start_line: body["start_line"].as_u64(),
        position: body["position"].as_u64(),
    };
    NewComment {
        wanted,
        body: text("body"),
    }
}

fn created(call: &Call<'_>, id: u64) -> Outcome {
    let value = comment(call.state, id)?;
    let url = value["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, value).header("location", &url))
}

fn comment(state: &State, id: u64) -> Result<Value, Refusal> {
    let (at, thread, comment) = state.find_comment(id).ok_or_else(Refusal::not_found)?;
    Ok(review::comment(state, at, thread, comment, false))
}

/// The pull request of a comment that the caller may see.
fn locate(call: &Call<'_>, id: u64) -> Result<PullRef, Refusal> {
    let repository = call.repository()?;
    let (at, _, comment) = call.state.find_comment(id).ok_or_else(Refusal::not_found)?;
    let is_author = call
        .token
        .as_ref()
        .is_some_and(|token| token.user == comment.post.author);
    let visible = at.repository == repository && (is_author || !call.state.pull(at).is_pending(comment));
    visible.then_some(at).ok_or_else(Refusal::not_found)
}
