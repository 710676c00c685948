//! The review itself: ports, pipeline, plugin API, diff, prompts, findings, judge, reports.
//!
//! No HTTP here, and nothing is spawned: the outside comes in through the traits of [`ports`].

pub mod diff;
pub mod findings;
pub mod judge;
pub mod lock_files;
pub mod memory;
pub mod own_words;
pub mod pipeline;
pub mod plugin;
pub mod ports;
pub mod prompt;
pub mod repo_config;
pub mod report;
pub mod rereview;
pub mod rules;
pub mod scheduler;
pub mod trojan_source;
