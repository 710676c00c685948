//! Objects of GraphQL, as trees of their fields.

use serde_json::{Value, json};

use crate::entities::pull::{association, html_url};
use crate::ids::{Kind, PullRef, UserId};
use crate::rules::{merge_state, permission, reviews};
use crate::state::State;
use crate::state::people::{Token, UserKind};
use crate::state::pull::{Post, PullState, Review, ReviewComment, Side, Thread};

/// An account: the bare slug of a bot, whose REST name has `[bot]` behind it.
pub(super) fn actor(state: &State, id: UserId) -> Value {
    let user = state.user(id);
    if user.deleted {
        return Value::Null;
    }
    let kind = if matches!(user.kind, UserKind::Bot(_)) {
        Kind::Bot
    } else {
        Kind::User
    };
    json!({
        "__typename": user.type_name(),
        "id": kind.node(id.0),
        "login": user.login,
        "databaseId": id.0,
        "url": format!("{}/{}", state.url, user.login),
    })
}

/// The account of the token, which has the type `User` also when it is a bot.
pub(super) fn viewer(state: &State, id: UserId) -> Value {
    let mut viewer = actor(state, id);
    viewer["__typename"] = json!("User");
    viewer["login"] = json!(state.user(id).rest_login());
    viewer
}

/// A field of a pull request; lists become pages later.
pub(super) fn pull_field(state: &State, token: &Token, at: PullRef, field: &str) -> Value {
    let pull = state.pull(at);
    let review = |one: &Review| self::review(state, token, at, one);
    let mut visible = pull.reviews.iter().filter(|review| is_visible(token, review));
    match field {
        "id" => json!(Kind::Pull.node(pull.id)),
        "databaseId" => json!(pull.id),
        "fullDatabaseId" => json!(pull.id.to_string()),
        "number" => json!(at.number),
        "title" => json!(pull.title),
        "url" => json!(html_url(state, at)),
        "author" => actor(state, pull.author),
        "baseRefName" => json!(pull.base_branch),
        "baseRefOid" => json!(pull.base),
        "headRefName" => json!(pull.head_branch),
        "headRefOid" => json!(pull.head),
        "isCrossRepository" => json!(pull.head_repository != at.repository),
        "isDraft" => json!(pull.draft),
        "merged" => json!(pull.state == PullState::Merged),
        "state" => json!(match pull.state {
            PullState::Open => "OPEN",
            PullState::Closed => "CLOSED",
            PullState::Merged => "MERGED",
        }),
        "viewerDidAuthor" => json!(pull.author == token.user),
        "mergeStateStatus" => json!(merge_state::merge_state(state, at)),
        "reviewDecision" => json!(merge_state::review_decision(state, at)),
        "comments" => pull
            .comments
            .iter()
            .map(|post| issue_comment(state, token, at, post))
            .collect(),
        "reviews" => visible.map(review).collect(),
        "latestOpinionatedReviews" => pull.opinions().into_iter().map(review).collect(),
        "timelineItems" => visible.filter_map(|one| dismissal(state, token, at, one)).collect(),
        "viewerLatestReview" => visible
            .rfind(|one| one.post.author == token.user)
            .map_or(Value::Null, review),
        "reviewThreads" => {
            let visible = pull
                .threads
                .iter()
                .filter(|thread| !pull.visible_comments(thread, Some(token.user)).is_empty());
            visible.map(|one| thread(state, token, at, one)).collect()
        }
        _ => Value::Null,
    }
}

/// A thread with all its comments.
pub(super) fn thread(state: &State, token: &Token, at: PullRef, thread: &Thread) -> Value {
    let place = &thread.place;
    let may_resolve = reviews::may_resolve(state, token, at);
    // A bot is no `User`, so the schema has no place for it here.
    let resolver = thread
        .resolved_by
        .filter(|user| state.user(*user).kind == UserKind::Person);
    let comments = state.pull(at).visible_comments(thread, Some(token.user));
    json!({
        "__typename": "PullRequestReviewThread",
        "id": Kind::Thread.node(thread.id),
        "isResolved": thread.resolved_by.is_some(),
        "isOutdated": place.outdated,
        "resolvedBy": resolver.map(|user| actor(state, user)),
        "path": place.path,
        "line": place.line,
        "startLine": place.start_line,
        "originalLine": place.original_line,
        "originalStartLine": place.original_start_line,
        "diffSide": side(place.side),
        "startDiffSide": place.start_side.map(side),
        "subjectType": if place.is_file { "FILE" } else { "LINE" },
        "viewerCanReply": true,
        "viewerCanResolve": may_resolve && thread.resolved_by.is_none(),
        "viewerCanUnresolve": may_resolve && thread.resolved_by.is_some(),
        "comments": comments.iter().map(|one| comment(state, token, at, thread, one)).collect::<Vec<_>>(),
    })
}

