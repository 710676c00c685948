//! Reviews: all or nothing, one pending at a time, and who may approve what.

use serde_json::{Value, json};

use super::placement::{self, Move, Wanted};
use super::{permission, posts};
use crate::ids::{Kind, PullRef};
use crate::reply::Refusal;
use crate::state::people::Token;
use crate::state::pull::{Place, Review, ReviewComment, ReviewState, Thread};
use crate::state::{ACTIONS_APP, State};

/// A comment to be made, with its text.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewComment {
    pub(crate) wanted: Wanted,
    pub(crate) body: String,
}

/// A review to be made.
#[derive(Debug, Clone)]
pub(crate) struct NewReview {
    /// Pending when it is not to be submitted.
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    /// The head by default.
    pub(crate) commit: Option<String>,
    pub(crate) comments: Vec<NewComment>,
}

/// Makes a review with all its comments, or nothing.
pub(crate) fn create(state: &mut State, token: &Token, at: PullRef, new: NewReview) -> Result<u64, Refusal> {
    posts::check_lock(state, token, at)?;
    check_no_pending(state, token, at)?;
    check_state(state, token, at, new.state, &new.body, !new.comments.is_empty())?;
    if new.comments.len() > state.options.comments_per_review {
        return Err(Refusal::unprocessable(["Too many comments in the review"]));
    }
    let commit = commit_of(state, at, new.commit.as_deref()).map_err(Refusal::unprocessable::<Value>)?;
    let files = state
        .repository(at.repository)
        .git
        .diff(&state.pull(at).merge_base, &commit);
    let mut errors = Vec::new();
    let mut placed = Vec::new();
    for comment in new.comments {
        match placement::find(&files, &commit, &comment.wanted) {
            Ok(place) => placed.push((place, comment.body.clone())),
            Err(misplaced) => errors.extend(misplaced.texts()),
        }
        if comment.body.trim().is_empty() || comment.body.chars().count() > posts::MAX_BODY {
            errors.push(json!("Pull request review thread body is invalid"));
        }
    }
    if !errors.is_empty() {
        errors.dedup();
        return Err(Refusal::unprocessable(errors));
    }
    let review = add(state, token, at, (new.state, &new.body), &commit);
    for (place, body) in placed {
        add_thread(state, token, at, review, place, &body);
    }
    Ok(review)
}

/// Makes a thread with its first comment, which is in a review of its own.
pub(crate) fn create_comment(
    state: &mut State,
    token: &Token,
    at: PullRef,
    commit: &str,
    new: &NewComment,
) -> Result<u64, Refusal> {
    check_single(state, token, at, &new.body)?;
    let commit =
        commit_of(state, at, Some(commit)).map_err(|_| Refusal::invalid(RESOURCE, "commit_id", "invalid", None))?;
    let files = state
        .repository(at.repository)
        .git
        .diff(&state.pull(at).merge_base, &commit);
    let place = placement::find(&files, &commit, &new.wanted).map_err(|misplaced| Refusal {
        errors: misplaced.objects(),
        ..Refusal::new(422, "Validation Failed")
    })?;
    let review = add(state, token, at, (ReviewState::Commented, ""), &commit);
    Ok(add_thread(state, token, at, review, place, &new.body))
}

/// Answers the first comment of a thread. The answer shows as a review without a text.
pub(crate) fn reply(state: &mut State, token: &Token, at: PullRef, top: u64, body: &str) -> Result<u64, Refusal> {
    let is_top = |thread: &Thread| thread.comments.first().is_some_and(|comment| comment.post.id == top);
    let thread = state
        .pull(at)
        .threads
        .iter()
        .position(is_top)
        .ok_or_else(Refusal::not_found)?;
    check_single(state, token, at, body)?;
    let commit = state.pull(at).head.clone();
    let review = add(state, token, at, (ReviewState::Commented, ""), &commit);
    let post = posts::create(state, token, at, Kind::ReviewComment, body);
    let id = post.id;
    state.pull_mut(at).threads[thread]
        .comments
        .push(ReviewComment { post, review });
    Ok(id)
}

/// Submits a pending review.
pub(crate) fn submit(
    state: &mut State,
    token: &Token,
    at: PullRef,
    id: u64,
    (to, body): (ReviewState, Option<&str>),
) -> Result<(), Refusal> {
    let review = state.pull(at).review(id).cloned().ok_or_else(Refusal::not_found)?;
    if review.state != ReviewState::Pending {
        return Err(Refusal::unprocessable(["Can not submit a review that is not pending"]));
    }
    let body = body.unwrap_or(&review.post.body).to_owned();
    let has_comments = state
        .pull(at)
        .review_comments()
        .any(|(_, comment)| comment.review == id);
    check_state(state, token, at, to, &body, has_comments)?;
    let now = state.tick();
    if let Some(review) = state.pull_mut(at).review_mut(id) {
        review.state = to;
        review.post.body = body;
        review.submitted_at = Some(now);
    }
    Ok(())
}

