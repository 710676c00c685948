//! From a filtered diff to a judged review.

mod by_rules;
mod conclude;
mod engineering_rules;
mod gaps;
mod job;
mod partial;
mod prior;
mod run;

pub use conclude::{Heard, conclude};
pub use job::ReviewJob;
pub use prior::Prior;
pub use run::{ReviewPorts, needs_models, review};
