//! Changes that only GraphQL can make, and two that REST can make as well.

use serde_json::{Value, json};

use super::context::Context;
use super::{Failure, objects};
use crate::ids::{Kind, PullRef};
use crate::reply::Refusal;
use crate::rules::{permission, posts, reviews};
use crate::state::State;
use crate::state::people::{Access, Token, TokenKind};

/// Runs a mutation and returns its payload.
pub(super) fn run(context: &Context<'_>, name: &str, input: &Value) -> Result<Value, Failure> {
    let token = context.token;
    let may_write = token.kind == TokenKind::Classic || token.permissions.allows("pull_requests", Access::Write);
    if !may_write && !name.ends_with("solveReviewThread") {
        return Err(forbidden(token, name));
    }
    let text = |field: &str| input[field].as_str().unwrap_or_default();
    let payload = context.change(|state| match name {
        "resolveReviewThread" | "unresolveReviewThread" => resolve(state, token, name, text("threadId")),
        "minimizeComment" => minimize(state, token, text("subjectId"), Some(text("classifier"))),
        "unminimizeComment" => minimize(state, token, text("subjectId"), None),
        "addPullRequestReviewThreadReply" => reply(state, token, text("pullRequestReviewThreadId"), text("body")),
        "dismissPullRequestReview" => dismiss(state, token, text("pullRequestReviewId")),
        _ => Err(Failure::new("NOT_IMPLEMENTED", format!("the stand-in has no {name}"))),
    });
    let mut payload = payload?;
    payload["clientMutationId"] = input["clientMutationId"].clone();
    Ok(payload)
}

/// The object with a text, or the thread, that a node id names.
pub(super) fn subject(state: &State, token: &Token, id: &str) -> Option<Value> {
    if let Some(number) = Kind::Thread.parse(id) {
        let (at, index) = find_thread(state, number)?;
        return Some(objects::thread(state, token, at, &state.pull(at).threads[index]));
    }
    if let Some(number) = Kind::Review.parse(id) {
        let (at, review) = state.find_review(number)?;
        return Some(objects::review(state, token, at, review));
    }
    if let Some(number) = Kind::ReviewComment.parse(id) {
        let (at, thread, comment) = state.find_comment(number)?;
        return Some(objects::comment(state, token, at, thread, comment));
    }
    let number = Kind::IssueComment.parse(id)?;
    let at = state.find_pull(|pull| pull.comments.iter().any(|post| post.id == number))?;
    let post = posts::find(state, at, Kind::IssueComment, number)?;
    Some(objects::issue_comment(state, token, at, &post))
}

/// The error of a node id that names nothing.
pub(super) fn unknown(id: &str) -> Failure {
    Failure::new(
        "NOT_FOUND",
        format!("Could not resolve to a node with the global id of '{id}'"),
    )
}

fn resolve(state: &mut State, token: &Token, name: &str, id: &str) -> Result<Value, Failure> {
    let found = Kind::Thread.parse(id).and_then(|number| find_thread(state, number));
    let (at, index) = found.ok_or_else(|| unknown(id))?;
    if !reviews::may_resolve(state, token, at) {
        return Err(forbidden(token, name));
    }
    state.pull_mut(at).threads[index].resolved_by = name.starts_with("resolve").then_some(token.user);
    Ok(json!({ "thread": objects::thread(state, token, at, &state.pull(at).threads[index]) }))
}

fn minimize(state: &mut State, token: &Token, id: &str, classifier: Option<&str>) -> Result<Value, Failure> {
    let kinds = [Kind::IssueComment, Kind::ReviewComment, Kind::Review];
    let found = kinds.into_iter().find_map(|kind| {
        let number = kind.parse(id)?;
        let (at, _) = state
            .pulls()
            .find(|(at, _)| posts::find(state, *at, kind, number).is_some())?;
        Some((at, kind, number))
    });
    let (at, kind, number) = found.ok_or_else(|| unknown(id))?;
    let post = posts::find(state, at, kind, number).ok_or_else(|| unknown(id))?;
    if !objects::may_minimize(state, token, at, &post) {
        return Err(forbidden(token, "minimizeComment"));
    }
    if let Some(post) = state.pull_mut(at).post_mut(kind, number) {
        post.minimized = classifier.map(str::to_owned);
    }
    let name = if classifier.is_some() {
        "minimizedComment"
    } else {
        "unminimizedComment"
    };
    Ok(json!({ name: subject(state, token, id) }))
}

fn reply(state: &mut State, token: &Token, id: &str, body: &str) -> Result<Value, Failure> {
    let found = Kind::Thread.parse(id).and_then(|number| find_thread(state, number));
    let (at, index) = found.ok_or_else(|| unknown(id))?;
    let top = state.pull(at).threads[index].comments[0].post.id;
    let comment = reviews::reply(state, token, at, top, body).map_err(|refusal| refused(&refusal))?;
    Ok(json!({ "comment": subject(state, token, &Kind::ReviewComment.node(comment)) }))
}

fn dismiss(state: &mut State, token: &Token, id: &str) -> Result<Value, Failure> {
    let found = Kind::Review
        .parse(id)
        .and_then(|number| Some((state.find_review(number)?.0, number)));
    let (at, number) = found.ok_or_else(|| unknown(id))?;
    reviews::dismiss(state, token, at, number).map_err(|refusal| refused(&refusal))?;
    Ok(json!({ "pullRequestReview": subject(state, token, id) }))
}

fn find_thread(state: &State, id: u64) -> Option<(PullRef, usize)> {
    state.pulls().find_map(|(at, pull)| {
        let index = pull.threads.iter().position(|thread| thread.id == id)?;
        Some((at, index))
    })
}

fn forbidden(token: &Token, name: &str) -> Failure {
    let message = if token.kind.is_app() {
        permission::not_accessible(token).message
    } else {
        format!("The viewer does not have the correct permissions to execute `{name}`")
    };
    Failure::new("FORBIDDEN", message)
}

fn refused(refusal: &Refusal) -> Failure {
    let texts = refusal.errors.iter().filter_map(Value::as_str);
    let message = texts.chain([refusal.message.as_str()]).next().unwrap_or_default();
    let kind = if refusal.status == 403 {
        "FORBIDDEN"
    } else {
        "UNPROCESSABLE"
    };
    Failure::new(kind, message)
}
