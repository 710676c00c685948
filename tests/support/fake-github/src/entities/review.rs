//! Reviews, review comments and issue comments.

use serde_json::{Value, json};

use super::{fill, link, people, pull};
use crate::ids::{Kind, PullRef};
use crate::state::State;
use crate::state::pull::{Post, Review, ReviewComment, Side, Thread};

/// A review, without its comments.
pub(crate) fn review(state: &State, at: PullRef, review: &Review) -> Value {
    let id = review.post.id;
    let (url, html_url) = (
        pull::url(state, at),
        format!("{}#pullrequestreview-{id}", pull::html_url(state, at)),
    );
    let mut known = json!({
        "id": id,
        "node_id": Kind::Review.node(id),
        "user": people::author(state, review.post.author),
        "body": review.post.body,
        "state": review.state.name(),
        "commit_id": review.commit,
        "html_url": html_url,
        "pull_request_url": url,
        "author_association": pull::association(state, at.repository, review.post.author),
        "_links": { "html": link(&html_url), "pull_request": link(&url) },
    });
    if let Some(time) = &review.submitted_at {
        known["submitted_at"] = json!(time);
    }
    fill("pull-request-review", known)
}

/// A review comment; the legacy form, which lists by review, has no lines.
pub(crate) fn comment(state: &State, at: PullRef, thread: &Thread, comment: &ReviewComment, is_legacy: bool) -> Value {
    let (post, place) = (&comment.post, &thread.place);
    let api = format!("{}/repos/{}", state.api_url, state.full_name(at.repository));
    let url = format!("{api}/pulls/comments/{}", post.id);
    let html_url = format!("{}#discussion_r{}", pull::html_url(state, at), post.id);
    let pull_url = pull::url(state, at);
    let mut known = json!({
        "url": url,
        "id": post.id,
        "node_id": Kind::ReviewComment.node(post.id),
        "pull_request_review_id": comment.review,
        "diff_hunk": place.diff_hunk,
        "path": place.path,
        "position": place.position,
        "original_position": place.original_position,
        "commit_id": place.commit,
        "original_commit_id": place.original_commit,
        "user": people::author(state, post.author),
        "body": post.body,
        "created_at": post.created_at,
        "updated_at": post.updated_at,
        "html_url": html_url,
        "pull_request_url": pull_url,
        "author_association": pull::association(state, at.repository, post.author),
        "_links": { "self": link(&url), "html": link(&html_url), "pull_request": link(&pull_url) },
    });
    let top = thread.comments.first().map(|top| top.post.id);
    if let Some(top) = top.filter(|top| *top != post.id) {
        known["in_reply_to_id"] = json!(top);
    }
    if is_legacy {
        return fill("review-comment", known);
    }
    let lines = json!({
        "line": place.line,
        "original_line": place.original_line,
        "start_line": place.start_line,
        "original_start_line": place.original_start_line,
        "side": place.side,
        "start_side": place.start_side.filter(|_: &Side| place.original_start_line.is_some()),
        "subject_type": if place.is_file { "file" } else { "line" },
    });
    fill("pull-request-review-comment", super::with(known, lines))
}

/// An issue comment.
pub(crate) fn issue_comment(state: &State, at: PullRef, post: &Post) -> Value {
    let api = format!("{}/repos/{}", state.api_url, state.full_name(at.repository));
    let known = json!({
        "id": post.id,
        "node_id": Kind::IssueComment.node(post.id),
        "url": format!("{api}/issues/comments/{}", post.id),
        "html_url": format!("{}#issuecomment-{}", pull::html_url(state, at), post.id),
        "issue_url": format!("{api}/issues/{}", at.number),
        "body": post.body,
        "user": people::author(state, post.author),
        "created_at": post.created_at,
        "updated_at": post.updated_at,
        "author_association": pull::association(state, at.repository, post.author),
        "performed_via_github_app": post.app.map(|app| people::app(state, app)),
    });
    fill("issue-comment", known)
}
