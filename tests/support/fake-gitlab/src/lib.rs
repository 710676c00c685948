//! A stateful fake GitLab over real HTTP, strict about what it accepts.
//!
//! It keeps users, projects with real git repositories, merge requests, discussions and review state, and answers REST
//! requests about them the way GitLab 19.5 does. Every request and every answer of its own is held against GitLab's
//! `OpenAPI` document; what breaks it is answered with 400 and found in [`FakeGitlab::violations`].
//!
//! ```no_run
//! # async fn example() {
//! use conclave_fake_gitlab::{AccessLevel, FakeGitlab, NewMergeRequest, Scope, Tier};
//!
//! let gitlab = FakeGitlab::builder().tier(Tier::Premium).start().await;
//! let author = gitlab.create_user("alice");
//! let bot = gitlab.create_bot("review-bot");
//! let project = gitlab.create_project_from_git("path/to/repository", "group/project");
//! gitlab.add_member(project, author, AccessLevel::Developer);
//! gitlab.add_member(project, bot, AccessLevel::Developer);
//! let token = gitlab.create_token(bot, &[Scope::Api]);
//! let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
//! // ... run the client against `gitlab.url()` with `token` ...
//! assert_eq!(gitlab.violations(), []);
//! assert_eq!(gitlab.snapshot(merge_request).approved_by, ["review-bot"]);
//! # }
//! ```
//!
//! Why not canned answers: what a review client gets wrong is the order of things (a push in between, a 500 after the
//! note was stored, a block record that nobody takes back), and only state can show that.

// The merge request entity is one `json!` with many properties.
#![recursion_limit = "256"]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "test support: a broken fixture must stop the test"
)]
mod auth;
mod call;
mod control;
mod entities;
mod fault;
mod git;
mod incoming;
mod log;
mod observe;
mod options;
mod paging;
mod pipeline;
mod reply;
mod review;
mod routes;
mod server;
mod snapshot;
mod spec;
mod state;

use serde::Serialize;

pub use fault::{Fault, FaultKind};
pub use log::{RequestRecord, Violation, ViolationKind};
pub use options::{DiffLimits, Options, Pagination, Tier};
pub use server::{Builder, FakeGitlab};
pub use snapshot::{
    CommandSnapshot, DraftSnapshot, MergeRequestSnapshot, NoteSnapshot, PositionSnapshot, ReviewerSnapshot,
    ThreadSnapshot,
};
pub use state::merge_request::MergeRequestState;
pub use state::people::{AccessLevel, Scope};
pub use state::project::{ApprovalSettings, ProjectSettings, Visibility};

/// The id of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct UserId(pub u64);

/// The id of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProjectId(pub u64);

/// A merge request: its target project and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct MergeRequestRef {
    /// The target project.
    pub project: ProjectId,
    /// The number in the project.
    pub iid: u64,
}

/// What a new merge request is made of.
#[derive(Debug, Clone)]
pub struct NewMergeRequest {
    /// The title. One that begins with `Draft:` makes a draft.
    pub title: String,
    /// The description.
    pub description: String,
    /// Who opened it.
    pub author: UserId,
    /// The branch with the change.
    pub source_branch: String,
    /// The branch it goes to.
    pub target_branch: String,
    /// The fork that has the source branch; the project itself by default.
    pub source_project: Option<ProjectId>,
    /// How many reads show the merge request before GitLab has prepared it: `diff_refs` and `prepared_at` are `null`.
    pub unprepared_reads: u64,
}

impl NewMergeRequest {
    /// A merge request within one project.
    pub fn new(author: UserId, source_branch: &str, target_branch: &str) -> Self {
        Self {
            title: format!("Merge {source_branch}"),
            description: String::new(),
            author,
            source_branch: source_branch.to_owned(),
            target_branch: target_branch.to_owned(),
            source_project: None,
            unprepared_reads: 0,
        }
    }
}
