//! From a filtered diff to a judged review.

mod coverage;
mod partial;
mod plan;
mod run;

pub use plan::{Plan, PlanInput, plan};
pub use run::{ReviewJob, ReviewPorts, review};
