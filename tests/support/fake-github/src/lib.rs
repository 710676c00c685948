//! A stateful stand-in for GitHub over real HTTP, strict about what it accepts.
//!
//! It keeps accounts, apps, tokens, repositories with real git data, pull requests, reviews, threads, checks and statuses,
//! and answers REST and GraphQL about them. Every request and every answer of its own is held against GitHub's published
//! descriptions (`tests/fixtures/github`); what breaks them is refused as GitHub refuses it and found in
//! [`FakeGithub::violations`]. Texts that would notify people or close issues are found in [`FakeGithub::effects`].
//!
//! ```no_run
//! # async fn example() {
//! use conclave_fake_github::{FakeGithub, Fault, FaultKind, JobEvent, NewPull, Permissions, Role};
//!
//! let github = FakeGithub::start().await;
//! let (owner, author) = (github.create_organization("acme"), github.create_user("alice"));
//! let repository = github.create_repository(owner, "shop", "path/to/repository".as_ref());
//! github.set_role(repository, author, Some(Role::Write));
//! let pull = github.open_pull(repository, NewPull::new(author, "feature", "main"));
//! let token = github.actions_token(repository, Permissions::review());
//! let job = github.job(pull, &JobEvent::PullRequest("opened"), "path/to/checkout".as_ref());
//! github.inject(Fault::once("POST", "/repos/*/*/pulls/*/reviews", FaultKind::ErrorAfterStore));
//! // ... run the program with `job.variables` and `token` ...
//! assert_eq!(github.violations(), []);
//! assert_eq!(github.effects(), []);
//! assert_eq!(github.snapshot(pull).checks[0].conclusion.as_deref(), Some("success"));
//! # }
//! ```
//!
//! Why not canned answers: what a review client gets wrong is the order of things (a push between the approval and the
//! read-back, a 502 after the review was stored, a pending review that blocks every later run), and only state shows that.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "test support: a broken fixture must stop the test"
)]

mod call;
mod commands;
mod control;
mod effects;
mod entities;
mod fault;
mod git;
mod git_http;
mod graphql;
mod ids;
mod incoming;
mod job;
mod limits;
mod log;
mod observe;
mod options;
mod paging;
mod pipeline;
mod remote;
mod reply;
mod respond;
mod routes;
mod rules;
mod server;
mod snapshot;
mod spec;
mod state;
mod template;

pub use commands::{WorkflowCommand, workflow_commands};
pub use control::NewPull;
pub use effects::{Effect, EffectKind};
pub use fault::{Fault, FaultKind};
pub use ids::{AppId, PullRef, RepositoryId, UserId};
pub use job::{Job, JobEvent};
pub use log::{RequestRecord, Violation, ViolationKind};
pub use options::Options;
pub use remote::serve_control;
pub use server::{Builder, FakeGithub};
pub use snapshot::{CheckSnapshot, PostSnapshot, PullSnapshot, ReviewSnapshot, StatusSnapshot, ThreadSnapshot};
pub use state::people::{Access, Permissions, Role, TokenKind};
pub use state::pull::{PullState, ReviewState, Side};
pub use state::repository::Protection;
