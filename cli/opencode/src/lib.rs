//! The OpenCode agent runtime: configuration file, process, HTTP client, events, MCP server.
//!
//! One `opencode serve` child a run, reached over its public HTTP API only. It holds no secret but keys that are made
//! for the run, runs in a workspace without anything that could act, and ends with the run on every way out.

mod api;
mod binary;
mod child;
mod config_file;
mod errors;
mod install;
mod launch;
mod mcp;
mod path;
mod runtime;
mod search;
#[cfg(test)]
mod test_support;

pub use binary::{check_version, reported_version};
pub use child::{LaunchSettings, Sandbox, SandboxSettings, probe_sandbox};
pub use config_file::{ConfigFile, Endpoints, ExplainedLine, explain, render_config};
pub use errors::{ProcessError, StartError};
pub use install::{InstallError, InstallSettings, InstallSource, install, remove_installed};
pub use launch::Launched;
pub use mcp::{McpHandle, SPAWN_PATH, SUBMIT_PATH, serve_tools};
pub use runtime::{OpenCode, OpenCodeSettings};
pub use search::{Programs, Search, find_ripgrep};

/// The version of OpenCode that Conclave is made for and tested with; any other is refused.
pub const OPENCODE_VERSION: &str = "1.18.33";
/// The variable of the child's environment that holds the run's key for the model gateway.
pub const GATEWAY_KEY_VARIABLE: &str = "CONCLAVE_RUN_KEY";
/// The variable of the child's environment that holds the run's token for the MCP server.
pub const MCP_TOKEN_VARIABLE: &str = "CONCLAVE_RUN_TOKEN";
