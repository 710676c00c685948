//! From a filtered diff to a judged review.

mod plan;
mod run;

pub use plan::{CODEX, Plan, PlanInput, plan};
pub use run::{ReviewJob, ReviewPorts, review};
