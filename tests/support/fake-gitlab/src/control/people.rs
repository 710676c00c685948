//! People, their tokens and their roles.

use crate::server::FakeGitlab;
use crate::state::people::{AccessLevel, JobFacts, Scope, Token, TokenKind, User};
use crate::{MergeRequestRef, ProjectId, UserId};

impl FakeGitlab {
    /// A human.
    pub fn create_user(&self, username: &str) -> UserId {
        self.add_user(username, false)
    }

    /// A bot, as project and group access tokens have one.
    pub fn create_bot(&self, username: &str) -> UserId {
        self.add_user(username, true)
    }

    fn add_user(&self, username: &str, bot: bool) -> UserId {
        let state = &mut self.server.core().state;
        assert!(
            state.users.values().all(|user| user.username != username),
            "the user {username} exists already"
        );
        let id = state.take_id();
        state.users.insert(
            id,
            User {
                id,
                username: username.to_owned(),
                name: username.to_owned(),
                bot,
            },
        );
        UserId(id)
    }

    /// An access token.
    pub fn create_token(&self, user: UserId, scopes: &[Scope]) -> String {
        self.add_token(user, "glpat", TokenKind::Access(scopes.to_vec()))
    }

    /// The token of a CI job that `user` started on the merge request.
    pub fn create_job_token(&self, user: UserId, merge_request: MergeRequestRef) -> String {
        let facts = {
            let state = &mut self.server.core().state;
            let (id, pipeline_id) = (state.take_id(), state.take_id());
            JobFacts {
                id,
                pipeline_id,
                project: merge_request.project.0,
                reference: format!("refs/merge-requests/{}/head", merge_request.iid),
                sha: state.merge_request(merge_request).head().to_owned(),
            }
        };
        self.add_token(user, "glcbt", TokenKind::Job(facts))
    }

    fn add_token(&self, user: UserId, prefix: &str, kind: TokenKind) -> String {
        let state = &mut self.server.core().state;
        let text = format!("{prefix}-fake-{:015}", state.take_id());
        state.tokens.insert(
            text.clone(),
            Token {
                user: user.0,
                kind,
                revoked: false,
                expires_at: None,
                expired: false,
            },
        );
        text
    }

    /// Makes a token worthless.
    pub fn revoke_token(&self, token: &str) {
        self.server
            .core()
            .state
            .tokens
            .get_mut(token)
            .expect("the token exists")
            .revoked = true;
    }

    /// Lets a token end on this day, as in `2026-03-01`.
    pub fn expire_token_on(&self, token: &str, day: &str) {
        let state = &mut self.server.core().state;
        let token = state.tokens.get_mut(token).expect("the token exists");
        token.expires_at = Some(day.to_owned());
    }

    /// Ends a token now: its day has come.
    pub fn expire_token(&self, token: &str) {
        let state = &mut self.server.core().state;
        state.tokens.get_mut(token).expect("the token exists").expired = true;
    }

    /// Gives a user a role in a project.
    pub fn add_member(&self, project: ProjectId, user: UserId, level: AccessLevel) {
        self.server
            .core()
            .state
            .project_mut(project.0)
            .members
            .insert(user.0, level);
    }

    /// Takes a user's role in a project away.
    pub fn remove_member(&self, project: ProjectId, user: UserId) {
        self.server.core().state.project_mut(project.0).members.remove(&user.0);
    }
}
