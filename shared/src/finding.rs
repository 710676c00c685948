//! A problem that a reviewer found, and what makes two reports the same problem.

mod fingerprint;
mod model;

pub use fingerprint::{Fingerprint, fingerprint};
pub use model::{Doubt, EvidenceStatus, Finding, Quote, RuleCitation};
