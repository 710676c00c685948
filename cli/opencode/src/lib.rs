//! The OpenCode agent runtime: configuration file, process, HTTP client, events, MCP server.
//!
//! One `opencode serve` child a run, reached over its public HTTP API only. It holds no secret but keys that are made
//! for the run, runs in a workspace without anything that could act, and ends with the run on every way out.

mod annotated;
mod client;
mod config_file;
mod events;
mod journal;
mod lasting;
mod launch;
mod limit;
mod listening;
mod mcp;
mod output;
mod process;
mod relatives;
mod runtime;
#[cfg(test)]
mod test_support;
mod watchdog;

pub use annotated::ExplainedLine;
pub use config_file::{ConfigFile, Endpoints, explain, render_config};
pub use journal::Journal;
pub use launch::{LaunchSettings, Launched};
pub use mcp::{McpHandle, SPAWN_PATH, SUBMIT_PATH, TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW};
pub use process::{
    Home, Process, ProcessError, ProcessSettings, check_version, find_binary, find_opencode, find_ripgrep,
};
pub use runtime::{OpenCode, OpenCodeSettings, StartError};

/// The version of OpenCode that Conclave is made for and tested with; any other is refused.
pub const OPENCODE_VERSION: &str = "1.18.33";
/// The variable of the child's environment that holds the run's key for the model gateway.
pub const GATEWAY_KEY_VARIABLE: &str = "CONCLAVE_RUN_KEY";
/// The variable of the child's environment that holds the run's token for the MCP server.
pub const MCP_TOKEN_VARIABLE: &str = "CONCLAVE_RUN_TOKEN";
