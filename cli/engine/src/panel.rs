//! Who reviews which part of a change, with which models, and what that will cost.

mod assign;
mod estimate;
mod focus;
mod plan;
mod select;

pub use assign::assign;
pub use estimate::{Counted, Estimate, EstimateInput, PatchTokens, SessionEstimate, estimate};
pub use focus::{Focus, Wish, WishError};
pub use plan::{PlanInput, explain_models, plan};

#[cfg(test)]
mod path_kind_tests;