/// Takes an approval or a request for changes back.
pub(crate) fn dismiss(state: &mut State, token: &Token, at: PullRef, id: u64) -> Result<(), Refusal> {
    let review = state.pull(at).review(id).ok_or_else(Refusal::not_found)?;
    if !review.state.is_opinion() {
        let name = review.state.name().to_lowercase().replace('_', " ");
        return Err(Refusal::unprocessable([format!(
            "Can not dismiss a {name} pull request review"
        )]));
    }
    let pull = state.pull(at);
    let protection = state.repository(at.repository).protections.get(&pull.base_branch);
    let allowed = protection.and_then(|protection| protection.may_dismiss.as_ref());
    let may = match allowed {
        Some(list) => list.contains(&token.user),
        // An App's write access to pull requests suffices, which the operation has already asked for.
        None => token.kind.is_app() || permission::may_push(state, token, at.repository),
    };
    if !may {
        return Err(Refusal::forbidden(
            "You are not authorized to dismiss reviews on this pull request.",
        ));
    }
    let now = state.tick();
    if let Some(review) = state.pull_mut(at).review_mut(id) {
        review.dismiss(token.user, now);
    }
    Ok(())
}

/// Whether somebody may resolve threads: the author of the pull request, and who may push.
pub(crate) fn may_resolve(state: &State, token: &Token, at: PullRef) -> bool {
    let is_author = !token.kind.is_app() && state.pull(at).author == token.user;
    is_author || permission::may_push(state, token, at.repository)
}

const RESOURCE: &str = "PullRequestReviewComment";

fn check_single(state: &State, token: &Token, at: PullRef, body: &str) -> Result<(), Refusal> {
    posts::check_lock(state, token, at)?;
    posts::check_body(RESOURCE, body)?;
    check_no_pending(state, token, at)
}

/// A leftover pending review blocks every other one of its author.
fn check_no_pending(state: &State, token: &Token, at: PullRef) -> Result<(), Refusal> {
    let is_own = |review: &Review| review.state == ReviewState::Pending && review.post.author == token.user;
    if state.pull(at).reviews.iter().any(is_own) {
        return Err(Refusal::unprocessable([
            "User can only have one pending review per pull request",
        ]));
    }
    Ok(())
}

fn check_state(
    state: &State,
    token: &Token,
    at: PullRef,
    to: ReviewState,
    body: &str,
    has_comments: bool,
) -> Result<(), Refusal> {
    let is_own = state.pull(at).author == token.user;
    let is_actions = token.app == Some(ACTIONS_APP) && token.kind.is_app();
    let needs_text = to == ReviewState::ChangesRequested || to == ReviewState::Commented && !has_comments;
    let problem = match to {
        ReviewState::Approved if is_own => "Can not approve your own pull request",
        ReviewState::ChangesRequested if is_own => "Review Can not request changes on your own pull request",
        ReviewState::Approved if is_actions && !state.repository(at.repository).actions_may_approve => {
            "GitHub Actions is not permitted to approve pull requests."
        }
        _ if body.chars().count() > posts::MAX_BODY => "Body is too long (maximum is 65536 characters)",
        _ if needs_text && body.trim().is_empty() => "Body can't be blank",
        _ => return Ok(()),
    };
    Err(Refusal::unprocessable([problem]))
}

/// The commit that a review is for: one of the pull request's.
fn commit_of(state: &State, at: PullRef, commit: Option<&str>) -> Result<String, Vec<Value>> {
    let pull = state.pull(at);
    let Some(commit) = commit else {
        return Ok(pull.head.clone());
    };
    let git = &state.repository(at.repository).git;
    let heads = || std::iter::once(&pull.head).chain(&pull.former_heads);
    let belongs = |sha: &str| heads().any(|head| git.is_ancestor(sha, head)) && !git.is_ancestor(sha, &pull.merge_base);
    match git.resolve(commit) {
        Some(sha) if sha == commit && belongs(&sha) => Ok(sha),
        _ => Err(vec![json!("Commit is not part of the pull request")]),
    }
}

fn add(state: &mut State, token: &Token, at: PullRef, (to, body): (ReviewState, &str), commit: &str) -> u64 {
    let post = posts::create(state, token, at, Kind::Review, body);
    let id = post.id;
    let pull = state.pull_mut(at);
    pull.requested_reviewers.retain(|user| *user != token.user);
    pull.reviews.push(Review {
        submitted_at: (to != ReviewState::Pending).then(|| post.created_at.clone()),
        post,
        state: to,
        commit: commit.to_owned(),
        dismissal: None,
    });
    id
}

/// Adds a thread; one on an older commit is moved to the head at once.
fn add_thread(state: &mut State, token: &Token, at: PullRef, review: u64, mut place: Place, body: &str) -> u64 {
    let pull = state.pull(at);
    if place.commit != pull.head {
        let git = &state.repository(at.repository).git;
        let files = git.diff(&pull.merge_base, &pull.head);
        let step = Move {
            git,
            from: (&pull.merge_base, &place.commit.clone()),
            to: (&pull.merge_base, &pull.head),
            files: &files,
        };
        step.apply(&mut place);
    }
    let post = posts::create(state, token, at, Kind::ReviewComment, body);
    let id = post.id;
    let thread = Thread {
        id: state.next_id(Kind::Thread),
        place,
        resolved_by: None,
        comments: vec![ReviewComment { post, review }],
    };
    state.pull_mut(at).threads.push(thread);
    id
}
