//! How risky a merge request is, from its filtered files.

mod classify;
mod rules;

pub use classify::{FileChange, RiskAssessment, RiskTier, classify};
pub use rules::{RiskRules, SecurityPaths};
