//! The fake from outside, over HTTP, as its users see it.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod approvals;
mod conversations;
mod drafts;
mod faults;
mod identity;
mod merge_requests;
mod pagination;
mod positions;
mod program;
mod pushes;
mod python_client;
mod quick_actions;
mod stage;
mod violations;
