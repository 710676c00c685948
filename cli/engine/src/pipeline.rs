//! From a filtered diff to a judged review.

mod by_rules;
mod coverage;
mod estimate;
mod focus;
mod partial;
mod plan;
mod prior;
mod recall;
mod run;
mod seats;

pub use estimate::{Counted, Estimate, EstimateInput, PatchTokens, SessionEstimate, estimate};
pub use focus::{Focus, Wish, WishError};
pub use plan::{Plan, PlanInput, explain_models, plan};
pub use prior::Prior;
pub use run::{ReviewJob, ReviewPorts, review};
pub use seats::{Presence, Seat};
