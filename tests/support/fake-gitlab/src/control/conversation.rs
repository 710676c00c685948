//! What other people do on a merge request: comments, threads, approvals.

use serde_json::Value;

use crate::review::notes::{self, NewNote, Place, Posted};
use crate::review::states;
use crate::server::FakeGitlab;
use crate::state::note::Resolution;
use crate::state::position::Position;
use crate::{MergeRequestRef, UserId};

impl FakeGitlab {
    /// Writes a note; quick actions in it run. Returns the note's id, or nothing when only commands were in it.
    pub fn comment(&self, merge_request: MergeRequestRef, user: UserId, body: &str) -> Option<u64> {
        self.post(merge_request, user, body, Place::Plain, false)
            .map(|(_, note)| note)
    }

    /// Writes a note that only Reporters and above can read.
    pub fn comment_internally(&self, merge_request: MergeRequestRef, user: UserId, body: &str) -> Option<u64> {
        self.post(merge_request, user, body, Place::Plain, true)
            .map(|(_, note)| note)
    }

    /// Starts a thread and returns its id. `position` is the JSON of the API; `null` starts one that is not on the diff.
    pub fn start_thread(&self, merge_request: MergeRequestRef, user: UserId, body: &str, position: &Value) -> String {
        let place = Position::read(position).map_or(Place::Thread, |position| Place::Diff(Box::new(position)));
        let (discussion, _) = self
            .post(merge_request, user, body, place, false)
            .expect("the note holds text");
        discussion
    }

    /// Answers in a thread and returns the note's id.
    pub fn reply(&self, merge_request: MergeRequestRef, user: UserId, discussion: &str, body: &str) -> u64 {
        let place = Place::Reply(discussion.to_owned());
        let (_, note) = self
            .post(merge_request, user, body, place, false)
            .expect("the note holds text");
        note
    }

    fn post(
        &self,
        merge_request: MergeRequestRef,
        user: UserId,
        body: &str,
        place: Place,
        internal: bool,
    ) -> Option<(String, u64)> {
        let new = NewNote {
            author: user.0,
            body: body.to_owned(),
            place,
            internal,
            commit_id: None,
            from_draft: false,
        };
        match notes::create(&mut self.server.core().state, merge_request, new) {
            Ok(Posted::Note { discussion, note }) => Some((discussion, note)),
            Ok(Posted::CommandsOnly(_)) => None,
            Err(error) => panic!("the note was refused: {}", error.body),
        }
    }

    /// Changes the body of a note.
    pub fn edit_note(&self, merge_request: MergeRequestRef, note: u64, body: &str) {
        let state = &mut self.server.core().state;
        let updated_at = state.now();
        let note = state
            .merge_request_mut(merge_request)
            .note_mut(note)
            .expect("the note exists");
        body.clone_into(&mut note.body);
        note.updated_at = updated_at;
    }

    /// Deletes a note, and its thread when that becomes empty.
    pub fn delete_note(&self, merge_request: MergeRequestRef, note: u64) {
        let mut core = self.server.core();
        let merge_request = core.state.merge_request_mut(merge_request);
        for discussion in &mut merge_request.discussions {
            discussion.notes.retain(|entry| entry.id != note);
        }
        merge_request
            .discussions
            .retain(|discussion| !discussion.notes.is_empty());
    }

    /// Resolves or reopens a thread.
    pub fn resolve(&self, merge_request: MergeRequestRef, user: UserId, discussion: &str, resolved: bool) {
        let state = &mut self.server.core().state;
        let resolution = resolved.then_some(Resolution {
            by: user.0,
            at: state.now(),
        });
        let merge_request = state.merge_request_mut(merge_request);
        merge_request
            .discussion_mut(discussion)
            .expect("the thread exists")
            .resolve(resolution.as_ref());
    }

    /// Approves as the user; false when GitLab would refuse.
    pub fn approve(&self, merge_request: MergeRequestRef, user: UserId) -> bool {
        states::approve(&mut self.server.core().state, merge_request, user.0)
    }

    /// Takes the user's approval back; false where there is none.
    pub fn unapprove(&self, merge_request: MergeRequestRef, user: UserId) -> bool {
        states::unapprove(&mut self.server.core().state, merge_request, user.0)
    }

    /// Requests changes as the user, the way the web interface does.
    pub fn request_changes(&self, merge_request: MergeRequestRef, user: UserId) {
        let mut core = self.server.core();
        states::set_reviewer_state(&mut core.state, merge_request, user.0, "requested_changes").ok();
    }

    /// Bypasses every request for changes: the check becomes a warning.
    pub fn bypass_requested_changes(&self, merge_request: MergeRequestRef) {
        self.server.core().state.merge_request_mut(merge_request).block_bypassed = true;
    }
}
