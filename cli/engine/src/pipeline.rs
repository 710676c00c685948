//! From a filtered diff to a judged review.

mod by_rules;
mod coverage;
mod partial;
mod prior;
mod recall;
mod run;

pub use prior::Prior;
pub use run::{ReviewJob, ReviewPorts, review};
