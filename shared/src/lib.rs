//! What the CLI and the Workers must answer identically: names, severities, risk rules, the configuration document and
//! its model routing, telemetry events, what repositories remember, prices, routes, problem documents and redaction.
//!
//! Nothing here does I/O or reads a clock: time, randomness and environment come in as arguments, so that both sides of
//! the wire compute the same answer from the same input.

pub mod comment_marks;
pub mod config;
pub mod effort;
pub mod engineering_rule;
pub mod error_chain;
pub mod finding;
pub mod invisible;
pub mod memory;
pub mod model;
mod named_enum;
pub mod nearest;
pub mod oidc;
pub mod path_globs;
pub mod path_kind;
pub mod pricing;
pub mod problem;
pub mod project;
pub mod redact;
pub mod reviewer;
pub mod risk;
pub mod routes;
pub mod sandbox;
pub mod severity;
pub mod skip;
pub mod telemetry;
pub mod token;
pub mod verdict;
