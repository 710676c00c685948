//! The review itself: ports, pipeline, plugin API, diff, prompts, findings, judge, reports.
//!
//! No HTTP here, and nothing is spawned: the outside comes in through the traits of [`ports`].

pub mod diff;
pub mod findings;
pub mod incremental;
pub mod json;
pub mod judge;
pub mod language;
pub mod lock_files;
pub mod look_alike;
pub mod memory;
pub mod numbers;
pub mod panel;
pub mod pipeline;
pub mod plugin;
pub mod ports;
pub mod prompt;
pub mod publish;
pub mod repo_config;
pub mod report;
pub mod review;
pub mod rules;
pub mod session;
pub mod trojan_source;
pub mod untrusted;
