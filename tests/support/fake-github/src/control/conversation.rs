//! What people and other programs say and do in a pull request.

use super::token_of;
use crate::ids::{Kind, PullRef, UserId};
use crate::rules::placement::Wanted;
use crate::rules::posts;
use crate::rules::reviews::{self, NewComment, NewReview};
use crate::server::FakeGithub;
use crate::state::pull::{Pull, ReviewState, Side, Thread};

impl FakeGithub {
    /// Writes an issue comment and returns its id.
    pub fn comment(&self, pull: PullRef, user: UserId, body: &str) -> u64 {
        let mut core = self.server.core();
        let token = token_of(&core.state, user);
        let post = posts::create(&mut core.state, &token, pull, Kind::IssueComment, body);
        let id = post.id;
        core.state.pull_mut(pull).comments.push(post);
        id
    }

    /// Submits a review of the head, or leaves a pending one, and returns its id.
    pub fn review(&self, pull: PullRef, user: UserId, state: ReviewState, body: &str) -> u64 {
        let mut core = self.server.core();
        let token = token_of(&core.state, user);
        let new = NewReview {
            state,
            body: body.to_owned(),
            commit: None,
            comments: Vec::new(),
        };
        reviews::create(&mut core.state, &token, pull, new).expect("the review is allowed")
    }

    /// Begins a thread at a line and returns the id of its comment.
    pub fn review_comment(
        &self,
        pull: PullRef,
        user: UserId,
        (path, side, line): (&str, Side, u64),
        body: &str,
    ) -> u64 {
        let mut core = self.server.core();
        let token = token_of(&core.state, user);
        let wanted = Wanted {
            path: path.to_owned(),
            side: Some(side),
            line: Some(line),
            ..Wanted::default()
        };
        let new = NewComment {
            wanted,
            body: body.to_owned(),
        };
        let head = core.state.pull(pull).head.clone();
        reviews::create_comment(&mut core.state, &token, pull, &head, &new).expect("the line is in the diff")
    }

    /// Answers in the thread of a comment and returns the answer's id.
    pub fn reply(&self, pull: PullRef, user: UserId, comment: u64, body: &str) -> u64 {
        let mut core = self.server.core();
        let token = token_of(&core.state, user);
        let top = thread_of(core.state.pull_mut(pull), comment).comments[0].post.id;
        reviews::reply(&mut core.state, &token, pull, top, body).expect("the thread takes answers")
    }

    /// Edits an issue comment, whoever wrote it.
    pub fn edit_comment(&self, pull: PullRef, editor: UserId, comment: u64, body: &str) {
        self.edit(pull, editor, (Kind::IssueComment, comment), body);
    }

    /// Edits a review comment, whoever wrote it.
    pub fn edit_review_comment(&self, pull: PullRef, editor: UserId, comment: u64, body: &str) {
        self.edit(pull, editor, (Kind::ReviewComment, comment), body);
    }

    /// Deletes an issue comment.
    pub fn delete_comment(&self, pull: PullRef, comment: u64) {
        self.server
            .core()
            .state
            .pull_mut(pull)
            .comments
            .retain(|post| post.id != comment);
    }

    /// Deletes a review comment; with the last one, its thread.
    pub fn delete_review_comment(&self, pull: PullRef, comment: u64) {
        let mut core = self.server.core();
        let threads = &mut core.state.pull_mut(pull).threads;
        for thread in threads.iter_mut() {
            thread.comments.retain(|own| own.post.id != comment);
        }
        threads.retain(|thread| !thread.comments.is_empty());
    }

    /// Resolves the thread of a comment as somebody, or opens it again.
    pub fn set_resolved(&self, pull: PullRef, comment: u64, by: Option<UserId>) {
        let mut core = self.server.core();
        thread_of(core.state.pull_mut(pull), comment).resolved_by = by;
    }

    /// Minimizes an issue comment with a classifier such as `OUTDATED`.
    pub fn minimize_comment(&self, pull: PullRef, comment: u64, classifier: &str) {
        let mut core = self.server.core();
        let post = core
            .state
            .pull_mut(pull)
            .post_mut(Kind::IssueComment, comment)
            .expect("the comment exists");
        post.minimized = Some(classifier.to_owned());
    }

    /// Dismisses a review as this account.
    pub fn dismiss_review(&self, pull: PullRef, by: UserId, review: u64) {
        let mut core = self.server.core();
        let now = core.state.tick();
        let review = core.state.pull_mut(pull).review_mut(review);
        review.expect("the review exists").dismiss(by, now);
    }

    /// The file of a comment as it would be once its suggestion is committed: the lines of the comment, replaced.
    pub fn with_suggestion(&self, pull: PullRef, comment: u64) -> String {
        let mut core = self.server.core();
        let thread = thread_of(core.state.pull_mut(pull), comment).clone();
        let place = &thread.place;
        assert!(
            place.side == Side::Right && !place.outdated,
            "only current lines at head take suggestions"
        );
        let line = place.line.expect("a suggestion stands on lines");
        let body = &thread
            .comments
            .iter()
            .find(|own| own.post.id == comment)
            .expect("the comment exists")
            .post
            .body;
        let (replacement, _) = crate::snapshot::suggestion(body).expect("the comment has a suggestion");
        let own = core.state.pull(pull);
        let bytes = core
            .state
            .repository(pull.repository)
            .git
            .file(&own.head, &place.path)
            .expect("the file exists");
        let text = String::from_utf8(bytes).expect("the file is a text");
        let first = usize::try_from(place.start_line.unwrap_or(line) - 1).expect("a small number");
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.splice(
            first..usize::try_from(line).expect("a small number"),
            [replacement.as_str()],
        );
        lines.concat()
    }

    fn edit(&self, pull: PullRef, editor: UserId, (kind, id): (Kind, u64), body: &str) {
        let mut core = self.server.core();
        let now = core.state.tick();
        let post = core
            .state
            .pull_mut(pull)
            .post_mut(kind, id)
            .expect("the comment exists");
        body.clone_into(&mut post.body);
        post.edited = Some((editor, now));
    }
}

fn thread_of(pull: &mut Pull, comment: u64) -> &mut Thread {
    let has = |thread: &&mut Thread| thread.comments.iter().any(|own| own.post.id == comment);
    pull.threads.iter_mut().find(has).expect("the comment has a thread")
}
