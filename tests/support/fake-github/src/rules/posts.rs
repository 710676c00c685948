//! Texts: how long they may be, who may change them, and what they do.

use crate::effects;
use crate::ids::{Kind, PullRef};
use crate::reply::Refusal;
use crate::rules::permission;
use crate::state::State;
use crate::state::people::Token;
use crate::state::pull::Post;

/// The longest body, in characters.
pub(crate) const MAX_BODY: usize = 65_536;

/// Refuses a text that is empty or too long, with an error as an object.
pub(crate) fn check_body(resource: &str, body: &str) -> Result<(), Refusal> {
    if body.trim().is_empty() {
        return Err(Refusal::invalid(resource, "body", "missing_field", None));
    }
    if body.chars().count() > MAX_BODY {
        let message = format!("body is too long (maximum is {MAX_BODY} characters)");
        return Err(Refusal::invalid(resource, "body", "unprocessable", Some(&message)));
    }
    Ok(())
}

/// Refuses to comment where the conversation is locked.
pub(crate) fn check_lock(state: &State, token: &Token, at: PullRef) -> Result<(), Refusal> {
    let is_writer = !token.kind.is_app() && permission::may_push(state, token, at.repository);
    if state.pull(at).locked && !is_writer {
        return Err(Refusal::forbidden("Unable to create comment because issue is locked."));
    }
    Ok(())
}

/// Makes a post, and remembers what its text does.
pub(crate) fn create(state: &mut State, token: &Token, at: PullRef, kind: Kind, body: &str) -> Post {
    let now = state.tick();
    note_effects(state, at, body);
    state.pull_mut(at).updated_at.clone_from(&now);
    Post {
        id: state.next_id(kind),
        author: token.user,
        app: token.app.filter(|_| token.kind.is_app()),
        body: body.to_owned(),
        created_at: now.clone(),
        updated_at: now,
        edited: None,
        minimized: None,
    }
}

/// Finds the post of a pull request in this repository.
pub(crate) fn find(state: &State, at: PullRef, kind: Kind, id: u64) -> Option<Post> {
    // The lookup is written once, for changes.
    state.pull(at).clone().post_mut(kind, id).cloned()
}

/// Changes a text. Whoever may push may change everybody's.
pub(crate) fn edit(
    state: &mut State,
    token: &Token,
    at: PullRef,
    (kind, id): (Kind, u64),
    body: &str,
) -> Result<(), Refusal> {
    let author = find(state, at, kind, id).ok_or_else(Refusal::not_found)?.author;
    check_author(state, token, at, author)?;
    let now = state.tick();
    note_effects(state, at, body);
    if let Some(post) = state.pull_mut(at).post_mut(kind, id) {
        body.clone_into(&mut post.body);
        post.updated_at.clone_from(&now);
        post.edited = Some((token.user, now));
    }
    Ok(())
}

/// Deletes a comment. A thread goes with its last comment; the review around it stays.
pub(crate) fn delete(state: &mut State, token: &Token, at: PullRef, kind: Kind, id: u64) -> Result<(), Refusal> {
    let author = find(state, at, kind, id).ok_or_else(Refusal::not_found)?.author;
    check_author(state, token, at, author)?;
    let pull = state.pull_mut(at);
    if kind == Kind::IssueComment {
        pull.comments.retain(|post| post.id != id);
    }
    for thread in &mut pull.threads {
        thread
            .comments
            .retain(|comment| kind != Kind::ReviewComment || comment.post.id != id);
    }
    pull.threads.retain(|thread| !thread.comments.is_empty());
    Ok(())
}

fn check_author(state: &State, token: &Token, at: PullRef, author: crate::ids::UserId) -> Result<(), Refusal> {
    let may = author == token.user || permission::may_push(state, token, at.repository);
    may.then_some(()).ok_or_else(|| permission::not_accessible(token))
}

fn note_effects(state: &mut State, at: PullRef, body: &str) {
    let place = format!("{}/{}/pull/{}", state.url, state.full_name(at.repository), at.number);
    state.effects.extend(effects::of(body, &place));
}