/// A comment of a thread.
pub(super) fn comment(state: &State, token: &Token, at: PullRef, thread: &Thread, comment: &ReviewComment) -> Value {
    let (place, pull) = (&thread.place, state.pull(at));
    let top = thread.comments.first().filter(|top| top.post.id != comment.post.id);
    let is_pending = pull.is_pending(comment);
    let mut value = post(state, token, at, &comment.post, Kind::ReviewComment);
    let more = json!({
        "commit": commit(&place.commit),
        "originalCommit": commit(&place.original_commit),
        "line": place.line,
        "originalLine": place.original_line,
        "outdated": place.outdated,
        "path": place.path,
        "subjectType": if place.is_file { "FILE" } else { "LINE" },
        "state": if is_pending { "PENDING" } else { "SUBMITTED" },
        "pullRequestReview": pull.review(comment.review).map(|one| review(state, token, at, one)),
        "replyTo": top.map(|top| self::comment(state, token, at, thread, top)),
    });
    extend(&mut value, more);
    value
}

/// A review.
pub(super) fn review(state: &State, token: &Token, at: PullRef, review: &Review) -> Value {
    let mut value = post(state, token, at, &review.post, Kind::Review);
    let more = json!({
        "state": review.state.name(),
        "submittedAt": review.submitted_at,
        "commit": commit(&review.commit),
        "authorCanPushToRepository": permission::can_push(state, review.post.author, at.repository),
    });
    extend(&mut value, more);
    value
}

/// The event of a review that was dismissed.
fn dismissal(state: &State, token: &Token, at: PullRef, review: &Review) -> Option<Value> {
    let event = review.dismissal.as_ref()?;
    Some(json!({
        "__typename": "ReviewDismissedEvent",
        "id": format!("RDE_kwDO{:011}", review.post.id),
        "databaseId": i32::try_from(review.post.id).ok(),
        "actor": actor(state, event.by),
        "createdAt": event.at,
        "previousReviewState": event.before.name(),
        "review": self::review(state, token, at, review),
    }))
}

/// An issue comment.
pub(super) fn issue_comment(state: &State, token: &Token, at: PullRef, comment: &Post) -> Value {
    post(state, token, at, comment, Kind::IssueComment)
}

/// What everything with a text has.
fn post(state: &State, token: &Token, at: PullRef, post: &Post, kind: Kind) -> Value {
    let (type_name, anchor) = match kind {
        Kind::Review => ("PullRequestReview", "pullrequestreview-"),
        Kind::ReviewComment => ("PullRequestReviewComment", "discussion_r"),
        _ => ("IssueComment", "issuecomment-"),
    };
    let is_author = post.author == token.user;
    let may_change = is_author || permission::may_push(state, token, at.repository);
    json!({
        "__typename": type_name,
        "id": kind.node(post.id),
        // Beyond 32 bits there is only the other one.
        "databaseId": i32::try_from(post.id).ok(),
        "fullDatabaseId": post.id.to_string(),
        "author": actor(state, post.author),
        "authorAssociation": association(state, at.repository, post.author),
        "body": post.body,
        "createdAt": post.created_at,
        "updatedAt": post.updated_at,
        "editor": post.edited.as_ref().map(|(editor, _)| actor(state, *editor)),
        "lastEditedAt": post.edited.as_ref().map(|(_, time)| time),
        "isMinimized": post.minimized.is_some(),
        "minimizedReason": post.minimized.as_ref().map(|reason| reason.to_lowercase().replace('_', "-")),
        "url": format!("{}#{anchor}{}", html_url(state, at), post.id),
        "viewerCanMinimize": may_minimize(state, token, at, post),
        "viewerCanUpdate": may_change,
        "viewerDidAuthor": is_author,
    })
}

/// Whether somebody may minimize a text.
pub(super) fn may_minimize(state: &State, token: &Token, at: PullRef, post: &Post) -> bool {
    let own = post.author == token.user && (!token.kind.is_app() || state.options.apps_may_minimize);
    own || permission::may_push(state, token, at.repository)
}

fn is_visible(token: &Token, review: &Review) -> bool {
    review.state != crate::state::pull::ReviewState::Pending || review.post.author == token.user
}

fn commit(sha: &str) -> Value {
    json!({ "__typename": "Commit", "id": format!("C_{sha}"), "oid": sha })
}

fn side(side: Side) -> &'static str {
    if side == Side::Left { "LEFT" } else { "RIGHT" }
}

fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (value, more) {
        fields.extend(more);
    }
}
