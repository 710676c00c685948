//! How risky a merge request is, from its filtered files.

mod classify;
mod rules;
mod security_paths;

pub use classify::{FileChange, RiskAssessment, RiskTier, classify};
pub use rules::{RiskRules, RiskSettings};
pub use security_paths::{PatternFault, SecurityPaths, security_patterns};
